//! Schedules whose deliveries name their message by the step that sent it.
//!
//! A position on a link means another message as soon as an earlier choice is left out. While candidates are
//! tried, a message is named by the item that sent it, so that a candidate is a true subsequence of what it
//! was made from.

use crate::execute::{Execution, Unwatched};
use crate::recover::recover;
use misrule_world::{
    Choice, ChoiceKind, Core, Effect, LinkOrder, Menu, NO_SESSION, NodeId, Report, Run, Slot, Watch,
};
use std::collections::{BTreeMap, BTreeSet};

/// A message's name: the item that sent it, and which of that item's messages on the link it is.
pub(super) type Name = (u32, u16);

/// The item that stands for the start of the execution.
const START: u32 = u32::MAX;

/// One choice of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Position in the list that candidates are made from.
    pub(super) id: u32,
    pub(super) choice: Choice,
    /// The message of a message choice.
    pub(super) source: Option<Name>,
}

/// What to do about a message that cannot be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Substitute {
    /// Where links keep order, or bound how far they change it, deliver what stands in front of it first; skip a
    /// message that is not there.
    InFront,
    /// Take the first waiting message of its kind; where links keep order, whatever is first.
    Similar,
}

/// Executes items and keeps what was executed.
pub(super) struct ItemRun {
    /// For each link, the names of the waiting messages.
    waiting: Vec<Vec<Name>>,
    nodes: usize,
    report: Report,
    /// For what a recovery shows.
    execution: Execution,
    /// Steps of the recovery that ended the last execution.
    pub(super) recovering: u32,
    /// What was executed; ids are those of the items given.
    pub(super) executed: Vec<Item>,
}

impl ItemRun {
    pub(super) fn new(nodes: NodeId) -> Self {
        let nodes = usize::from(nodes);
        Self {
            waiting: vec![Vec::new(); nodes * nodes],
            nodes,
            report: Report::default(),
            execution: Execution::default(),
            recovering: 0,
            executed: Vec::new(),
        }
    }

    /// Executes `items` and returns the failure that ended them.
    pub(super) fn execute(
        &mut self,
        run: &mut dyn Run,
        seed: u64,
        watch: Watch,
        items: &[Item],
        substitute: Substitute,
    ) -> Option<misrule_world::Failure> {
        for link in &mut self.waiting {
            link.clear();
        }
        self.executed.clear();
        self.recovering = 0;
        run.reset(seed, watch, &mut self.report);
        self.note_pushed(START);
        for item in items {
            if let Choice::Recover { core } = item.choice {
                return self.recover(run, core);
            }
            loop {
                if self.report.failure.is_some() {
                    return self.report.failure.take();
                }
                let Some(choice) = self.resolve(item, substitute, run.menu()) else { break };
                run.step(choice, &mut self.report);
                if self.report.effect != Effect::Applied {
                    break;
                }
                let source = self.took_step(item.id);
                // A message in front of the wanted one was delivered: the wanted one is next.
                if substitute != Substitute::InFront || source == item.source || item.source.is_none() {
                    break;
                }
            }
        }
        self.report.failure.take()
    }

    /// Goes on from where the last execution ended with up to `steps` choices that `pick` gives, and returns the
    /// failure that ended them.
    pub(super) fn walk(
        &mut self,
        run: &mut dyn Run,
        steps: usize,
        mut pick: impl FnMut(&Menu) -> Option<Choice>,
    ) -> Option<misrule_world::Failure> {
        let mut id = self.executed.last().map_or(0, |item| item.id + 1);
        for _ in 0..steps {
            let choice = pick(run.menu())?;
            run.step(choice, &mut self.report);
            if self.report.effect == Effect::Applied {
                self.took_step(id);
                id += 1;
            }
            if self.report.failure.is_some() {
                return self.report.failure.take();
            }
        }
        None
    }

    /// Ends the execution with a recovery, unless it has failed, and returns the failure.
    pub(super) fn recover(&mut self, run: &mut dyn Run, core: u32) -> Option<misrule_world::Failure> {
        if self.report.failure.is_some() {
            return self.report.failure.take();
        }
        let execution = &mut self.execution;
        execution.clear();
        recover(run, core, &mut Unwatched, &mut self.report, execution);
        self.recovering = execution.recovery.map_or(0, |recovered| recovered.steps);
        let id = self.executed.last().map_or(0, |item| item.id + 1);
        self.executed.push(Item { id, choice: Choice::Recover { core }, source: None });
        execution.failure.take()
    }

    /// Enters the step that the report tells of.
    fn took_step(&mut self, id: u32) -> Option<Name> {
        let choice = self.report.choice;
        let source = choice.slot().and_then(|slot| self.took(slot, choice.kind()));
        self.executed.push(Item { id, choice, source });
        self.note_pushed(id);
        source
    }

    /// The executed items under new ids: their positions.
    pub(super) fn renumbered(&self) -> Vec<Item> {
        let mut items = self.executed.clone();
        for (at, item) in items.iter_mut().enumerate() {
            if let Some((source, _)) = &mut item.source
                && *source != START
            {
                // Executed items keep the order of ids, so the sender is found by search. Deliveries in front of
                // a wanted message carry its id; the sender is the last of that id.
                *source = self.executed.partition_point(|sender| sender.id <= *source) as u32 - 1;
            }
            item.id = at as u32;
        }
        items
    }

    fn link(&self, from: NodeId, to: NodeId) -> usize {
        usize::from(from) * self.nodes + usize::from(to)
    }

    fn note_pushed(&mut self, id: u32) {
        for at in 0..self.report.pushed.len() {
            let (from, to, position) = self.report.pushed[at];
            let before = self.report.pushed[..at].iter().filter(|(f, t, _)| (*f, *t) == (from, to)).count();
            let link = self.link(from, to);
            let place = usize::from(position).saturating_sub(1).min(self.waiting[link].len());
            self.waiting[link].insert(place, (id, before as u16));
        }
    }

    fn resolve(&self, item: &Item, substitute: Substitute, menu: &Menu) -> Option<Choice> {
        let (Some(slot), Some(source)) = (item.choice.slot(), item.source) else {
            return Some(menu.fitted(item.choice));
        };
        let waiting = &self.waiting[self.link(slot.from, slot.to)];
        let position = waiting.iter().position(|name| *name == source);
        let slot = match (position, menu.contract.order, substitute) {
            (Some(at), ..) if at < usize::from(menu.contract.reach()) => Slot { at: at as u16 + 1, ..slot },
            (Some(_), ..) | (None, LinkOrder::Fifo, Substitute::Similar) => {
                Slot { at: 1, kind: Slot::ANY_KIND, ..slot }
            }
            (None, LinkOrder::Reorder, Substitute::Similar) => Slot { at: Slot::FIRST_OF_KIND, ..slot },
            (None, _, Substitute::InFront) => return None,
        };
        Some(item.choice.with_slot(slot))
    }

    fn took(&mut self, slot: Slot, kind: ChoiceKind) -> Option<Name> {
        let link = self.link(slot.from, slot.to);
        let position = usize::from(slot.at).checked_sub(1)?;
        match kind {
            ChoiceKind::Duplicate => self.waiting[link].get(position).copied(),
            _ if position < self.waiting[link].len() => Some(self.waiting[link].remove(position)),
            _ => None,
        }
    }
}

/// Items from plain choices: names are not known, so the first execution takes positions as they stand.
pub(super) fn unnamed(choices: &[Choice]) -> Vec<Item> {
    let item = |(at, choice): (usize, &Choice)| Item { id: at as u32, choice: *choice, source: None };
    choices.iter().enumerate().map(item).collect()
}

/// Gives items that were moved their positions as ids, and says so to the messages that they send.
pub(super) fn renumber(items: &mut [Item]) {
    let places: BTreeMap<u32, u32> =
        items.iter().enumerate().map(|(at, item)| (item.id, at as u32)).collect();
    for (at, item) in items.iter_mut().enumerate() {
        item.id = at as u32;
        // A sender that is gone sends nothing: a name that no message has.
        if let Some((source, _)) = &mut item.source
            && *source != START
        {
            *source = places.get(source).copied().unwrap_or(START - 1);
        }
    }
}

/// Positions of the items in the causal past of the last item and of the last item at `also`. Faults of links have
/// no place in that order and are all kept; so is what sessions do, since what one of them sees may be wrong
/// because of what another one has seen. A recovery follows from the last items at all nodes of its core.
pub(super) fn cone(items: &[Item], also: Option<NodeId>) -> BTreeSet<usize> {
    let mut before = vec![None; items.len()];
    let mut last = [None; 256];
    for (at, item) in items.iter().enumerate() {
        if let Some(node) = node(item.choice) {
            before[at] = last[usize::from(node)].replace(at);
        }
    }
    let mut open: Vec<usize> = items.len().checked_sub(1).into_iter().collect();
    open.extend(also.and_then(|node| last[usize::from(node)]));
    if let Some(Choice::Recover { core }) = items.last().map(|item| item.choice) {
        open.extend(Core(core).nodes().filter_map(|node| last[usize::from(node)]));
    }
    let stays = |item: &Item| match item.choice {
        Choice::Request { session, .. } => session != NO_SESSION,
        Choice::Retry { .. }
        | Choice::Abandon { .. }
        | Choice::Cut { .. }
        | Choice::Heal { .. }
        | Choice::Clog { .. }
        | Choice::Unclog { .. }
        | Choice::Drop(_)
        | Choice::Duplicate(_) => true,
        _ => false,
    };
    let mut kept: BTreeSet<usize> =
        items.iter().enumerate().filter(|(_, item)| stays(item)).map(|(at, _)| at).collect();
    while let Some(at) = open.pop() {
        let new = kept.insert(at);
        if !new && !stays(&items[at]) {
            continue;
        }
        open.extend(before[at]);
        if let Some((source, _)) = items[at].source
            && source != START
            && !kept.contains(&(source as usize))
        {
            open.push(source as usize);
        }
    }
    kept
}

/// The node at which a choice happens.
fn node(choice: Choice) -> Option<NodeId> {
    match choice {
        Choice::Crash { node, .. }
        | Choice::CrashAt { node, .. }
        | Choice::Disk { node, .. }
        | Choice::Draw { node, .. } => Some(node),
        called => called.caller(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Item, START, renumber};
    use misrule_world::{Choice, Slot};

    fn delivery(id: u32, source: u32) -> Item {
        let choice = Choice::Deliver(Slot { from: 0, to: 1, at: 1, kind: Slot::ANY_KIND });
        Item { id, choice, source: Some((source, 0)) }
    }

    #[test]
    fn messages_keep_their_senders_when_items_are_moved() {
        let timer = |id| Item { id, choice: Choice::Timer { node: 0, timer: 0 }, source: None };
        // The timer 3 came first and was moved; the sender 1 is gone.
        let mut items =
            [timer(0), delivery(2, 0), timer(3), delivery(4, 3), delivery(5, 1), delivery(6, START)];
        renumber(&mut items);
        let sources: Vec<Option<u32>> = items.iter().map(|item| item.source.map(|name| name.0)).collect();
        assert_eq!(sources, [None, Some(0), None, Some(2), Some(START - 1), Some(START)]);
        assert!(items.iter().enumerate().all(|(at, item)| item.id == at as u32));
    }
}

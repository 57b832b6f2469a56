//! `exhaustive`: every schedule within a bound, once; then the campaign ends.
//!
//! After Emmi, Qadeer, Rakamaric 2011, "Delay-Bounded Scheduling", section 3: a deterministic scheduler says what
//! runs, and a schedule may delay it so that the next one in its order runs instead, at most so often in all. Here
//! the scheduler goes round the nodes: messages and local steps first, then requests, repairs and timers, so that
//! without a delay the system works undisturbed. Passing over `n` enabled choices costs `n` delays; a fault costs
//! one.

use super::{Guidance, Plan, asks_for};
use crate::archive::Archive;
use crate::draw_clients;
use crate::execute::Execution;
use misrule_world::{
    Choice, FaultKind, FaultProfile, Keep, Menu, NO_SESSION, NodeId, Rng, Run, Slot, bits, nth_bit,
};
use std::ops::ControlFlow;

/// Delays in a schedule.
const DELAYS: u32 = 2;
/// Steps of a schedule, unless fewer are allowed.
const STEPS: u32 = 60;
/// Requests in a schedule: without a bound there would be nothing but requests.
const REQUESTS: u32 = 2;

/// What was chosen at a step, and among how many.
#[derive(Clone, Copy, Debug)]
struct Level {
    chosen: u16,
    /// Choices in the scheduler's order, before the faults.
    ordered: u16,
    all: u16,
}

impl Level {
    fn cost(self, option: u16) -> u32 {
        if option < self.ordered { u32::from(option) } else { 1 }
    }
}

/// Kinds of faults that are asked for.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each read alone")]
struct Asked {
    crash: bool,
    drop: bool,
    duplicate: bool,
    cut: bool,
}

/// Depth-first enumeration, one execution a schedule.
pub(super) struct Exhaustive {
    faults: Asked,
    steps: u32,
    levels: Vec<Level>,
    /// How many steps of the execution that runs are chosen.
    depth: usize,
    requests: u32,
    /// The node after the one that ran last.
    turn: NodeId,
    options: Vec<Choice>,
}

impl Exhaustive {
    pub(super) fn new(faults: FaultProfile, steps_max: u32) -> Self {
        let asked = Asked {
            crash: asks_for(faults, FaultKind::Crash),
            drop: asks_for(faults, FaultKind::Drop),
            duplicate: asks_for(faults, FaultKind::Duplicate),
            cut: asks_for(faults, FaultKind::Cut),
        };
        let steps = steps_max.min(STEPS);
        Self {
            faults: asked,
            steps,
            levels: Vec::with_capacity(steps as usize),
            depth: 0,
            requests: 0,
            turn: 0,
            options: Vec::new(),
        }
    }

    /// Lists what can run, in the scheduler's order and faults last; returns how many are no faults.
    fn list(&mut self, menu: &Menu) -> u16 {
        let mut out = std::mem::take(&mut self.options);
        out.clear();
        let round = || (0..menu.nodes).map(|n| (n + self.turn) % menu.nodes);
        for node in round() {
            deliveries(node, menu, &mut |slot| out.push(Choice::Deliver(slot)));
            out.extend(bits(menu.locals[usize::from(node)]).map(|step| Choice::Local { node, step }));
        }
        if self.requests < REQUESTS && draw_clients::can_ask(menu) {
            requests(round(), menu, &mut out);
        }
        out.extend(round().filter(|node| !menu.is_up(*node)).map(|node| Choice::Restart { node }));
        let links = (0..menu.nodes).flat_map(|from| (0..menu.nodes).map(move |to| (from, to)));
        let cut = links.clone().filter(|(from, to)| menu.cut[menu.link(*from, *to)]);
        out.extend(cut.map(|(from, to)| Choice::Heal { from, to }));
        for node in round() {
            out.extend(bits(menu.timers[usize::from(node)]).map(|timer| Choice::Timer { node, timer }));
        }
        let ordered = out.len() as u16;
        faults(self.faults, menu, &mut out);
        self.options = out;
        ordered
    }

    /// Goes to the next schedule; false when there is none.
    fn advance(&mut self) -> bool {
        let mut spent: u32 = self.levels.iter().map(|level| level.cost(level.chosen)).sum();
        while let Some(mut level) = self.levels.pop() {
            spent -= level.cost(level.chosen);
            let more = (level.chosen + 1..level.all).find(|next| spent + level.cost(*next) <= DELAYS);
            if let Some(next) = more {
                level.chosen = next;
                self.levels.push(level);
                return true;
            }
        }
        false
    }
}

/// The messages that may be delivered to the node next.
fn deliveries(to: NodeId, menu: &Menu, with: &mut dyn FnMut(Slot)) {
    for from in 0..menu.nodes {
        (1..=menu.reach(from, to)).for_each(|at| with(Slot { from, to, at, kind: Slot::ANY_KIND }));
    }
}

/// A request of each operation at each running node. Arguments are the same in each schedule.
fn requests(nodes: impl Iterator<Item = NodeId>, menu: &Menu, out: &mut Vec<Choice>) {
    let session = if menu.sessions == 0 { Some(NO_SESSION) } else { nth_bit(menu.sessions_free(), 0) };
    let Some(session) = session else { return };
    for node in nodes.filter(|node| menu.is_up(*node)) {
        for (operation, (_, argument)) in menu.operations.iter().enumerate() {
            let argument = draw_clients::drawn(*argument, node, menu, &mut Rng::new(0));
            out.push(Choice::Request { node, operation: operation as u8, argument, session });
        }
    }
}

/// The faults that the contract allows: crashes that keep nothing or all, a lost or doubled message, a cut.
fn faults(asked: Asked, menu: &Menu, out: &mut Vec<Choice>) {
    for node in (0..menu.nodes).filter(|node| asked.crash && menu.is_up(*node)) {
        out.push(Choice::Crash { node, keep: Keep::NONE });
        if menu.unsynced[usize::from(node)] > 0 {
            out.push(Choice::Crash { node, keep: Keep::ALL });
        }
    }
    for to in 0..menu.nodes {
        if asked.drop && menu.contract.loss {
            deliveries(to, menu, &mut |slot| out.push(Choice::Drop(slot)));
        }
        if asked.duplicate && menu.contract.duplication {
            deliveries(to, menu, &mut |slot| out.push(Choice::Duplicate(slot)));
        }
        let cut = |from: &NodeId| asked.cut && *from != to && !menu.cut[menu.link(*from, to)];
        out.extend((0..menu.nodes).filter(cut).map(|from| Choice::Cut { from, to }));
    }
}

impl Guidance for Exhaustive {
    fn plan(&mut self, _archive: &Archive, _rng: &mut Rng) -> Plan {
        (self.depth, self.requests, self.turn) = (0, 0, 0);
        Plan::fresh(self.steps, 0)
    }

    fn pick(&mut self, run: &dyn Run, _rng: &mut Rng) -> Option<Choice> {
        let menu = run.menu();
        let ordered = self.list(menu);
        if ordered == 0 {
            // All that is left to do is to break things.
            return None;
        }
        if self.depth == self.levels.len() {
            self.levels.push(Level { chosen: 0, ordered, all: self.options.len() as u16 });
        }
        let choice = *self.options.get(usize::from(self.levels[self.depth].chosen))?;
        self.depth += 1;
        self.requests += u32::from(matches!(choice, Choice::Request { .. }));
        if let Choice::Deliver(Slot { to: node, .. })
        | Choice::Local { node, .. }
        | Choice::Timer { node, .. } = choice
        {
            self.turn = (node + 1) % menu.nodes;
        }
        Some(choice)
    }

    fn learn(&mut self, _plan: &Plan, _run: &Execution) -> ControlFlow<()> {
        if self.advance() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

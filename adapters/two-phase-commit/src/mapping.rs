//! Reads steps of the implementation as actions of the model.
//!
//! What a node's disk says for sure is its state in the model: a record counts from the sync on, which is also
//! when others are told. So every action is a change of a [`Lane`] between two views, and the flush is where
//! most happen. A record that survives a crash without a sync counts too: its action is put before the crash,
//! as if the sync had just returned.
//!
//! Several transactions are the instances of a family ([`crate::model`]). There are no declared deviations but that of crash points:
//! - a begun transaction found undecided at a restart is aborted, which the model allows at any time;
//! - a vote against is `RmAbort`, and the abort that follows `TmAbort`;
//! - managers pass on only outcomes that they were told, so that the model's message was sent;
//! - requests, questions, acknowledgements and repeated messages change nothing that the model speaks of.

mod expect;

use crate::model::{Action, State, Transactions};
use crate::state::{COORDINATOR, Lane, Message, Phase, Record, View};
use crate::system::TwoPhaseCommit;
use misrule_models::two_phase_commit::{Action as One, Coordinator, ResourceManager, State as Instance};
use misrule_models::{Event, NodeId};
use misrule_world::{Choice, Expected, Mapping, Menu, Seen};

/// The mapping; it remembers the views before the step.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    before: Vec<View>,
}

impl Mapping<TwoPhaseCommit> for Steps {
    type Model = Transactions;

    fn reset(&mut self, seen: &Seen<'_, TwoPhaseCommit>) {
        self.before.clear();
        self.before.extend_from_slice(seen.views);
    }

    fn events(&mut self, seen: &Seen<'_, TwoPhaseCommit>, out: &mut Vec<Event<Action>>) {
        let Some(node) = seen.node else { return };
        let (before, after) = (&self.before[usize::from(node)], &seen.views[usize::from(node)]);
        match seen.choice {
            _ if seen.died => out.push(Event::Action(Action::Crash(node))),
            Choice::Crash { keep, .. } => {
                // Of a log a crash keeps a prefix.
                let kept = keep.as_prefix().unwrap_or(u16::MAX);
                for (at, lane) in after.lanes().iter().enumerate() {
                    if let Some(record) = lane.pending.filter(|_| lane.pending_at <= kept) {
                        out.push(Event::Action(recorded(node, at, lane.round, record)));
                    }
                }
                out.push(Event::Action(Action::Crash(node)));
            }
            Choice::Restart { .. } => out.push(Event::Action(Action::Restart(node))),
            _ => {
                for (at, (before, after)) in before.lanes().iter().zip(after.lanes()).enumerate() {
                    changed(node, at, before, after, out);
                }
                if out.is_empty() {
                    out.push(Event::Ignored("nothing durable changed, no vote was counted"));
                }
            }
        }
        self.before[usize::from(node)] = *after;
    }

    fn expects(&self, seen: &Seen<'_, TwoPhaseCommit>, menu: &Menu, out: &mut Vec<Expected<Action>>) {
        expect::expected(seen, menu, out);
    }

    /// Of a node that is down the view may not show what its crash kept. After the deviation of one node, `only`,
    /// the model knows better.
    fn project(&self, seen: &Seen<'_, TwoPhaseCommit>, state: &mut State, only: Option<NodeId>) {
        for lane in 0..state.count {
            let at = usize::from(lane);
            let known =
                |view: &View| if view.lanes[at].phase == Phase::Idle { 0 } else { view.lanes[at].round };
            let before = state.lanes[at];
            let least = if only.is_some() { before.round } else { 0 };
            let round = seen.views.iter().map(known).max().unwrap_or(0).max(least);
            state.begin(lane, round);
            project(seen, at, round, &mut state.lanes[at].state);
            if let Some(only) = only.filter(|_| before.round == round) {
                keep_stopped(seen, only, &before.state, &mut state.lanes[at].state);
            }
        }
        for at in usize::from(state.count)..state.lanes.len() {
            project(seen, at, 0, &mut state.lanes[at].state);
        }
    }

    fn compare(&self, seen: &Seen<'_, TwoPhaseCommit>, state: &State, full: bool) -> Option<String> {
        let unsent = seen.node.and_then(|node| unsent(seen, node, state));
        unsent.or_else(|| if full { difference(seen, state) } else { None })
    }
}

/// The action that a record on disk stands for.
fn recorded(node: NodeId, at: usize, round: u32, record: Record) -> Action {
    let lane = at as u8;
    let action = match record {
        Record::Begin => return Action::Begin(lane, round),
        Record::Prepare => One::RmPrepare(node),
        Record::Refuse => One::RmAbort(node),
        Record::Commit if node == COORDINATOR => One::TmCommit,
        Record::Commit => One::RmRcvCommit(node),
        Record::Abort if node == COORDINATOR => One::TmAbort,
        Record::Abort => One::RmRcvAbort(node),
        Record::GiveUp => One::TmTimeout,
    };
    Action::Of(lane, round, action)
}

/// Appends what happened to a lane between two views.
fn changed(node: NodeId, at: usize, before: &Lane, after: &Lane, out: &mut Vec<Event<Action>>) {
    let same = before.round == after.round;
    let votes = if same { after.votes & !before.votes } else { after.votes };
    for rm in (1..16).filter(|rm| votes & (1 << rm) != 0) {
        out.push(Event::Action(Action::Of(at as u8, after.round, One::TmRcvPrepared(rm))));
    }
    if after.phase == Phase::Idle || same && before.phase == after.phase {
        return;
    }
    let record = match before.pending {
        Some(record) if same && record.phase() == after.phase => record,
        _ => match after.phase {
            Phase::Idle | Phase::Preparing => Record::Begin,
            Phase::Prepared => Record::Prepare,
            Phase::Committed => Record::Commit,
            Phase::Aborted => Record::Abort,
        },
    };
    out.push(Event::Action(recorded(node, at, after.round, record)));
}

/// What a manager's lane is in the model, in a transaction of its own lane's round.
fn resource_manager(lane: &Lane) -> ResourceManager {
    match lane.phase {
        Phase::Idle | Phase::Preparing => ResourceManager::Working,
        Phase::Prepared => ResourceManager::Prepared,
        Phase::Committed => ResourceManager::Committed,
        Phase::Aborted => ResourceManager::Aborted,
    }
}

/// What a coordinator's lane is in the model.
fn coordinator(lane: &Lane) -> Coordinator {
    match lane.phase {
        Phase::Committed => Coordinator::Committed,
        Phase::Aborted => Coordinator::Aborted,
        _ => Coordinator::Undecided,
    }
}

/// Sets one instance from the views. Of a node that is down, the last view stands for its disk.
fn project(seen: &Seen<'_, TwoPhaseCommit>, at: usize, round: u32, state: &mut Instance) {
    state.clear();
    for (node, view) in (0..).zip(seen.views) {
        let lane = &view.lanes[at];
        // A lane whose next round is only being begun belongs to everybody's outcome of this one.
        if round > 0 && lane.round == round {
            if node == COORDINATOR {
                state.set_coordinator(coordinator(lane));
                (1..=seen.system.managers())
                    .filter(|rm| lane.votes & (1 << rm) != 0)
                    .for_each(|rm| state.set_received(rm));
            } else {
                state.set_resource_manager(node, resource_manager(lane));
            }
        }
    }
    if round > 0 && seen.views[0].lanes[at].round > round {
        let committed = state.any(ResourceManager::Committed);
        state.set_coordinator(if committed { Coordinator::Committed } else { Coordinator::Aborted });
    }
    for (node, view) in (0..).zip(seen.views) {
        let up = seen.up & (1 << node) != 0;
        if !up || view.lanes[at].round == round && view.lanes[at].in_doubt() {
            state.crash(node);
        }
        if up && !state.up(node) {
            state.restart(node);
        }
    }
}

/// Keeps what the model knows of the nodes that are down, but of `only`.
fn keep_stopped(seen: &Seen<'_, TwoPhaseCommit>, only: NodeId, before: &Instance, state: &mut Instance) {
    let down = |node: &NodeId| *node != only && seen.up & (1 << node) == 0;
    for manager in (1..=seen.system.managers()).filter(down) {
        state.set_resource_manager(manager, before.resource_manager(manager));
    }
    if down(&COORDINATOR) {
        state.set_coordinator(before.coordinator());
        (1..=seen.system.managers()).filter(|rm| before.received(*rm)).for_each(|rm| state.set_received(rm));
    }
}

/// Names the first message of the step that the model has not sent.
fn unsent(seen: &Seen<'_, TwoPhaseCommit>, node: NodeId, state: &State) -> Option<String> {
    for (_, message) in seen.sends {
        let Some(txn) = message.txn() else { continue };
        let running = &state.lanes[usize::from(txn.lane)];
        // About an older transaction: its answer is known to everybody, and nobody acts on it.
        if txn.round < running.round {
            continue;
        }
        let one = &running.state;
        let sent = txn.round == running.round
            && match message {
                Message::Vote(_, true) => one.sent_prepared(node),
                Message::Vote(_, false) => one.resource_manager(node) == ResourceManager::Aborted,
                Message::Decision(_, true) => one.sent_commit(),
                Message::Decision(_, false) => one.sent_abort(),
                Message::Ack(_) => matches!(
                    one.resource_manager(node),
                    ResourceManager::Committed | ResourceManager::Aborted
                ),
                Message::Submit | Message::Prepare(_) | Message::Ask(_) => true,
            };
        if !sent {
            return Some(format!("sent: node {} sends {message:?}, which the model does not", node + 1));
        }
    }
    None
}

/// Names the first variable in which the model and the views of running nodes differ.
fn difference(seen: &Seen<'_, TwoPhaseCommit>, state: &State) -> Option<String> {
    for (node, view) in (0..).zip(seen.views) {
        let up = seen.up & (1 << node) != 0;
        for (at, (lane, running)) in view.lanes().iter().zip(state.lanes()).enumerate() {
            let one = &running.state;
            let differ = |variable: &str, what: &dyn std::fmt::Debug, model: &dyn std::fmt::Debug| {
                Some(format!(
                    "{variable}: node {} in t{}.{} has {what:?}, the model {model:?}",
                    node + 1,
                    at + 1,
                    running.round
                ))
            };
            if up != one.up(node) {
                return differ("up", &up, &one.up(node));
            }
            if !up {
                continue;
            }
            let behind = lane.round < running.round;
            if lane.round > running.round && lane.phase != Phase::Idle || behind && node == COORDINATOR {
                return differ("round", &lane.round, &running.round);
            }
            if lane.round > running.round || running.round == 0 {
                continue;
            }
            if node == COORDINATOR {
                if coordinator(lane) != one.coordinator() {
                    return differ("coordinator", &lane.phase, &one.coordinator());
                }
                let received = |rm: &NodeId| one.received(*rm) != (lane.votes & (1 << rm) != 0);
                if let Some(rm) = (1..=seen.system.managers()).find(received) {
                    return differ("received", &lane.votes, &(rm, one.received(rm)));
                }
                continue;
            }
            let known = if behind { ResourceManager::Working } else { resource_manager(lane) };
            if known != one.resource_manager(node) {
                return differ("manager", &known, &one.resource_manager(node));
            }
            let in_doubt = !behind && lane.in_doubt();
            if in_doubt != one.in_doubt(node) {
                return differ("in-doubt", &in_doubt, &one.in_doubt(node));
            }
        }
    }
    None
}

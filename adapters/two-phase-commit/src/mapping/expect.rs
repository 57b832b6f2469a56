//! What the model would do if a message were delivered and the disk synced: for strategies that plan.

use super::recorded;
use crate::model::Action;
use crate::state::{COORDINATOR, FLUSH, Lane, Message, Phase, Record, Txn, View};
use crate::system::TwoPhaseCommit;
use misrule_models::two_phase_commit::Action as One;
use misrule_world::{Choice, Expected, Menu, NodeId, Seen, deliverable};

/// Appends what deliveries, syncs and starts would do. A vote is expected to be a yes, as seven of eight are.
pub(super) fn expected(seen: &Seen<'_, TwoPhaseCommit>, menu: &Menu, out: &mut Vec<Expected<Action>>) {
    for (from, to, message, deliver) in deliverable(menu, seen.links) {
        out.extend(by_message(from, to, *message, &seen.views[usize::from(to)], deliver));
    }
    for (node, view) in (0..).zip(seen.views) {
        if !menu.is_up(node) {
            let choices = vec![Choice::Restart { node }];
            out.push(Expected { choices, actions: vec![Action::Restart(node)] });
            continue;
        }
        let actions = pending(node, view);
        if !actions.is_empty() {
            out.push(Expected { choices: vec![Choice::Local { node, step: FLUSH }], actions });
        }
    }
}

/// What waits for the sync of a node's disk.
fn pending(node: NodeId, view: &View) -> Vec<Action> {
    let lanes = view.lanes().iter().enumerate();
    lanes.filter_map(|(at, lane)| Some(recorded(node, at, lane.round, lane.pending?))).collect()
}

/// A vote is counted at once; what a manager writes counts from the sync.
fn by_message(
    from: NodeId,
    to: NodeId,
    message: Message,
    view: &View,
    deliver: Choice,
) -> Option<Expected<Action>> {
    let Txn { lane: at, round } = message.txn()?;
    let lane: &Lane = view.lanes().get(usize::from(at))?;
    let record = match message {
        Message::Vote(_, true) if to == COORDINATOR => {
            let counts =
                lane.round == round && lane.phase == Phase::Preparing && lane.votes & (1 << from) == 0;
            let actions = vec![Action::Of(at, round, One::TmRcvPrepared(from))];
            return counts.then_some(Expected { choices: vec![deliver], actions });
        }
        Message::Prepare(_) if lane.round < round => Record::Prepare,
        Message::Decision(_, commit) if to != COORDINATOR && lane.round == round => {
            let known = lane.phase.decided() || lane.pending.is_some();
            let record = if commit { Record::Commit } else { Record::Abort };
            Some(record).filter(|_| !known)?
        }
        _ => return None,
    };
    let mut actions = pending(to, view);
    actions.push(recorded(to, usize::from(at), round, record));
    Some(Expected { choices: vec![deliver, Choice::Local { node: to, step: FLUSH }], actions })
}

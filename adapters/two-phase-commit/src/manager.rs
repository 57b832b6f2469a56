//! A resource manager: votes, and does what was decided.
//!
//! Its vote is on disk before it is sent, and so is an outcome before it is acknowledged. While it waits for
//! an outcome it asks the coordinator and the other managers from time to time. A manager that was told the
//! outcome passes it on; one that voted against keeps silent, since what is known then is not yet decided.

use crate::bugs::Bug;
use crate::state::{ASK_OUTCOME, COORDINATOR, FLUSH, Lane, Message, Node, Phase, Record, Txn, VOTE};
use misrule_world::{Context, DiskError, Input, NodeId};

/// How often `heuristic-abort-in-doubt` asks in vain.
const ASKED_MAX: u8 = 5;

/// Boots a manager.
pub(crate) fn boot(node: &Node, cx: &mut Context<Message>) {
    arm(node, cx);
}

/// Handles an input of a manager.
pub(crate) fn handle(
    node: &mut Node,
    input: &Input<Message>,
    cx: &mut Context<Message>,
) -> Result<(), DiskError> {
    match *input {
        Input::Request { .. } => cx.send(COORDINATOR, Message::Submit),
        Input::Message { message: Message::Prepare(txn), .. } => prepare(node, txn, cx)?,
        Input::Message { message: Message::Decision(txn, commit), .. } => decision(node, txn, commit, cx)?,
        Input::Message { from, message: Message::Ask(txn) } => answer(node, from, txn, cx),
        Input::Message { .. } => {}
        Input::Timer(_) => ask(node, cx)?,
        Input::Local(_) => flush(node, cx)?,
    }
    arm(node, cx);
    Ok(())
}

/// Is asked to prepare.
fn prepare(node: &mut Node, txn: Txn, cx: &mut Context<Message>) -> Result<(), DiskError> {
    let Some(lane) = node.lane(txn) else { return Ok(()) };
    if lane.round < txn.round {
        lane.start(txn.round);
        let yes = cx.draw(VOTE) != 0;
        node.log(usize::from(txn.lane), if yes { Record::Prepare } else { Record::Refuse }, cx.disk())?;
        if yes && node.bug == Bug::VoteBeforeSync {
            node.lanes[usize::from(txn.lane)].voted = true;
            cx.send(COORDINATOR, Message::Vote(txn, true));
        }
    } else if lane.round == txn.round {
        match lane.phase {
            Phase::Prepared => cx.send(COORDINATOR, Message::Vote(txn, true)),
            Phase::Aborted => cx.send(COORDINATOR, Message::Vote(txn, false)),
            Phase::Committed => cx.send(COORDINATOR, Message::Ack(txn)),
            // A vote that waits for the sync is sent after it.
            Phase::Idle | Phase::Preparing => {}
        }
    }
    Ok(())
}

/// Is told the outcome.
fn decision(node: &mut Node, txn: Txn, commit: bool, cx: &mut Context<Message>) -> Result<(), DiskError> {
    let Some(lane) = node.lane(txn) else { return Ok(()) };
    if lane.round > txn.round {
        return Ok(());
    }
    if lane.round < txn.round {
        lane.start(txn.round);
    }
    if matches!(lane.pending, Some(Record::Prepare | Record::Refuse)) {
        flush(node, cx)?;
    }
    let at = usize::from(txn.lane);
    let lane = &mut node.lanes[at];
    match lane.phase {
        _ if lane.pending.is_some() => Ok(()),
        Phase::Committed | Phase::Aborted => {
            // A decision against the own outcome is not acknowledged.
            if commit == (lane.phase == Phase::Committed) {
                lane.told = true;
                cx.send(COORDINATOR, Message::Ack(txn));
            }
            Ok(())
        }
        _ => node.log(at, if commit { Record::Commit } else { Record::Abort }, cx.disk()),
    }
}

/// Is asked for the outcome by another manager.
fn answer(node: &mut Node, from: NodeId, txn: Txn, cx: &mut Context<Message>) {
    let Some(lane) = node.lane(txn) else { return };
    if lane.round == txn.round && lane.phase.decided() && lane.told {
        cx.send(from, Message::Decision(txn, lane.phase == Phase::Committed));
    }
}

/// Asks everybody for the outcomes that it waits for.
fn ask(node: &mut Node, cx: &mut Context<Message>) -> Result<(), DiskError> {
    for at in 0..node.lanes().len() {
        if !waits(&node.lanes[at]) {
            continue;
        }
        let txn = node.txn(at);
        let me = cx.me();
        (0..cx.nodes()).filter(|to| *to != me).for_each(|to| cx.send(to, Message::Ask(txn)));
        let lane = &mut node.lanes[at];
        lane.count = lane.count.saturating_add(1);
        match node.bug {
            Bug::PresumeCommitInDoubt if lane.in_doubt() => node.log(at, Record::Commit, cx.disk())?,
            Bug::HeuristicAbortInDoubt if lane.in_doubt() && lane.count >= ASKED_MAX => {
                node.log(at, Record::Abort, cx.disk())?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the outcome is awaited.
fn waits(lane: &Lane) -> bool {
    lane.phase == Phase::Prepared && lane.pending.is_none()
}

/// Syncs, then votes and acknowledges.
fn flush(node: &mut Node, cx: &mut Context<Message>) -> Result<(), DiskError> {
    cx.disable_local(FLUSH);
    node.flush(cx, |node, at, record, cx| {
        let txn = node.txn(at);
        let message = match record {
            Record::Prepare => Message::Vote(txn, true),
            Record::Refuse => Message::Vote(txn, false),
            _ => Message::Ack(txn),
        };
        cx.send(COORDINATOR, message);
    })
}

/// Sets the timer and enables the local step that the state calls for.
fn arm(node: &Node, cx: &mut Context<Message>) {
    if node.lanes().iter().any(waits) {
        cx.set_timer(ASK_OUTCOME);
    } else {
        cx.cancel_timer(ASK_OUTCOME);
    }
    if node.unsynced > 0 {
        cx.enable_local(FLUSH);
    }
}

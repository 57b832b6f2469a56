//! The coordinator: begins transactions, collects votes, decides, and repeats the outcome until every manager
//! has acknowledged it.
//!
//! A transaction's begin is on disk before anybody is asked to prepare, so that no number is used twice; its
//! outcome is on disk before anybody is told. A coordinator that restarts with a transaction begun and not
//! decided aborts it.

use crate::bugs::Bug;
use crate::state::{FLUSH, Lane, Message, Node, Phase, RESEND, Record, Txn, VOTE_TIMEOUT};
use misrule_world::{Context, DiskError, Input, NodeId};

/// The managers as a set of bits.
fn everyone(cx: &Context<Message>) -> u16 {
    ((1_u32 << cx.nodes()) - 2) as u16
}

/// Calls `send` for each node in a set.
fn each(set: u16, mut send: impl FnMut(NodeId)) {
    (1..16).filter(|node| set & (1 << node) != 0).for_each(&mut send);
}

impl Lane {
    /// Whether the lane is free for the next round.
    fn ended(&self, everyone: u16) -> bool {
        self.pending.is_none() && (self.round == 0 || self.phase.decided() && self.acks == everyone)
    }

    /// Whether votes are awaited.
    fn collecting(&self) -> bool {
        self.phase == Phase::Preparing && self.pending.is_none()
    }
}

/// Boots the coordinator: what was begun and not decided is aborted.
pub(crate) fn boot(node: &mut Node, cx: &mut Context<Message>) -> Result<(), DiskError> {
    for at in 0..node.lanes().len() {
        if node.lanes[at].phase == Phase::Preparing {
            node.log(at, Record::Abort, cx.disk())?;
        }
    }
    arm(node, cx);
    Ok(())
}

/// Handles an input of the coordinator.
pub(crate) fn handle(
    node: &mut Node,
    input: &Input<Message>,
    cx: &mut Context<Message>,
) -> Result<(), DiskError> {
    match *input {
        Input::Request { .. } | Input::Message { message: Message::Submit, .. } => begin(node, cx)?,
        Input::Message { from, message } => receive(node, from, message, cx)?,
        Input::Timer(VOTE_TIMEOUT) => give_up(node, cx)?,
        Input::Timer(_) => resend(node, cx),
        Input::Local(_) => flush(node, cx)?,
    }
    arm(node, cx);
    Ok(())
}

/// Begins a transaction in the first free lane, if there is one.
fn begin(node: &mut Node, cx: &mut Context<Message>) -> Result<(), DiskError> {
    let everyone = everyone(cx);
    let Some(at) = node.lanes().iter().position(|lane| lane.ended(everyone)) else { return Ok(()) };
    let round = node.lanes[at].round + 1;
    node.lanes[at].start(round);
    node.log(at, Record::Begin, cx.disk())
}

fn receive(
    node: &mut Node,
    from: NodeId,
    message: Message,
    cx: &mut Context<Message>,
) -> Result<(), DiskError> {
    let (bug, everyone) = (node.bug, everyone(cx));
    let Some(txn) = message.txn() else { return Ok(()) };
    let Some(lane) = node.lane(txn) else { return Ok(()) };
    let current = lane.round == txn.round;
    match message {
        Message::Vote(_, yes) if current || tolerated(bug, lane, txn, yes) => {
            if let Some(record) = vote(bug, lane, from, yes, everyone) {
                node.log(usize::from(txn.lane), record, cx.disk())?;
                if record == Record::Commit && bug == Bug::DecisionBeforeSync {
                    each(everyone, |to| cx.send(to, Message::Decision(txn, true)));
                }
            } else if lane.phase.decided() && lane.acks & (1 << from) == 0 {
                let commit = lane.phase == Phase::Committed;
                cx.send(from, Message::Decision(Txn { round: lane.round, ..txn }, commit));
            }
        }
        Message::Ack(_) if lane.phase.decided() && (current || bug == Bug::StaleAckCounted) => {
            lane.acks |= 1 << from;
        }
        Message::Ask(_) if lane.phase.decided() && current => {
            cx.send(from, Message::Decision(txn, lane.phase == Phase::Committed));
        }
        _ => {}
    }
    Ok(())
}

/// Whether a planted bug lets a vote for an older transaction through.
fn tolerated(bug: Bug, lane: &Lane, txn: Txn, yes: bool) -> bool {
    match bug {
        Bug::StaleVoteCounted => yes && lane.phase == Phase::Preparing,
        Bug::ReorderedAbortAfterRestart => !yes && repeats(lane) && txn.round < lane.round,
        _ => false,
    }
}

/// Whether the coordinator found a commit at its restart and has sent it again since.
fn repeats(lane: &Lane) -> bool {
    lane.recovered && lane.phase == Phase::Committed && lane.count > 0
}

/// Counts a vote; returns what is to be recorded.
fn vote(bug: Bug, lane: &mut Lane, from: NodeId, yes: bool, everyone: u16) -> Option<Record> {
    if bug == Bug::ReorderedAbortAfterRestart && repeats(lane) && !yes {
        return Some(Record::Abort);
    }
    if !lane.collecting() {
        return None;
    }
    if !yes && bug != Bug::IgnoreNoVote {
        return Some(Record::Abort);
    }
    lane.votes |= 1 << from;
    lane.count = lane.count.saturating_add(1);
    let enough = match bug {
        Bug::CommitOnFirstYes => true,
        Bug::DuplicateVoteCountsTwice => u32::from(lane.count) >= everyone.count_ones(),
        _ => lane.votes == everyone,
    };
    enough.then_some(Record::Commit)
}

/// Aborts every transaction that still waits for votes.
fn give_up(node: &mut Node, cx: &mut Context<Message>) -> Result<(), DiskError> {
    for at in 0..node.lanes().len() {
        if node.lanes[at].collecting() || doubtful(node, at, cx) {
            node.log(at, Record::GiveUp, cx.disk())?;
        }
    }
    Ok(())
}

/// What `timeout-after-commit` takes for a transaction that still waits.
fn doubtful(node: &Node, at: usize, cx: &Context<Message>) -> bool {
    let lane = &node.lanes[at];
    node.bug == Bug::TimeoutAfterCommit
        && lane.recovered
        && lane.pending.is_none()
        && lane.phase == Phase::Committed
        && lane.acks != everyone(cx)
}

/// Sends again what was not answered.
fn resend(node: &mut Node, cx: &mut Context<Message>) {
    let everyone = everyone(cx);
    for at in 0..node.lanes().len() {
        let txn = node.txn(at);
        let lane = &mut node.lanes[at];
        if lane.collecting() {
            each(everyone & !lane.votes, |to| cx.send(to, Message::Prepare(txn)));
        } else if lane.phase.decided() {
            lane.count = lane.count.saturating_add(1);
            let commit = lane.phase == Phase::Committed;
            each(everyone & !lane.acks, |to| cx.send(to, Message::Decision(txn, commit)));
        }
    }
}

/// Syncs, then asks for votes and announces outcomes.
fn flush(node: &mut Node, cx: &mut Context<Message>) -> Result<(), DiskError> {
    let mut first = None;
    node.flush(cx, |node, at, record, cx| {
        let txn = node.txn(at);
        let message = if record == Record::Begin {
            Message::Prepare(txn)
        } else {
            let own = record == Record::Commit;
            let first = *first.get_or_insert(own);
            Message::Decision(txn, if node.bug == Bug::GroupCommitMixesOutcomes { first } else { own })
        };
        each(everyone(cx), |to| cx.send(to, message));
    })
}

/// Sets the timers and enables the local step that the state calls for.
fn arm(node: &Node, cx: &mut Context<Message>) {
    let everyone = everyone(cx);
    let mut lanes = node.lanes().iter();
    if lanes.any(Lane::collecting) || (0..node.lanes().len()).any(|at| doubtful(node, at, cx)) {
        cx.set_timer(VOTE_TIMEOUT);
    } else {
        cx.cancel_timer(VOTE_TIMEOUT);
    }
    let open = |lane: &Lane| lane.collecting() || lane.phase.decided() && lane.acks != everyone;
    if node.lanes().iter().any(open) {
        cx.set_timer(RESEND);
    } else {
        cx.cancel_timer(RESEND);
    }
    if node.unsynced > 0 {
        cx.enable_local(FLUSH);
    }
}

//! What a node of an implementation may send: in an open network the model says of each message whether the protocol
//! lets this node send it now, not which messages there must be.

use super::Raft;
use super::message::{Envelope, Message};
use super::state::{NodeState, Role, State};

/// Whether the disk must back a message now, or backs it before the message leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backed {
    Now,
    Later,
}

impl Raft {
    pub(super) fn send(&self, state: &mut State, envelope: &Envelope) -> Result<(), &'static str> {
        let waited = |node: &NodeState| node.held[..node.freed].contains(envelope);
        if state.nodes.get(usize::from(envelope.from)).is_some_and(waited) {
            return Ok(());
        }
        self.may_send(state, envelope, Backed::Now)?;
        if !is_leaders(&envelope.message) && envelope.message.begins_term() {
            let node = state.node_mut(envelope.from);
            node.told = (node.term, node.vote);
        }
        Ok(())
    }

    /// What waits is judged when it is said. By the time that it leaves the node may be in a newer term, and the
    /// message is then as one that was slow on its way: its disk has either what the message says, or a newer term.
    pub(super) fn hold(&self, state: &mut State, envelope: &Envelope) -> Result<(), &'static str> {
        if !self.rules.late_flush {
            return Err("no message waits for a later sync");
        }
        self.may_send(state, envelope, Backed::Later)?;
        let node = state.node_mut(envelope.from);
        node.held.drain(..std::mem::take(&mut node.freed));
        node.held.push(envelope.clone());
        Ok(())
    }

    fn may_send(&self, state: &State, envelope: &Envelope, backed: Backed) -> Result<(), &'static str> {
        if !self.is_open() || envelope.to >= self.nodes || envelope.to == envelope.from {
            return Err("the network is bounded, or the message is for nobody else");
        }
        let node = state.node(envelope.from);
        let leads = is_leaders(&envelope.message);
        let is_of_next_term = !envelope.message.begins_term();
        let may = match envelope.message {
            _ if is_of_next_term => Ok(()),
            _ if envelope.message.term() != node.term => Err("the term is not the node's"),
            _ if leads && node.role != Role::Leader => Err("only a leader sends this"),
            _ if !leads && !self.may_tell(node, None, backed) => Err("the term is not on the disk"),
            _ => Ok(()),
        };
        may?;
        self.may_say(state, node, envelope, backed)
    }

    /// Whether others may hear of the node's term, and of this vote in it.
    fn may_tell(&self, node: &NodeState, vote: Option<crate::NodeId>, backed: Backed) -> bool {
        backed == Backed::Later || !self.rules.persist_before_reply || node.has_on_disk(node.term, vote)
    }

    fn may_say(
        &self,
        state: &State,
        node: &NodeState,
        envelope: &Envelope,
        backed: Backed,
    ) -> Result<(), &'static str> {
        let Envelope { from, to, ref message } = *envelope;
        let known = node.matched[usize::from(to)];
        let (allowed, why) = match *message {
            Message::Vote { last, .. } => (
                node.role == Role::Candidate
                    && last == node.last()
                    && self.may_tell(node, Some(from), backed),
                "only a candidate asks for votes, for its log and with its own vote on the disk",
            ),
            Message::VoteReply { granted, .. } => (
                !granted || node.vote == Some(to) && self.may_tell(node, node.vote, backed),
                "the vote is another's, or not on the disk",
            ),
            Message::Append { previous, ref entries, commit, .. } => (
                commit <= node.commit
                    && node.term_at(previous.0) == Some(previous.1)
                    && node.log.suffix(previous.0).starts_with(entries),
                "the entries are not the leader's, or it has committed less",
            ),
            Message::AppendReply { matched: Some(index), .. } => {
                let on_disk = backed == Backed::Later
                    || !self.rules.persist_before_reply
                    || node.disk.log.shares(&node.log, index);
                (
                    index <= node.verified.max(node.commit) && on_disk,
                    "what is acknowledged is not known to be the leader's, or not on the disk",
                )
            }
            Message::AppendReply { matched: None, .. } | Message::Note { .. } => (true, ""),
            Message::HeartbeatReply { term, read } => (
                read == 0 || state.asked_for == Some((from, to, term, read)),
                "no heartbeat has come with this read",
            ),
            Message::Snapshot { last, .. } => (
                self.rules.snapshots && last.0 <= node.commit && node.term_at(last.0) == Some(last.1),
                "the leader has not committed so much, or other entries",
            ),
            Message::Heartbeat { read, .. } if read != 0 && !node.has_read(read) => {
                (false, "the leader has not taken the read, or has confirmed it")
            }
            Message::Heartbeat { commit, .. } => {
                (commit <= node.commit.min(known), "the follower is not known to have so much")
            }
            Message::PreVote { term, last } => (
                node.role == Role::PreCandidate && term == node.term + 1 && last == node.last(),
                "only a node that asks for the next term, with its log, asks so",
            ),
            Message::PreVoteReply { term, granted } => (
                !granted || state.promised == Some((from, to, term)),
                "the vote would not be given, or nobody asked for it",
            ),
            Message::TimeoutNow { .. } => {
                (self.may_hand_over(node, to), "the node is not known to have the whole log")
            }
        };
        if allowed { Ok(()) } else { Err(why) }
    }
}

/// Whether only a leader sends it, which need not wait for its disk.
fn is_leaders(message: &Message) -> bool {
    message.leads() || matches!(message, Message::TimeoutNow { .. })
}

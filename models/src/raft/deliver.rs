//! What a node does with a message that arrives.

use super::message::{Envelope, LogEntry, Message};
use super::state::{NodeState, Role, State};
use super::step::{commit, hear};
use super::{Action, Raft};
use crate::NodeId;

impl Raft {
    /// Whether the message can arrive.
    pub(super) fn arrives(
        &self,
        state: &State,
        action: &Action,
        envelope: &Envelope,
    ) -> Result<(), &'static str> {
        if !self.is_open() {
            return match action {
                Action::Hear(_) => Err("the network is bounded"),
                _ if !state.messages.contains(envelope) => Err("the message was never sent"),
                _ => Ok(()),
            };
        }
        if envelope.from >= self.nodes {
            return Err("there is no such node");
        }
        let (from, to) = (state.node(envelope.from), state.node(envelope.to));
        match envelope.message {
            // A later term says nothing of the vote in this one.
            Message::VoteReply { term, granted: true }
                if from.disk.term <= term && !from.has_on_disk(term, Some(envelope.to)) =>
            {
                Err("the vote is not on the disk of the voter")
            }
            Message::AppendReply { term, matched: Some(index), .. }
                if to.role == Role::Leader && to.term == term =>
            {
                let kept = from.disk.term > term || from.disk.log.shares(&to.log, index);
                if kept { Ok(()) } else { Err("what is acknowledged is not on the disk of the follower") }
            }
            _ => Ok(()),
        }
    }

    pub(super) fn deliver(&self, state: &mut State, envelope: &Envelope) {
        let Envelope { from, to, message } = envelope;
        let node = state.node_mut(*to);
        if message.term() > node.term && message.begins_term() {
            node.enter(message.term(), None);
        }
        let is_stale = message.term() < node.term;
        match *message {
            Message::Vote { last, .. } => {
                let free = node.vote.is_none_or(|vote| vote == *from) || !self.rules.votes_once;
                let granted = !is_stale && self.is_up_to_date(node, last) && free;
                if granted {
                    node.vote = Some(*from);
                    self.own_vote(node);
                }
                let term = node.term;
                self.reply(node, envelope, Message::VoteReply { term, granted });
            }
            Message::VoteReply { granted, .. } => {
                if granted && !is_stale && node.role == Role::Candidate {
                    node.votes |= 1 << from;
                }
            }
            Message::Append { .. } | Message::Heartbeat { .. } | Message::Snapshot { .. } => {
                self.led(state, envelope);
            }
            Message::AppendReply { matched, hint, .. } => {
                if !is_stale && node.role == Role::Leader && self.is_sent(node, *from) {
                    self.acknowledged(node, usize::from(*from), matched, hint);
                }
            }
            Message::HeartbeatReply { read, .. } => {
                if !is_stale && node.role == Role::Leader && self.is_sent(node, *from) {
                    node.acknowledge_reads(*from, read);
                }
            }
            Message::Note { .. } => {}
            Message::PreVote { term, last } => {
                let free = node.vote.is_none_or(|vote| vote == *from);
                let open = term > node.term || term == node.term && free;
                let granted = open && self.is_up_to_date(node, last);
                let answer = if granted { term } else { node.term };
                self.reply(node, envelope, Message::PreVoteReply { term: answer, granted });
                state.promised = granted.then_some((*to, *from, term)).filter(|_| self.is_open());
            }
            Message::PreVoteReply { term, granted } => {
                let counts = term == node.term + 1 || self.rules.late_pre_votes && term == node.term;
                if granted && counts && node.role == Role::PreCandidate {
                    node.votes |= 1 << from;
                }
            }
            Message::TimeoutNow { .. } => {
                if !is_stale && node.role == Role::Follower && self.may_campaign(node, *to) {
                    self.time_out(state, *to);
                    state.marks.asked = Some((*to, state.node(*to).term));
                }
            }
        }
    }

    fn is_up_to_date(&self, node: &NodeState, last: (u32, u32)) -> bool {
        (last.1, last.0) >= (node.last().1, node.last().0) || !self.rules.votes_compare_logs
    }

    /// In an open network it is the implementation that answers.
    fn reply(&self, node: &mut NodeState, to: &Envelope, message: Message) {
        if !self.is_open() {
            node.pending.insert(Envelope { from: to.to, to: to.from, message });
        }
    }

    /// A leader counts an acknowledgement, or goes back.
    fn acknowledged(&self, node: &mut NodeState, peer: usize, matched: Option<u32>, hint: (u32, u32)) {
        match matched {
            Some(index) => {
                node.matched[peer] = node.matched[peer].max(index);
                node.next[peer] = node.next[peer].max(index + 1);
            }
            None if self.rules.hints => {
                let probe = node.last_not_newer(hint.0, hint.1) + 1;
                node.next[peer] = probe.max(node.matched[peer] + 1);
            }
            None => node.next[peer] = (node.next[peer] - 1).max(node.matched[peer] + 1),
        }
    }

    /// Takes entries of the term's leader; says up to where the logs agree, if they do at the entry before.
    fn take_entries(
        &self,
        state: &mut State,
        me: NodeId,
        previous: (u32, u32),
        entries: &[LogEntry],
        learned: u32,
        led: bool,
    ) -> Option<u32> {
        let node = &mut state.nodes[usize::from(me)];
        if node.term_at(previous.0) != Some(previous.1) {
            if self.rules.cuts_refused && previous.0 <= node.length() {
                node.log.truncate(previous.0 - 1);
                state.marks.truncated = true;
                state.marks.leader_rewritten |= led;
            }
            return None;
        }
        let present = node.log.suffix(previous.0);
        let same = present.iter().zip(entries).take_while(|(a, b)| a.term == b.term).count();
        if same < entries.len() {
            let at = previous.0 + same as u32;
            if at < node.length() {
                node.log.truncate(at);
                state.marks.truncated = true;
                state.marks.leader_rewritten |= led;
            }
            node.log.extend(&entries[same..]);
        }
        let matched = previous.0 + entries.len() as u32;
        if learned.min(matched) > node.commit {
            commit(state, me, learned.min(matched));
        }
        Some(matched)
    }

    /// A leader's message arrives.
    fn led(&self, state: &mut State, envelope: &Envelope) {
        let me = envelope.to;
        let node = state.node_mut(me);
        let is_stale = envelope.message.term() < node.term;
        // Only another leader of the same term comes here while this one leads.
        let led = node.role == Role::Leader;
        if !is_stale && node.role != Role::Follower {
            node.follow();
        }
        let answer = match envelope.message {
            Message::Append { previous, ref entries, commit, .. } => {
                let matched = if is_stale {
                    None
                } else {
                    self.take_entries(state, me, previous, entries, commit, led)
                };
                let node = state.node_mut(me);
                if self.is_open() {
                    node.verified = node.verified.max(matched.unwrap_or(0));
                }
                let refused = matched.is_none() && self.rules.hints;
                let hint = if refused { node.last_not_newer(previous.0, previous.1) } else { 0 };
                let hint = (hint, node.term_at(hint).unwrap_or(0));
                Message::AppendReply { term: node.term, matched, hint }
            }
            Message::Heartbeat { commit: learned, read, .. } => {
                if !is_stale && learned > node.commit && learned <= node.length() {
                    commit(state, me, learned);
                }
                let (term, read) = (state.node(me).term, if is_stale { 0 } else { read });
                state.asked_for = Some((me, envelope.from, term, read)).filter(|_| self.is_open());
                Message::HeartbeatReply { term, read }
            }
            Message::Snapshot { last, .. } => {
                if !is_stale && install(state, me, last) {
                    self.take_configuration(state, me);
                }
                let node = state.node(me);
                let matched = (!is_stale).then_some(node.commit);
                Message::AppendReply { term: node.term, matched, hint: (0, 0) }
            }
            _ => return hear(node, &envelope.message),
        };
        self.reply(state.node_mut(me), envelope, answer);
    }
}

/// Takes what committed entries have made in place of the log, unless the node has these entries already. Returns whether
/// it did.
fn install(state: &mut State, me: NodeId, last: (u32, u32)) -> bool {
    let node = &mut state.nodes[usize::from(me)];
    let reached = last.0.min(state.committed.len());
    if reached <= node.commit {
        return false;
    }
    let replaces = node.term_at(last.0) != Some(last.1);
    if replaces {
        // What is behind it is none of this leader's: the node has another entry there, or none.
        state.marks.truncated |= !state.committed.shares(&node.log, node.length());
        node.log.follow(&state.committed);
        node.log.truncate(reached);
    }
    commit(state, me, reached);
    replaces
}

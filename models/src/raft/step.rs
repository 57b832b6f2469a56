//! What each action does.

use super::state::{Envelope, LogEntry, Message, NodeState, Role, State};
use super::{Action, Raft};
use crate::presets::Delivered;
use crate::{NodeId, relation};

impl Raft {
    fn quorum(&self) -> usize {
        usize::from(self.nodes) / 2 + 1
    }

    pub(super) fn has_won(&self, node: &NodeState) -> bool {
        node.role == Role::Candidate && node.votes.count_ones() as usize >= self.quorum()
    }

    /// The index that a leader may commit now, where that is more than it has.
    pub(super) fn commits(&self, node: &NodeState) -> Option<u32> {
        let copies = |index: u32| node.matched.iter().filter(|matched| **matched >= index).count();
        let own = |index: u32| !self.rules.commits_own_term_only || node.term_at(index) == Some(node.term);
        let mut open = (node.commit + 1..=node.length()).rev();
        open.find(|index| copies(*index) >= self.quorum() && own(*index))
    }

    /// Takes the action, or names the guard that failed and changes nothing.
    pub(super) fn take(&self, state: &mut State, action: &Action) -> Result<(), &'static str> {
        let me = match action {
            Action::Deliver(envelope) => envelope.to,
            Action::Timeout { node }
            | Action::BecomeLeader { node }
            | Action::Propose { node, .. }
            | Action::Append { node, .. }
            | Action::AdvanceCommit { node }
            | Action::Persist { node }
            | Action::Crash { node }
            | Action::Restart { node } => *node,
        };
        if me >= self.nodes {
            return Err("there is no such node");
        }
        if state.node(me).up == matches!(action, Action::Restart { .. }) {
            return Err("the node is down, or up already");
        }
        let mut delivered = None;
        match action {
            Action::Timeout { .. } => timeout(state, me)?,
            Action::BecomeLeader { .. } => self.lead(state, me)?,
            Action::Propose { value, .. } => propose(state, me, *value)?,
            Action::Append { peer, .. } => append(state, me, *peer)?,
            Action::AdvanceCommit { .. } => {
                let it = state.node(me);
                let index = self.commits(it).filter(|_| it.role == Role::Leader);
                commit(state, me, index.ok_or("no majority has a further entry of this term")?);
            }
            Action::Persist { .. } if !state.node(me).waits_for_disk() => {
                return Err("nothing waits for the disk");
            }
            Action::Persist { .. } => persist(state, me),
            Action::Deliver(envelope) => {
                if !state.messages.contains(envelope) {
                    return Err("the message was never sent");
                }
                let before = Before::of(state.node(me));
                self.deliver(state, envelope);
                delivered = Some(before.delivered(&envelope.message, state.node(me)));
            }
            Action::Crash { .. } => crash(state, me),
            Action::Restart { .. } => {
                let node = &mut state.nodes[usize::from(me)];
                node.up = true;
                state.marks.recovered |= node.vote.is_some();
            }
        }
        state.delivered = delivered;
        self.settle(state, me);
        Ok(())
    }

    /// What follows an action by itself: a disk that does not lag, and answers that do not wait.
    fn settle(&self, state: &mut State, me: NodeId) {
        if !state.node(me).up {
            return;
        }
        if !self.rules.disk_lags {
            persist(state, me);
        } else if !self.rules.persist_before_reply {
            release(state, me);
        }
    }

    fn lead(&self, state: &mut State, me: NodeId) -> Result<(), &'static str> {
        let node = &mut state.nodes[usize::from(me)];
        if !self.has_won(node) {
            return Err("the node has no majority of votes");
        }
        node.role = Role::Leader;
        node.votes = 0;
        node.next.fill(node.log.len() as u32 + 1);
        node.matched.fill(0);
        node.matched[usize::from(me)] = node.disk.log.len() as u32;
        state.elected.insert((node.term, me));
        Ok(())
    }

    fn deliver(&self, state: &mut State, envelope: &Envelope) {
        let Envelope { from, to, message } = envelope;
        let node = &mut state.nodes[usize::from(*to)];
        if message.term() > node.term {
            node.follow();
            (node.term, node.vote) = (message.term(), None);
        }
        let is_stale = message.term() < node.term;
        match *message {
            Message::Vote { last, .. } => {
                let newer =
                    (last.1, last.0) >= (node.last().1, node.last().0) || !self.rules.votes_compare_logs;
                let free = node.vote.is_none_or(|vote| vote == *from) || !self.rules.votes_once;
                let granted = !is_stale && newer && free;
                if granted {
                    node.vote = Some(*from);
                }
                reply(node, envelope, Message::VoteReply { term: node.term, granted });
            }
            Message::VoteReply { granted, .. } => {
                if granted && !is_stale && node.role == Role::Candidate {
                    node.votes |= 1 << from;
                }
            }
            Message::Append { previous, entry, commit, .. } => {
                let matched = if is_stale { None } else { take_entry(state, *to, previous, entry, commit) };
                let node = &mut state.nodes[usize::from(*to)];
                reply(node, envelope, Message::AppendReply { term: node.term, matched });
            }
            Message::AppendReply { matched, .. } => {
                if is_stale || node.role != Role::Leader {
                    return;
                }
                let peer = usize::from(*from);
                match matched {
                    Some(index) => {
                        node.matched[peer] = node.matched[peer].max(index);
                        node.next[peer] = node.next[peer].max(index + 1);
                    }
                    None => node.next[peer] = (node.next[peer] - 1).max(node.matched[peer] + 1),
                }
            }
        }
    }
}

fn reply(node: &mut NodeState, to: &Envelope, message: Message) {
    node.pending.insert(Envelope { from: to.to, to: to.from, message });
}

fn timeout(state: &mut State, me: NodeId) -> Result<(), &'static str> {
    let peers = state.count();
    let node = &mut state.nodes[usize::from(me)];
    if node.role == Role::Leader {
        return Err("a leader does not ask for votes");
    }
    node.follow();
    node.role = Role::Candidate;
    node.term += 1;
    node.vote = Some(me);
    let message = Message::Vote { term: node.term, last: node.last() };
    let others = (0..peers).filter(|peer| *peer != me);
    node.pending.extend(others.map(|to| Envelope { from: me, to, message: message.clone() }));
    Ok(())
}

fn propose(state: &mut State, me: NodeId, value: u32) -> Result<(), &'static str> {
    let node = &mut state.nodes[usize::from(me)];
    if node.role != Role::Leader {
        return Err("only a leader takes entries");
    }
    node.log.push(LogEntry { term: node.term, value });
    state.proposed += 1;
    Ok(())
}

fn append(state: &mut State, me: NodeId, peer: NodeId) -> Result<(), &'static str> {
    let node = state.node(me);
    if node.role != Role::Leader || peer == me || peer >= state.count() {
        return Err("only a leader sends entries, and to others");
    }
    let at = node.next[usize::from(peer)] - 1;
    let entry = node.log.get(at as usize).copied();
    let commit = node.commit.min(at + u32::from(entry.is_some()));
    let previous = (at, node.term_at(at).unwrap_or(0));
    let message = Message::Append { term: node.term, previous, entry, commit };
    state.messages.insert(Envelope { from: me, to: peer, message });
    Ok(())
}

/// Takes an entry of the term's leader; says up to where the logs agree, if they do at the entry before.
fn take_entry(
    state: &mut State,
    me: NodeId,
    previous: (u32, u32),
    entry: Option<LogEntry>,
    learned: u32,
) -> Option<u32> {
    let node = &mut state.nodes[usize::from(me)];
    // Only another leader of the same term comes here while this one leads.
    let led = node.role == Role::Leader;
    if node.role != Role::Follower {
        node.follow();
    }
    if node.term_at(previous.0) != Some(previous.1) {
        return None;
    }
    let at = previous.0 as usize;
    if let Some(entry) = entry {
        let present = node.log.get(at).map(|present| present.term);
        if present.is_some_and(|term| term != entry.term) {
            node.log.truncate(at);
            state.marks.truncated = true;
            state.marks.leader_rewritten |= led;
        }
        if node.log.len() == at {
            node.log.push(entry);
        }
    }
    let matched = previous.0 + u32::from(entry.is_some());
    if learned.min(matched) > node.commit {
        commit(state, me, learned.min(matched));
    }
    Some(matched)
}

fn commit(state: &mut State, me: NodeId, index: u32) {
    let node = &mut state.nodes[usize::from(me)];
    for at in node.commit as usize..index as usize {
        match state.committed.get(at) {
            Some((entry, _)) => state.marks.disagreed |= *entry != node.log[at],
            None => state.committed.push((node.log[at], node.term)),
        }
    }
    node.commit = index;
}

fn persist(state: &mut State, me: NodeId) {
    let node = &mut state.nodes[usize::from(me)];
    (node.disk.term, node.disk.vote) = (node.term, node.vote);
    node.disk.log.clone_from(&node.log);
    match node.role {
        Role::Candidate => node.votes |= 1 << me,
        Role::Leader => node.matched[usize::from(me)] = node.log.len() as u32,
        Role::Follower => {}
    }
    release(state, me);
}

/// What waited leaves, and others may hear of term and vote.
fn release(state: &mut State, me: NodeId) {
    let node = &mut state.nodes[usize::from(me)];
    if !node.pending.is_empty() {
        node.told = (node.term, node.vote);
        state.messages.append(&mut node.pending);
    }
}

fn crash(state: &mut State, me: NodeId) {
    let node = &mut state.nodes[usize::from(me)];
    node.follow();
    node.up = false;
    node.commit = 0;
    node.pending.clear();
    (node.term, node.vote) = (node.disk.term, node.disk.vote);
    node.log.clone_from(&node.disk.log);
    state.faults += 1;
}

/// What the preset `delivery` needs of the receiver before the delivery.
struct Before {
    role: Role,
    term: u32,
    length: u32,
    commit: u32,
}

impl Before {
    fn of(node: &NodeState) -> Self {
        Self { role: node.role, term: node.term, length: node.length(), commit: node.commit }
    }

    fn delivered(&self, message: &Message, after: &NodeState) -> Delivered {
        Delivered {
            kind: message.kind(),
            term: relation(&message.term(), &self.term) as u8,
            // Raft numbers nothing but terms and entries.
            sequence: 1,
            index: message.index().map_or(1, |index| relation(&index, &self.length)) as u8,
            roles: (self.role as u8, after.role as u8),
            length: relation(&after.length(), &self.length) as u8,
            commit: relation(&after.commit, &self.commit) as u8,
        }
    }
}

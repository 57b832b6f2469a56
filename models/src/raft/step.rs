//! Which action is enabled and what it does; what arrives is in `deliver`, what an implementation sends in `send`.

use super::configuration::Configuration;
use super::message::{Envelope, LogEntry, Message};
use super::state::{NodeState, Role, State};
use super::{Action, Raft};
use crate::presets::Delivered;
use crate::{NodeId, relation};

type Taken = Result<(), &'static str>;

impl Raft {
    pub(super) fn has_won(&self, node: &NodeState, role: Role) -> bool {
        node.role == role && self.decides(node.configuration, node.votes)
    }

    /// The index that a leader may commit now, where that is more than it has.
    pub(super) fn commits(&self, node: &NodeState) -> Option<u32> {
        let copies = |index: u32| {
            let matched = node.matched.iter().enumerate();
            matched.fold(0, |set, (peer, matched)| set | u64::from(*matched >= index) << peer)
        };
        let own = |index: u32| !self.rules.commits_own_term_only || node.term_at(index) == Some(node.term);
        let mut open = (node.commit + 1..=node.length()).rev();
        open.find(|index| self.decides(node.configuration, copies(*index)) && own(*index))
    }

    /// Whether a node that does not lead may ask for votes now.
    pub(super) fn may_time_out(&self, node: &NodeState, me: NodeId) -> bool {
        self.may_campaign(node, me)
            && node.role != Role::Leader
            && (!self.rules.pre_vote || self.has_won(node, Role::PreCandidate))
    }

    /// Takes the action, or names the guard that failed and changes nothing.
    pub(super) fn take(&self, state: &mut State, action: &Action) -> Taken {
        let me = action.node();
        if me >= self.nodes {
            return Err("there is no such node");
        }
        if state.node(me).up == matches!(action, Action::Restart { .. }) {
            return Err("the node is down, or up already");
        }
        let mut delivered = None;
        match action {
            Action::Deliver(envelope) | Action::Hear(envelope) => {
                self.arrives(state, action, envelope)?;
                let before = Before::of(state.node(me));
                (state.promised, state.asked_for) = (None, None);
                if matches!(action, Action::Deliver(_)) {
                    self.deliver(state, envelope);
                } else {
                    hear(state.node_mut(me), &envelope.message);
                }
                delivered = Some(before.delivered(&envelope.message, state.node(me)));
            }
            Action::Send(envelope) => {
                // What is sent after a delivery belongs to it.
                delivered = state.delivered;
                self.send(state, envelope)?;
            }
            Action::Hold(envelope) => {
                delivered = state.delivered;
                self.hold(state, envelope)?;
            }
            _ => self.act(state, me, action)?,
        }
        state.delivered = delivered;
        self.follow_log(state, me);
        self.settle(state, me);
        Ok(())
    }

    /// What a node does by itself.
    fn act(&self, state: &mut State, me: NodeId, action: &Action) -> Taken {
        match *action {
            Action::PreVote { .. } => self.pre_vote(state, me),
            Action::Timeout { .. } if !self.may_time_out(state.node(me), me) => {
                Err("the node leads, or has not heard that it would be elected")
            }
            Action::Timeout { .. } => {
                self.time_out(state, me);
                Ok(())
            }
            Action::BecomeLeader { .. } => self.lead(state, me),
            Action::StepDown { .. } => self.step_down(state.node_mut(me), me),
            Action::Propose { value, .. } => self.propose(state, me, value),
            Action::Append { peer, .. }
            | Action::Heartbeat { peer, .. }
            | Action::TimeoutNow { peer, .. }
            | Action::Snapshot { peer, .. } => self.lead_on(state, me, peer, action),
            Action::AdvanceCommit { .. } => {
                let it = state.node(me);
                let index = self.commits(it).filter(|_| it.role == Role::Leader);
                commit(state, me, index.ok_or("no majority has a further entry of this term")?);
                Ok(())
            }
            Action::LearnCommit { index, .. } if !self.may_learn(state, me, index) => {
                Err("the node has nothing further that is known to be committed")
            }
            Action::LearnCommit { index, .. } => {
                commit(state, me, index);
                Ok(())
            }
            Action::Reconfigure { index, .. } => self.reconfigure(state, me, index),
            Action::TakeRead { read, .. } => self.take_read(state, me, read),
            Action::ConfirmRead { read, index, .. } => self.confirm_read(state, me, read, index),
            Action::Persist { .. } if !self.is_open() && !state.node(me).waits_for_disk() => {
                Err("nothing waits for the disk")
            }
            Action::Persist { .. } => {
                self.persist(state, me);
                Ok(())
            }
            Action::Crash { .. } => {
                self.crash(state, me);
                Ok(())
            }
            Action::Restart { commit, .. } => Self::restart(state, me, commit),
            Action::Deliver(_) | Action::Hear(_) | Action::Send(_) | Action::Hold(_) => Ok(()),
        }
    }

    /// What follows an action by itself: a disk that does not lag, and answers that do not wait.
    fn settle(&self, state: &mut State, me: NodeId) {
        if self.is_open() || !state.node(me).up {
            return;
        }
        if !self.rules.disk_lags {
            self.persist(state, me);
        } else if !self.rules.persist_before_reply {
            release(state, me);
        }
    }

    fn pre_vote(&self, state: &mut State, me: NodeId) -> Taken {
        let node = state.node_mut(me);
        if !self.rules.pre_vote || node.role == Role::Leader || !self.may_campaign(node, me) {
            return Err("a leader does not ask for votes, and others only where there is a pre-vote");
        }
        node.follow();
        node.role = Role::PreCandidate;
        node.votes = 1 << me;
        let message = Message::PreVote { term: node.term + 1, last: node.last() };
        // It promises nothing that a crash could break.
        self.tell_others(me, &message, |envelope| {
            state.messages.insert(envelope);
        });
        Ok(())
    }

    /// Begins a term as a candidate.
    pub(super) fn time_out(&self, state: &mut State, me: NodeId) {
        let node = state.node_mut(me);
        node.enter(self.next_term(node, me), Some(me));
        node.role = Role::Candidate;
        let message = Message::Vote { term: node.term, last: node.last() };
        self.tell_others(me, &message, |envelope| {
            node.pending.insert(envelope);
        });
    }

    /// In a bounded network, calls `each` with the message to every other node.
    fn tell_others(&self, me: NodeId, message: &Message, mut each: impl FnMut(Envelope)) {
        if !self.is_open() {
            let others = (0..self.nodes).filter(|peer| *peer != me);
            others.for_each(|to| each(Envelope { from: me, to, message: message.clone() }));
        }
    }

    fn lead(&self, state: &mut State, me: NodeId) -> Taken {
        let node = state.node_mut(me);
        if !self.has_won(node, Role::Candidate) && !self.may_lead_again(node) {
            return Err("the node has no majority of votes");
        }
        node.role = Role::Leader;
        node.votes = 0;
        let next = node.length() + 1;
        node.next.fill(next);
        node.matched.fill(0);
        // Its disk may still have a suffix that its log has lost.
        node.matched[usize::from(me)] = node.log.common(&node.disk.log);
        let term = node.term;
        // Who leads again may have its entry already.
        if self.rules.empty_entry && node.last().1 < term {
            node.log.extend(&[LogEntry { term, value: 0 }]);
        }
        state.marks.transferred |= state.marks.asked == Some((me, term));
        if let Err(at) = state.elected.binary_search(&(term, me)) {
            state.elected.insert(at, (term, me));
            let twin = |other: Option<&(u32, NodeId)>| other.is_some_and(|other| other.0 == term);
            let before = at.checked_sub(1).and_then(|before| state.elected.get(before));
            state.marks.elected_twice |= twin(before) || twin(state.elected.get(at + 1));
        }
        Ok(())
    }

    pub(super) fn may_step_down(&self, leader: &NodeState, me: NodeId) -> bool {
        self.rules.check_quorum || self.has_changes() && !leader.configuration.has_voter(me)
    }

    fn step_down(&self, node: &mut NodeState, me: NodeId) -> Taken {
        if node.role == Role::Follower || node.role == Role::Leader && !self.may_step_down(node, me) {
            return Err("the node follows, or leads until a newer term");
        }
        node.follow();
        Ok(())
    }

    fn propose(&self, state: &mut State, me: NodeId, value: u32) -> Taken {
        let node = state.node_mut(me);
        if node.role != Role::Leader {
            return Err("only a leader takes entries");
        }
        self.may_take(node, value)?;
        node.log.extend(&[LogEntry { term: node.term, value }]);
        state.proposed += u32::from(!self.is_open());
        Ok(())
    }

    /// What a leader sends in a bounded network.
    fn lead_on(&self, state: &mut State, me: NodeId, peer: NodeId, action: &Action) -> Taken {
        let node = state.node(me);
        if node.role != Role::Leader || peer == me || peer >= self.nodes || self.is_open() {
            return Err("only a leader sends entries, and to others");
        }
        if !self.is_sent(node, peer) {
            return Err("the peer is no member");
        }
        let (term, to) = (node.term, usize::from(peer));
        let message = match action {
            Action::Heartbeat { .. } if self.beats(node) => {
                let commit = if self.rules.heartbeats { node.commit.min(node.matched[to]) } else { 0 };
                Message::Heartbeat { term, commit, read: node.newest_read() }
            }
            Action::TimeoutNow { .. } if self.may_hand_over(node, peer) => Message::TimeoutNow { term },
            Action::Snapshot { .. } if self.rules.snapshots && node.commit > 0 => {
                let last = (node.commit, node.term_at(node.commit).unwrap_or(0));
                Message::Snapshot { term, last }
            }
            Action::Append { .. } if self.may_append(node, peer) => {
                let at = node.next[to] - 1;
                let rest = node.log.suffix(at);
                let entries = rest[..rest.len().min(self.rules.batch as usize)].to_vec();
                let commit = node.commit.min(at + entries.len() as u32);
                let previous = (at, node.term_at(at).unwrap_or(0));
                Message::Append { term, previous, entries, commit }
            }
            _ => return Err("the rules know no such message, or not now"),
        };
        state.messages.insert(Envelope { from: me, to: peer, message });
        Ok(())
    }

    /// Whether a leader has something to append, or says that it leads in this way.
    pub(super) fn may_append(&self, node: &NodeState, peer: NodeId) -> bool {
        !self.rules.heartbeats || node.next[usize::from(peer)] <= node.length()
    }

    pub(super) fn may_hand_over(&self, node: &NodeState, peer: NodeId) -> bool {
        self.rules.transfer && node.matched[usize::from(peer)] == node.length()
    }

    pub(super) fn may_learn(&self, state: &State, me: NodeId, index: u32) -> bool {
        let node = state.node(me);
        self.rules.learns_commit && index > node.commit && node.log.shares(&state.committed, index)
    }

    fn persist(&self, state: &mut State, me: NodeId) {
        let node = state.node_mut(me);
        (node.disk.term, node.disk.vote) = (node.term, node.vote);
        if self.rules.commit_kept && !self.rules.commit_unsynced {
            node.disk.commit = node.commit;
        }
        node.disk.log.follow(&node.log);
        node.disk.configured = node.configured;
        match node.role {
            Role::Candidate => node.votes |= 1 << me,
            Role::Leader => {
                node.matched[usize::from(me)] = node.length();
                node.disk.led = if self.rules.leads_again { node.term } else { 0 };
            }
            Role::Follower | Role::PreCandidate => {}
        }
        release(state, me);
    }

    fn crash(&self, state: &mut State, me: NodeId) {
        let node = state.node_mut(me);
        node.enter(node.disk.term, node.disk.vote);
        node.up = false;
        node.drop_waiting();
        // Of a commit index on the disk some may be lost, which a restart decides. What is committed of a log that the
        // disk has not, is lost with it: an older suffix may stand there.
        let kept = if self.rules.commit_kept { node.log.common(&node.disk.log) } else { 0 };
        node.commit = node.commit.min(kept);
        node.log.follow(&node.disk.log);
        self.forget_applied(node);
        state.faults += u8::from(!self.is_open());
    }

    fn restart(state: &mut State, me: NodeId, commit: u32) -> Taken {
        let node = state.node_mut(me);
        if !restarts(node).contains(&commit) {
            return Err("no disk of the node had this commit index");
        }
        node.commit = commit;
        node.up = true;
        state.marks.recovered |= node.vote.is_some();
        Ok(())
    }
}

/// The commit indices with which a node that is down may start.
pub(super) fn restarts(node: &NodeState) -> std::ops::RangeInclusive<u32> {
    node.disk.commit.min(node.commit)..=node.commit
}

/// What waited leaves, and others may hear of term and vote.
fn release(state: &mut State, me: NodeId) {
    let node = &mut state.nodes[usize::from(me)];
    if !node.pending.is_empty() || node.freed < node.held.len() {
        node.told = (node.term, node.vote);
        node.freed = node.held.len();
        state.messages.append(&mut node.pending);
    }
}

/// Heeds only the term of a message, and that its sender leads.
pub(super) fn hear(node: &mut NodeState, message: &Message) {
    if message.term() > node.term && message.begins_term() {
        node.enter(message.term(), None);
    }
    if message.leads() && message.term() == node.term && node.role != Role::Leader {
        node.follow();
    }
}

pub(super) fn commit(state: &mut State, me: NodeId, index: u32) {
    let node = &mut state.nodes[usize::from(me)];
    let known = index.min(state.committed.len());
    state.marks.disagreed |= !node.log.shares(&state.committed, known);
    if index > state.committed.len() {
        let new = &node.log.entries()[known as usize..index as usize];
        state.committed.extend(new);
        state.committed_by.extend(new.iter().map(|_| node.term));
        let leads = node.role == Role::Leader;
        state.committed_in = if leads { node.configuration } else { Configuration::default() };
    }
    node.commit = index;
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

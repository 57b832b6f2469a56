//! Replication of the log and its commit: section 5.3 and 5.4.2 of the paper.

use crate::bugs::Bug;
use crate::message::{BATCH, Entry, Message, Payload, bit};
use crate::server::{HEARTBEAT, NODES_MAX, Role, Server};
use misrule_models::NodeId;
use misrule_world::{Answer, Call, Context, DiskError, bits};

impl Server {
    pub(crate) fn heartbeat_timer(&mut self, cx: &mut Context<Message>) {
        if self.role == Role::Leader {
            cx.set_timer(HEARTBEAT);
            self.broadcast(cx);
        }
    }

    /// Sends every member what it lacks, or a heartbeat.
    pub(crate) fn broadcast(&mut self, cx: &mut Context<Message>) {
        for to in bits(u64::from(self.others())) {
            self.send_entries(to, cx);
        }
    }

    fn send_entries(&mut self, to: NodeId, cx: &mut Context<Message>) {
        let prev_index = self.peers[usize::from(to)].next - 1;
        let mut entries = [Entry::default(); BATCH];
        let mut count = 0;
        for (slot, index) in entries.iter_mut().zip(prev_index + 1..) {
            let Some(entry) = self.log.get(index) else { break };
            *slot = entry;
            count += 1;
        }
        let prev_term = self.log.term(prev_index).unwrap_or(0);
        let (term, commit, round) = (self.term, self.commit, self.round);
        cx.send(to, Message::Append { term, prev_index, prev_term, commit, round, count, entries });
    }

    /// Whether the sender leads the current term; it is followed then.
    pub(crate) fn accepts_leader(&mut self, from: NodeId, term: u32, cx: &mut Context<Message>) -> bool {
        if term < self.term {
            self.say(from, Message::Rejected { term: self.term, index: 0 }, cx);
            return false;
        }
        self.follow(term, cx);
        true
    }

    /// Entries of the leader of the current term, which stand behind `prev`: its index and term.
    pub(crate) fn append_requested(
        &mut self,
        from: NodeId,
        (prev_index, prev_term): (u32, u32),
        entries: &[Entry],
        (commit, round): (u32, u32),
        cx: &mut Context<Message>,
    ) -> Result<(), DiskError> {
        if self.log.term(prev_index) != Some(prev_term) {
            let index = self.log.len().min(prev_index.saturating_sub(1));
            self.say(from, Message::Rejected { term: self.term, index }, cx);
            return Ok(());
        }
        let checked = prev_index + entries.len() as u32;
        let across = prev_index < self.commit && self.commit < checked;
        let trusts = self.bug == Bug::ConflictUncheckedAcrossCommit && across;
        for (entry, index) in entries.iter().zip(prev_index + 1..) {
            self.store(index, *entry, trusts, cx)?;
        }
        if self.bug == Bug::TruncateOnOldAppend && !entries.is_empty() && self.log.len() > checked {
            self.truncate(checked, cx)?;
        }
        let known = if self.bug == Bug::CommitBeyondMatch { self.log.len() } else { checked };
        self.commit = self.commit.max(commit.min(known));
        let index = if self.bug == Bug::AcknowledgesOwnLength { self.log.len() } else { checked };
        self.say(from, Message::Appended { term: self.term, index, round }, cx);
        Ok(())
    }

    /// Stores an entry of the leader; an entry of another term there conflicts, and goes with all behind it.
    fn store(
        &mut self,
        index: u32,
        entry: Entry,
        trusts: bool,
        cx: &mut Context<Message>,
    ) -> Result<(), DiskError> {
        match self.log.term(index) {
            Some(term) if term == entry.term || trusts => return Ok(()),
            Some(_) if self.bug == Bug::NoTruncation => return self.replace(index, entry, cx),
            Some(_) => self.truncate(index - 1, cx)?,
            None => {}
        }
        self.push(entry, cx)
    }

    pub(crate) fn appended(
        &mut self,
        from: NodeId,
        term: u32,
        (index, round): (u32, u32),
        cx: &mut Context<Message>,
    ) {
        let current = term == self.term || self.bug == Bug::StaleAcknowledgement;
        if self.role != Role::Leader || !current {
            return;
        }
        let newest = self.round;
        let peer = &mut self.peers[usize::from(from)];
        peer.matched = peer.matched.max(index);
        peer.next = peer.next.max(peer.matched + 1);
        let any_round = self.bug == Bug::ReadConfirmedByOlderRound;
        peer.confirmed = peer.confirmed.max(if any_round { newest } else { round });
        let behind = peer.next <= self.log.len();
        self.advance_commit(index, cx);
        self.answer_reads(cx);
        if behind && self.role == Role::Leader {
            self.send_entries(from, cx);
        }
    }

    pub(crate) fn rejected(&mut self, from: NodeId, term: u32, index: u32, cx: &mut Context<Message>) {
        if self.role != Role::Leader || term != self.term {
            return;
        }
        let peer = &mut self.peers[usize::from(from)];
        // Late rejections come after acknowledgements, and say nothing new.
        peer.next = peer.next.min(index + 1).max(peer.matched + 1);
        self.send_entries(from, cx);
    }

    /// Commits what a majority of the members has, where `acknowledged` is what was acknowledged last.
    pub(crate) fn advance_commit(&mut self, acknowledged: u32, cx: &mut Context<Message>) {
        let index = self.stored_by_quorum();
        let looked_at = if self.bug == Bug::CommitTermOfAcknowledged { acknowledged } else { index };
        let own = self.log.term(looked_at) == Some(self.term) || self.bug == Bug::CommitOldTerm;
        if index <= self.commit || !own {
            return;
        }
        for at in self.commit + 1..=index {
            self.answer_command(at, cx);
        }
        self.commit = index;
        // A leader that is no member any more has done its duty (thesis, section 4.2.2).
        if self.members & bit(self.me) == 0 && self.commit >= self.members_at {
            self.follow(self.term, cx);
        }
    }

    /// The last index that a majority of the members has on its disks.
    fn stored_by_quorum(&self) -> u32 {
        let mut counted = self.members;
        if self.bug == Bug::RemovedLeaderCountsItself {
            counted |= bit(self.me);
        }
        let (mut stored, mut count) = ([0; NODES_MAX], 0);
        for node in bits(u64::from(counted)) {
            let counts_all = self.bug == Bug::LeaderCountsUnsynced;
            let own = if counts_all { self.log.len() } else { self.durable };
            stored[count] = if node == self.me { own } else { self.peers[usize::from(node)].matched };
            count += 1;
        }
        let stored = &mut stored[..count];
        stored.sort_unstable();
        let index = count.checked_sub(self.quorum() as usize).map_or(0, |at| stored[at]);
        index.min(self.log.len())
    }

    /// Answers the client of an entry of this term.
    fn answer_command(&self, index: u32, cx: &mut Context<Message>) {
        if let Some(Entry { term, payload: Payload::Command(number) }) = self.log.get(index)
            && term == self.term
            && let Some(call) = Call::new((number >> 24) as u8, number & Call::NUMBER_MAX)
        {
            cx.answer(call, Answer::Number(index));
        }
    }
}

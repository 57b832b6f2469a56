//! What a node does as a follower, and on losing and regaining a connection.

use super::message::{Ballot, LogSync, Message, Sequence};
use super::state::{Phase, PromiseMeta, Role};
use super::step::Turn;
use crate::{NodeId, Refusal};
use std::cmp::Ordering;

impl Turn<'_> {
    pub(super) fn handle_prepare(&mut self, from: NodeId, n: Ballot, theirs: PromiseMeta) {
        let again = n == self.node.promise && self.node.phase == Phase::Recover;
        if n <= self.node.promise && !again {
            return;
        }
        self.flush();
        self.node.follow(Phase::Prepare);
        self.node.promise = n;
        self.node.cached = self.rules.resend.then_some(theirs);
        self.send_promise(from, theirs);
    }

    /// A promise that brings what the leader lacks, going by what its `Prepare` said of its own log.
    pub(super) fn send_promise(&mut self, to: NodeId, theirs: PromiseMeta) {
        let node = &self.node;
        let at = match node.accepted_round.cmp(&theirs.accepted_round) {
            Ordering::Greater => Some(theirs.decided),
            Ordering::Equal if node.accepted() > theirs.accepted => Some(theirs.accepted),
            _ => None,
        };
        let sync = at.map(|at| LogSync { at, entries: self.out.copy(self.node.log.suffix(at)) });
        let node = &self.node;
        let message = Message::Promise {
            n: node.promise,
            accepted_round: node.accepted_round,
            accepted: node.accepted(),
            decided: node.decided,
            sync,
        };
        self.send(to, message);
    }

    pub(super) fn handle_accept_sync(
        &mut self,
        from: NodeId,
        n: Ballot,
        sequence: Sequence,
        decided: u32,
        sync: &LogSync,
    ) -> Result<(), Refusal> {
        if !self.node.is(Role::Follower, Phase::Prepare) || n != self.node.promise {
            self.is_promised(n);
            return Ok(());
        }
        self.check_sync(sync.at, &sync.entries)?;
        self.sync_log(sync.at, &sync.entries);
        self.node.accepted_round = n;
        if self.rules.decided_in_accept {
            self.node.decided = self.node.decided.max(decided);
        }
        self.node.cached = None;
        self.node.phase = Phase::Accept;
        self.node.sequence = sequence;
        self.marks.recovered |= self.marks.recovering & (1 << self.me) != 0;
        self.marks.recovering &= !(1 << self.me);
        self.forward_buffered();
        self.send(from, Message::Accepted { n, accepted: self.node.accepted() });
        Ok(())
    }

    pub(super) fn handle_accept_decide(
        &mut self,
        n: Ballot,
        sequence: Sequence,
        decided: u32,
        entries: &[u32],
    ) {
        if !self.is_promised(n) || !self.node.is(Role::Follower, Phase::Accept) || !self.is_next(n, sequence)
        {
            return;
        }
        self.node.batch.extend_from_slice(entries);
        let full = self.node.batch.len() >= self.rules.batch.max(1) as usize;
        if full {
            self.flush();
        }
        let beyond = self.rules.decided_in_accept && self.learn(decided);
        if full || beyond {
            self.reply_accepted(n);
        }
    }

    /// Stores less than a batch, because of time.
    pub(super) fn flush_follower(&mut self) {
        self.flush();
        self.reply_accepted(self.node.promise);
    }

    pub(super) fn handle_decide(&mut self, n: Ballot, sequence: Sequence, decided: u32) {
        if !self.is_promised(n) || !self.node.is(Role::Follower, Phase::Accept) || !self.is_next(n, sequence)
        {
            return;
        }
        if self.learn(decided) {
            self.reply_accepted(n);
        }
    }

    /// Raises the decided index; says whether it was beyond the log, which makes the crate store what it has
    /// collected, answer with an `Accepted`, and cap the index by the log. The paper has no such cap:
    /// `decided-within-log` shows where it would matter.
    fn learn(&mut self, decided: u32) -> bool {
        let length = self.node.accepted();
        let beyond = self.rules.decided_in_accept && decided > length && decided > self.node.decided;
        if beyond {
            self.flush();
        }
        let length = self.node.accepted();
        let decided = if self.rules.decided_in_accept { decided.min(length) } else { decided };
        self.node.decided = self.node.decided.max(decided);
        beyond
    }

    fn reply_accepted(&mut self, n: Ballot) {
        if let Some(leader) = n.owner() {
            self.send(leader, Message::Accepted { n, accepted: self.node.accepted() });
        }
    }

    /// Whether `n` is the promised ballot; answers a sender that is behind, or ahead without a `Prepare`.
    fn is_promised(&mut self, n: Ballot) -> bool {
        if n == self.node.promise {
            return true;
        }
        if let Some(owner) = n.owner().filter(|_| self.rules.not_accepted) {
            if n < self.node.promise {
                self.send(owner, Message::NotAccepted { n: self.node.promise });
            } else {
                self.reconnected(owner);
            }
        }
        false
    }

    /// Whether the message is the next of its session; notices a gap.
    fn is_next(&mut self, n: Ballot, sequence: Sequence) -> bool {
        if !self.rules.sequence_numbers {
            return true;
        }
        let ours = self.node.sequence;
        if sequence == (Sequence { counter: ours.counter + 1, ..ours }) {
            self.node.sequence = sequence;
            return true;
        }
        if let Some(leader) = n.owner().filter(|_| sequence > ours) {
            self.reconnected(leader);
        }
        false
    }

    /// The connection to `peer` was lost and is back.
    pub(super) fn reconnected(&mut self, peer: NodeId) {
        if peer == self.me {
            return;
        }
        if Some(peer) == self.node.promise.owner() {
            self.node.follow(Phase::Recover);
            self.marks.recovering |= 1 << self.me;
        }
        self.send(peer, self.prepare_req());
    }

    /// Sends proposals to the leader, or keeps them while there is none to send to.
    pub(super) fn forward(&mut self, entries: &[u32]) {
        match self.node.promise.owner() {
            Some(leader) if leader != self.me => {
                let entries = self.out.copy(entries);
                self.send(leader, Message::ProposalForward { entries });
            }
            _ => self.node.buffered.extend_from_slice(entries),
        }
    }

    /// The paper has no forwarding: what waits stays until the node leads again.
    fn forward_buffered(&mut self) {
        if self.node.buffered.is_empty() || !self.rules.forwarding {
            return;
        }
        let mut entries = std::mem::take(&mut self.node.buffered);
        self.forward(&entries);
        entries.clear();
        // Keeps the space; nothing was put back, since the owner of a synchronised round is another node.
        self.node.buffered = entries;
    }

    pub(super) fn resend_follower(&mut self) {
        match (self.node.phase, self.node.cached) {
            (Phase::Prepare, Some(theirs)) => {
                if let Some(leader) = self.node.promise.owner() {
                    self.send_promise(leader, theirs);
                }
            }
            (Phase::Prepare, None) => {
                self.node.follow(Phase::Recover);
                self.send_all(&self.prepare_req());
            }
            (Phase::Recover, _) => self.send_all(&self.prepare_req()),
            (Phase::None | Phase::Accept, _) => {}
        }
    }
}

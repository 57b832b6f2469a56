//! What a node does as a leader.

use super::message::{Ballot, LogSync, Message, Sequence};
use super::state::{Phase, PromiseMeta, Promised, Role};
use super::step::Turn;
use crate::{NodeId, Refusal};

impl Turn<'_> {
    /// The leader election elected the owner of `ballot`, which is above the promise.
    pub(super) fn elect(&mut self, ballot: Ballot) {
        if ballot.owner() != Some(self.me) {
            // Steps down in the same phase and waits for the new leader's `Prepare`.
            if self.node.role == Role::Leader {
                let phase = self.node.phase;
                self.node.follow(phase);
            }
            return;
        }
        self.flush();
        self.node.follow(Phase::Prepare);
        self.node.role = Role::Leader;
        self.node.promise = ballot;
        self.marks.recovering &= !(1 << self.me);
        let own = self.own();
        self.node.leading.promises[usize::from(self.me)] = Promised::Yes(own);
        self.node.leading.max_round = own.accepted_round;
        self.node.leading.max_accepted = own.accepted;
        self.send_all(&self.prepare());
    }

    fn own(&self) -> PromiseMeta {
        PromiseMeta {
            accepted_round: self.node.accepted_round,
            accepted: self.node.accepted(),
            decided: self.node.decided,
        }
    }

    fn prepare(&self) -> Message {
        let PromiseMeta { accepted_round, accepted, decided } = self.own();
        Message::Prepare { n: self.node.promise, accepted_round, accepted, decided }
    }

    pub(super) fn handle_promise(
        &mut self,
        from: NodeId,
        n: Ballot,
        meta: PromiseMeta,
        sync: Option<&LogSync>,
    ) -> Result<(), Refusal> {
        if self.node.role != Role::Leader || n != self.node.promise {
            return Ok(());
        }
        if self.node.phase == Phase::Accept {
            self.node.leading.promises[usize::from(from)] = Promised::Yes(meta);
            self.send_accept_sync(from, meta);
            if !self.rules.decided_in_accept && self.node.decided > meta.decided {
                self.send_decide(from);
            }
            return Ok(());
        }
        if let Some(sync) = sync {
            self.check_sync(sync.at, &sync.entries)?;
        }
        let leading = &mut self.node.leading;
        leading.promises[usize::from(from)] = Promised::Yes(meta);
        if (meta.accepted_round, meta.accepted) > (leading.max_round, leading.max_accepted) {
            leading.max_round = meta.accepted_round;
            leading.max_accepted = meta.accepted;
            if let Some(old) = leading.max_sync.take() {
                self.out.give(old.entries);
            }
            leading.max_sync =
                sync.map(|sync| LogSync { at: sync.at, entries: self.out.copy(&sync.entries) });
        }
        let promised =
            leading.promises.iter().filter(|promised| matches!(promised, Promised::Yes(_))).count();
        if promised > usize::from(self.nodes()) / 2 {
            self.start_accepting();
        }
        Ok(())
    }

    /// A majority has promised: takes over the most up-to-date log, adds what waits, brings all in line.
    fn start_accepting(&mut self) {
        if let Some(sync) = self.node.leading.max_sync.take() {
            self.sync_log(sync.at, &sync.entries);
            self.out.give(sync.entries);
        }
        if self.rules.decided_in_accept {
            let known = self.node.leading.promises.iter().filter_map(|promised| match promised {
                Promised::Yes(meta) => Some(meta.decided),
                _ => None,
            });
            self.node.decided = known.fold(self.node.decided, u32::max);
        }
        let node = &mut *self.node;
        node.log.extend(&node.buffered);
        node.buffered.clear();
        node.accepted_round = node.promise;
        node.phase = Phase::Accept;
        node.leading.accepted[usize::from(self.me)] = node.accepted();
        for peer in 0..self.nodes() {
            if let Some(meta) = self.promised(peer) {
                self.send_accept_sync(peer, meta);
            }
        }
    }

    /// What `peer`, another node, has promised.
    fn promised(&self, peer: NodeId) -> Option<PromiseMeta> {
        match self.node.leading.promises[usize::from(peer)] {
            Promised::Yes(meta) if peer != self.me => Some(meta),
            _ => None,
        }
    }

    fn next_sequence(&mut self, to: NodeId) -> Sequence {
        if !self.rules.sequence_numbers {
            return Sequence::default();
        }
        let sequence = &mut self.node.leading.sequences[usize::from(to)];
        sequence.counter += 1;
        *sequence
    }

    fn send_accept_sync(&mut self, to: NodeId, meta: PromiseMeta) {
        let leading = &mut self.node.leading;
        let at = if self.rules.same_round_sync && meta.accepted_round == self.node.promise {
            meta.accepted
        } else if meta.accepted_round == leading.max_round {
            meta.accepted.min(leading.max_accepted)
        } else {
            meta.decided
        };
        if self.rules.sequence_numbers {
            let sequence = &mut leading.sequences[usize::from(to)];
            *sequence = Sequence { session: sequence.session + 1, counter: 0 };
        }
        let message = Message::AcceptSync {
            n: self.node.promise,
            sequence: self.next_sequence(to),
            decided: self.decided_to_send(),
            sync: LogSync { at, entries: self.out.copy(self.node.log.suffix(at)) },
        };
        self.send(to, message);
    }

    fn decided_to_send(&self) -> u32 {
        if self.rules.decided_in_accept { self.node.decided } else { 0 }
    }

    fn send_decide(&mut self, to: NodeId) {
        let sequence = self.next_sequence(to);
        self.send(to, Message::Decide { n: self.node.promise, sequence, decided: self.node.decided });
    }

    /// Collects entries until they make a batch.
    pub(super) fn accept_entries(&mut self, entries: &[u32]) {
        self.node.batch.extend_from_slice(entries);
        if self.node.batch.len() >= self.rules.batch.max(1) as usize {
            self.flush_leader();
        }
    }

    /// Appends what is collected and sends it to all that have promised.
    pub(super) fn flush_leader(&mut self) {
        let mut entries = std::mem::take(&mut self.node.batch);
        self.node.log.extend(&entries);
        self.node.leading.accepted[usize::from(self.me)] = self.node.accepted();
        for peer in 0..self.nodes() {
            if self.promised(peer).is_some() {
                let message = Message::AcceptDecide {
                    n: self.node.promise,
                    sequence: self.next_sequence(peer),
                    decided: self.decided_to_send(),
                    entries: self.out.copy(&entries),
                };
                self.send(peer, message);
            }
        }
        entries.clear();
        self.node.batch = entries;
    }

    pub(super) fn handle_accepted(&mut self, from: NodeId, n: Ballot, accepted: u32) -> Result<(), Refusal> {
        if n != self.node.promise || !self.node.is(Role::Leader, Phase::Accept) {
            return Ok(());
        }
        if self.strict && accepted > self.node.accepted() {
            return Err(Refusal("more is accepted than the leader has"));
        }
        self.node.leading.accepted[usize::from(from)] = accepted;
        let chosen = self.node.leading.accepted.iter().filter(|&&length| length >= accepted).count();
        if accepted > self.node.decided && chosen > usize::from(self.nodes()) / 2 {
            self.node.decided = accepted;
            for peer in 0..self.nodes() {
                if self.promised(peer).is_some() {
                    self.send_decide(peer);
                }
            }
        }
        Ok(())
    }

    pub(super) fn handle_prepare_req(&mut self, from: NodeId, n: Ballot) {
        if self.node.role != Role::Leader {
            return;
        }
        if self.rules.guarded_prepare_req {
            if n > self.node.promise {
                return;
            }
            self.node.leading.promises[usize::from(from)] = Promised::No;
        }
        self.send(from, self.prepare());
    }

    pub(super) fn handle_not_accepted(&mut self, from: NodeId, n: Ballot) {
        if self.node.role == Role::Leader && n > self.node.promise {
            self.node.leading.promises[usize::from(from)] = Promised::Higher;
        }
    }

    /// The resend timer.
    pub(super) fn resend(&mut self) {
        if self.node.role == Role::Follower {
            return self.resend_follower();
        }
        for peer in 0..self.nodes() {
            if self.node.leading.promises[usize::from(peer)] == Promised::No {
                self.send(peer, self.prepare());
            }
        }
    }
}

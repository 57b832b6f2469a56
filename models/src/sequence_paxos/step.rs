//! Which action is enabled and what it does; the handlers are in `leader` and `follower`.

use super::message::{Ballot, Envelope, Message, Outbox};
use super::state::{Marks, NodeState, Phase, Role, State};
use super::{Action, Network, Rules, SequencePaxos};
use crate::presets::Delivered;
use crate::{NodeId, Refusal, relation};

/// One node while it handles one action.
pub(super) struct Turn<'a> {
    pub(super) rules: Rules,
    /// See [`SequencePaxos`].
    pub(super) strict: bool,
    pub(super) me: NodeId,
    pub(super) node: &'a mut NodeState,
    pub(super) out: &'a mut Outbox,
    pub(super) marks: &'a mut Marks,
}

impl Turn<'_> {
    pub(super) fn nodes(&self) -> NodeId {
        self.node.leading.promises.len() as NodeId
    }

    pub(super) fn send(&mut self, to: NodeId, message: Message) {
        self.out.push(self.me, to, message);
    }

    /// Sends to every other node, in order.
    pub(super) fn send_all(&mut self, message: &Message) {
        for peer in (0..self.nodes()).filter(|&peer| peer != self.me) {
            self.out.push(self.me, peer, message.clone());
        }
    }

    pub(super) fn prepare_req(&self) -> Message {
        let n = if self.rules.guarded_prepare_req { self.node.promise } else { Ballot::ZERO };
        Message::PrepareReq { n }
    }

    /// Replaces the log from `at` on.
    pub(super) fn sync_log(&mut self, at: u32, entries: &[u32]) {
        let log = &mut self.node.log;
        self.node.hole = if self.rules.counted_accepted { at.saturating_sub(log.len()) } else { 0 };
        self.marks.truncated |= log.changed_below(log.len(), at, entries);
        let decided = self.node.decided;
        self.marks.rewritten |= decided <= log.len() && log.changed_below(decided, at, entries);
        log.truncate(at);
        log.extend(entries);
    }

    /// Stores what is collected.
    pub(super) fn flush(&mut self) {
        let node = &mut *self.node;
        node.log.extend(&node.batch);
        node.batch.clear();
    }

    /// Whether a correct leader or follower can have sent these entries.
    pub(super) fn check_sync(&self, at: u32, entries: &[u32]) -> Result<(), Refusal> {
        if !self.strict {
            return Ok(());
        }
        if at > self.node.log.len() {
            return Err(Refusal("the entries would leave a hole in the log"));
        }
        if self.node.log.changed_below(self.node.decided, at, entries) {
            return Err(Refusal("the entries would change what is decided"));
        }
        Ok(())
    }

    fn deliver(&mut self, from: NodeId, message: &Message) -> Result<(), Refusal> {
        match *message {
            Message::Prepare { n, accepted_round, accepted, decided } => {
                let theirs = super::PromiseMeta { accepted_round, accepted, decided };
                self.handle_prepare(from, n, theirs);
            }
            Message::Promise { n, accepted_round, accepted, decided, ref sync } => {
                let meta = super::PromiseMeta { accepted_round, accepted, decided };
                return self.handle_promise(from, n, meta, sync.as_ref());
            }
            Message::AcceptSync { n, sequence, decided, ref sync } => {
                return self.handle_accept_sync(from, n, sequence, decided, sync);
            }
            Message::AcceptDecide { n, sequence, decided, ref entries } => {
                self.handle_accept_decide(n, sequence, decided, entries);
            }
            Message::Accepted { n, accepted } => return self.handle_accepted(from, n, accepted),
            Message::NotAccepted { n } => self.handle_not_accepted(from, n),
            Message::Decide { n, sequence, decided } => self.handle_decide(n, sequence, decided),
            Message::PrepareReq { n } => self.handle_prepare_req(from, n),
            Message::ProposalForward { ref entries } => self.propose(entries),
        }
        Ok(())
    }

    /// A proposal from a client or another node.
    pub(super) fn propose(&mut self, entries: &[u32]) {
        match (self.node.role, self.node.phase) {
            (Role::Leader, Phase::Accept) => self.accept_entries(entries),
            (Role::Leader, _) => self.node.buffered.extend_from_slice(entries),
            _ => self.forward(entries),
        }
    }

    fn tick(&mut self, elected: Option<Ballot>, resend: bool, flush: bool) {
        if let Some(ballot) = elected {
            self.elect(ballot);
        }
        if resend {
            self.resend();
        }
        if flush && !self.node.batch.is_empty() {
            match (self.node.role, self.node.phase) {
                (Role::Leader, Phase::Accept) => self.flush_leader(),
                (Role::Follower, Phase::Accept) => self.flush_follower(),
                _ => {}
            }
        }
    }

    fn crash(&mut self) {
        self.node.follow(Phase::None);
        self.node.batch.clear();
        self.node.hole = 0;
        self.node.up = false;
        self.node.buffered.clear();
    }

    fn restart(&mut self) {
        self.node.up = true;
        self.node.phase = Phase::Recover;
        self.marks.recovering |= 1 << self.me;
        self.send_all(&self.prepare_req());
    }
}

impl SequencePaxos {
    pub(super) fn take(&self, state: &mut State, action: &Action) -> Result<(), Refusal> {
        let (node, peer) = match *action {
            Action::Deliver { from, to, .. } => (to, from),
            Action::Reconnected { node, peer } => (node, peer),
            Action::Cut { a, b } => (a, b),
            Action::Elect { node, .. }
            | Action::Append { node, .. }
            | Action::Resend { node }
            | Action::Tick { node, .. }
            | Action::Crash { node }
            | Action::Restart { node } => (node, node),
        };
        if node >= state.count() || peer >= state.count() {
            return Err(Refusal("there is no such node"));
        }
        self.guard(state, action, node)?;
        state.out.clear();
        let before = self.network == Network::Open && matches!(action, Action::Deliver { .. });
        let before = before.then(|| Before::of(state.node(node)));
        state.delivered = None;
        let mut turn = self.turn(state, node);
        match *action {
            Action::Elect { ballot, .. } => turn.elect(ballot),
            Action::Deliver { ref message, .. } => turn.deliver(peer, message)?,
            Action::Append { entry, .. } => turn.propose(&[entry]),
            Action::Resend { .. } => turn.resend(),
            Action::Tick { elected, resend, flush, .. } => turn.tick(elected, resend, flush),
            Action::Reconnected { .. } => turn.reconnected(peer),
            Action::Crash { .. } => turn.crash(),
            Action::Restart { .. } => turn.restart(),
            Action::Cut { .. } => self.cut(state, node, peer),
        }
        if let (Some(before), Action::Deliver { message, .. }) = (before, action) {
            state.delivered = Some(before.delivered(message, state.node(node)));
        }
        if self.network != Network::Open {
            account(state, action);
        }
        Ok(())
    }

    fn turn<'a>(&self, state: &'a mut State, me: NodeId) -> Turn<'a> {
        Turn {
            rules: self.rules,
            strict: self.strict,
            me,
            node: &mut state.nodes[usize::from(me)],
            out: &mut state.out,
            marks: &mut state.marks,
        }
    }

    /// What can be refused before anything is touched; deliveries have guards of their own.
    fn guard(&self, state: &State, action: &Action, node: NodeId) -> Result<(), Refusal> {
        let subject = state.node(node);
        match *action {
            Action::Restart { .. } => {
                return if subject.up { Err(Refusal("the node is already up")) } else { Ok(()) };
            }
            Action::Cut { .. } => {
                return if self.network == Network::Fifo {
                    Ok(())
                } else {
                    Err(Refusal("no queue can be cut"))
                };
            }
            _ if !subject.up => return Err(Refusal("the node is down")),
            Action::Elect { ballot, .. } | Action::Tick { elected: Some(ballot), .. }
                if ballot <= subject.promise =>
            {
                return Err(Refusal("the ballot is not above the promise"));
            }
            Action::Append { .. } if subject.role == Role::Follower && !self.rules.forwarding => {
                return Err(Refusal("only a leader takes proposals"));
            }
            Action::Append { entry, .. } if self.network != Network::Open && entry != state.proposed + 1 => {
                return Err(Refusal("the entry is not the next one"));
            }
            Action::Resend { .. } | Action::Tick { resend: true, .. } if !self.rules.resend => {
                return Err(Refusal("there is no resend timer"));
            }
            Action::Deliver { from, to, ref message } if !state.traffic.can_arrive(from, to, message) => {
                return Err(Refusal("the message cannot arrive"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Loses what is in flight between two nodes; both notice.
    fn cut(&self, state: &mut State, a: NodeId, b: NodeId) {
        state.traffic.cut(a, b);
        for (me, peer) in [(a, b), (b, a)] {
            if state.node(me).up {
                self.turn(state, me).reconnected(peer);
            }
        }
    }

    pub(super) fn enumerate(&self, state: &State, out: &mut Vec<Action>) {
        let bounds = &self.bounds;
        for node in 0..state.count() {
            let subject = state.node(node);
            let ballots =
                (1..=bounds.ballot_max).flat_map(|n| (0..state.count()).map(move |of| Ballot::of(n, of)));
            out.extend(
                ballots
                    .filter(|&ballot| subject.up && ballot > subject.promise)
                    .filter(|ballot| ballot.owner() == Some(node) || subject.role == Role::Leader)
                    .map(|ballot| Action::Elect { node, ballot }),
            );
            let takes = subject.role == Role::Leader || self.rules.forwarding;
            if subject.up && takes && state.proposed < bounds.entries_max {
                out.push(Action::Append { node, entry: state.proposed + 1 });
            }
        }
        let mut arrivals = Vec::new();
        state.traffic.arrivals(&mut arrivals);
        out.extend(
            arrivals
                .into_iter()
                .filter(|envelope| state.node(envelope.to).up && self.within(state, envelope))
                .map(|Envelope { from, to, message }| Action::Deliver { from, to, message }),
        );
        for node in (0..state.count()).filter(|&node| !state.node(node).up) {
            out.push(Action::Restart { node });
        }
        if state.faults < bounds.faults_max {
            self.enumerate_faults(state, out);
        }
    }

    fn enumerate_faults(&self, state: &State, out: &mut Vec<Action>) {
        for node in (0..state.count()).filter(|&node| state.node(node).up) {
            out.push(Action::Crash { node });
            if self.rules.resend {
                out.push(Action::Resend { node });
            }
            for peer in (0..state.count()).filter(|&peer| peer != node) {
                match self.network {
                    Network::Fifo if node < peer || !state.node(peer).up => {
                        out.push(Action::Cut { a: node.min(peer), b: node.max(peer) });
                    }
                    Network::Tracked => out.push(Action::Reconnected { node, peer }),
                    _ => {}
                }
            }
        }
    }

    /// Keeps logs and sessions finite where a message may arrive again and again.
    fn within(&self, state: &State, envelope: &Envelope) -> bool {
        if self.network != Network::Tracked {
            return true;
        }
        let subject = state.node(envelope.to);
        let room = self.bounds.entries_max.saturating_sub(subject.log.len() + subject.buffered.len() as u32);
        match &envelope.message {
            Message::AcceptDecide { entries, .. } | Message::ProposalForward { entries } => {
                entries.len() as u32 <= room
            }
            Message::Promise { .. } => {
                let session = subject.leading.sequences[usize::from(envelope.from)].session;
                session <= u32::from(self.bounds.faults_max)
            }
            _ => true,
        }
    }
}

/// Moves messages and budgets of a bounded network.
fn account(state: &mut State, action: &Action) {
    match *action {
        Action::Deliver { from, to, .. } => state.traffic.arrived(from, to),
        Action::Append { .. } => state.proposed += 1,
        Action::Crash { .. }
        | Action::Cut { .. }
        | Action::Reconnected { .. }
        | Action::Resend { .. }
        | Action::Tick { .. } => {
            state.faults += 1;
        }
        Action::Elect { .. } | Action::Restart { .. } => {}
    }
    state.traffic.send(state.out.sent());
}

/// What the preset `delivery` needs of the receiver before the delivery.
struct Before {
    role: u8,
    promise: Ballot,
    sequence: super::Sequence,
    length: u32,
    decided: u32,
}

impl Before {
    fn of(node: &NodeState) -> Self {
        Self {
            role: super::role_code(node.role, node.phase),
            promise: node.promise,
            sequence: node.sequence,
            length: node.log.len(),
            decided: node.decided,
        }
    }

    fn delivered(&self, message: &Message, after: &NodeState) -> Delivered {
        let expected = super::Sequence { counter: self.sequence.counter + 1, ..self.sequence };
        Delivered {
            kind: message.kind(),
            term: relation(&message.ballot(), &self.promise) as u8,
            sequence: message.sequence().map_or(1, |sequence| relation(&sequence, &expected) as u8),
            index: message.index().map_or(1, |index| relation(&index, &self.length) as u8),
            roles: (self.role, super::role_code(after.role, after.phase)),
            length: relation(&after.log.len(), &self.length) as u8,
            commit: relation(&after.decided, &self.decided) as u8,
        }
    }
}

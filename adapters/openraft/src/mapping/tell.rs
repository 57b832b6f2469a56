//! Steps with late flushes: the library waits for its disk in the middle of a message and deals with nothing else
//! meanwhile. A step may so bring a part of one message, or the rest of one and several more.
//!
//! What happened, and in which order, the [journal](crate::journal::Journal) of the step says. Requests are dealt with in
//! the order in which they came. A request is told as [`Action::Deliver`] where the node did with it what the model
//! does at once: where it writes the entries, or votes; if that changed nothing, where it answers. A vote that is
//! written before the entries that came with it is [`Action::Hear`]. What a leader says is committed is taken when the
//! entries are on the disk: it is told as [`Action::LearnCommit`]. Answers to a leader's requests wait until the node
//! deals with them, which is seen where it commits by them, or when it waits for nothing any more.

use super::messages::{peer, rank_of, to_entry, to_model};
use super::{
    DISK_REFUSED, Events, HALTED, KEPT_UNSYNCED, Known, LATE, QUIET, REFUSED, Steps, UNHEARD, is_late,
};
use crate::image::{Image, Summary};
use crate::journal::Deed;
use crate::message::{Body, Origin, Wire};
use crate::system::Openraft;
use crate::types::{Entry, Vote, number};
use misrule_models::raft::{Action, Envelope, Message};
use misrule_models::{Event, NodeId};
use misrule_world::{Choice, Input, Seen};
use openraft::raft::AppendEntriesResponse;
use std::collections::VecDeque;

/// A request that the node has not answered.
#[derive(Debug)]
struct Request {
    from: NodeId,
    origin: Origin,
    number: u64,
    message: Message,
    /// The node's term when it came.
    since: u32,
    /// Whether it can be dealt with: a part of a snapshot that is not the last one cannot.
    is_whole: bool,
    is_told: bool,
    /// Which of the messages that the node sends in this step answers it.
    answer: Option<usize>,
}

/// What a node has been given and not dealt with.
#[derive(Debug, Default)]
pub(super) struct Late {
    requests: VecDeque<Request>,
    /// Answers to what it sent as a leader.
    answers: VecDeque<Envelope>,
    /// Up to where each node has acknowledged the entries of this leader, by the answers that are dealt with.
    matched: Vec<u32>,
    vote: Option<Vote>,
    commit: u32,
    /// Of a node that has stopped, what was surely on its disk; nothing where it stopped in the middle of a step.
    kept: Option<Summary>,
    /// Whether the model takes for synced what is not.
    is_blurred: bool,
}

impl Steps {
    /// Tells a step of a node with late flushes, that did not stop in the middle of it.
    pub(super) fn step_late(&mut self, seen: &Seen<'_, Openraft>, me: NodeId, out: &mut Events) {
        let view = &seen.views[usize::from(me)];
        let now = Known::of(view);
        let before = std::mem::replace(&mut self.known[usize::from(me)], now);
        let late = &mut self.late[usize::from(me)];
        let image = view.image();
        match seen.choice {
            Choice::Crash { .. } => {
                late.kept = Some(image.durable.summary());
                return out.push(Event::Action(Action::Crash { node: me }));
            }
            Choice::Restart { .. } => {
                let is_exact = late.kept == Some(image.durable.summary()) && !late.is_blurred;
                if before.halted || !is_exact {
                    late.start(image.vote(), now.commit);
                    late.is_blurred = image.is_unsynced();
                    self.deviates = Some(me);
                    let why = if before.halted { DISK_REFUSED } else { KEPT_UNSYNCED };
                    return out.push(Event::Deviation(why));
                }
                late.start(image.durable.ballot(), now.commit);
                out.push(Event::Action(Action::Restart { node: me, commit: now.commit }));
                if late.leads(me) {
                    out.push(Event::Action(Action::BecomeLeader { node: me }));
                }
            }
            // Of the step in which the disk refuses an operation, what it did by then stands: others may hear of it.
            _ if before.halted => return out.push(Event::Ignored(HALTED)),
            _ => late.arrive(seen, me, out),
        }
        Teller::new(seen, me, late, out).tell(&image);
        if out.is_empty() {
            out.push(Event::Ignored(QUIET));
        }
    }
}

/// A vote as a term of the model.
fn term(vote: Option<Vote>) -> u32 {
    vote.as_ref().map_or(0, rank_of)
}

impl Late {
    /// A node that keeps this starts.
    pub(super) fn start(&mut self, vote: Option<Vote>, commit: u32) {
        *self = Self { vote, commit, ..Self::default() };
    }

    /// The node stops in the middle of a step.
    pub(super) fn die(&mut self) {
        self.kept = None;
    }

    fn leads(&self, me: NodeId) -> bool {
        self.vote.is_some_and(|vote| vote.committed && vote.leader_id.node_id == number(me))
    }

    /// Something arrives.
    fn arrive(&mut self, seen: &Seen<'_, Openraft>, me: NodeId, out: &mut Events) {
        let Some(Input::Message { from, message: wire }) = seen.input else { return };
        let Some(message) = to_model(wire) else { return out.push(Event::Ignored(REFUSED)) };
        if !wire.body.is_answer() {
            self.requests.push_back(Request {
                from: *from,
                origin: wire.origin.clone(),
                number: wire.request,
                message,
                since: term(self.vote),
                is_whole: !matches!(wire.body, Body::Install(_)) || wire.asked.done,
                is_told: false,
                answer: None,
            });
            return;
        }
        let is_vote = matches!(wire.body, Body::Voted(_));
        let envelope = Envelope { from: *from, to: me, message };
        if !seen.views[usize::from(me)].heard() {
            out.push(Event::Ignored(UNHEARD));
        } else if !is_vote {
            self.answers.push_back(envelope);
        } else if envelope.message.term() <= term(self.vote) {
            out.push(Event::Action(Action::Deliver(envelope)));
        } else {
            out.push(Event::Ignored(REFUSED));
        }
    }

    /// Finds which of the messages sent answer which requests: the first one is answered first.
    fn find_answers(&mut self, sends: &[(NodeId, Wire)]) {
        for (at, (to, wire)) in sends.iter().enumerate().filter(|(_, (_, wire))| wire.body.is_answer()) {
            let asked = self.requests.iter_mut().find(|request| {
                request.answer.is_none()
                    && (request.from, request.number) == (*to, wire.request)
                    && request.origin == wire.origin
            });
            if let Some(request) = asked {
                request.answer = Some(at);
            }
        }
    }
}

/// Tells a step.
struct Teller<'a> {
    me: NodeId,
    /// How many nodes are a majority.
    majority: usize,
    sends: &'a [(NodeId, Wire)],
    late: &'a mut Late,
    out: &'a mut Events,
}

impl<'a> Teller<'a> {
    fn new(seen: &Seen<'a, Openraft>, me: NodeId, late: &'a mut Late, out: &'a mut Events) -> Self {
        let nodes = seen.views.len();
        late.matched.resize(nodes, 0);
        Self { me, majority: nodes / 2 + 1, sends: seen.sends, late, out }
    }

    /// Tells what is in the journal, and each message at its place in it.
    fn tell(mut self, image: &Image) {
        let Some(journal) = &image.journal else { return };
        self.late.find_answers(self.sends);
        let mut votes = vec![self.late.vote];
        for deed in &journal.deeds {
            let vote = if let Deed::Vote(vote) = deed { Some(*vote) } else { votes[votes.len() - 1] };
            votes.push(vote);
        }
        let slot = |at: usize| place(&self.sends[at].1, journal.sends.get(at).copied().unwrap_or(0), &votes);
        let mut slots: Vec<(usize, usize)> = (0..self.sends.len()).map(|at| (slot(at), at)).collect();
        slots.sort_unstable();
        let mut slots = slots.into_iter().peekable();
        for (at, vote) in votes.iter().enumerate() {
            self.late.vote = *vote;
            while let Some((_, send)) = slots.next_if(|(slot, _)| *slot <= at) {
                self.sent(send);
            }
            if let Some(deed) = journal.deeds.get(at) {
                self.did(deed, &journal.deeds[at + 1..]);
            }
        }
        self.late.requests.retain(|request| request.answer.is_none());
        if !image.is_waited_for() {
            while let Some(answer) = self.late.answers.pop_front() {
                self.heard(answer);
            }
        }
    }

    fn push(&mut self, action: Action) {
        self.out.push(Event::Action(action));
    }

    fn leads(&self) -> bool {
        self.late.leads(self.me)
    }

    /// A message that the node sent, and before it the request that it answers.
    fn sent(&mut self, at: usize) {
        let (to, wire) = &self.sends[at];
        let mut since = u32::MAX;
        if let Some(request) = self.late.requests.iter().position(|request| request.answer == Some(at)) {
            self.deal_before(request);
            self.deal(request);
            since = self.late.requests[request].since;
        }
        let Some(message) = to_model(wire) else { return };
        let present = term(self.late.vote);
        // The vote in an answer to a part of a snapshot is read first, and the part taken when the node comes to it.
        let is_old = matches!(message, Message::Note { term } if (since..present).contains(&term));
        if is_old || is_late(&message, present) {
            self.out.push(Event::Ignored(LATE));
        } else {
            self.push(Action::Send(Envelope { from: self.me, to: *to, message }));
        }
    }

    /// Tells a request that is dealt with, by what is answered to it in this step, if it is.
    fn deal(&mut self, at: usize) {
        let request = &self.late.requests[at];
        if request.is_told {
            return;
        }
        let is_taken = match request.answer.map(|at| &self.sends[at].1.body) {
            Some(Body::Voted(response)) => response.vote_granted,
            Some(Body::Installed(Ok(response))) => {
                request.is_whole && rank_of(&response.vote) == request.message.term()
            }
            Some(Body::Installed(Err(_))) => false,
            _ => true,
        };
        if is_taken {
            self.deliver(at);
        } else {
            self.late.requests[at].is_told = true;
            self.out.push(Event::Ignored(REFUSED));
        }
    }

    fn deliver(&mut self, at: usize) {
        let (me, commit) = (self.me, self.late.commit);
        let request = &mut self.late.requests[at];
        request.is_told = true;
        let mut message = request.message.clone();
        match &mut message {
            Message::Append { commit: learned, .. } => *learned = commit.min(*learned),
            Message::Snapshot { last, .. } => self.late.commit = commit.max(last.0),
            _ => {}
        }
        let envelope = Envelope { from: request.from, to: me, message };
        self.push(Action::Deliver(envelope));
    }

    /// Tells requests that are answered in this step, as they are dealt with before that one. Snapshots have a way of
    /// their own.
    fn deal_before(&mut self, at: usize) {
        for earlier in 0..at {
            let request = &self.late.requests[earlier];
            if request.answer.is_some() && !matches!(request.message, Message::Snapshot { .. }) {
                self.deal(earlier);
            }
        }
    }

    /// Tells requests of the present term that are answered in this step: the node is to leave it.
    fn deal_with_term(&mut self) {
        let present = term(self.late.vote);
        for at in 0..self.late.requests.len() {
            let request = &self.late.requests[at];
            if request.message.term() == present && request.answer.is_some_and(|at| self.is_taken(at)) {
                self.deal(at);
            }
        }
    }

    /// Whether an answer says that the request was of the node's term.
    fn is_taken(&self, at: usize) -> bool {
        match &self.sends[at].1.body {
            Body::Appended(response) => !matches!(response, AppendEntriesResponse::HigherVote(_)),
            Body::Voted(response) => response.vote_granted,
            _ => false,
        }
    }

    /// A deed, with what comes after it.
    fn did(&mut self, deed: &Deed, next: &[Deed]) {
        match deed {
            Deed::Sync => {
                self.late.is_blurred = false;
                self.push(Action::Persist { node: self.me });
            }
            Deed::Vote(vote) => self.voted(*vote),
            Deed::Append(entries) if self.leads() => {
                for entry in entries {
                    self.push(Action::Propose { node: self.me, value: to_entry(entry).value });
                }
            }
            Deed::Append(entries) => self.appended(entries),
            Deed::Truncate(from) => self.truncated(*from, next),
            Deed::Purge(upto) => {
                let (present, upto) = (term(self.late.vote), upto.index as u32);
                let installs = |request: &Request| {
                    let last = |last: (u32, u32)| last.0 == upto;
                    matches!(request.message, Message::Snapshot { term, last: at } if term == present && last(at))
                };
                let waits = |request: &Request| request.is_whole && !request.is_told;
                if let Some(at) = self.find(|request| waits(request) && installs(request)) {
                    self.deliver(at);
                }
            }
            Deed::Commit(index) => self.committed(*index as u32),
        }
    }

    fn find(&self, which: impl Fn(&Request) -> bool) -> Option<usize> {
        self.late.requests.iter().position(which)
    }

    fn voted(&mut self, vote: Vote) {
        let (before, now) = (term(self.late.vote), rank_of(&vote));
        let owner = peer(vote.leader_id.node_id);
        if owner == Some(self.me) && vote.committed {
            self.late.matched.fill(0);
            return self.push(Action::BecomeLeader { node: self.me });
        }
        if now == before {
            return;
        }
        self.deal_with_term();
        let Some(owner) = owner.filter(|owner| *owner != self.me) else {
            if self.leads() {
                self.push(Action::StepDown { node: self.me });
            }
            return self.push(Action::Timeout { node: self.me });
        };
        let asks = |message: &Message| matches!(message, Message::Vote { .. });
        let waits = |request: &Request| !request.is_told && request.is_whole && request.message.term() == now;
        match self.find(|request| waits(request) && asks(&request.message) != vote.committed) {
            Some(at) if !vote.committed => {
                self.deal_before(at);
                self.deliver(at);
            }
            Some(at) => {
                self.deal_before(at);
                let message = self.late.requests[at].message.clone();
                self.push(Action::Hear(Envelope { from: owner, to: self.me, message }));
            }
            // A task was told of it before, and tells the node now.
            None => {
                let message = Message::Note { term: now };
                self.push(Action::Hear(Envelope { from: owner, to: self.me, message }));
            }
        }
    }

    /// A follower has written entries: the end of those of a request.
    fn appended(&mut self, new: &[Entry]) {
        let present = term(self.late.vote);
        let last = new.last().map_or(0, |entry| entry.log_id.index as u32);
        let new: Vec<_> = new.iter().map(to_entry).collect();
        let brings = |message: &Message| {
            matches!(message, Message::Append { term, previous, entries, .. }
                if *term == present && previous.0 + entries.len() as u32 == last && entries.ends_with(&new))
        };
        match self.find(|request| !request.is_told && brings(&request.message)) {
            Some(at) => {
                self.deal_before(at);
                self.deliver(at);
            }
            None => self.out.push(Event::Unmapped("entries that no request brought")),
        }
    }

    /// A follower has cut off entries: those that conflict with what comes next, or with a request that it refuses.
    fn truncated(&mut self, from: u64, next: &[Deed]) {
        let (present, from) = (term(self.late.vote), from as u32);
        let conflicts = |request: &Request| {
            let answer = request.answer.map(|at| &self.sends[at].1.body);
            matches!(answer, Some(Body::Appended(AppendEntriesResponse::Conflict)))
        };
        let refused = |request: &Request| {
            matches!(request.message, Message::Append { term, previous, .. }
                if term == present && previous.0 == from && !request.is_told && conflicts(request))
        };
        if let Some(at) = self.find(refused) {
            self.deal_before(at);
            self.deliver(at);
        } else if !matches!(next.first(), Some(Deed::Append(_) | Deed::Purge(_))) {
            self.out.push(Event::Unmapped("entries are cut off that nothing conflicts with"));
        }
    }

    /// The node knows that more is committed: a leader by answers, of which it has dealt with so many as that takes.
    fn committed(&mut self, index: u32) {
        if index <= self.late.commit {
            return;
        }
        self.late.commit = index;
        if !self.leads() {
            return self.push(Action::LearnCommit { node: self.me, index });
        }
        while 1 + self.late.matched.iter().filter(|matched| **matched >= index).count() < self.majority
            && let Some(answer) = self.late.answers.pop_front()
        {
            self.heard(answer);
        }
        self.push(Action::AdvanceCommit { node: self.me });
    }

    /// A leader deals with an answer.
    fn heard(&mut self, answer: Envelope) {
        let present = term(self.late.vote);
        if answer.message.term() > present {
            return self.out.push(Event::Ignored(REFUSED));
        }
        if let Message::AppendReply { term, matched: Some(index), .. } = answer.message
            && term == present
        {
            let matched = &mut self.late.matched[usize::from(answer.from)];
            *matched = index.max(*matched);
        }
        self.push(Action::Deliver(answer));
    }
}

/// At which place in the journal a message is told that was sent when so many deeds were done. Tasks that ask for votes
/// or answer run after the library has dealt with more: what they say is of the term in which they were told to.
fn place(wire: &Wire, sent: usize, votes: &[Option<Vote>]) -> usize {
    let Some(message) = to_model(wire) else { return sent };
    let fits = |vote: &Option<Vote>| match wire.body {
        Body::Vote(_) => term(*vote) == message.term() && vote.is_some_and(|vote| !vote.committed),
        _ => term(*vote) == message.term(),
    };
    if matches!(wire.body, Body::Append(_) | Body::Install(_)) {
        return sent;
    }
    votes[..=sent].iter().rposition(fits).unwrap_or(sent)
}

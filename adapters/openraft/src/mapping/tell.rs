//! Tells a step. The library may wait for its disk in the middle of a message, and deals with nothing else meanwhile: with
//! `flush=late` a step may so bring a part of one message, or the rest of one and several more.
//!
//! What happened, and in which order, the [journal](crate::journal::Journal) of the step says. Requests are dealt with in
//! the order in which they came. A request is told as [`Action::Deliver`] where the node did with it what the model
//! does at once: where it writes the entries, or votes; if that changed nothing, where it answers. A vote that is
//! written before the entries that came with it is [`Action::Hear`]. What a leader says is committed is taken when the
//! entries are on the disk: it is told as [`Action::LearnCommit`]. Answers to a leader's requests wait until the node
//! deals with them, which is seen where it commits by them, or when it waits for nothing any more.

use super::messages::{peer, rank_of, to_entry, to_model, upto};
use super::pending::{Pending, Request, members_before, term};
use super::{DISK_REFUSED, Events, HALTED, KEPT_UNSYNCED, LATE, QUIET, REFUSED, Steps};
use crate::image::Image;
use crate::journal::Deed;
use crate::members::{Members, configuration};
use crate::message::{Body, Wire};
use crate::system::Openraft;
use crate::types::{Entry, Vote};
use crate::view::View;
use misrule_models::raft::{Action, Envelope, Message};
use misrule_models::{Event, NodeId};
use misrule_world::{Choice, Seen};
use openraft::raft::AppendEntriesResponse;
use openraft::{EntryPayload, ServerState};

impl Steps {
    /// Tells a step of a node, that did not stop in the middle of it.
    pub(super) fn tell(&mut self, seen: &Seen<'_, Openraft>, me: NodeId, out: &mut Events) {
        let view = &seen.views[usize::from(me)];
        let is_halted = view.is_halted();
        let pending = &mut self.pending[usize::from(me)];
        let was_halted = std::mem::replace(&mut pending.is_halted, is_halted);
        let image: &Image = &view.image();
        match seen.choice {
            Choice::Crash { .. } => {
                pending.kept = Some(image.durable.summary());
                return out.push(Event::Action(Action::Crash { node: me }));
            }
            Choice::Restart { .. } => {
                let is_exact = pending.kept == Some(image.durable.summary()) && !pending.is_blurred;
                if was_halted || !is_exact {
                    pending.start(
                        me,
                        image.vote(),
                        upto(image.committed.max(image.applied).as_ref()),
                        image.members,
                    );
                    (pending.is_halted, pending.is_blurred) = (is_halted, image.is_unsynced());
                    self.deviates = Some(me);
                    let why = if was_halted { DISK_REFUSED } else { KEPT_UNSYNCED };
                    return out.push(Event::Deviation(why));
                }
                let commit = upto(image.started.as_ref());
                let members = members_before(image, &image.journal.deeds);
                pending.start(me, image.durable.ballot(), commit, members);
                pending.is_halted = is_halted;
                out.push(Event::Action(Action::Restart { node: me, commit }));
                if pending.leads(me) {
                    out.push(Event::Action(Action::BecomeLeader { node: me }));
                }
            }
            // Of the step in which the disk refuses an operation, what it did by then stands: others may hear of it.
            _ if was_halted => return out.push(Event::Ignored(HALTED)),
            _ => pending.arrive(seen, me, out),
        }
        Teller::new(seen, me, pending, image, out).tell(view);
        if out.is_empty() {
            out.push(Event::Ignored(QUIET));
        }
    }
}

/// Tells a step.
struct Teller<'a> {
    me: NodeId,
    sends: &'a [(NodeId, Wire)],
    image: &'a Image,
    pending: &'a mut Pending,
    out: &'a mut Events,
}

impl<'a> Teller<'a> {
    fn new(
        seen: &Seen<'a, Openraft>,
        me: NodeId,
        pending: &'a mut Pending,
        image: &'a Image,
        out: &'a mut Events,
    ) -> Self {
        pending.matched.resize(seen.views.len(), 0);
        Self { me, sends: seen.sends, image, pending, out }
    }

    /// Tells what is in the journal, and each message at its place in it.
    fn tell(mut self, view: &View) {
        let journal = &self.image.journal;
        self.pending.find_answers(self.sends);
        let mut votes = vec![self.pending.vote];
        for deed in &journal.deeds {
            let vote = if let Deed::Vote(vote) = deed { Some(*vote) } else { votes[votes.len() - 1] };
            votes.push(vote);
        }
        let slot = |at: usize| place(&self.sends[at].1, journal.sends.get(at).copied().unwrap_or(0), &votes);
        let mut slots: Vec<(usize, usize)> = (0..self.sends.len()).map(|at| (slot(at), at)).collect();
        slots.sort_unstable();
        let mut slots = slots.into_iter().peekable();
        for (at, vote) in votes.iter().enumerate() {
            self.pending.vote = *vote;
            while let Some((_, send)) = slots.next_if(|(slot, _)| *slot <= at) {
                self.sent(send);
            }
            if let Some(deed) = journal.deeds.get(at) {
                self.did(deed, &journal.deeds[at + 1..]);
            }
        }
        self.pending.requests.retain(|request| request.answer.is_none());
        if !self.image.is_waited_for() {
            while let Some(answer) = self.pending.answers.pop_front() {
                self.heard(answer);
            }
            if self.leads() && view.role() != ServerState::Leader && !self.pending.is_halted {
                self.push(Action::StepDown { node: self.me });
                self.pending.has_left = true;
            }
        }
    }

    fn push(&mut self, action: Action) {
        self.out.push(Event::Action(action));
    }

    fn leads(&self) -> bool {
        self.pending.leads(self.me)
    }

    /// A message that the node sent, and before it the request that it answers.
    fn sent(&mut self, at: usize) {
        let (to, wire) = &self.sends[at];
        let mut since = u32::MAX;
        if let Some(request) = self.pending.requests.iter().position(|request| request.answer == Some(at)) {
            self.deal_before(request);
            self.deal(request);
            since = self.pending.requests[request].since;
        }
        let Some(message) = to_model(wire) else { return };
        let present = term(self.pending.vote);
        // The vote in an answer to a part of a snapshot is read first, and the part taken when the node comes to it.
        let is_old = matches!(message, Message::Note { term } if (since..present).contains(&term));
        if is_old || is_late(&message, present, self.pending.has_left) {
            self.out.push(Event::Ignored(LATE));
        } else {
            self.push(Action::Send(Envelope { from: self.me, to: *to, message }));
        }
    }

    /// Tells a request that is dealt with, by what is answered to it in this step, if it is.
    fn deal(&mut self, at: usize) {
        let request = &self.pending.requests[at];
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
            self.pending.requests[at].is_told = true;
            self.out.push(Event::Ignored(REFUSED));
        }
    }

    fn deliver(&mut self, at: usize) {
        let (me, commit) = (self.me, self.pending.commit);
        let request = &mut self.pending.requests[at];
        request.is_told = true;
        let mut message = request.message.clone();
        let answer = request.answer.map(|at| &self.sends[at].1.body);
        let is_refused = matches!(answer, Some(Body::Appended(AppendEntriesResponse::Conflict)));
        // A node that never had a membership lacks entry 0, which is the beginning of every log of the model.
        if matches!(message, Message::Append { previous: (0, _), .. }) && is_refused {
            let envelope = Envelope { from: request.from, to: me, message };
            return self.push(Action::Hear(envelope));
        }
        match &mut message {
            Message::Append { commit: learned, .. } => *learned = commit.min(*learned),
            Message::Snapshot { last, .. } => self.pending.commit = commit.max(last.0),
            _ => {}
        }
        let envelope = Envelope { from: request.from, to: me, message };
        self.push(Action::Deliver(envelope));
    }

    /// Tells requests that are answered in this step, as they are dealt with before that one. Snapshots have a way of
    /// their own.
    fn deal_before(&mut self, at: usize) {
        for earlier in 0..at {
            let request = &self.pending.requests[earlier];
            if request.answer.is_some() && !matches!(request.message, Message::Snapshot { .. }) {
                self.deal(earlier);
            }
        }
    }

    /// Tells requests of the present term that are answered in this step: the node is to leave it.
    fn deal_with_term(&mut self) {
        let present = term(self.pending.vote);
        for at in 0..self.pending.requests.len() {
            let request = &self.pending.requests[at];
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
                self.pending.is_blurred = false;
                self.push(Action::Persist { node: self.me });
            }
            Deed::Vote(vote) => self.voted(*vote, next),
            Deed::Append(entries) if self.leads() => self.took(entries),
            Deed::Append(entries) => self.appended(entries),
            Deed::Truncate(from) => self.truncated(*from, next),
            Deed::Purge(upto) => {
                let (present, upto) = (term(self.pending.vote), upto.index as u32);
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
        self.pending.requests.iter().position(which)
    }

    fn voted(&mut self, vote: Vote, next: &[Deed]) {
        let (before, now) = (term(self.pending.vote), rank_of(&vote));
        let owner = peer(vote.leader_id.node_id);
        if owner == Some(self.me) && vote.committed {
            self.pending.lead(members_before(self.image, next));
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
                let message = self.pending.requests[at].message.clone();
                self.push(Action::Hear(Envelope { from: owner, to: self.me, message }));
            }
            // A task was told of it before, and tells the node now.
            None => {
                let message = Message::Note { term: now };
                self.push(Action::Hear(Envelope { from: owner, to: self.me, message }));
            }
        }
    }

    /// A leader has written entries.
    fn took(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.push(Action::Propose { node: self.me, value: to_entry(entry).value });
            if let EntryPayload::Membership(membership) = &entry.payload {
                let members = Members { id: Some(entry.log_id), configuration: configuration(membership) };
                self.pending.reconfigure(members);
            }
        }
    }

    /// A follower has written entries: the end of those of a request.
    fn appended(&mut self, new: &[Entry]) {
        let present = term(self.pending.vote);
        let last = new.last().map_or(0, |entry| entry.log_id.index as u32);
        let new: Vec<_> = new.iter().filter(|entry| entry.log_id.index > 0).map(to_entry).collect();
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
        let (present, from) = (term(self.pending.vote), from as u32);
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
        } else if !matches!(
            next.iter().find(|deed| !matches!(deed, Deed::Sync)),
            Some(Deed::Append(_) | Deed::Purge(_))
        ) {
            self.out.push(Event::Unmapped("entries are cut off that nothing conflicts with"));
        }
    }

    /// The node knows that more is committed: a leader by answers, of which it has dealt with so many as that takes.
    fn committed(&mut self, index: u32) {
        if index <= self.pending.commit {
            return;
        }
        self.pending.commit = index;
        if !self.leads() {
            return self.push(Action::LearnCommit { node: self.me, index });
        }
        while !self.pending.has_majority(self.me, index)
            && let Some(answer) =
                self.pending.answers.pop_front().or_else(|| self.pending.uncertain.pop_front())
        {
            self.heard(answer);
        }
        self.push(Action::AdvanceCommit { node: self.me });
    }

    /// A leader deals with an answer.
    fn heard(&mut self, envelope: Envelope) {
        let present = term(self.pending.vote);
        if envelope.message.term() > present {
            return self.out.push(Event::Ignored(REFUSED));
        }
        if let Message::AppendReply { term, matched: Some(index), .. } = envelope.message
            && term == present
        {
            let matched = &mut self.pending.matched[usize::from(envelope.from)];
            *matched = index.max(*matched);
        }
        self.push(Action::Deliver(envelope));
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

/// Whether a node that leads no more sends what it could have sent when it led: in a later term, or without its membership.
/// A task reads entries when it sends them: what a later leader has put into the log in their place is no such thing.
fn is_late(message: &Message, term: u32, has_left: bool) -> bool {
    let was_leader = |its: u32| its < term || has_left && its == term;
    match message {
        Message::Append { term: its, previous, entries, .. } if was_leader(*its) => {
            let terms =
                || [previous.1].into_iter().chain(entries.iter().map(|entry| entry.term)).chain([*its]);
            terms().zip(terms().skip(1)).all(|(one, next)| one <= next)
        }
        Message::Snapshot { term: its, last } => was_leader(*its) && last.1 <= *its,
        _ => false,
    }
}

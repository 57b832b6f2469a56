//! What a node has been given and not dealt with: the library deals with nothing while it waits for its disk.

use super::messages::{peer, rank_of, to_model};
use super::{Events, REFUSED, STALE, UNHEARD};
use crate::image::{Image, Summary};
use crate::journal::Deed;
use crate::members::Members;
use crate::message::{Body, Origin, Wire};
use crate::system::Openraft;
use crate::types::Vote;
use misrule_models::raft::{Action, Envelope, Message};
use misrule_models::{Event, NodeId};
use misrule_world::{Input, Seen};
use std::collections::VecDeque;

/// A request that the node has not answered.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) from: NodeId,
    origin: Origin,
    number: u64,
    pub(super) message: Message,
    /// The node's term when it came.
    pub(super) since: u32,
    /// Whether it can be dealt with: a part of a snapshot that is not the last one cannot.
    pub(super) is_whole: bool,
    pub(super) is_told: bool,
    /// Which of the messages that the node sends in this step answers it.
    pub(super) answer: Option<usize>,
}

/// What a node has been given and not dealt with, and what it was.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) requests: VecDeque<Request>,
    /// Answers to what it sent as a leader.
    pub(super) answers: VecDeque<Envelope>,
    /// Those that had come when the leader wrote another membership. It may have dealt with them by then, which nobody
    /// sees unless it commits by them; it drops those with which it had not.
    pub(super) uncertain: VecDeque<Envelope>,
    /// Up to where each node has acknowledged the entries of this leader, by the answers that are dealt with.
    pub(super) matched: Vec<u32>,
    /// Of a leader, the membership that it goes by.
    pub(super) members: Members,
    /// Whether it leads no more although its vote is its own: it is no member.
    pub(super) has_left: bool,
    pub(super) vote: Option<Vote>,
    pub(super) commit: u32,
    /// Whether its disk has refused an operation.
    pub(super) is_halted: bool,
    /// Of a node that has stopped, what was surely on its disk; nothing where it stopped in the middle of a step.
    pub(super) kept: Option<Summary>,
    /// Whether the model takes for synced what is not.
    pub(super) is_blurred: bool,
}

/// A vote as a term of the model.
pub(super) fn term(vote: Option<Vote>) -> u32 {
    vote.as_ref().map_or(0, rank_of)
}

/// The membership of a node before it has done what comes `next` in its step.
pub(super) fn members_before(image: &Image, next: &[Deed]) -> Members {
    let appended = next.iter().find_map(|deed| if let Deed::Append(new) = deed { new.first() } else { None });
    appended.map_or(image.members, |first| image.members_below(first.log_id.index))
}

impl Pending {
    /// A node with this vote, commit index and membership starts.
    pub(super) fn start(&mut self, me: NodeId, vote: Option<Vote>, commit: u32, members: Members) {
        *self = Self { members, vote, commit, ..Self::default() };
        self.has_left = self.leads(me) && !members.configuration.has_member(me);
    }

    /// The node stops in the middle of a step.
    pub(super) fn die(&mut self) {
        self.kept = None;
    }

    pub(super) fn leads(&self, me: NodeId) -> bool {
        !self.has_left
            && self.vote.is_some_and(|vote| vote.committed && peer(vote.leader_id.node_id) == Some(me))
    }

    /// Something arrives.
    pub(super) fn arrive(&mut self, seen: &Seen<'_, Openraft>, me: NodeId, out: &mut Events) {
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
        } else if !is_vote && self.leads(me) && wire.asked.members != self.members.id {
            out.push(Event::Ignored(STALE));
        } else if !is_vote {
            self.answers.push_back(envelope);
        } else if envelope.message.term() <= term(self.vote) {
            out.push(Event::Action(Action::Deliver(envelope)));
        } else {
            out.push(Event::Ignored(REFUSED));
        }
    }

    /// Finds which of the messages sent answer which requests: the first one is answered first.
    pub(super) fn find_answers(&mut self, sends: &[(NodeId, Wire)]) {
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

    /// A node begins to lead.
    pub(super) fn lead(&mut self, members: Members) {
        (self.members, self.has_left) = (members, false);
        self.matched.fill(0);
        self.uncertain.clear();
    }

    /// A leader goes by another membership.
    pub(super) fn reconfigure(&mut self, members: Members) {
        let before = std::mem::replace(&mut self.members, members).configuration;
        let stays = |node: NodeId| before.has_member(node) && members.configuration.has_member(node);
        self.uncertain.append(&mut self.answers);
        self.uncertain.retain(|answer| stays(answer.from));
        for (node, matched) in (0..).zip(&mut self.matched) {
            if !stays(node) {
                *matched = 0;
            }
        }
    }

    /// Whether entries up to an index have a majority: of those that have acknowledged them, and the node itself.
    pub(super) fn has_majority(&self, me: NodeId, index: u32) -> bool {
        let has = |(node, matched): (NodeId, &u32)| u64::from(node == me || *matched >= index) << node;
        let set = (0..).zip(&self.matched).fold(0, |set, it| set | has(it));
        self.members.configuration.is_quorum(set)
    }
}

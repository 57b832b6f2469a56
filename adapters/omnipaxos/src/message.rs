//! What the adapter reads of a message: its kind, its receiver, and the numbers that lenses compare.

use crate::compat;
use crate::system::Value;
use misrule_models::NodeId;
use misrule_world::mix;
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::messages::Message;
use omnipaxos::messages::ballot_leader_election::{BLEMessage, HeartbeatMsg, HeartbeatRequest};
use omnipaxos::messages::sequence_paxos::{Compaction, PaxosMsg};
use omnipaxos::util::SequenceNumber;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

/// A message on its way. The crate's own type is large; this one moves and clones at little cost.
#[derive(Clone)]
pub struct Wire(Rc<Packed>);

#[derive(Clone)]
struct Packed {
    kind: Kind,
    message: Message<Value>,
}

impl Wire {
    /// The crate's message.
    pub fn message(&self) -> &Message<Value> {
        &self.0.message
    }

    /// The message's kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }
}

/// Memory of messages that have arrived, for the next ones: most messages live for some dozen steps only.
#[derive(Default)]
pub(crate) struct Packing(VecDeque<Rc<Packed>>);

impl fmt::Debug for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Packing").field(&self.0.len()).finish()
    }
}

impl Packing {
    /// The receiver and the message for it; `None` for an address that no node can have.
    #[inline]
    pub(crate) fn pack(&mut self, message: Message<Value>) -> (Option<NodeId>, Wire) {
        let to = message.get_receiver().checked_sub(1).and_then(|node| NodeId::try_from(node).ok());
        let kind = Kind::of(&message);
        let Some(mut packed) = self.0.pop_front() else {
            return (to, Wire(Rc::new(Packed { kind, message })));
        };
        if let Some(place) = Rc::get_mut(&mut packed) {
            place.kind = kind;
            // Taken apart: most messages are heartbeats, of which there is less to copy.
            place.message = match message {
                Message::BLE(message) => Message::BLE(message),
                Message::SequencePaxos(message) => Message::SequencePaxos(message),
            };
            return (to, Wire(packed));
        }
        // Whoever watches the step still looks at it; later nobody does.
        self.0.push_back(packed);
        (to, Wire(Rc::new(Packed { kind, message })))
    }

    /// The crate's message, copied only where someone else still looks at it.
    #[inline]
    pub(crate) fn unpack(&mut self, mut wire: Wire) -> Message<Value> {
        if let Some(packed) = Rc::get_mut(&mut wire.0) {
            let message = std::mem::replace(&mut packed.message, empty());
            // The next to be used: its memory is in the cache.
            self.0.push_front(wire.0);
            return message;
        }
        let message = wire.0.message.clone();
        self.0.push_back(wire.0);
        message
    }
}

/// A message that owns no memory.
fn empty() -> Message<Value> {
    let msg = HeartbeatMsg::Request(HeartbeatRequest { round: 0 });
    Message::BLE(BLEMessage { from: 0, to: 0, msg })
}

impl fmt::Debug for Wire {
    /// The content only: whoever shows a message shows sender and receiver.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            Message::BLE(message) => message.msg.fmt(f),
            Message::SequencePaxos(message) => message.msg.fmt(f),
        }
    }
}

/// The kinds of messages; the numbers are positions in the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "named after the crate's messages")]
pub enum Kind {
    HeartbeatRequest,
    HeartbeatReply,
    PrepareReq,
    Prepare,
    Promise,
    AcceptSync,
    AcceptDecide,
    Accepted,
    NotAccepted,
    Decide,
    ProposalForward,
    Compaction,
    AcceptStopSign,
    ForwardStopSign,
}

/// The names of the kinds.
pub(crate) const KINDS: [&str; 14] = [
    "HeartbeatRequest",
    "HeartbeatReply",
    "PrepareReq",
    "Prepare",
    "Promise",
    "AcceptSync",
    "AcceptDecide",
    "Accepted",
    "NotAccepted",
    "Decide",
    "ProposalForward",
    "Compaction",
    "AcceptStopSign",
    "ForwardStopSign",
];

impl Kind {
    /// The kind of `message`.
    pub fn of(message: &Message<Value>) -> Self {
        match message {
            Message::BLE(message) => match message.msg {
                HeartbeatMsg::Request(_) => Self::HeartbeatRequest,
                HeartbeatMsg::Reply(_) => Self::HeartbeatReply,
            },
            // Release 0.2.0 has `PrepareReq` without content and no `NotAccepted`, the kind left over here.
            #[allow(unreachable_patterns, clippy::match_wildcard_for_single_variants, reason = "see above")]
            Message::SequencePaxos(message) => match message.msg {
                PaxosMsg::PrepareReq { .. } => Self::PrepareReq,
                PaxosMsg::Prepare(_) => Self::Prepare,
                PaxosMsg::Promise(_) => Self::Promise,
                PaxosMsg::AcceptSync(_) => Self::AcceptSync,
                PaxosMsg::AcceptDecide(_) => Self::AcceptDecide,
                PaxosMsg::Accepted(_) => Self::Accepted,
                PaxosMsg::Decide(_) => Self::Decide,
                PaxosMsg::ProposalForward(_) => Self::ProposalForward,
                PaxosMsg::Compaction(_) => Self::Compaction,
                PaxosMsg::AcceptStopSign(_) => Self::AcceptStopSign,
                PaxosMsg::ForwardStopSign(_) => Self::ForwardStopSign,
                _ => Self::NotAccepted,
            },
        }
    }

    /// Whether this is leader election, which talks all the time.
    pub fn is_heartbeat(self) -> bool {
        matches!(self, Self::HeartbeatRequest | Self::HeartbeatReply)
    }
}

/// A ballot as a number in the order of ballots. The priority is 0 everywhere.
pub(crate) fn rank(ballot: Option<Ballot>) -> u64 {
    ballot.map_or(0, |ballot| u64::from(ballot.n) << 8 | ballot.pid)
}

/// The numbers of a message that lenses compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The ballot's rank; `None` where the message has no ballot.
    pub(crate) ballot: Option<u64>,
    /// The number in the leader's sequence of accepts.
    pub(crate) sequence: Option<SequenceNumber>,
    /// The log position that the message speaks of: the length of the log it brings or reports, or the index
    /// it decides or trims.
    pub(crate) index: Option<usize>,
}

impl Facts {
    /// The facts of `message`. Heartbeats have only a ballot.
    pub(crate) fn of(message: &Message<Value>) -> Self {
        let (ballot, sequence, index) = match message {
            Message::BLE(message) => match &message.msg {
                HeartbeatMsg::Request(_) => (None, None, None),
                HeartbeatMsg::Reply(reply) => (Some(reply.ballot), None, None),
            },
            Message::SequencePaxos(message) => match &message.msg {
                PaxosMsg::Prepare(m) => (Some(m.n), None, Some(compat::index(m.accepted_idx))),
                PaxosMsg::Promise(m) => (Some(m.n), None, Some(compat::index(m.accepted_idx))),
                PaxosMsg::AcceptSync(m) => {
                    let (from, entries) = compat::accept_sync(m);
                    (Some(m.n), Some(m.seq_num), Some(from + entries.len()))
                }
                PaxosMsg::AcceptDecide(m) => (Some(m.n), Some(m.seq_num), Some(compat::index(m.decided_idx))),
                PaxosMsg::Accepted(m) => (Some(m.n), None, Some(compat::index(m.accepted_idx))),
                PaxosMsg::Decide(m) => (Some(m.n), Some(m.seq_num), Some(compat::index(m.decided_idx))),
                PaxosMsg::AcceptStopSign(m) => (Some(m.n), Some(m.seq_num), None),
                PaxosMsg::Compaction(Compaction::Trim(to)) => (None, None, Some(compat::index(*to))),
                other => (compat::asked_ballot(other), None, None),
            },
        };
        Self { ballot: ballot.map(|ballot| rank(Some(ballot))), sequence, index }
    }
}

/// A hash of a message's whole content.
pub(crate) fn content(message: &Message<Value>) -> u64 {
    let facts = Facts::of(message);
    let sequence = facts.sequence.unwrap_or_default();
    let numbers = [
        Kind::of(message) as u64,
        facts.ballot.unwrap_or_default(),
        sequence.session << 32 | sequence.counter,
        facts.index.map_or(0, |index| index as u64 + 1),
    ];
    numbers.into_iter().fold(rest(message), |hash, number| mix(hash.rotate_left(7) ^ number))
}

/// A hash of what is not in the facts.
fn rest(message: &Message<Value>) -> u64 {
    match message {
        Message::BLE(message) => match &message.msg {
            HeartbeatMsg::Request(request) => u64::from(request.round),
            HeartbeatMsg::Reply(reply) => u64::from(reply.round),
        },
        Message::SequencePaxos(message) => match &message.msg {
            PaxosMsg::Prepare(m) => mix(rank(Some(m.n_accepted))) ^ compat::index(m.decided_idx) as u64,
            PaxosMsg::Promise(m) => {
                let (from, entries) = compat::promise_sync(m).unwrap_or_default();
                let round = mix(rank(Some(m.n_accepted))) ^ compat::index(m.decided_idx) as u64;
                mix(round ^ hash(from, entries))
            }
            PaxosMsg::AcceptSync(m) => {
                let (from, entries) = compat::accept_sync(m);
                mix(hash(from, entries) ^ compat::index(m.decided_idx) as u64)
            }
            PaxosMsg::AcceptDecide(m) => hash(0, &m.entries),
            PaxosMsg::ProposalForward(entries) => hash(0, entries),
            _ => 0,
        },
    }
}

fn hash(from: usize, entries: &[Value]) -> u64 {
    entries.iter().fold(mix(from as u64), |hash, entry| mix(hash.rotate_left(7) ^ u64::from(entry.0)))
}

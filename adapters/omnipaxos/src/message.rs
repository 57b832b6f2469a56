//! What the adapter reads of a message: its kind, its receiver, and the numbers that lenses compare.

use crate::compat;
use crate::system::Value;
use misrule_models::NodeId;
use misrule_world::mix;
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::messages::Message;
use omnipaxos::messages::ballot_leader_election::{BLEMessage, HeartbeatMsg};
use omnipaxos::messages::sequence_paxos::{Compaction, PaxosMessage, PaxosMsg};
use omnipaxos::util::SequenceNumber;
use std::fmt;
use std::rc::Rc;

/// A message on its way. Heartbeats are most of them, and small; of the others the crate's own type is large, and
/// behind a pointer so that links move and copy it at little cost.
#[derive(Clone)]
pub enum Wire {
    /// Of the ballot leader election.
    Heartbeat(BLEMessage),
    /// Of Sequence Paxos.
    Paxos(Rc<PaxosMessage<Value>>),
}

impl Wire {
    /// The receiver and the message for it; `None` for an address that no node can have.
    #[inline]
    pub(crate) fn pack(message: Message<Value>) -> (Option<NodeId>, Self) {
        let (to, wire) = match message {
            Message::BLE(message) => (message.to, Self::Heartbeat(message)),
            Message::SequencePaxos(message) => (message.to, Self::Paxos(Rc::new(message))),
        };
        (to.checked_sub(1).and_then(|node| NodeId::try_from(node).ok()), wire)
    }

    /// The crate's message, copied only where someone else still looks at it.
    #[inline]
    pub(crate) fn unpack(self) -> Message<Value> {
        match self {
            Self::Heartbeat(message) => Message::BLE(message),
            Self::Paxos(message) => {
                Message::SequencePaxos(Rc::try_unwrap(message).unwrap_or_else(|shared| (*shared).clone()))
            }
        }
    }

    /// The message's kind.
    #[inline]
    pub fn kind(&self) -> Kind {
        Kind::of(self)
    }
}

impl fmt::Debug for Wire {
    /// The content only: whoever shows a message shows sender and receiver.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heartbeat(message) => message.msg.fmt(f),
            Self::Paxos(message) => message.msg.fmt(f),
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
    #[inline]
    pub fn of(message: &Wire) -> Self {
        match message {
            Wire::Heartbeat(message) => match message.msg {
                HeartbeatMsg::Request(_) => Self::HeartbeatRequest,
                HeartbeatMsg::Reply(_) => Self::HeartbeatReply,
            },
            // Release 0.2.0 has `PrepareReq` without content and no `NotAccepted`, the kind left over here.
            #[allow(unreachable_patterns, clippy::match_wildcard_for_single_variants, reason = "see above")]
            Wire::Paxos(message) => match message.msg {
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
    pub(crate) fn of(message: &Wire) -> Self {
        let (ballot, sequence, index) = match message {
            Wire::Heartbeat(message) => match &message.msg {
                HeartbeatMsg::Request(_) => (None, None, None),
                HeartbeatMsg::Reply(reply) => (Some(reply.ballot), None, None),
            },
            Wire::Paxos(message) => match &message.msg {
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
pub(crate) fn content(message: &Wire) -> u64 {
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
fn rest(message: &Wire) -> u64 {
    match message {
        Wire::Heartbeat(message) => match &message.msg {
            HeartbeatMsg::Request(request) => u64::from(request.round),
            HeartbeatMsg::Reply(reply) => u64::from(reply.round),
        },
        Wire::Paxos(message) => match &message.msg {
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

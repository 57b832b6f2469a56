//! Messages on their way, and what the adapter reads of one: its kind, its receiver, and the numbers that lenses
//! compare.

use crate::command::Command;
use crate::compat;
use crate::image::chain;
use misrule_models::NodeId;
use misrule_world::mix;
use raft::eraftpb::{Message, MessageType};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

/// A message on its way. The crate's own type is large; this one moves and clones at little cost.
#[derive(Clone)]
pub struct Wire(Rc<Message>);

impl Wire {
    /// The crate's message.
    pub fn message(&self) -> &Message {
        &self.0
    }

    /// The message's kind.
    pub fn kind(&self) -> Kind {
        Kind::of(&self.0)
    }
}

/// Memory of messages that have arrived, for the next ones: most messages live for some dozen steps only.
#[derive(Default)]
pub(crate) struct Packing(VecDeque<Rc<Message>>);

impl fmt::Debug for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Packing").field(&self.0.len()).finish()
    }
}

impl Packing {
    /// The receiver and the message for it; `None` for an address that no node can have.
    pub(crate) fn pack(&mut self, message: Message) -> (Option<NodeId>, Wire) {
        let to = message.to.checked_sub(1).and_then(|node| NodeId::try_from(node).ok());
        let Some(mut packed) = self.0.pop_front() else { return (to, Wire(Rc::new(message))) };
        if let Some(place) = Rc::get_mut(&mut packed) {
            *place = message;
            return (to, Wire(packed));
        }
        // Whoever watches the step still looks at it; later nobody does.
        self.0.push_back(packed);
        (to, Wire(Rc::new(message)))
    }

    /// The crate's message, copied only where someone else still looks at it.
    pub(crate) fn unpack(&mut self, mut wire: Wire) -> Message {
        if let Some(packed) = Rc::get_mut(&mut wire.0) {
            let message = std::mem::take(packed);
            // The next to be used: its memory is in the cache.
            self.0.push_front(wire.0);
            return message;
        }
        let message = Message::clone(&wire.0);
        self.0.push_back(wire.0);
        message
    }
}

impl fmt::Debug for Wire {
    /// The content only: whoever shows a message shows sender and receiver. Numbers that are 0 are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message();
        f.write_str(KINDS[self.kind() as usize])?;
        let numbers = [
            ("term", message.term),
            ("index", message.index),
            ("log_term", message.log_term),
            ("commit", message.commit),
            ("commit_term", compat::commit_term(message)),
            ("hint", message.reject_hint),
        ];
        for (name, number) in numbers.into_iter().filter(|(_, number)| *number > 0) {
            write!(f, " {name}={number}")?;
        }
        for entry in &message.entries {
            write!(f, " {}", Shown(entry))?;
        }
        if !message.context.is_empty() {
            write!(f, " context={}", Hex(&message.context))?;
        }
        if self.kind() == Kind::Snapshot {
            let metadata = message.get_snapshot().get_metadata();
            write!(f, " up to {}@{}", metadata.index, metadata.term)?;
            write!(f, " conf={}", compat::read_conf(metadata.get_conf_state()))?;
        }
        f.write_str(if message.reject { " rejected" } else { "" })
    }
}

/// An entry as people read it: index, term and content.
pub(crate) struct Shown<'a>(pub(crate) &'a raft::eraftpb::Entry);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = self.0;
        write!(f, "{}@{}", entry.index, entry.term)?;
        match Command::of(entry) {
            Some(command) => write!(f, ":{command}"),
            None if entry.data.is_empty() => Ok(()),
            None => write!(f, ":{}", Hex(&entry.data)),
        }
    }
}

/// Bytes as hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The kinds of messages; the numbers are positions in the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "named after the crate's messages")]
pub enum Kind {
    Propose,
    Append,
    AppendResponse,
    RequestVote,
    RequestVoteResponse,
    Snapshot,
    Heartbeat,
    HeartbeatResponse,
    TransferLeader,
    TimeoutNow,
    ReadIndex,
    ReadIndexResponse,
    RequestPreVote,
    RequestPreVoteResponse,
    /// What a node tells itself only: such a message on a link is an error.
    Local,
}

/// The names of the kinds.
pub(crate) const KINDS: [&str; 15] = [
    "Propose",
    "Append",
    "AppendResponse",
    "RequestVote",
    "RequestVoteResponse",
    "Snapshot",
    "Heartbeat",
    "HeartbeatResponse",
    "TransferLeader",
    "TimeoutNow",
    "ReadIndex",
    "ReadIndexResponse",
    "RequestPreVote",
    "RequestPreVoteResponse",
    "Local",
];

impl Kind {
    /// The kind of `message`.
    pub fn of(message: &Message) -> Self {
        match message.msg_type {
            MessageType::MsgPropose => Self::Propose,
            MessageType::MsgAppend => Self::Append,
            MessageType::MsgAppendResponse => Self::AppendResponse,
            MessageType::MsgRequestVote => Self::RequestVote,
            MessageType::MsgRequestVoteResponse => Self::RequestVoteResponse,
            MessageType::MsgSnapshot => Self::Snapshot,
            MessageType::MsgHeartbeat => Self::Heartbeat,
            MessageType::MsgHeartbeatResponse => Self::HeartbeatResponse,
            MessageType::MsgTransferLeader => Self::TransferLeader,
            MessageType::MsgTimeoutNow => Self::TimeoutNow,
            MessageType::MsgReadIndex => Self::ReadIndex,
            MessageType::MsgReadIndexResp => Self::ReadIndexResponse,
            MessageType::MsgRequestPreVote => Self::RequestPreVote,
            MessageType::MsgRequestPreVoteResponse => Self::RequestPreVoteResponse,
            MessageType::MsgHup
            | MessageType::MsgBeat
            | MessageType::MsgUnreachable
            | MessageType::MsgSnapStatus
            | MessageType::MsgCheckQuorum => Self::Local,
        }
    }

    /// Whether this is what a leader says all the time, or its answer.
    pub fn is_heartbeat(self) -> bool {
        matches!(self, Self::Heartbeat | Self::HeartbeatResponse)
    }
}

/// The numbers of a message that lenses compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The term; `None` where the message has none.
    pub(crate) term: Option<u64>,
    /// The log position that the message speaks of: the length of the log it brings or reports, or the index that
    /// it commits.
    pub(crate) index: Option<u64>,
}

impl Facts {
    /// The facts of `message`.
    pub(crate) fn of(message: &Message) -> Self {
        let index = match Kind::of(message) {
            Kind::Append => Some(message.index + message.entries.len() as u64),
            Kind::AppendResponse if message.reject => Some(message.reject_hint),
            Kind::AppendResponse | Kind::RequestVote | Kind::RequestPreVote | Kind::ReadIndexResponse => {
                Some(message.index)
            }
            Kind::Heartbeat => Some(message.commit),
            Kind::Snapshot => Some(message.get_snapshot().get_metadata().index),
            _ => None,
        };
        Self { term: Some(message.term).filter(|term| *term > 0), index }
    }
}

/// A hash of a message's whole content, but for sender and receiver.
pub(crate) fn content(message: &Message) -> u64 {
    let numbers = [
        message.msg_type as u64,
        message.term,
        message.log_term,
        message.index,
        message.commit,
        compat::commit_term(message),
        message.reject_hint << 1 | u64::from(message.reject),
        message.get_snapshot().get_metadata().index,
    ];
    let hash = numbers.into_iter().fold(0, |hash: u64, number| mix(hash.rotate_left(7) ^ number));
    let hash = message.entries.iter().fold(hash, chain);
    message.context.iter().fold(hash, |hash, byte| mix(hash ^ u64::from(*byte)))
}

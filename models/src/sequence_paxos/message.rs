//! Ballots, sequence numbers, messages and the outbox in which an action leaves what it sends.

use crate::NodeId;
use std::fmt;

/// A ballot, ordered by number and then by its owner. The zero ballot belongs to nobody.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ballot {
    /// The number, from 1.
    pub n: u32,
    /// The owner, counted from 1 as the crate does; 0 for the zero ballot.
    pub pid: u8,
}

impl Ballot {
    /// The ballot below all others.
    pub const ZERO: Self = Self { n: 0, pid: 0 };

    /// The ballot `n` of `node`, which is counted from 0.
    pub fn of(n: u32, node: NodeId) -> Self {
        Self { n, pid: node + 1 }
    }

    /// The place of the owner, counted from 0; `None` for the zero ballot.
    pub fn owner(self) -> Option<NodeId> {
        self.pid.checked_sub(1)
    }

    /// The ballot as one number, in the same order.
    pub fn rank(self) -> u64 {
        u64::from(self.n) << 8 | u64::from(self.pid)
    }
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.n, self.pid)
    }
}

impl fmt::Debug for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The place of a message in the accept sequence from a leader to one follower; all zero without
/// [`Rules::sequence_numbers`](super::Rules::sequence_numbers).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence {
    /// Counts the `AcceptSync`s to this follower within the ballot.
    pub session: u32,
    /// Counts the messages of the session, its `AcceptSync` being 1.
    pub counter: u32,
}

/// Entries that replace everything from index `at` on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogSync {
    /// How much of the receiver's log stays.
    pub at: u32,
    /// What follows.
    pub entries: Vec<u32>,
}

/// A message with its contents, spelled as omnipaxos spells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    /// A leader asks for a promise and says how far its own log goes.
    Prepare {
        /// The leader's ballot.
        n: Ballot,
        /// The round in which the leader's log was accepted.
        accepted_round: Ballot,
        /// The length of the leader's log.
        accepted: u32,
        /// The leader's decided index.
        decided: u32,
    },
    /// The answer to `Prepare`, with what the leader lacks.
    Promise {
        /// The promised ballot.
        n: Ballot,
        /// The round in which the sender's log was accepted.
        accepted_round: Ballot,
        /// The length of the sender's log.
        accepted: u32,
        /// The sender's decided index.
        decided: u32,
        /// What the leader lacks, where the sender's log is more up to date.
        sync: Option<LogSync>,
    },
    /// The leader brings a promised follower's log in line with its own.
    AcceptSync {
        /// The leader's ballot.
        n: Ballot,
        /// The first number of a new session.
        sequence: Sequence,
        /// The leader's decided index; 0 without [`Rules::decided_in_accept`](super::Rules::decided_in_accept).
        decided: u32,
        /// The entries and where they go.
        sync: LogSync,
    },
    /// New entries; the paper's `Accept`.
    AcceptDecide {
        /// The leader's ballot.
        n: Ballot,
        /// The next number of the session.
        sequence: Sequence,
        /// The leader's decided index; 0 without [`Rules::decided_in_accept`](super::Rules::decided_in_accept).
        decided: u32,
        /// The entries to append.
        entries: Vec<u32>,
    },
    /// The sender's log has this length in this round.
    Accepted {
        /// The round.
        n: Ballot,
        /// The length of the sender's log.
        accepted: u32,
    },
    /// The sender has promised a higher ballot.
    NotAccepted {
        /// The sender's promise.
        n: Ballot,
    },
    /// Entries up to an index are decided.
    Decide {
        /// The leader's ballot.
        n: Ballot,
        /// The next number of the session.
        sequence: Sequence,
        /// The decided index.
        decided: u32,
    },
    /// The sender recovers or has lost messages and asks for a `Prepare`.
    PrepareReq {
        /// The sender's promise; zero without [`Rules::guarded_prepare_req`](super::Rules::guarded_prepare_req).
        n: Ballot,
    },
    /// Proposals on their way to the leader.
    ProposalForward {
        /// The proposals.
        entries: Vec<u32>,
    },
}

impl Message {
    /// The kinds, in the order of [`kind`](Self::kind).
    pub const KINDS: [&'static str; 9] = [
        "Prepare",
        "Promise",
        "AcceptSync",
        "AcceptDecide",
        "Accepted",
        "NotAccepted",
        "Decide",
        "PrepareReq",
        "ProposalForward",
    ];

    /// The kind as a small number, an index into [`KINDS`](Self::KINDS).
    pub fn kind(&self) -> u8 {
        match self {
            Self::Prepare { .. } => 0,
            Self::Promise { .. } => 1,
            Self::AcceptSync { .. } => 2,
            Self::AcceptDecide { .. } => 3,
            Self::Accepted { .. } => 4,
            Self::NotAccepted { .. } => 5,
            Self::Decide { .. } => 6,
            Self::PrepareReq { .. } => 7,
            Self::ProposalForward { .. } => 8,
        }
    }

    /// The ballot of the message; zero for proposals.
    pub fn ballot(&self) -> Ballot {
        match *self {
            Self::Prepare { n, .. }
            | Self::Promise { n, .. }
            | Self::AcceptSync { n, .. }
            | Self::AcceptDecide { n, .. }
            | Self::Accepted { n, .. }
            | Self::NotAccepted { n }
            | Self::Decide { n, .. }
            | Self::PrepareReq { n } => n,
            Self::ProposalForward { .. } => Ballot::ZERO,
        }
    }

    /// The place in the accept sequence, where the kind has one.
    pub fn sequence(&self) -> Option<Sequence> {
        match *self {
            Self::AcceptSync { sequence, .. }
            | Self::AcceptDecide { sequence, .. }
            | Self::Decide { sequence, .. } => Some(sequence),
            _ => None,
        }
    }

    /// The log index that the message speaks of: a length, a decided index, or where entries end.
    pub fn index(&self) -> Option<u32> {
        match self {
            Self::Prepare { accepted, .. }
            | Self::Promise { accepted, .. }
            | Self::Accepted { accepted, .. } => Some(*accepted),
            Self::AcceptSync { sync, .. } => Some(sync.at + sync.entries.len() as u32),
            Self::Decide { decided, .. } => Some(*decided),
            _ => None,
        }
    }

    /// Gives up the message for the space of its entries.
    pub fn into_entries(self) -> Option<Vec<u32>> {
        match self {
            Self::Promise { sync: Some(sync), .. } | Self::AcceptSync { sync, .. } => Some(sync.entries),
            Self::AcceptDecide { entries, .. } | Self::ProposalForward { entries } => Some(entries),
            _ => None,
        }
    }
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Envelope {
    /// The sender, counted from 0.
    pub from: NodeId,
    /// The receiver, counted from 0.
    pub to: NodeId,
    /// The contents.
    pub message: Message,
}

/// What the last action sent, in the order in which it was sent. Space for entries is used again.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    sent: Vec<Envelope>,
    spare: Vec<Vec<u32>>,
}

impl Outbox {
    pub(super) fn clear(&mut self) {
        while let Some(envelope) = self.sent.pop() {
            if let Some(entries) = envelope.message.into_entries() {
                self.give(entries);
            }
        }
    }

    /// Takes back used space.
    pub(super) fn give(&mut self, mut entries: Vec<u32>) {
        entries.clear();
        self.spare.push(entries);
    }

    /// A copy of `entries` in used space.
    pub(super) fn copy(&mut self, entries: &[u32]) -> Vec<u32> {
        let mut space = self.spare.pop().unwrap_or_default();
        space.extend_from_slice(entries);
        space
    }

    pub(super) fn push(&mut self, from: NodeId, to: NodeId, message: Message) {
        self.sent.push(Envelope { from, to, message });
    }

    pub(super) fn sent(&self) -> &[Envelope] {
        &self.sent
    }
}

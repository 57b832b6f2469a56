//! What servers say, and what stands in their logs.

use misrule_models::NodeId;

/// Entries of one message at most.
pub const BATCH: usize = 2;

/// What an entry holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payload {
    /// Nothing: what a leader begins its term with.
    #[default]
    Nothing,
    /// What a client appended: its session in the upper 8 bits and the number of its call; 0 where nobody waits.
    Command(u32),
    /// The servers of the configuration from this entry on: bit set.
    Members(u8),
}

/// An entry of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The term of the leader that made it, counted from 1.
    pub term: u32,
    /// What it holds.
    pub payload: Payload,
}

/// A message (Ongaro, Ousterhout 2014, figure 2). Indexes of entries count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A candidate asks for a vote.
    RequestVote {
        /// Its term.
        term: u32,
        /// How long its log is.
        last_index: u32,
        /// The term of its last entry; 0 for an empty log.
        last_term: u32,
    },
    /// The answer of a voter.
    Vote {
        /// Its term.
        term: u32,
        /// Whether the candidate has its vote.
        granted: bool,
    },
    /// Entries of a leader, or none: then it is a heartbeat.
    Append {
        /// Its term.
        term: u32,
        /// The index before the entries.
        prev_index: u32,
        /// The term of the entry there.
        prev_term: u32,
        /// How far the leader's log is committed.
        commit: u32,
        /// The leader's last round of heartbeats.
        round: u32,
        /// How many of the entries are there.
        count: u8,
        /// The entries.
        entries: [Entry; BATCH],
    },
    /// A follower's log is the leader's up to an index, on its disk.
    Appended {
        /// The follower's term.
        term: u32,
        /// Up to where.
        index: u32,
        /// The round that is answered.
        round: u32,
    },
    /// A follower has not the entry before those that it was sent, or knows of a later term.
    Rejected {
        /// The follower's term.
        term: u32,
        /// An index that the follower may have.
        index: u32,
    },
}

impl Message {
    /// The kinds, in the order of [`Message::kind`].
    pub const KINDS: [&'static str; 6] =
        ["RequestVote", "Vote", "Append", "Heartbeat", "Appended", "Rejected"];
    /// The position of heartbeats in [`Message::KINDS`].
    pub const HEARTBEAT: u8 = 3;

    /// The position in [`Message::KINDS`].
    #[inline]
    pub fn kind(&self) -> u8 {
        match self {
            Self::RequestVote { .. } => 0,
            Self::Vote { .. } => 1,
            Self::Append { count: 0, .. } => Self::HEARTBEAT,
            Self::Append { .. } => 2,
            Self::Appended { .. } => 4,
            Self::Rejected { .. } => 5,
        }
    }

    /// The sender's term.
    #[inline]
    pub fn term(&self) -> u32 {
        let (Self::RequestVote { term, .. }
        | Self::Vote { term, .. }
        | Self::Append { term, .. }
        | Self::Appended { term, .. }
        | Self::Rejected { term, .. }) = *self;
        term
    }

    /// The index that it speaks of, if any: the last one of a log or of entries.
    pub fn index(&self) -> Option<u32> {
        match *self {
            Self::RequestVote { last_index: index, .. }
            | Self::Appended { index, .. }
            | Self::Rejected { index, .. } => Some(index),
            Self::Append { prev_index, count, .. } => Some(prev_index + u32::from(count)),
            Self::Vote { .. } => None,
        }
    }
}

/// A set of servers as bits.
#[inline]
pub(crate) fn bit(node: NodeId) -> u8 {
    1 << node
}

//! Messages and entries.

use crate::NodeId;

/// An entry of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogEntry {
    /// The term in which a leader took it.
    pub term: u32,
    /// Which entry it is; 0 for the empty one of a new leader.
    pub value: u32,
}

impl From<LogEntry> for u64 {
    fn from(entry: LogEntry) -> Self {
        Self::from(entry.term) << 32 | Self::from(entry.value)
    }
}

/// A message with its contents. Indices count from 1; 0 stands for the beginning of the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    /// A candidate asks for a vote.
    Vote {
        /// The candidate's term.
        term: u32,
        /// Index and term of its last entry.
        last: (u32, u32),
    },
    /// The answer to `Vote`.
    VoteReply {
        /// The voter's term.
        term: u32,
        /// Whether the candidate has the vote.
        granted: bool,
    },
    /// A leader sends entries, or a heartbeat.
    Append {
        /// The leader's term.
        term: u32,
        /// Index and term of the entry before.
        previous: (u32, u32),
        /// What follows.
        entries: Vec<LogEntry>,
        /// The leader's commit index, as far as the message reaches.
        commit: u32,
    },
    /// The answer to `Append`.
    AppendReply {
        /// The follower's term.
        term: u32,
        /// Up to which index the logs agree; `None` where the entry before was another.
        matched: Option<u32>,
        /// Of a refusal with [`Rules::hints`](super::Rules::hints): the last entry of the follower that may be in the
        /// leader's log, as index and term; otherwise zeros.
        hint: (u32, u32),
    },
    /// A leader says that it leads; see [`Rules::heartbeats`](super::Rules::heartbeats) and
    /// [`Rules::reads`](super::Rules::reads).
    Heartbeat {
        /// The leader's term.
        term: u32,
        /// The leader's commit index, as far as the follower's log is known to agree.
        commit: u32,
        /// The newest read that waits at the leader; 0 where none does.
        read: u32,
    },
    /// The answer to `Heartbeat`.
    HeartbeatReply {
        /// The follower's term.
        term: u32,
        /// The read of the heartbeat; 0 where it had none, or was of an older term.
        read: u32,
    },
    /// A node asks whether it would get a vote; see [`Rules::pre_vote`](super::Rules::pre_vote).
    PreVote {
        /// The term in which it would ask.
        term: u32,
        /// Index and term of its last entry.
        last: (u32, u32),
    },
    /// The answer to `PreVote`.
    PreVoteReply {
        /// The term of the request where it is granted, the voter's own where it is not.
        term: u32,
        /// Whether the node would get the vote.
        granted: bool,
    },
    /// A leader asks a node to take over; see [`Rules::transfer`](super::Rules::transfer).
    TimeoutNow {
        /// The leader's term.
        term: u32,
    },
    /// A leader sends what its committed entries have made; see [`Rules::snapshots`](super::Rules::snapshots).
    Snapshot {
        /// The leader's term.
        term: u32,
        /// Index and term of the last of these entries.
        last: (u32, u32),
    },
    /// What else a node may say, of which the model has the term only. In an open network.
    Note {
        /// The sender's term.
        term: u32,
    },
}

impl Message {
    /// The term of the message.
    pub fn term(&self) -> u32 {
        match *self {
            Self::Vote { term, .. }
            | Self::VoteReply { term, .. }
            | Self::Append { term, .. }
            | Self::AppendReply { term, .. }
            | Self::Heartbeat { term, .. }
            | Self::HeartbeatReply { term, .. }
            | Self::PreVote { term, .. }
            | Self::PreVoteReply { term, .. }
            | Self::TimeoutNow { term }
            | Self::Snapshot { term, .. }
            | Self::Note { term } => term,
        }
    }

    /// The kind as a number, for keys.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Vote { .. } => 0,
            Self::VoteReply { .. } => 1,
            Self::Append { .. } => 2,
            Self::AppendReply { .. } => 3,
            Self::Heartbeat { .. } => 4,
            Self::HeartbeatReply { .. } => 5,
            Self::PreVote { .. } => 6,
            Self::PreVoteReply { .. } => 7,
            Self::TimeoutNow { .. } => 8,
            Self::Snapshot { .. } => 9,
            Self::Note { .. } => 10,
        }
    }

    /// The index of the log that the message speaks of: the last one that it brings, or that its sender has.
    pub fn index(&self) -> Option<u32> {
        match *self {
            Self::Vote { last, .. } | Self::PreVote { last, .. } | Self::Snapshot { last, .. } => {
                Some(last.0)
            }
            Self::Append { previous, ref entries, .. } => Some(previous.0 + entries.len() as u32),
            Self::AppendReply { matched, .. } => matched,
            Self::Heartbeat { commit, .. } => Some(commit),
            _ => None,
        }
    }

    /// Whether it carries nothing but that its sender leads, or answers that.
    pub fn is_heartbeat(&self) -> bool {
        match self {
            Self::Append { entries, .. } => entries.is_empty(),
            Self::Heartbeat { .. } | Self::HeartbeatReply { .. } => true,
            _ => false,
        }
    }

    /// Whether only the leader of its term sends it to those that follow.
    pub(super) fn leads(&self) -> bool {
        matches!(self, Self::Append { .. } | Self::Heartbeat { .. } | Self::Snapshot { .. })
    }

    /// Whether a receiver in an older term enters the message's. The term of a pre-vote has not begun.
    pub(super) fn begins_term(&self) -> bool {
        !matches!(self, Self::PreVote { .. } | Self::PreVoteReply { granted: true, .. })
    }
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Envelope {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The contents.
    pub message: Message,
}

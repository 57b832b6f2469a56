//! What nodes say to each other.

use crate::entry::{Entry, Op};
use crate::machine::Machine;
use misrule_world::Call;
use std::fmt::{self, Debug};

/// The most entries of one message.
pub const BATCH_MAX: usize = 3;

/// Some entries, in place.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Batch {
    count: u8,
    entries: [Entry; BATCH_MAX],
}

impl Batch {
    /// The first of `entries`, as many as fit.
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let mut batch = Self { count: entries.len().min(BATCH_MAX) as u8, ..Self::default() };
        for (place, entry) in batch.entries.iter_mut().zip(entries) {
            *place = *entry;
        }
        batch
    }

    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries[..usize::from(self.count)]
    }
}

impl Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

/// A message. `term` is its sender's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A candidate asks for a vote, and says how far its log goes.
    RequestVote {
        /// The candidate's term.
        term: u32,
        /// Index of its last entry.
        last: u64,
        /// Term of that entry.
        last_term: u32,
    },
    /// The answer.
    Vote {
        /// The voter's term.
        term: u32,
        /// Whether the candidate has the vote.
        granted: bool,
    },
    /// A leader's entries, perhaps none, and what is committed.
    Append {
        /// The leader's term.
        term: u32,
        /// Index of the entry before the first one.
        prev: u64,
        /// Term of that entry.
        prev_term: u32,
        /// The entries.
        entries: Batch,
        /// Index up to which the leader has committed.
        commit: u64,
    },
    /// A follower has the leader's log up to an index on its disk.
    Appended {
        /// The follower's term.
        term: u32,
        /// The index.
        matched: u64,
    },
    /// A follower does not have the entry before the first one, or is ahead in term.
    Rejected {
        /// The follower's term.
        term: u32,
        /// Index from which the leader may try.
        hint: u64,
    },
    /// A leader's state machine, for a follower that needs entries which the leader has no more.
    Install {
        /// The leader's term.
        term: u32,
        /// The state; much larger than other messages.
        machine: Box<Machine>,
    },
    /// A request on its way to the leader.
    Forward {
        /// The call.
        call: Option<Call>,
        /// What it asks for.
        op: Op,
    },
}

impl Message {
    /// Names of the kinds, in the order of [`kind`](Self::kind).
    pub const KINDS: [&'static str; 9] = [
        "RequestVote",
        "Vote",
        "Refuse",
        "Append",
        "Appended",
        "Rejected",
        "Install",
        "Forward",
        "Heartbeat",
    ];

    /// Position in [`KINDS`](Self::KINDS). An append without entries is a heartbeat.
    pub fn kind(&self) -> u8 {
        match self {
            Self::RequestVote { .. } => 0,
            Self::Vote { granted: true, .. } => 1,
            Self::Vote { granted: false, .. } => 2,
            Self::Append { entries: Batch { count: 0, .. }, .. } => 8,
            Self::Append { .. } => 3,
            Self::Appended { .. } => 4,
            Self::Rejected { .. } => 5,
            Self::Install { .. } => 6,
            Self::Forward { .. } => 7,
        }
    }

    /// The sender's term; a request has none.
    pub fn term(&self) -> Option<u32> {
        match self {
            Self::RequestVote { term, .. }
            | Self::Vote { term, .. }
            | Self::Append { term, .. }
            | Self::Appended { term, .. }
            | Self::Rejected { term, .. }
            | Self::Install { term, .. } => Some(*term),
            Self::Forward { .. } => None,
        }
    }

    /// The index of the log that the message is about.
    pub fn index(&self) -> Option<u64> {
        match self {
            Self::RequestVote { last, .. } => Some(*last),
            Self::Append { prev, .. } => Some(*prev),
            Self::Appended { matched, .. } => Some(*matched),
            Self::Rejected { hint, .. } => Some(*hint),
            Self::Install { machine, .. } => Some(machine.at.index),
            Self::Vote { .. } | Self::Forward { .. } => None,
        }
    }
}

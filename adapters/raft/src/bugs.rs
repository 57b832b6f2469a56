//! The planted bugs: mistakes that a user of the crate can make in the code around it. Each is off unless the setting
//! `bug` names it, each one switch at one place.

/// A planted bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bug {
    /// None.
    #[default]
    None,
    /// `vote-not-synced`
    VoteNotSynced,
    /// `vote-forgotten`
    VoteForgotten,
    /// `commit-forgotten`
    CommitForgotten,
    /// `entries-not-synced`
    EntriesNotSynced,
    /// `apply-before-commit`
    ApplyBeforeCommit,
    /// `reject-lost`
    RejectLost,
    /// `tail-kept`
    TailKept,
    /// `read-unconfirmed`
    ReadUnconfirmed,
}

/// Every bug with its name and one sentence.
pub const BUGS: [(Bug, &str, &str); 8] = [
    (
        Bug::VoteNotSynced,
        "vote-not-synced",
        "Term and vote are written before they are told, but synced only with the next entries.",
    ),
    (Bug::VoteForgotten, "vote-forgotten", "The vote is left out of the hard state on the disk."),
    (
        Bug::CommitForgotten,
        "commit-forgotten",
        "The commit index is left out of the hard state on the disk, although it is applied.",
    ),
    (
        Bug::EntriesNotSynced,
        "entries-not-synced",
        "Entries are acknowledged when they are written, and synced with the next tick.",
    ),
    (
        Bug::ApplyBeforeCommit,
        "apply-before-commit",
        "A leader applies entries as soon as it has written them.",
    ),
    (Bug::RejectLost, "reject-lost", "The sign that a vote is refused is lost on the way."),
    (Bug::TailKept, "tail-kept", "Entries that replace others leave in the storage what stands behind them."),
    (
        Bug::ReadUnconfirmed,
        "read-unconfirmed",
        "A node answers reads from what it has applied, without asking anybody.",
    ),
];

impl Bug {
    /// The bug of that name; none for every other word.
    pub fn named(name: &str) -> Self {
        BUGS.iter().find(|(_, known, _)| *known == name).map_or(Self::None, |(bug, ..)| *bug)
    }
}

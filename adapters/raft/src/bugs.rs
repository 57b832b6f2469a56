//! The planted bugs: mistakes that a user of the crate can make in the code around it. Each is off unless the setting
//! `bug` names it, each one switch at one place.

/// A planted bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bug {
    /// None.
    #[default]
    None,
    /// `vote-not-durable`
    VoteNotDurable,
    /// `vote-forgotten`
    VoteForgotten,
    /// `commit-forgotten`
    CommitForgotten,
    /// `ack-before-sync`
    AckBeforeSync,
    /// `apply-before-commit`
    ApplyBeforeCommit,
    /// `reject-lost`
    RejectLost,
    /// `tail-kept`
    TailKept,
    /// `stale-read`
    StaleRead,
}

/// Every bug with its name and one sentence.
pub const BUGS: [(Bug, &str, &str); 8] = [
    (
        Bug::VoteNotDurable,
        "vote-not-durable",
        "Term and vote are written before they are told, but synced only with the next entries.",
    ),
    (Bug::VoteForgotten, "vote-forgotten", "The vote is left out of the hard state on the disk."),
    (
        Bug::CommitForgotten,
        "commit-forgotten",
        "The commit index is left out of the hard state on the disk, although it is applied.",
    ),
    (
        Bug::AckBeforeSync,
        "ack-before-sync",
        "Entries are acknowledged when they are written, and synced with the next tick.",
    ),
    (
        Bug::ApplyBeforeCommit,
        "apply-before-commit",
        "A leader applies entries as soon as it has written them.",
    ),
    (Bug::RejectLost, "reject-lost", "The sign that a vote is refused is lost on the way."),
    (Bug::TailKept, "tail-kept", "Entries that replace others leave in the storage what stands behind them."),
    (Bug::StaleRead, "stale-read", "A node answers reads from what it has applied, without asking anybody."),
];

impl Bug {
    /// The bug of that name; none for every other word.
    pub fn named(name: &str) -> Self {
        BUGS.iter().find(|(_, known, _)| *known == name).map_or(Self::None, |(bug, ..)| *bug)
    }
}

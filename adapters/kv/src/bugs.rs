//! The planted bugs: each off unless the setting `bug` names it, each one switch at one place.
//!
//! | bug | weakest disk that shows it | what a client loses |
//! | --- | --- | --- |
//! | `ack-before-sync` | `explicit-sync` | a write that was acknowledged, once two nodes lose power |
//! | `no-dir-sync` | `explicit-sync` | every write since the last log file was begun, at the node that loses power |
//! | `rename-before-data` | `explicit-sync` | the node: its snapshot is empty, and what was before it is gone |
//! | `vote-not-durable` | `explicit-sync` | agreement: a node votes twice in a term, two leaders acknowledge |
//! | `torn-tail` | `torn-prefix` | agreement: a node applies a value that nobody wrote |
//! | `prefix-order` | `reorder-writes` | the node: both log files are gone |
//! | `atomic-multi-block` | `posix-min` | agreement: a node applies a value that nobody wrote |
//! | `sync-error-ignored` | `fsync-keeps` | a write that was acknowledged, once two nodes lose power |
//! | `no-reelection` | any | service: nobody leads, and nobody tries to |
//! | `stale-read` | any | the order of reads and writes: a leader that was deposed answers from the past |
//! | `validated-before-commit` | any, with `workload=cycle` | isolation: of two transactions the second writes over what the first wrote |
//!
//! Weakest means: the presets before it, in the order of `misrule list`, do not permit the loss, and all behind it
//! but for the contradiction of `torn-prefix` and `reorder-writes` (one tears and keeps order, the other way round)
//! do. `sync-error-ignored` needs syncs that fail, which only `fsync-keeps` and `fsyncgate` have. The table test
//! `tests/matrix.rs` holds every cell.

/// A planted bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bug {
    /// None.
    #[default]
    None,
    /// `ack-before-sync`
    AckBeforeSync,
    /// `no-dir-sync`
    NoDirSync,
    /// `rename-before-data`
    RenameBeforeData,
    /// `vote-not-durable`
    VoteNotDurable,
    /// `torn-tail`
    TornTail,
    /// `prefix-order`
    PrefixOrder,
    /// `atomic-multi-block`
    AtomicMultiBlock,
    /// `sync-error-ignored`
    SyncErrorIgnored,
    /// `no-reelection`
    NoReelection,
    /// `stale-read`
    StaleRead,
    /// `validated-before-commit`
    ValidatedBeforeCommit,
}

/// Every bug with its name and one sentence.
pub const BUGS: [(Bug, &str, &str); 11] = [
    (
        Bug::AckBeforeSync,
        "ack-before-sync",
        "Entries count as stored as soon as they are written, before they are synced.",
    ),
    (Bug::NoDirSync, "no-dir-sync", "The directory is never synced: new files may lose their names."),
    (
        Bug::RenameBeforeData,
        "rename-before-data",
        "The snapshot is renamed into place before its content is synced.",
    ),
    (
        Bug::VoteNotDurable,
        "vote-not-durable",
        "Term and vote are written before they are told, but synced only with the next entries.",
    ),
    (Bug::TornTail, "torn-tail", "A last record of the log whose checksum is wrong is taken for a good one."),
    (
        Bug::PrefixOrder,
        "prefix-order",
        "One sync of the directory covers the new log file and the removal of the old one, as if names became \
         durable in order.",
    ),
    (
        Bug::AtomicMultiBlock,
        "atomic-multi-block",
        "A record whose head is whole is taken for whole: the checksum of its body is not compared.",
    ),
    (Bug::SyncErrorIgnored, "sync-error-ignored", "A sync that fails counts as one that succeeded."),
    (Bug::NoReelection, "no-reelection", "A candidate that was not elected never tries again."),
    (Bug::StaleRead, "stale-read", "A leader answers reads from memory, without the log."),
    (
        Bug::ValidatedBeforeCommit,
        "validated-before-commit",
        "What a transaction has read is taken for current when it is proposed, and not compared when it is applied \
         (workload=cycle).",
    ),
];

impl Bug {
    /// The bug of that name; none for every other word.
    pub fn named(name: &str) -> Self {
        BUGS.iter().find(|(_, known, _)| *known == name).map_or(Self::None, |(bug, ..)| *bug)
    }
}

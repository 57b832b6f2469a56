//! The planted bugs: each off unless the setting `bug` names it, each one condition at the place where an implementer
//! would err.

/// From so many entries on `vote-lost-in-long-log` loses votes.
pub(crate) const LONG_LOG: u32 = 6;

/// A planted bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bug {
    /// None.
    #[default]
    None,
    /// `vote-before-sync`
    VoteBeforeSync,
    /// `vote-not-durable`
    VoteNotDurable,
    /// `vote-lost-in-long-log`
    VoteLostInLongLog,
    /// `vote-twice-after-term-bump`
    VoteTwiceAfterTermBump,
    /// `vote-ignores-log`
    VoteIgnoresLog,
    /// `vote-by-length`
    VoteByLength,
    /// `stale-vote-counted`
    StaleVoteCounted,
    /// `quorum-off-by-one`
    QuorumOffByOne,
    /// `no-truncation`
    NoTruncation,
    /// `truncate-on-old-append`
    TruncateOnOldAppend,
    /// `conflict-unchecked-across-commit`
    ConflictUncheckedAcrossCommit,
    /// `append-after-crash-unsynced`
    AppendAfterCrashUnsynced,
    /// `leader-counts-unsynced`
    LeaderCountsUnsynced,
    /// `acknowledges-own-length`
    AcknowledgesOwnLength,
    /// `stale-acknowledgement`
    StaleAcknowledgement,
    /// `commit-old-term`
    CommitOldTerm,
    /// `commit-term-of-acknowledged`
    CommitTermOfAcknowledged,
    /// `commit-beyond-match`
    CommitBeyondMatch,
    /// `stale-read`
    StaleRead,
    /// `read-before-own-entry`
    ReadBeforeOwnEntry,
    /// `read-confirmed-by-older-round`
    ReadConfirmedByOlderRound,
    /// `membership-before-own-entry`
    MembershipBeforeOwnEntry,
    /// `two-changes-at-once`
    TwoChangesAtOnce,
    /// `members-kept-after-truncation`
    MembersKeptAfterTruncation,
    /// `removed-leader-counts-itself`
    RemovedLeaderCountsItself,
}

/// Every bug with its name and one sentence.
pub const BUGS: [(Bug, &str, &str); 25] = [
    (Bug::VoteBeforeSync, "vote-before-sync", "Votes leave before term and vote are synced."),
    (
        Bug::VoteNotDurable,
        "vote-not-durable",
        "A new term is synced at once, the vote is only written: it leaves before the next sync, and a crash loses it.",
    ),
    (
        Bug::VoteLostInLongLog,
        "vote-lost-in-long-log",
        "The same, once the log has grown beyond its first block: six entries.",
    ),
    (
        Bug::VoteTwiceAfterTermBump,
        "vote-twice-after-term-bump",
        "To become a follower forgets the vote also where the term stays the same.",
    ),
    (Bug::VoteIgnoresLog, "vote-ignores-log", "A voter does not look at the candidate's log."),
    (Bug::VoteByLength, "vote-by-length", "A voter compares the lengths of logs, and not their last terms."),
    (Bug::StaleVoteCounted, "stale-vote-counted", "A candidate counts votes of an older term."),
    (
        Bug::QuorumOffByOne,
        "quorum-off-by-one",
        "Half of an even number of servers is taken for a majority (nodes=4).",
    ),
    (Bug::NoTruncation, "no-truncation", "An entry that replaces another leaves what stands behind it."),
    (
        Bug::TruncateOnOldAppend,
        "truncate-on-old-append",
        "A follower cuts its log behind the entries of a message, although nothing conflicts.",
    ),
    (
        Bug::ConflictUncheckedAcrossCommit,
        "conflict-unchecked-across-commit",
        "Entries of a message that begins below the commit index are taken for those that the follower has.",
    ),
    (
        Bug::AppendAfterCrashUnsynced,
        "append-after-crash-unsynced",
        "A follower acknowledges entries before they are synced.",
    ),
    (
        Bug::LeaderCountsUnsynced,
        "leader-counts-unsynced",
        "A leader counts itself for entries that its disk has not synced.",
    ),
    (
        Bug::AcknowledgesOwnLength,
        "acknowledges-own-length",
        "A follower acknowledges its whole log, and not up to the last entry that it has compared.",
    ),
    (
        Bug::StaleAcknowledgement,
        "stale-acknowledgement",
        "A leader counts acknowledgements of an older term.",
    ),
    (
        Bug::CommitOldTerm,
        "commit-old-term",
        "A leader commits an entry of an older term by counting (figure 8 of the paper).",
    ),
    (
        Bug::CommitTermOfAcknowledged,
        "commit-term-of-acknowledged",
        "A leader looks at the term of the entry that was acknowledged last, and not at that of the entry that it commits.",
    ),
    (
        Bug::CommitBeyondMatch,
        "commit-beyond-match",
        "A follower commits up to its last entry, and not up to the last one that it has compared.",
    ),
    (Bug::StaleRead, "stale-read", "A leader answers reads without a round of heartbeats."),
    (
        Bug::ReadBeforeOwnEntry,
        "read-before-own-entry",
        "A leader takes a read before it has committed an entry of its own term.",
    ),
    (
        Bug::ReadConfirmedByOlderRound,
        "read-confirmed-by-older-round",
        "An answer to a heartbeat confirms reads that came after that heartbeat.",
    ),
    (
        Bug::MembershipBeforeOwnEntry,
        "membership-before-own-entry",
        "A leader changes the members before it has committed an entry of its own term (the bug of 2015; membership=on).",
    ),
    (
        Bug::TwoChangesAtOnce,
        "two-changes-at-once",
        "A leader changes the members while the change before is not committed (membership=on).",
    ),
    (
        Bug::MembersKeptAfterTruncation,
        "members-kept-after-truncation",
        "A follower that cuts a change of members from its log still goes by it (membership=on).",
    ),
    (
        Bug::RemovedLeaderCountsItself,
        "removed-leader-counts-itself",
        "A leader that removes itself still counts itself for entries (membership=on).",
    ),
];

impl Bug {
    /// The bug of that name; none for every other word.
    pub fn named(name: &str) -> Self {
        BUGS.iter().find(|(_, known, _)| *known == name).map_or(Self::None, |(bug, ..)| *bug)
    }

    /// The settings, besides the bug itself, with which it can be met: a name and a value each.
    pub fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::QuorumOffByOne => &[("nodes", "4")],
            Self::VoteLostInLongLog | Self::StaleAcknowledgement => &[("nodes", "5")],
            Self::MembershipBeforeOwnEntry | Self::TwoChangesAtOnce | Self::RemovedLeaderCountsItself => {
                &[("nodes", "4"), ("membership", "on")]
            }
            Self::MembersKeptAfterTruncation => &[("nodes", "5"), ("membership", "on")],
            _ => &[],
        }
    }
}

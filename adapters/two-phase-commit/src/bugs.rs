//! The planted bugs: each off unless the setting `bug` names it.
//!
//! Steps that random schedules take to show each with the default settings, median of five seeds; with the model
//! and conformance, and with the oracles alone (`examples/difficulty.rs`, its weights and lengths):
//!
//! | bug | model | oracles |
//! | --- | --- | --- |
//! | `commit-on-first-yes` | 17 | 17 |
//! | `ignore-no-vote` | 20 | 106 |
//! | `vote-before-sync` | 5 | 184,314 |
//! | `decision-before-sync` | 49 | 17,792 |
//! | `forget-vote-on-restart` | 184 | 172,446 |
//! | `duplicate-vote-counts-twice` | 302 | 302 |
//! | `group-commit-mixes-outcomes` | 3,138 | 6,180 |
//! | `presume-commit-in-doubt` | 2,092 | 2,092 |
//! | `timeout-after-commit` | 2,984 | 2,984 |
//! | `stale-vote-counted` | 1,834 | 40,872 |
//! | `stale-ack-counted` | 3,154 | 5,652 |
//! | `heuristic-abort-in-doubt` | 152,985 | 440,292 |
//! | `reordered-abort-after-restart` | 4,461,657 | 4,461,657 |

/// A planted bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bug {
    /// None.
    #[default]
    None,
    /// `commit-on-first-yes`
    CommitOnFirstYes,
    /// `ignore-no-vote`
    IgnoreNoVote,
    /// `vote-before-sync`
    VoteBeforeSync,
    /// `decision-before-sync`
    DecisionBeforeSync,
    /// `forget-vote-on-restart`
    ForgetVoteOnRestart,
    /// `duplicate-vote-counts-twice`
    DuplicateVoteCountsTwice,
    /// `group-commit-mixes-outcomes`
    GroupCommitMixesOutcomes,
    /// `presume-commit-in-doubt`
    PresumeCommitInDoubt,
    /// `timeout-after-commit`
    TimeoutAfterCommit,
    /// `stale-vote-counted`
    StaleVoteCounted,
    /// `stale-ack-counted`
    StaleAckCounted,
    /// `heuristic-abort-in-doubt`
    HeuristicAbortInDoubt,
    /// `reordered-abort-after-restart`
    ReorderedAbortAfterRestart,
}

/// Every bug with its name and one sentence, from the shallowest to the deepest.
pub const BUGS: [(Bug, &str, &str); 13] = [
    (
        Bug::CommitOnFirstYes,
        "commit-on-first-yes",
        "The coordinator commits as soon as one manager has voted yes.",
    ),
    (Bug::IgnoreNoVote, "ignore-no-vote", "The coordinator takes a vote against for a vote in favour."),
    (
        Bug::VoteBeforeSync,
        "vote-before-sync",
        "A manager votes before its record of being prepared is synced, and a crash forgets the vote.",
    ),
    (
        Bug::DecisionBeforeSync,
        "decision-before-sync",
        "The coordinator announces a commit before its record is synced, crashes, and recovers to abort.",
    ),
    (
        Bug::ForgetVoteOnRestart,
        "forget-vote-on-restart",
        "A manager that restarts overlooks its record of being prepared.",
    ),
    (
        Bug::DuplicateVoteCountsTwice,
        "duplicate-vote-counts-twice",
        "The coordinator counts votes and not voters, so that a vote that arrives twice stands for two managers.",
    ),
    (
        Bug::GroupCommitMixesOutcomes,
        "group-commit-mixes-outcomes",
        "One flush that covers the decisions of two transactions announces the first outcome for both.",
    ),
    (
        Bug::PresumeCommitInDoubt,
        "presume-commit-in-doubt",
        "A manager that restarted prepared commits when its timer fires before it has learnt the outcome.",
    ),
    (
        Bug::TimeoutAfterCommit,
        "timeout-after-commit",
        "A coordinator that restarted after its decision to commit, with acknowledgements missing, times out and aborts.",
    ),
    (
        Bug::StaleVoteCounted,
        "stale-vote-counted",
        "A vote for an older transaction counts for the one that took its place.",
    ),
    (
        Bug::StaleAckCounted,
        "stale-ack-counted",
        "An acknowledgement of an older transaction counts for the one that took its place, which ends too early.",
    ),
    (
        Bug::HeuristicAbortInDoubt,
        "heuristic-abort-in-doubt",
        "A manager that restarted prepared and has asked in vain five times aborts on its own.",
    ),
    (
        Bug::ReorderedAbortAfterRestart,
        "reordered-abort-after-restart",
        "A coordinator that restarted committed and has sent the commit again obeys a late vote against, of a transaction that was aborted before.",
    ),
];

impl Bug {
    /// The bug of that name; none for every other word.
    pub fn named(name: &str) -> Self {
        BUGS.iter().find(|(_, known, _)| *known == name).map_or(Self::None, |(bug, ..)| *bug)
    }
}

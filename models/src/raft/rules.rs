//! Which rules a model has, and how far its exploration goes.

/// Rules of the protocol. The first ones are the paper's, for a test to break; see the module's documentation for the
/// others.
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The disk lags behind memory until [`Action::Persist`](super::Action::Persist); otherwise each action persists at its end.
    pub disk_lags: bool,
    /// Votes and answers wait for the disk.
    pub persist_before_reply: bool,
    /// A vote needs a log that is at least as up to date (section 5.4.1).
    pub votes_compare_logs: bool,
    /// A leader counts copies for entries of its own term only (section 5.4.2).
    pub commits_own_term_only: bool,
    /// A node votes once a term.
    pub votes_once: bool,
    /// A new leader appends an empty entry.
    pub empty_entry: bool,
    /// The most entries of an `Append` in a bounded network.
    pub batch: u32,
    /// Heartbeats are messages of their own.
    pub heartbeats: bool,
    /// A refusal of an `Append` says where to go on.
    pub hints: bool,
    /// A node asks before it begins a term.
    pub pre_vote: bool,
    /// An answer to the pre-vote for the term before counts.
    pub late_pre_votes: bool,
    /// A leader may step down.
    pub check_quorum: bool,
    /// A leader may ask a node to take over.
    pub transfer: bool,
    /// A leader may send snapshots.
    pub snapshots: bool,
    /// What is committed may be learned by any message.
    pub learns_commit: bool,
    /// The commit index is on the disk.
    pub commit_kept: bool,
    /// With `commit_kept`, no sync is sure to reach the commit index.
    pub commit_unsynced: bool,
    /// A term belongs to one node.
    pub owned_terms: bool,
    /// A refused `Append` cuts off what conflicts with it.
    pub cuts_refused: bool,
    /// A leader leads again after a start.
    pub leads_again: bool,
    /// In an open network, messages may wait for the disk while the node goes on. In a bounded one they do so with
    /// [`disk_lags`](Self::disk_lags).
    pub late_flush: bool,
    /// How the configuration changes.
    pub membership: Membership,
    /// A change takes effect when it is applied, rather than when it is in the log.
    pub applied_configuration: bool,
    /// A change waits for the one before it to be committed; where changes take effect when applied, for that.
    pub one_change: bool,
    /// A leader changes the configuration once it has committed an entry of its term.
    pub change_in_own_term: bool,
    /// An entry of a change says the whole configuration, which has a set of voters of the one before.
    pub whole_configurations: bool,
    /// A joint configuration decides by the majorities of both.
    pub both_majorities: bool,
    /// How reads are confirmed that do not go into the log.
    pub reads: Reads,
    /// A leader takes reads once it has committed an entry of its term.
    pub read_in_own_term: bool,
}

/// How the configuration of the cluster changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Membership {
    /// All nodes vote, for ever.
    #[default]
    Off,
    /// By one voter at a time (thesis, section 4.1).
    Single,
    /// The same, and through joint configurations (paper, section 6).
    Joint,
}

/// How a leader confirms reads that do not go into the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// There are none.
    #[default]
    Off,
    /// A quorum says that it follows the leader still (thesis, section 6.4).
    Index,
    /// The leader relies on its lease (thesis, section 6.4.1): it may confirm a read at any time.
    Lease,
}

impl Rules {
    /// The paper's rules over a disk that keeps up with memory.
    pub const fn paper() -> Self {
        Self {
            disk_lags: false,
            persist_before_reply: true,
            votes_compare_logs: true,
            commits_own_term_only: true,
            votes_once: true,
            empty_entry: false,
            batch: 1,
            heartbeats: false,
            hints: false,
            pre_vote: false,
            late_pre_votes: false,
            check_quorum: false,
            transfer: false,
            snapshots: false,
            learns_commit: false,
            commit_kept: false,
            commit_unsynced: false,
            owned_terms: false,
            cuts_refused: false,
            leads_again: false,
            late_flush: false,
            membership: Membership::Off,
            applied_configuration: false,
            one_change: true,
            change_in_own_term: true,
            whole_configurations: false,
            both_majorities: true,
            reads: Reads::Off,
            read_in_own_term: true,
        }
    }

    /// The paper's rules over a disk that lags behind memory.
    pub const fn lagging() -> Self {
        Self { disk_lags: true, ..Self::paper() }
    }

    /// What the crate `raft` 0.7 of tikv does, with pre-vote, check-quorum, changes of the configuration and reads off, which
    /// are settings there.
    pub const fn crate_0_7() -> Self {
        Self {
            empty_entry: true,
            batch: u32::MAX,
            heartbeats: true,
            late_pre_votes: true,
            hints: true,
            transfer: true,
            snapshots: true,
            learns_commit: true,
            commit_kept: true,
            applied_configuration: true,
            change_in_own_term: false,
            ..Self::lagging()
        }
    }
}

/// How far exploration goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The highest term.
    pub term_max: u32,
    /// Proposals in all.
    pub entries_max: u32,
    /// Crashes in all.
    pub faults_max: u8,
    /// Reads in all, with [`Rules::reads`].
    pub reads_max: u32,
}

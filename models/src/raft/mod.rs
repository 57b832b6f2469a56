//! Raft: Ongaro and Ousterhout, *In Search of an Understandable Consensus Algorithm* (extended version, 2014),
//! Figure 2, with the history variables of Ongaro's TLA+ specification (his thesis, Appendix B).
//!
//! What a node has in memory and what is on its disk are two things here: an action changes memory, [`Action::Persist`]
//! brings the disk up to it, and only then votes and answers leave. What a leader sends to its followers
//! leaves at once, as section 10.2.1 of the thesis allows; its own log counts for a commit only as far as it is on its
//! disk. A crash keeps the disk. An entry is a term and a number.
//!
//! # Networks
//!
//! In a bounded network every message ever sent may arrive at any time and any number of times: loss, order and
//! duplication need no action. What a node answers waits for its disk and then leaves by itself. [`Raft::new`] makes
//! such a model, to explore.
//!
//! An open network keeps no messages, for following an implementation: a delivery is believed, and each message that the
//! implementation sends is an action, [`Action::Send`], which is refused where the protocol does not let this node send
//! this message now. *When* a leader sends what, how much at once and how often is the implementation's own affair, so
//! that one model follows implementations of different styles. A message that the implementation heeds in part is
//! [`Action::Hear`]; one that it drops is a lost message, which needs no action. [`Raft::open`] makes such a model.
//!
//! # Rules beyond the paper's figure
//!
//! | switch | with it | without |
//! | --- | --- | --- |
//! | [`empty_entry`](Rules::empty_entry) | a new leader appends an entry of value 0 (thesis, section 6.4) | it appends nothing |
//! | [`batch`](Rules::batch) | an `Append` carries up to so many entries | one |
//! | [`heartbeats`](Rules::heartbeats) | a leader without entries to send sends `Heartbeat` with the commit index, as far as the follower is known to have it | it sends an empty `Append` |
//! | [`hints`](Rules::hints) | a refused `Append` is answered with a hint (section 5.3, end) | the leader goes back by one |
//! | [`pre_vote`](Rules::pre_vote) | a node asks whether it would be elected before it begins a term (thesis, section 9.6) | it does not |
//! | [`late_pre_votes`](Rules::late_pre_votes) | an answer to a pre-vote for the term that has begun meanwhile counts for the next one | it does not |
//! | [`check_quorum`](Rules::check_quorum) | a leader may step down (thesis, section 6.2) | it leads until it hears of a newer term |
//! | [`transfer`](Rules::transfer) | a leader may ask a node that has its whole log to take over (thesis, section 3.10) | it may not |
//! | [`snapshots`](Rules::snapshots) | a leader may send what its committed entries have made in place of entries (section 7) | a leader sends entries only |
//! | [`learns_commit`](Rules::learns_commit) | a node may learn by other messages what is committed of what it has | by its leader only |
//! | [`owned_terms`](Rules::owned_terms) | a term belongs to one node, and a node begins the next one of its own (see `owned`) | a node begins the next term |
//! | [`cuts_refused`](Rules::cuts_refused) | a node that refuses an `Append` takes back its entry there and all behind it | it keeps them until others come |
//! | [`leads_again`](Rules::leads_again) | a node whose disk says that it led leads again after a start, in the same term | it starts as a follower |
//! | [`commit_kept`](Rules::commit_kept) | the commit index is written to the disk, and may be behind there | it starts from 0 |
//! | [`commit_unsynced`](Rules::commit_unsynced) | no sync waits for the commit index, so that a node may start with any earlier one | it starts with that of the last sync at least |
//! | [`late_flush`](Rules::late_flush) | in an open network a node goes on while messages wait for its disk (thesis, section 10.2.1) | what it sends, its disk has backed in the same step |
//!
//! # What this model leaves out
//!
//! Membership changes, `ReadIndex` and leases, the applied index. Compaction is not seen: the model keeps whole logs, and
//! what a snapshot holds are the entries that are committed. Whether a leader has heard of
//! a majority (`check_quorum`) and whether a lease makes a node drop a request for its vote are timing: the model lets
//! both happen at any time. Pipelining is free in an open network; in a bounded one a leader sends from where
//! the last answer left it. A crash falls between actions.

mod deliver;
mod enumerate;
mod lenses;
mod message;
mod owned;
mod project;
mod properties;
mod send;
mod state;
mod step;

pub use message::{Envelope, LogEntry, Message};
pub use owned::owned_term;
pub use project::Projection;
pub use state::{Disk, NodeState, Role, State};

use crate::{Model, NodeId, Property, Refusal, Step};

/// Rules of the protocol. The first ones are the paper's, for a test to break; see the module's documentation for the
/// others.
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The disk lags behind memory until [`Action::Persist`]; otherwise each action persists at its end.
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
        }
    }

    /// The paper's rules over a disk that lags behind memory.
    pub const fn lagging() -> Self {
        Self { disk_lags: true, ..Self::paper() }
    }

    /// What the crate `raft` 0.7 of tikv does, with pre-vote and check-quorum off, which are settings there.
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
}

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The node asks whether it would get votes in the next term.
    PreVote {
        /// The node.
        node: NodeId,
    },
    /// The node hears of no leader, or would get the votes, and asks for votes in the next term.
    Timeout {
        /// The node.
        node: NodeId,
    },
    /// A candidate has the votes of a majority, or a node has started that led in its term.
    BecomeLeader {
        /// The node.
        node: NodeId,
    },
    /// A leader, or a node that asks for votes, becomes a follower in the same term.
    StepDown {
        /// The node.
        node: NodeId,
    },
    /// A leader takes an entry.
    Propose {
        /// The leader.
        node: NodeId,
        /// The entry's number.
        value: u32,
    },
    /// A leader sends the next entries, or a heartbeat where there are none. In a bounded network.
    Append {
        /// The leader.
        node: NodeId,
        /// The follower.
        peer: NodeId,
    },
    /// A leader says that it leads. In a bounded network.
    Heartbeat {
        /// The leader.
        node: NodeId,
        /// The follower.
        peer: NodeId,
    },
    /// A leader asks a node to take over. In a bounded network.
    TimeoutNow {
        /// The leader.
        node: NodeId,
        /// The follower.
        peer: NodeId,
    },
    /// A leader sends a snapshot of all that it has committed. In a bounded network.
    Snapshot {
        /// The leader.
        node: NodeId,
        /// The follower.
        peer: NodeId,
    },
    /// A leader counts copies and commits what a majority has.
    AdvanceCommit {
        /// The leader.
        node: NodeId,
    },
    /// A node learns otherwise that what it has is committed.
    LearnCommit {
        /// The node.
        node: NodeId,
        /// The commit index.
        index: u32,
    },
    /// The disk catches up with memory, and what waited for it leaves.
    Persist {
        /// The node.
        node: NodeId,
    },
    /// A message arrives and is heeded.
    Deliver(Envelope),
    /// A message arrives of which only the term, and who leads, is heeded. In an open network.
    Hear(Envelope),
    /// A node sends a message. In an open network.
    Send(Envelope),
    /// A node has a message to send, once its disk has caught up. In an open network.
    Hold(Envelope),
    /// The node stops.
    Crash {
        /// The node.
        node: NodeId,
    },
    /// The node starts from its disk.
    Restart {
        /// The node.
        node: NodeId,
        /// The commit index that it starts with.
        commit: u32,
    },
}

impl Action {
    /// The node that acts.
    fn node(&self) -> NodeId {
        match self {
            Self::Deliver(envelope) | Self::Hear(envelope) => envelope.to,
            Self::Send(envelope) | Self::Hold(envelope) => envelope.from,
            Self::PreVote { node }
            | Self::Timeout { node }
            | Self::BecomeLeader { node }
            | Self::StepDown { node }
            | Self::Propose { node, .. }
            | Self::Append { node, .. }
            | Self::Heartbeat { node, .. }
            | Self::TimeoutNow { node, .. }
            | Self::Snapshot { node, .. }
            | Self::AdvanceCommit { node }
            | Self::LearnCommit { node, .. }
            | Self::Persist { node }
            | Self::Crash { node }
            | Self::Restart { node, .. } => *node,
        }
    }
}

/// Raft for a fixed set of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raft {
    nodes: NodeId,
    rules: Rules,
    /// `None` where the network is open.
    bounds: Option<Bounds>,
}

impl Raft {
    /// The most nodes.
    pub const NODES_MAX: NodeId = 7;

    /// A cluster of 1 to [`NODES_MAX`](Self::NODES_MAX) nodes, to explore; `None` for other numbers.
    pub fn new(nodes: NodeId, rules: Rules, bounds: Bounds) -> Option<Self> {
        (1..=Self::NODES_MAX).contains(&nodes).then_some(Self { nodes, rules, bounds: Some(bounds) })
    }

    /// The same, to follow an implementation. Its disk lags, whatever the rules say.
    pub fn open(nodes: NodeId, rules: Rules) -> Option<Self> {
        let rules = Rules { disk_lags: true, ..rules };
        (1..=Self::NODES_MAX).contains(&nodes).then_some(Self { nodes, rules, bounds: None })
    }

    fn is_open(&self) -> bool {
        self.bounds.is_none()
    }
}

impl Model for Raft {
    type State = State;
    type Action = Action;

    fn initial(&self, out: &mut Vec<State>) {
        out.push(State::new(self.nodes));
    }

    fn step(&self, state: &mut State, action: &Action) -> Step<State> {
        match self.take(state, action) {
            Ok(()) => Step::Taken,
            Err(why) => Step::Refused(Refusal(why)),
        }
    }

    fn enabled(&self, state: &State, out: &mut Vec<Action>) {
        self.enumerate(state, out);
    }

    fn properties(&self) -> &'static [Property<Self>] {
        properties::PROPERTIES
    }

    fn transitions(&self) -> &'static [&'static str] {
        &TRANSITIONS[..if self.rules.pre_vote { TRANSITIONS.len() } else { PRE_VOTES }]
    }

    fn transition(&self, action: &Action) -> usize {
        match action {
            Action::Deliver(envelope) => match envelope.message {
                Message::Vote { .. } => 0,
                Message::VoteReply { .. } => 1,
                Message::Append { .. } => 2,
                Message::AppendReply { .. } => 3,
                Message::Heartbeat { .. } => 4,
                Message::HeartbeatReply { .. } => 5,
                Message::TimeoutNow { .. } => 6,
                Message::Snapshot { .. } => 7,
                Message::Note { .. } => 8,
                Message::PreVote { .. } => PRE_VOTES,
                Message::PreVoteReply { .. } => PRE_VOTES + 1,
            },
            Action::Hear(_) => 9,
            Action::Send(_) | Action::Hold(_) => 10,
            Action::Timeout { .. } => 11,
            Action::BecomeLeader { .. } => 12,
            Action::StepDown { .. } => 13,
            Action::Propose { .. } => 14,
            Action::AdvanceCommit { .. } => 15,
            Action::LearnCommit { .. } => 16,
            Action::Persist { .. } => 17,
            Action::Crash { .. } => 18,
            Action::Restart { .. } => 19,
            Action::PreVote { .. } => PRE_VOTES + 2,
            Action::Append { .. }
            | Action::Heartbeat { .. }
            | Action::TimeoutNow { .. }
            | Action::Snapshot { .. } => TRANSITIONS.len(),
        }
    }
}

/// From here on the transitions of pre-votes.
const PRE_VOTES: usize = 20;

/// Deliveries by kind, and what else an implementation does.
const TRANSITIONS: [&str; PRE_VOTES + 3] = [
    "Deliver Vote",
    "Deliver VoteReply",
    "Deliver Append",
    "Deliver AppendReply",
    "Deliver Heartbeat",
    "Deliver HeartbeatReply",
    "Deliver TimeoutNow",
    "Deliver Snapshot",
    "Deliver Note",
    "Hear",
    "Send",
    "Timeout",
    "BecomeLeader",
    "StepDown",
    "Propose",
    "AdvanceCommit",
    "LearnCommit",
    "Persist",
    "Crash",
    "Restart",
    "Deliver PreVote",
    "Deliver PreVoteReply",
    "PreVote",
];

#[cfg(test)]
mod tests;

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
//! | [`membership`](Rules::membership) | a leader may change the configuration by one voter at a time (thesis, section 4.1), or through joint ones too (paper, section 6) | all nodes vote, for ever |
//! | [`whole_configurations`](Rules::whole_configurations) | an entry says the whole configuration, which has a set of voters of the one before | it says what changes |
//! | [`applied_configuration`](Rules::applied_configuration) | a node goes by the changes that it has applied ([`Action::Reconfigure`]), and knows them after a start | it goes by the last one in its log |
//! | [`reads`](Rules::reads) | a leader takes reads that do not go into the log, and confirms them by a quorum (thesis, section 6.4) or its lease (6.4.1) | there are none |
//! | [`late_flush`](Rules::late_flush) | in an open network a node goes on while messages wait for its disk (thesis, section 10.2.1) | what it sends, its disk has backed in the same step |
//!
//! # What this model leaves out
//!
//! The applied index but for changes of the configuration: a read counts when its index is confirmed, not when it is
//! answered. Clocks, and so whether a lease still holds. Nobody stops a node that is no
//! member any more, and of those that are told to vote none waits to catch up (thesis, section 4.2). Compaction is not seen: the model keeps whole logs, and
//! what a snapshot holds are the entries that are committed. Whether a leader has heard of
//! a majority (`check_quorum`) and whether a lease makes a node drop a request for its vote are timing: the model lets
//! both happen at any time. Pipelining is free in an open network; in a bounded one a leader sends from where
//! the last answer left it. A crash falls between actions.

mod configuration;
mod deliver;
mod enumerate;
mod lenses;
mod membership;
mod message;
mod owned;
mod project;
mod properties;
mod reads;
mod rules;
mod send;
mod state;
mod step;

pub use configuration::{Change, ChangeKind, Configuration};
pub use message::{Envelope, LogEntry, Message};
pub use owned::owned_term;
pub use project::Projection;
pub use reads::Read;
pub use rules::{Bounds, Membership, Reads, Rules};
pub use state::{Disk, NodeState, Role, State};

use crate::{Model, NodeId, Property, Refusal, Step};

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
    /// A node puts in force what the changes of its log up to an index make of the configuration, with
    /// [`Rules::applied_configuration`].
    Reconfigure {
        /// The node.
        node: NodeId,
        /// The index, which is committed.
        index: u32,
    },
    /// A leader takes a read, and notes its commit index for it.
    TakeRead {
        /// The leader.
        node: NodeId,
        /// Which read it is; not 0.
        read: u32,
    },
    /// A leader confirms a read, which may be answered once its index is applied.
    ConfirmRead {
        /// The leader.
        node: NodeId,
        /// Which read it is.
        read: u32,
        /// Its index.
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
            | Self::Reconfigure { node, .. }
            | Self::TakeRead { node, .. }
            | Self::ConfirmRead { node, .. }
            | Self::Persist { node }
            | Self::Crash { node }
            | Self::Restart { node, .. } => *node,
        }
    }
}

/// Raft for a fixed set of nodes, all of which vote at first, or so many of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raft {
    nodes: NodeId,
    voters: NodeId,
    rules: Rules,
    /// `None` where the network is open.
    bounds: Option<Bounds>,
}

impl Raft {
    /// The most nodes.
    pub const NODES_MAX: NodeId = 7;

    /// A cluster of 1 to [`NODES_MAX`](Self::NODES_MAX) nodes, to explore; `None` for other numbers.
    pub fn new(nodes: NodeId, rules: Rules, bounds: Bounds) -> Option<Self> {
        (1..=Self::NODES_MAX).contains(&nodes).then_some(Self {
            nodes,
            voters: nodes,
            rules,
            bounds: Some(bounds),
        })
    }

    /// The same, to follow an implementation. Its disk lags, whatever the rules say.
    pub fn open(nodes: NodeId, rules: Rules) -> Option<Self> {
        let rules = Rules { disk_lags: true, ..rules };
        (1..=Self::NODES_MAX).contains(&nodes).then_some(Self { nodes, voters: nodes, rules, bounds: None })
    }

    /// The same, of which only the first so many vote at first: all, where there are no more.
    #[must_use]
    pub fn with_voters(self, voters: NodeId) -> Self {
        Self { voters: voters.min(self.nodes), ..self }
    }

    fn is_open(&self) -> bool {
        self.bounds.is_none()
    }

    /// From here on the transitions of reads.
    fn read_names(&self) -> usize {
        USUAL.len() + usize::from(self.has_changes())
    }

    /// From here on the transitions of pre-votes.
    fn pre_votes(&self) -> usize {
        self.read_names() + if self.has_reads() { READS.len() } else { 0 }
    }
}

impl Model for Raft {
    type State = State;
    type Action = Action;

    fn initial(&self, out: &mut Vec<State>) {
        out.push(State::new(self.nodes, self.voters));
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
        properties::of(self)
    }

    fn transitions(&self) -> &'static [&'static str] {
        let all: &[_] = match (self.has_changes(), self.has_reads()) {
            (false, false) => &TRANSITIONS,
            (true, false) => &WITH_CHANGES,
            (false, true) => &WITH_READS,
            (true, true) => &WITH_BOTH,
        };
        &all[..all.len() - if self.rules.pre_vote { 0 } else { PRE_VOTES.len() }]
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
                Message::PreVote { .. } => self.pre_votes(),
                Message::PreVoteReply { .. } => self.pre_votes() + 1,
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
            Action::Reconfigure { .. } => USUAL.len(),
            Action::TakeRead { .. } => self.read_names(),
            Action::ConfirmRead { .. } => self.read_names() + 1,
            Action::PreVote { .. } => self.pre_votes() + 2,
            Action::Append { .. }
            | Action::Heartbeat { .. }
            | Action::TimeoutNow { .. }
            | Action::Snapshot { .. } => WITH_BOTH.len(),
        }
    }
}

/// Deliveries by kind, and what else an implementation does.
const USUAL: [&str; 20] = [
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
];

/// What stands at the end, with pre-votes only.
const PRE_VOTES: [&str; 3] = ["Deliver PreVote", "Deliver PreVoteReply", "PreVote"];

/// What there is where the configuration may change, and where there are reads.
const CHANGES: [&str; 1] = ["Reconfigure"];
const READS: [&str; 2] = ["TakeRead", "ConfirmRead"];

const TRANSITIONS: [&str; 23] = joined([&USUAL, &[], &[], &PRE_VOTES]);
const WITH_CHANGES: [&str; 24] = joined([&USUAL, &CHANGES, &[], &PRE_VOTES]);
const WITH_READS: [&str; 25] = joined([&USUAL, &[], &READS, &PRE_VOTES]);
const WITH_BOTH: [&str; 26] = joined([&USUAL, &CHANGES, &READS, &PRE_VOTES]);

/// One list of four, of `N` names in all.
const fn joined<const N: usize>(lists: [&[&'static str]; 4]) -> [&'static str; N] {
    let (mut out, mut at, mut list) = ([""; N], 0, 0);
    while list < lists.len() {
        let mut from = 0;
        while from < lists[list].len() {
            out[at] = lists[list][from];
            (at, from) = (at + 1, from + 1);
        }
        list += 1;
    }
    out
}

#[cfg(test)]
mod tests;

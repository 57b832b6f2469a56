//! The variables of the protocol.

use super::configuration::Configuration;
use super::message::{Envelope, LogEntry};
use super::reads::Read;
use crate::presets::Delivered;
use crate::{Fields, Log, NodeId};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::hash::{Hash, Hasher};

/// What a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Follows a leader, or waits for one.
    #[default]
    Follower,
    /// Asks for votes.
    Candidate,
    /// Leads.
    Leader,
    /// Asks whether it would get votes.
    PreCandidate,
}

/// What is on a node's disk.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Disk {
    /// The current term.
    pub term: u32,
    /// Who has the vote of that term.
    pub vote: Option<NodeId>,
    /// The commit index, with [`Rules::commit_kept`](super::Rules::commit_kept).
    pub commit: u32,
    /// The log.
    pub log: Log<LogEntry>,
    /// The last term in which the node led, with [`Rules::leads_again`](super::Rules::leads_again); else 0.
    pub led: u32,
    /// Up to where changes of the configuration are applied, with
    /// [`Rules::applied_configuration`](super::Rules::applied_configuration); else 0.
    pub configured: u32,
}

/// One node.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeState {
    /// Whether it runs.
    pub up: bool,
    /// What it is.
    pub role: Role,
    /// The current term.
    pub term: u32,
    /// Who has the vote of that term.
    pub vote: Option<NodeId>,
    /// The log.
    pub log: Log<LogEntry>,
    /// The commit index.
    pub commit: u32,
    /// Bit set of nodes whose votes a candidate has, or whose promises of a vote.
    pub votes: u64,
    /// For a leader of a bounded network, the next index to send to each node.
    pub next: Vec<u32>,
    /// For a leader, up to where each node's disk is known to agree.
    pub matched: Vec<u32>,
    /// What is on its disk.
    pub disk: Disk,
    /// What leaves once the disk has caught up; in a bounded network.
    pub pending: BTreeSet<Envelope>,
    /// In an open network, what the node has said and its disk must back before it leaves.
    pub held: Vec<Envelope>,
    /// How many of these, from the front, the disk has backed: they may leave now.
    pub freed: usize,
    /// In an open network, up to where the log is known to agree with the leader's of this term.
    pub verified: u32,
    /// History: the term and the vote of which others may have heard.
    pub told: (u32, Option<NodeId>),
    /// For a leader, the reads that wait, oldest first.
    pub reads: Vec<Read>,
    /// The configuration that the node goes by.
    pub configuration: Configuration,
    /// The index of the last change that it has applied, with
    /// [`Rules::applied_configuration`](super::Rules::applied_configuration); else 0.
    pub configured: u32,
}

impl NodeState {
    fn new(nodes: NodeId, voters: NodeId) -> Self {
        let count = usize::from(nodes);
        let configuration = Configuration::of_voters(voters);
        Self { up: true, next: vec![1; count], matched: vec![0; count], configuration, ..Self::default() }
    }

    /// The length of the log.
    pub fn length(&self) -> u32 {
        self.log.len()
    }

    /// The term at an index; 0 at 0, `None` behind the log.
    pub fn term_at(&self, index: u32) -> Option<u32> {
        let Some(at) = index.checked_sub(1) else { return Some(0) };
        self.log.entries().get(at as usize).map(|entry| entry.term)
    }

    /// Index and term of the last entry.
    pub fn last(&self) -> (u32, u32) {
        (self.length(), self.log.entries().last().map_or(0, |entry| entry.term))
    }

    /// The last index up to `limit` whose entry is of `term` or older.
    pub(super) fn last_not_newer(&self, limit: u32, term: u32) -> u32 {
        let mut open = (0..=limit.min(self.length())).rev();
        open.find(|index| self.term_at(*index).is_some_and(|at| at <= term)).unwrap_or(0)
    }

    /// Whether the disk is behind memory; the commit index does not count, and may always be.
    pub fn waits_for_disk(&self) -> bool {
        let disk = &self.disk;
        !self.pending.is_empty() || disk.term != self.term || disk.vote != self.vote || disk.log != self.log
    }

    /// Whether the disk has this term, and in it this vote where there is one to be had.
    pub(super) fn has_on_disk(&self, term: u32, vote: Option<NodeId>) -> bool {
        self.disk.term == term && (vote.is_none() || self.disk.vote == vote)
    }

    /// Forgets what only candidates and leaders know.
    pub(super) fn follow(&mut self) {
        self.role = Role::Follower;
        self.votes = 0;
        self.next.fill(1);
        self.matched.fill(0);
        self.reads.clear();
    }

    /// Enters a term.
    pub(super) fn enter(&mut self, term: u32, vote: Option<NodeId>) {
        self.follow();
        (self.term, self.vote, self.verified) = (term, vote, 0);
    }

    /// Forgets what waits for the disk.
    pub(super) fn drop_waiting(&mut self) {
        self.pending.clear();
        self.held.clear();
        self.freed = 0;
    }
}

impl Clone for NodeState {
    fn clone(&self) -> Self {
        let mut out = Self::default();
        out.clone_from(self);
        out
    }
    /// Uses the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        (self.up, self.role, self.term, self.vote) = (source.up, source.role, source.term, source.vote);
        self.log.clone_from(&source.log);
        (self.commit, self.votes, self.verified, self.told) =
            (source.commit, source.votes, source.verified, source.told);
        self.next.clone_from(&source.next);
        self.matched.clone_from(&source.matched);
        let (disk, from) = (&mut self.disk, &source.disk);
        (disk.term, disk.vote, disk.commit, disk.led) = (from.term, from.vote, from.commit, from.led);
        disk.configured = from.configured;
        disk.log.clone_from(&from.log);
        self.pending.clone_from(&source.pending);
        self.held.clone_from(&source.held);
        self.freed = source.freed;
        self.reads.clone_from(&source.reads);
        (self.configuration, self.configured) = (source.configuration, source.configured);
    }
}

/// All variables. Equality and hash leave out what only the last action and lenses need.
#[derive(Debug)]
pub struct State {
    pub(super) nodes: Vec<NodeState>,
    /// Every message ever sent in a bounded network.
    pub(super) messages: BTreeSet<Envelope>,
    pub(super) proposed: u32,
    /// How many reads were taken in a bounded network.
    pub(super) reads: u32,
    pub(super) faults: u8,
    /// History: who was elected in which term, in order.
    pub(super) elected: Vec<(u32, NodeId)>,
    /// History: what is committed.
    pub(super) committed: Log<LogEntry>,
    /// History: for each committed entry the term of the node that committed it first.
    pub(super) committed_by: Vec<u32>,
    /// History: the configuration by which the last of it was committed; an empty one where that is not known.
    pub(super) committed_in: Configuration,
    pub(super) marks: Marks,
    /// What the last action delivered, for lenses.
    pub(super) delivered: Option<Delivered>,
    /// In an open network, the vote that was promised in this step: by whom, to whom, for which term.
    pub(super) promised: Option<(NodeId, NodeId, u32)>,
    /// In an open network, the read that a heartbeat brought in this step: to whom, from whom, in which term.
    pub(super) asked_for: Option<(NodeId, NodeId, u32, u32)>,
}

/// History: what has happened.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Marks {
    /// A term had two leaders.
    pub(super) elected_twice: bool,
    /// A node took back entries that its leader does not have.
    pub(super) truncated: bool,
    /// A leader lost or replaced an entry of its own.
    pub(super) leader_rewritten: bool,
    /// A node has started from a disk with a vote on it.
    pub(super) recovered: bool,
    /// Two nodes have committed different entries.
    pub(super) disagreed: bool,
    /// The node that was asked last to take over, and its term then.
    pub(super) asked: Option<(NodeId, u32)>,
    /// It was elected.
    pub(super) transferred: bool,
    /// A node has come to go by another configuration.
    pub(super) reconfigured: bool,
    /// A read was confirmed.
    pub(super) read: bool,
    /// Its index was below what was committed when the read came.
    pub(super) read_stale: bool,
}

impl State {
    pub(super) fn new(nodes: NodeId, voters: NodeId) -> Self {
        Self {
            nodes: vec![NodeState::new(nodes, voters); usize::from(nodes)],
            messages: BTreeSet::new(),
            proposed: 0,
            reads: 0,
            faults: 0,
            elected: Vec::new(),
            committed: Log::default(),
            committed_by: Vec::new(),
            committed_in: Configuration::default(),
            marks: Marks::default(),
            delivered: None,
            promised: None,
            asked_for: None,
        }
    }

    /// How many nodes there are.
    pub fn count(&self) -> NodeId {
        self.nodes.len() as NodeId
    }

    /// One node.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn node(&self, node: NodeId) -> &NodeState {
        &self.nodes[usize::from(node)]
    }

    pub(super) fn node_mut(&mut self, node: NodeId) -> &mut NodeState {
        &mut self.nodes[usize::from(node)]
    }

    /// Leaves out what no action reads and only properties of ways do, so that states can be counted as a version of
    /// the protocol without such variables counts them.
    pub fn forget_history(&mut self) {
        self.elected.clear();
        self.committed.truncate(0);
        self.committed_by.clear();
        self.committed_in = Configuration::default();
        self.marks = Marks::default();
        for node in &mut self.nodes {
            node.told = (0, None);
            node.reads.iter_mut().for_each(|read| read.floor = 0);
        }
    }

    /// What is committed.
    pub fn committed(&self) -> &Log<LogEntry> {
        &self.committed
    }

    /// Every message ever sent in a bounded network.
    pub fn messages(&self) -> impl Iterator<Item = &Envelope> {
        self.messages.iter()
    }
}

impl Clone for State {
    fn clone(&self) -> Self {
        let mut out = Self::new(0, 0);
        out.clone_from(self);
        out
    }
    /// Uses the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.nodes.clone_from(&source.nodes);
        self.messages.clone_from(&source.messages);
        (self.proposed, self.reads, self.faults) = (source.proposed, source.reads, source.faults);
        self.elected.clone_from(&source.elected);
        self.committed.clone_from(&source.committed);
        self.committed_by.clone_from(&source.committed_by);
        self.committed_in = source.committed_in;
        (self.marks, self.delivered) = (source.marks, source.delivered);
        (self.promised, self.asked_for) = (source.promised, source.asked_for);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
            && self.messages == other.messages
            && (self.proposed, self.reads, self.faults) == (other.proposed, other.reads, other.faults)
            && self.marks == other.marks
            && self.elected == other.elected
            && (&self.committed, &self.committed_by) == (&other.committed, &other.committed_by)
            && self.committed_in == other.committed_in
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nodes.hash(state);
        self.messages.hash(state);
        (self.proposed, self.reads, self.faults, self.marks).hash(state);
        self.elected.hash(state);
        (&self.committed, &self.committed_by, self.committed_in).hash(state);
    }
}

impl Fields for State {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        for (at, node) in self.nodes.iter().enumerate() {
            let name = |field: &str| format!("n{}.{field}", at + 1);
            visit(&name("up"), &node.up);
            visit(&name("role"), &format_args!("{:?}", node.role));
            visit(&name("term"), &node.term);
            visit(&name("vote"), &node.vote.map_or(0, |vote| vote + 1));
            visit(&name("length"), &node.length());
            visit(&name("last_term"), &node.last().1);
            visit(&name("commit"), &node.commit);
            visit(&name("durable_term"), &node.disk.term);
            visit(&name("durable_length"), &node.disk.log.len());
            if node.configuration != Configuration::of_voters(self.count()) {
                visit(&name("configuration"), &node.configuration);
            }
            if node.role == Role::Leader {
                visit(&name("matched"), &format_args!("{:?}", node.matched));
            }
            if !node.reads.is_empty() {
                visit(&name("reads"), &node.reads.len());
            }
        }
        visit("messages", &self.messages.len());
        visit("committed", &self.committed.len());
    }
}

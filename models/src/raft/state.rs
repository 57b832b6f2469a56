//! The variables of the protocol.

use crate::presets::Delivered;
use crate::{Fields, NodeId};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::hash::{Hash, Hasher};

/// An entry of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogEntry {
    /// The term in which a leader took it.
    pub term: u32,
    /// Which entry it is.
    pub value: u32,
}

/// A message with its contents. Indices count from 1; 0 stands for the beginning of the log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    /// A candidate asks for a vote.
    Vote {
        /// The candidate's term.
        term: u32,
        /// Index and term of its last entry.
        last: (u32, u32),
    },
    /// The answer to `Vote`.
    VoteReply {
        /// The voter's term.
        term: u32,
        /// Whether the candidate has the vote.
        granted: bool,
    },
    /// A leader sends an entry, or a heartbeat.
    Append {
        /// The leader's term.
        term: u32,
        /// Index and term of the entry before.
        previous: (u32, u32),
        /// What follows.
        entry: Option<LogEntry>,
        /// The leader's commit index, as far as the message reaches.
        commit: u32,
    },
    /// The answer to `Append`.
    AppendReply {
        /// The follower's term.
        term: u32,
        /// Up to which index the logs agree; `None` where the entry before was another.
        matched: Option<u32>,
    },
}

impl Message {
    /// The term of the message.
    pub fn term(&self) -> u32 {
        match *self {
            Self::Vote { term, .. }
            | Self::VoteReply { term, .. }
            | Self::Append { term, .. }
            | Self::AppendReply { term, .. } => term,
        }
    }

    /// The kind as a number, for keys.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Vote { .. } => 0,
            Self::VoteReply { .. } => 1,
            Self::Append { .. } => 2,
            Self::AppendReply { .. } => 3,
        }
    }

    /// The index of the log that the message speaks of: the last one that it brings, or that its sender has.
    pub fn index(&self) -> Option<u32> {
        match *self {
            Self::Vote { last, .. } => Some(last.0),
            Self::VoteReply { .. } => None,
            Self::Append { previous, entry, .. } => Some(previous.0 + u32::from(entry.is_some())),
            Self::AppendReply { matched, .. } => matched,
        }
    }

    /// Whether it carries nothing but that its sender leads.
    pub fn is_heartbeat(&self) -> bool {
        matches!(self, Self::Append { entry: None, .. })
    }
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Envelope {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The contents.
    pub message: Message,
}

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
}

/// What is on a node's disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Disk {
    /// The current term.
    pub term: u32,
    /// Who has the vote of that term.
    pub vote: Option<NodeId>,
    /// The log.
    pub log: Vec<LogEntry>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    pub log: Vec<LogEntry>,
    /// The commit index.
    pub commit: u32,
    /// Bit set of nodes whose votes a candidate has.
    pub votes: u64,
    /// For a leader, the next index to send to each node.
    pub next: Vec<u32>,
    /// For a leader, up to where each node's disk is known to agree.
    pub matched: Vec<u32>,
    /// What is on its disk.
    pub disk: Disk,
    /// What leaves once the disk has caught up.
    pub pending: BTreeSet<Envelope>,
    /// History: the term and the vote of which others may have heard.
    pub told: (u32, Option<NodeId>),
}

impl NodeState {
    fn new(nodes: NodeId) -> Self {
        Self {
            up: true,
            role: Role::Follower,
            term: 0,
            vote: None,
            log: Vec::new(),
            commit: 0,
            votes: 0,
            next: vec![1; usize::from(nodes)],
            matched: vec![0; usize::from(nodes)],
            disk: Disk::default(),
            pending: BTreeSet::new(),
            told: (0, None),
        }
    }

    /// The length of the log.
    pub fn length(&self) -> u32 {
        self.log.len() as u32
    }

    /// The term at an index; 0 at 0, `None` behind the log.
    pub fn term_at(&self, index: u32) -> Option<u32> {
        let Some(at) = index.checked_sub(1) else { return Some(0) };
        self.log.get(at as usize).map(|entry| entry.term)
    }

    /// Index and term of the last entry.
    pub fn last(&self) -> (u32, u32) {
        (self.length(), self.log.last().map_or(0, |entry| entry.term))
    }

    /// Whether the disk is behind memory.
    pub fn waits_for_disk(&self) -> bool {
        let disk = &self.disk;
        !self.pending.is_empty() || disk.term != self.term || disk.vote != self.vote || disk.log != self.log
    }

    /// Forgets what only candidates and leaders know.
    pub(super) fn follow(&mut self) {
        self.role = Role::Follower;
        self.votes = 0;
        self.next.fill(1);
        self.matched.fill(0);
    }
}

/// All variables. Equality and hash leave out the last delivery.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) nodes: Vec<NodeState>,
    /// Every message ever sent.
    pub(super) messages: BTreeSet<Envelope>,
    pub(super) proposed: u32,
    pub(super) faults: u8,
    /// History: who was elected in which term.
    pub(super) elected: BTreeSet<(u32, NodeId)>,
    /// History: what is committed, each entry with the term of the leader that committed it first.
    pub(super) committed: Vec<(LogEntry, u32)>,
    pub(super) marks: Marks,
    /// What the last action delivered, for lenses.
    pub(super) delivered: Option<Delivered>,
}

/// History: what has happened.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Marks {
    /// A node took back entries that its leader does not have.
    pub(super) truncated: bool,
    /// A leader lost or replaced an entry of its own.
    pub(super) leader_rewritten: bool,
    /// A node has started from a disk with a vote on it.
    pub(super) recovered: bool,
    /// Two nodes have committed different entries.
    pub(super) disagreed: bool,
}

impl State {
    pub(super) fn new(nodes: NodeId) -> Self {
        Self {
            nodes: vec![NodeState::new(nodes); usize::from(nodes)],
            messages: BTreeSet::new(),
            proposed: 0,
            faults: 0,
            elected: BTreeSet::new(),
            committed: Vec::new(),
            marks: Marks::default(),
            delivered: None,
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

    /// Leaves out what no action reads and only properties of ways do, so that states can be counted as a version of
    /// the protocol without such variables counts them.
    pub fn forget_history(&mut self) {
        self.elected.clear();
        self.committed.clear();
        self.marks = Marks::default();
        for node in &mut self.nodes {
            node.told = (0, None);
        }
    }

    /// Every message ever sent.
    pub fn messages(&self) -> impl Iterator<Item = &Envelope> {
        self.messages.iter()
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
            && self.messages == other.messages
            && (self.proposed, self.faults) == (other.proposed, other.faults)
            && (&self.elected, &self.committed) == (&other.elected, &other.committed)
            && self.marks == other.marks
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nodes.hash(state);
        self.messages.hash(state);
        (self.proposed, self.faults).hash(state);
        (&self.elected, &self.committed).hash(state);
        self.marks.hash(state);
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
            visit(&name("length"), &node.log.len());
            visit(&name("last_term"), &node.last().1);
            visit(&name("commit"), &node.commit);
            visit(&name("durable_term"), &node.disk.term);
            visit(&name("durable_length"), &node.disk.log.len());
        }
        visit("messages", &self.messages.len());
    }
}

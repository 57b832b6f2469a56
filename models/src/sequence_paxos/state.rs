//! The variables of the protocol.

use super::Sequence;
use super::message::{Ballot, Envelope, LogSync, Outbox};
use super::traffic::Traffic;
use crate::Log;
use crate::presets::Delivered;
use crate::{Fields, NodeId};
use std::fmt::Display;
use std::hash::{Hash, Hasher};

/// What a node is in its promised ballot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// It follows the owner of its promise.
    #[default]
    Follower,
    /// It owns its promise and has been elected in it.
    Leader,
}

/// How far a node has come in its promised ballot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// No ballot yet, or down.
    #[default]
    None,
    /// Promises are exchanged.
    Prepare,
    /// Entries are accepted.
    Accept,
    /// Restarted or cut off from the leader: waits for a `Prepare`.
    Recover,
}

/// Role and phase as a number below 8, the same for the model and for a projection of an implementation.
pub fn role_code(role: Role, phase: Phase) -> u8 {
    let phase = match phase {
        Phase::None => 0,
        Phase::Prepare => 1,
        Phase::Accept => 2,
        Phase::Recover => 3,
    };
    match role {
        Role::Follower => phase,
        Role::Leader => 4 + phase,
    }
}

/// What a promise says of its sender's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PromiseMeta {
    /// The round in which the log was accepted.
    pub accepted_round: Ballot,
    /// The length of the log.
    pub accepted: u32,
    /// The decided index.
    pub decided: u32,
}

/// What a leader knows of a node's promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Promised {
    /// Nothing.
    #[default]
    No,
    /// It has promised the leader's ballot.
    Yes(PromiseMeta),
    /// It has promised a higher ballot.
    Higher,
}

impl Display for Promised {
    /// Accepted round, accepted index and decided index of a promise.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::No => f.write_str("-"),
            Self::Yes(meta) => {
                write!(f, "{} accepted {} decided {}", meta.accepted_round, meta.accepted, meta.decided)
            }
            Self::Higher => f.write_str("higher"),
        }
    }
}

/// What a node knows as a leader. Cleared whenever it stops to lead, so that states do not differ in what can
/// never be read again.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Leading {
    /// By node.
    pub promises: Vec<Promised>,
    /// Accepted length by node.
    pub accepted: Vec<u32>,
    /// The last number of the accept sequence to each node.
    pub sequences: Vec<Sequence>,
    /// The highest round of the promises seen in the prepare phase.
    pub max_round: Ballot,
    /// The longest log of that round.
    pub max_accepted: u32,
    /// What the leader lacks of that log, until the prepare phase ends.
    pub max_sync: Option<LogSync>,
}

impl Leading {
    pub(super) fn clear(&mut self) {
        self.promises.fill(Promised::No);
        self.accepted.fill(0);
        self.sequences.fill(Sequence::default());
        self.max_round = Ballot::ZERO;
        self.max_accepted = 0;
        self.max_sync = None;
    }
}

impl Clone for Leading {
    fn clone(&self) -> Self {
        let mut out = Self::default();
        out.clone_from(self);
        out
    }
    fn clone_from(&mut self, source: &Self) {
        self.promises.clone_from(&source.promises);
        self.accepted.clone_from(&source.accepted);
        self.sequences.clone_from(&source.sequences);
        self.max_round = source.max_round;
        self.max_accepted = source.max_accepted;
        self.max_sync.clone_from(&source.max_sync);
    }
}

/// The variables of one node.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeState {
    /// Whether it runs.
    pub up: bool,
    /// Durable: the highest ballot it has promised.
    pub promise: Ballot,
    /// Durable: the round in which its log was accepted.
    pub accepted_round: Ballot,
    /// Durable: the length of the decided prefix.
    pub decided: u32,
    /// Durable: the log.
    pub log: Log,
    /// Volatile.
    pub role: Role,
    /// Volatile.
    pub phase: Phase,
    /// Volatile: the last number seen of the leader's accept sequence; zero outside the accept phase.
    pub sequence: Sequence,
    /// Volatile: what the last `Prepare` said of the leader's log, for sending the promise again; kept in the
    /// prepare phase only, and only with [`Rules::resend`](super::Rules::resend).
    pub cached: Option<PromiseMeta>,
    /// Volatile: proposals that wait for a leader.
    pub buffered: Vec<u32>,
    /// Volatile: accepted entries that do not make a batch yet.
    pub batch: Vec<u32>,
    /// Volatile: by how much the node believes its log to be longer than it is, after entries that would leave
    /// a hole; only with [`Rules::counted_accepted`](super::Rules::counted_accepted).
    pub hole: u32,
    /// Volatile: what it knows as a leader.
    pub leading: Leading,
}

impl NodeState {
    /// Whether it is in this role and phase.
    pub fn is(&self, role: Role, phase: Phase) -> bool {
        self.role == role && self.phase == phase
    }

    /// The accepted index: the length of the log, as far as the node knows.
    pub fn accepted(&self) -> u32 {
        self.log.len() + self.hole
    }

    /// Becomes a follower in `phase`; forgets what only a leader or the old session needs.
    pub(super) fn follow(&mut self, phase: Phase) {
        if self.role == Role::Leader {
            self.leading.clear();
        }
        self.role = Role::Follower;
        self.phase = phase;
        self.sequence = Sequence::default();
        self.cached = None;
    }
}

impl Clone for NodeState {
    fn clone(&self) -> Self {
        let mut out = Self::default();
        out.clone_from(self);
        out
    }
    fn clone_from(&mut self, source: &Self) {
        self.up = source.up;
        self.promise = source.promise;
        self.accepted_round = source.accepted_round;
        self.decided = source.decided;
        self.log.clone_from(&source.log);
        self.role = source.role;
        self.phase = source.phase;
        self.sequence = source.sequence;
        self.cached = source.cached;
        self.buffered.clone_from(&source.buffered);
        self.batch.clone_from(&source.batch);
        self.hole = source.hole;
        self.leading.clone_from(&source.leading);
    }
}

/// What can be read of a node of an implementation.
#[derive(Clone, Copy, Debug)]
pub struct Projection<'a> {
    /// Whether it runs.
    pub up: bool,
    /// The highest ballot it has promised.
    pub promise: Ballot,
    /// The round in which its log was accepted.
    pub accepted_round: Ballot,
    /// The length of the decided prefix.
    pub decided: u32,
    /// The log.
    pub log: &'a [u32],
    /// Its role.
    pub role: Role,
    /// Its phase.
    pub phase: Phase,
}

/// Things that happened on the way to a state, for properties of ways; not part of the state's identity, so that
/// exploring sees them on the first way to a state only.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Nodes that have restarted or lost their leader and not yet accepted again.
    pub(super) recovering: u64,
    pub(super) recovered: bool,
    pub(super) truncated: bool,
    /// A node has changed what it knew to be decided.
    pub(super) rewritten: bool,
}

/// The whole cluster. Equality and hash take in the nodes, the messages of a bounded network and the budgets;
/// not the outbox, the marks or the last delivery.
#[derive(Debug)]
pub struct State {
    pub(super) nodes: Vec<NodeState>,
    pub(super) traffic: Traffic,
    /// Entries proposed so far; counted by bounded networks only.
    pub(super) proposed: u32,
    /// Faults so far; counted by bounded networks only.
    pub(super) faults: u8,
    pub(super) out: Outbox,
    pub(super) marks: Marks,
    pub(super) delivered: Option<Delivered>,
}

impl State {
    pub(super) fn new(nodes: NodeId, traffic: Traffic) -> Self {
        let count = usize::from(nodes);
        let node = NodeState {
            up: true,
            leading: Leading {
                promises: vec![Promised::No; count],
                accepted: vec![0; count],
                sequences: vec![Sequence::default(); count],
                ..Leading::default()
            },
            ..NodeState::default()
        };
        Self {
            nodes: vec![node; count],
            traffic,
            proposed: 0,
            faults: 0,
            out: Outbox::default(),
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

    /// One node, to be changed from outside: for projections that see more than [`Projection`] holds.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn node_mut(&mut self, node: NodeId) -> &mut NodeState {
        &mut self.nodes[usize::from(node)]
    }

    /// What the last action sent, in order. Empty in a clone.
    pub fn sent(&self) -> &[Envelope] {
        self.out.sent()
    }

    /// Whether `node` is what `seen` says; O(1) but for the log, of which only length and hash are compared.
    pub fn conforms(&self, node: NodeId, seen: &Projection<'_>, log_hash: u64) -> bool {
        let ours = self.node(node);
        ours.up == seen.up
            && ours.promise == seen.promise
            && ours.accepted_round == seen.accepted_round
            && ours.decided == seen.decided
            && ours.log.len() as usize == seen.log.len()
            && ours.log.digest() == log_hash
            && ours.is(seen.role, seen.phase)
    }

    /// Sets `node` from what was seen of an implementation. What cannot be seen (sequence numbers, promises,
    /// buffered proposals) starts anew, except that a leader knows its own log to be accepted: correct what
    /// is known better with [`node_mut`](Self::node_mut). Exact for a node that is down, and so for one that
    /// crashed in the middle of a handler, since then all of that is lost anyway.
    pub fn resync_node(&mut self, node: NodeId, seen: &Projection<'_>) {
        let ours = &mut self.nodes[usize::from(node)];
        ours.up = seen.up;
        ours.promise = seen.promise;
        ours.accepted_round = seen.accepted_round;
        ours.decided = seen.decided;
        ours.log.assign(seen.log);
        ours.role = seen.role;
        ours.phase = seen.phase;
        ours.sequence = Sequence::default();
        ours.cached = None;
        ours.buffered.clear();
        ours.batch.clear();
        ours.hole = 0;
        ours.leading.clear();
        if seen.role == Role::Leader {
            let accepted = ours.log.len();
            ours.leading.accepted[usize::from(node)] = accepted;
            ours.leading.promises[usize::from(node)] = Promised::Yes(PromiseMeta {
                accepted_round: seen.accepted_round,
                accepted,
                decided: seen.decided,
            });
        }
    }
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self {
            nodes: self.nodes.clone(),
            traffic: self.traffic.clone(),
            proposed: self.proposed,
            faults: self.faults,
            out: Outbox::default(),
            marks: self.marks,
            delivered: self.delivered,
        }
    }
    fn clone_from(&mut self, source: &Self) {
        self.nodes.clone_from(&source.nodes);
        self.traffic.clone_from(&source.traffic);
        self.proposed = source.proposed;
        self.faults = source.faults;
        self.out.clear();
        self.marks = source.marks;
        self.delivered = source.delivered;
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
            && self.traffic == other.traffic
            && (self.proposed, self.faults) == (other.proposed, other.faults)
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nodes.hash(state);
        self.traffic.hash(state);
        state.write_u32(self.proposed);
        state.write_u8(self.faults);
    }
}

impl Fields for State {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        for (index, node) in self.nodes.iter().enumerate() {
            let mut field = |name: &str, value: &dyn Display| visit(&format!("{}.{name}", index + 1), value);
            field("up", &node.up);
            field("role", &format_args!("{:?}", node.role));
            field("phase", &format_args!("{:?}", node.phase));
            field("promise", &node.promise);
            field("accepted_round", &node.accepted_round);
            field("decided", &node.decided);
            field("log", &format_args!("{:?}", node.log.entries()));
            field("buffered", &format_args!("{:?}", node.buffered));
            if !node.batch.is_empty() {
                field("batch", &format_args!("{:?}", node.batch));
            }
            field("sequence", &format_args!("{}/{}", node.sequence.session, node.sequence.counter));
            if node.role == Role::Leader {
                for (from, promised) in node.leading.promises.iter().enumerate() {
                    field(&format!("promise_of.{}", from + 1), promised);
                }
                field("accepted", &format_args!("{:?}", node.leading.accepted));
            }
        }
        self.traffic.each(&mut |index, envelope| {
            visit(&format!("message.{index}"), &format_args!("{envelope:?}"));
        });
    }
}

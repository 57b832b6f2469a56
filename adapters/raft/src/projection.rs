//! The projection of a cluster that lenses read, kept up to date step by step.

use crate::image::SharedImage;
use crate::message::{Facts, Kind, content};
use crate::node::number;
use crate::system::Raft;
use crate::view::View;
use misrule_models::presets::{
    Delivered, Detail, Inbox, LastDelivery, LogRelation, Replica, Replicas, WaitingMessage, WaitingSet, Whole,
};
use misrule_models::{NodeId, StableHasher, relation};
use misrule_world::{Choice, Input, Seen, mix};
use std::hash::Hasher;
use std::rc::Rc;

/// The kinds that a leader and its followers send all the time: bit set.
const HEARTBEATS: u64 = 1 << Kind::Heartbeat as u8 | 1 << Kind::HeartbeatResponse as u8;

/// Which parts of a projection the lenses of the campaign read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) deliveries: bool,
    pub(crate) waiting: bool,
    pub(crate) contents: bool,
}

/// A cluster as lenses see it.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    parts: Parts,
    nodes: Vec<Server>,
    delivered: Option<Delivered>,
}

/// One node as lenses see it.
#[derive(Debug, Default)]
struct Server {
    image: SharedImage,
    replica: Replica,
    /// The change of the image that was read last.
    changes: u64,
    /// Hash of the whole log.
    log: u64,
    /// Clocks and their timeout.
    clocks: [usize; 3],
    /// What was applied, and the known leader.
    applied: (u64, u64),
    waiting: WaitingSet,
    /// Hashes of the waiting messages: as a bag without heartbeats, and all in their order.
    contents: (u64, u64),
}

impl Projection {
    pub(crate) fn new(parts: Parts) -> Self {
        Self { parts, ..Self::default() }
    }

    /// A new execution.
    pub(crate) fn reset(&mut self, seen: &Seen<'_, Raft>) {
        self.nodes.resize_with(seen.views.len(), Server::default);
        self.delivered = None;
        for (node, view) in seen.views.iter().enumerate() {
            let server = &mut self.nodes[node];
            server.image = Rc::clone(view.shared_image());
            server.contents = (0, 0);
            server.refresh(view, seen.up & (1 << node) != 0);
        }
        self.gather(seen, seen.touched);
    }

    /// Takes in a step. Returns the bit set of nodes whose own state is another now, and of those whose
    /// waiting messages or role are.
    pub(crate) fn update(&mut self, seen: &Seen<'_, Raft>) -> (u64, u64) {
        self.delivered = None;
        let (mut states, mut inboxes) = (0, 0);
        if let Some(node) = seen.node {
            let at = usize::from(node);
            let server = &mut self.nodes[at];
            let before = server.replica;
            if server.refresh(&seen.views[at], seen.up & (1 << node) != 0) {
                states = 1 << node;
                let role = |replica: &Replica| (replica.up, replica.role);
                inboxes = u64::from(role(&before) != role(&server.replica)) << node;
            }
            if self.parts.deliveries {
                self.delivered = server.delivery(seen, &before);
            }
        }
        if self.parts.waiting || self.parts.contents {
            inboxes |= self.gather(seen, states);
        }
        (states, inboxes)
    }

    /// Looks at what waits for the nodes where it may be another now. Returns those where it is.
    fn gather(&mut self, seen: &Seen<'_, Raft>, states: u64) -> u64 {
        let mut changed = 0;
        for (to, server) in self.nodes.iter_mut().enumerate() {
            let kinds = seen.links.changed_kinds(to as NodeId);
            if self.parts.contents && kinds != 0 {
                server.gather_contents(seen, to as NodeId);
            }
            if self.parts.waiting && (kinds & !HEARTBEATS != 0 || states & (1 << to) != 0) {
                changed |= u64::from(server.gather_waiting(seen, to as NodeId)) << to;
            }
        }
        changed
    }
}

impl Server {
    /// Reads the view. Returns whether anything that lenses compare is another now.
    fn refresh(&mut self, view: &View, up: bool) -> bool {
        self.clocks = [view.elapsed().0, view.elapsed().1, view.timeout()];
        self.applied = (view.applied(), view.leader());
        let image = view.image();
        // The log is as it was read.
        let same = self.changes == image.changes();
        let replica = Replica {
            up,
            role: view.role() as u8,
            term: view.term(),
            log_term: if same { self.replica.log_term } else { image.last_term() },
            length: if same { self.replica.length } else { image.last_index() },
            commit: view.commit(),
        };
        let log = if same { self.log } else { image.log_hash() };
        let changed = replica != self.replica || log != self.log;
        (self.replica, self.log, self.changes) = (replica, log, image.changes());
        changed
    }

    /// What the step delivered, against the node before it.
    fn delivery(&self, seen: &Seen<'_, Raft>, before: &Replica) -> Option<Delivered> {
        let (Choice::Deliver(_), Some(Input::Message { message, .. })) = (seen.choice, seen.input) else {
            return None;
        };
        let (facts, now) = (Facts::of(message.message()), self.replica);
        Some(Delivered {
            kind: message.kind() as u8,
            term: facts.term.map_or(1, |term| relation(&term, &before.term)) as u8,
            sequence: 1,
            index: facts.index.map_or(1, |index| relation(&index, &before.length)) as u8,
            roles: (before.role, now.role),
            length: relation(&now.length, &before.length) as u8,
            commit: relation(&now.commit, &before.commit) as u8,
        })
    }

    /// Hashes what waits for the node.
    fn gather_contents(&mut self, seen: &Seen<'_, Raft>, to: NodeId) {
        let (mut bag, mut list) = (0_u64, 0_u64);
        for from in 0..seen.views.len() as NodeId {
            for (message, _) in seen.links.waiting(from, to) {
                let content = mix(content(message.message()) ^ number(from));
                bag = bag.wrapping_add(if message.kind().is_heartbeat() { 0 } else { content });
                list = mix(list.rotate_left(7) ^ content);
            }
        }
        self.contents = (bag, list);
    }

    /// Finds the set of messages that wait for the node. Returns whether it is another now.
    fn gather_waiting(&mut self, seen: &Seen<'_, Raft>, to: NodeId) -> bool {
        let (term, length) = (self.replica.term, self.replica.length);
        let mut set = WaitingSet::default();
        for from in 0..seen.views.len() as NodeId {
            for (message, kind) in seen.links.waiting(from, to) {
                if 1 << kind & HEARTBEATS != 0 {
                    continue;
                }
                let facts = Facts::of(message.message());
                let its = facts.term.unwrap_or(term);
                if its >= term {
                    let index = facts.index.map_or(1, |index| relation(&index, &length)) as u8;
                    set.insert(WaitingMessage { kind, newer: its > term, index });
                }
            }
        }
        std::mem::replace(&mut self.waiting, set) != set
    }
}

impl Replicas for Projection {
    fn count(&self) -> NodeId {
        self.nodes.len() as NodeId
    }

    fn replica(&self, node: NodeId) -> Replica {
        self.nodes[usize::from(node)].replica
    }

    fn logs(&self, a: NodeId, b: NodeId) -> LogRelation {
        let (a, b) = (&self.nodes[usize::from(a)], &self.nodes[usize::from(b)]);
        if a.log == b.log && a.replica.length == b.replica.length {
            return LogRelation::Equal;
        }
        let shared = a.replica.length.min(b.replica.length);
        let (left, right) = (a.image.borrow(), b.image.borrow());
        // What is hidden in a snapshot is committed, and as good as equal.
        let agree = |index| match (left.prefix_hash(index), right.prefix_hash(index)) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        if agree(shared) {
            return LogRelation::Prefix;
        }
        let committed = shared.min(a.replica.commit.max(b.replica.commit));
        if agree(committed) { LogRelation::Conflict } else { LogRelation::DecidedConflict }
    }
}

impl Inbox for Projection {
    fn waiting(&self, to: NodeId, each: &mut dyn FnMut(WaitingMessage)) {
        self.nodes[usize::from(to)].waiting.each(each);
    }
}

impl LastDelivery for Projection {
    fn delivered(&self) -> Option<Delivered> {
        self.delivered
    }
}

impl Whole for Projection {
    fn digest(&self, detail: Detail, hasher: &mut StableHasher) {
        for server in &self.nodes {
            let replica = &server.replica;
            hasher.write(&[u8::from(replica.up), replica.role]);
            let numbers = [replica.term, replica.log_term, replica.length, replica.commit, server.log];
            for number in numbers.into_iter().chain([server.applied.0, server.applied.1, server.contents.0]) {
                hasher.write_u64(number);
            }
            if detail == Detail::Detailed {
                for clock in server.clocks {
                    hasher.write_u64(clock as u64);
                }
                hasher.write_u64(server.contents.1);
            }
        }
    }
}

//! The projection of a cluster that lenses read, kept up to date step by step.

use crate::image::SharedImage;
use crate::message::{Facts, Kind, content, rank};
use crate::system::{Omnipaxos, Role, View, pid};
use misrule_models::presets::{
    Delivered, Detail, Inbox, LastDelivery, LogRelation, Replica, Replicas, WaitingMessage, WaitingSet, Whole,
};
use misrule_models::{NodeId, StableHasher, relation};
use misrule_world::{Choice, Input, Seen, mix};
use omnipaxos::util::SequenceNumber;
use std::hash::Hasher;
use std::rc::Rc;

/// The kinds of leader election, which talks all the time: bit set.
const HEARTBEATS: u64 = 1 << Kind::HeartbeatRequest as u8 | 1 << Kind::HeartbeatReply as u8;

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

/// One server as lenses see it.
#[derive(Debug, Default)]
struct Server {
    image: SharedImage,
    replica: Replica,
    tick: u16,
    /// The change of the image that was read last.
    changes: u64,
    /// Hash of the whole log.
    log: u64,
    /// The number of the last accept that was in sequence.
    sequence: SequenceNumber,
    waiting: WaitingSet,
    /// Hashes of the waiting messages: as a bag without heartbeats, and all in their order.
    contents: (u64, u64),
}

impl Projection {
    pub(crate) fn new(parts: Parts) -> Self {
        Self { parts, ..Self::default() }
    }

    /// A new execution.
    pub(crate) fn reset(&mut self, seen: &Seen<'_, Omnipaxos>) {
        self.nodes.resize_with(seen.views.len(), Server::default);
        self.delivered = None;
        for (node, view) in seen.views.iter().enumerate() {
            let server = &mut self.nodes[node];
            server.image = Rc::clone(view.shared_image());
            server.sequence = SequenceNumber::default();
            server.contents = (0, 0);
            server.changes = 0;
            server.refresh(view, seen.up & (1 << node) != 0);
        }
        self.gather(seen, seen.touched);
    }

    /// Takes in a step. Returns the bit set of nodes whose own state is another now, and of those whose
    /// waiting messages or role are.
    #[inline]
    pub(crate) fn update(&mut self, seen: &Seen<'_, Omnipaxos>) -> (u64, u64) {
        let moved = |node: NodeId| {
            let (at, up) = (usize::from(node), seen.up & (1 << node) != 0);
            !self.nodes[at].is_as_read(&seen.views[at], up)
        };
        // What most steps find where lenses read nothing but the servers.
        if self.parts == Parts::default() && !seen.node.is_some_and(moved) {
            return (0, 0);
        }
        self.take_in(seen)
    }

    fn take_in(&mut self, seen: &Seen<'_, Omnipaxos>) -> (u64, u64) {
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
    fn gather(&mut self, seen: &Seen<'_, Omnipaxos>, states: u64) -> u64 {
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
    /// Whether the view shows what was read last, but for its ticks.
    fn is_as_read(&self, view: &View, up: bool) -> bool {
        let replica = &self.replica;
        self.changes == view.image().changes() && replica.role == view.role() as u8 && replica.up == up
    }

    /// Reads the view. Returns whether anything that lenses read is another now.
    fn refresh(&mut self, view: &View, up: bool) -> bool {
        let image = view.image();
        let replica = Replica {
            up,
            role: view.role() as u8,
            term: rank(image.promise()),
            log_term: rank(image.accepted_round()),
            length: image.length() as u64,
            commit: image.decided() as u64,
        };
        let log = image.prefix_hash(image.length());
        let changed = replica != self.replica || log != self.log;
        (self.tick, self.changes) = (view.tick(), image.changes());
        (self.replica, self.log) = (replica, log);
        changed
    }

    /// What the step delivered, against the server before it.
    fn delivery(&mut self, seen: &Seen<'_, Omnipaxos>, before: &Replica) -> Option<Delivered> {
        let (Choice::Deliver(_), Some(Input::Message { message, .. })) = (seen.choice, seen.input) else {
            self.forget_sequence();
            return None;
        };
        let (facts, now) = (Facts::of(message), self.replica);
        let term = facts.ballot.map_or(1, |ballot| relation(&ballot, &before.term));
        let mut sequence = 1;
        if let Some(number) = facts.sequence {
            let next = SequenceNumber { counter: self.sequence.counter + 1, ..self.sequence };
            sequence = relation(&number, &next);
            let synced = message.kind() == Kind::AcceptSync && now.role == Role::Following as u8;
            if facts.ballot == Some(now.term) && (sequence == 1 || synced) {
                self.sequence = number;
            }
        }
        self.forget_sequence();
        Some(Delivered {
            kind: message.kind() as u8,
            term: term as u8,
            sequence: sequence as u8,
            index: facts.index.map_or(1, |index| relation(&(index as u64), &before.length)) as u8,
            roles: (before.role, now.role),
            length: relation(&now.length, &before.length) as u8,
            commit: relation(&now.commit, &before.commit) as u8,
        })
    }

    /// A server that waits for a leader's log counts from the beginning again.
    fn forget_sequence(&mut self) {
        if self.replica.role == Role::Preparing as u8 || !self.replica.up {
            self.sequence = SequenceNumber::default();
        }
    }

    /// Hashes what waits for the server.
    fn gather_contents(&mut self, seen: &Seen<'_, Omnipaxos>, to: NodeId) {
        let (mut bag, mut list) = (0_u64, 0_u64);
        for from in 0..seen.views.len() as NodeId {
            for (message, _) in seen.links.waiting(from, to) {
                let content = mix(content(message) ^ pid(from));
                bag = bag.wrapping_add(if message.kind().is_heartbeat() { 0 } else { content });
                list = mix(list.rotate_left(7) ^ content);
            }
        }
        self.contents = (bag, list);
    }

    /// Finds the set of messages that wait for the server. Returns whether it is another now.
    fn gather_waiting(&mut self, seen: &Seen<'_, Omnipaxos>, to: NodeId) -> bool {
        let (term, length) = (self.replica.term, self.replica.length);
        let mut set = WaitingSet::default();
        for from in 0..seen.views.len() as NodeId {
            for (message, kind) in seen.links.waiting(from, to) {
                if 1 << kind & HEARTBEATS != 0 {
                    continue;
                }
                let facts = Facts::of(message);
                let ballot = facts.ballot.unwrap_or(term);
                if ballot >= term {
                    let index = facts.index.map_or(1, |index| relation(&(index as u64), &length)) as u8;
                    set.insert(WaitingMessage { kind, newer: ballot > term, index });
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
        let shared = a.replica.length.min(b.replica.length) as usize;
        let (left, right) = (a.image.borrow(), b.image.borrow());
        if left.prefix_hash(shared) == right.prefix_hash(shared) {
            return LogRelation::Prefix;
        }
        let decided = shared.min(a.replica.commit.max(b.replica.commit) as usize);
        if left.prefix_hash(decided) == right.prefix_hash(decided) {
            LogRelation::Conflict
        } else {
            LogRelation::DecidedConflict
        }
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
            for number in [replica.term, replica.log_term, replica.length, replica.commit, server.log] {
                hasher.write_u64(number);
            }
            hasher.write_u64(server.image.borrow().trimmed() as u64);
            hasher.write_u64(server.contents.0);
            if detail == Detail::Detailed {
                hasher.write_u16(server.tick);
                hasher.write_u64(server.contents.1);
            }
        }
    }
}

//! The projection of a cluster that lenses read, kept up to date step by step.

use crate::message::{Message, Payload};
use crate::system::SmallRaft;
use crate::view::{self, Seen, SharedLog, View};
use misrule_models::presets::{
    Delivered, Detail, Inbox, LastDelivery, LogRelation, Replica, Replicas, WaitingMessage, WaitingSet, Whole,
};
use misrule_models::{NodeId, StableHasher, relation};
use misrule_world::{self as world, Choice, Input, mix};
use std::hash::Hasher;
use std::rc::Rc;

/// What a leader and its followers send all the time: bit set of kinds.
const HEARTBEATS: u64 = 1 << Message::HEARTBEAT;

/// Which parts of a projection the lenses of the campaign read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) deliveries: bool,
    pub(crate) waiting: bool,
    pub(crate) contents: bool,
}

/// A cluster as lenses see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Projection {
    parts: Parts,
    nodes: Vec<Server>,
    delivered: Option<Delivered>,
}

/// One server as lenses see it.
#[derive(Clone, Debug, Default)]
struct Server {
    log: SharedLog,
    seen: Seen,
    replica: Replica,
    waiting: WaitingSet,
    /// Hashes of the waiting messages: as a bag without heartbeats, and all in their order.
    contents: (u64, u64),
}

impl Projection {
    pub(crate) fn new(parts: Parts) -> Self {
        Self { parts, ..Self::default() }
    }

    /// A new execution.
    pub(crate) fn reset(&mut self, seen: &world::Seen<'_, SmallRaft>) {
        self.nodes.resize_with(seen.views.len(), Server::default);
        self.delivered = None;
        for (node, view) in seen.views.iter().enumerate() {
            let server = &mut self.nodes[node];
            server.log = Rc::clone(view.shared_log());
            server.contents = (0, 0);
            server.refresh(view, seen.up & (1 << node) != 0);
        }
        self.gather(seen, seen.touched);
    }

    /// Takes up what a copy remembers. Logs stay those of the world that this projection is of.
    pub(crate) fn load(&mut self, saved: &Self) {
        self.delivered = saved.delivered;
        for (server, its) in self.nodes.iter_mut().zip(&saved.nodes) {
            let log = std::mem::take(&mut server.log);
            *server = Server { log, ..its.clone() };
        }
    }

    /// Takes in a step. Returns the bit set of nodes whose own state is another now, and of those whose waiting messages
    /// or role are.
    #[inline]
    pub(crate) fn update(&mut self, seen: &world::Seen<'_, SmallRaft>) -> (u64, u64) {
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
    fn gather(&mut self, seen: &world::Seen<'_, SmallRaft>, states: u64) -> u64 {
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

/// Role of a server: 0 follower, 1 follower that has voted, 2 candidate, 3 leader.
fn role(seen: &Seen) -> u8 {
    match seen.role as u8 {
        0 => u8::from(seen.vote.is_some()),
        role => role + 1,
    }
}

impl Server {
    /// Reads the view. Returns whether anything that lenses compare is another now.
    #[inline]
    fn refresh(&mut self, view: &View, up: bool) -> bool {
        let seen = *view.state();
        let replica = Replica {
            up,
            role: role(&seen),
            term: u64::from(seen.term),
            log_term: u64::from(seen.last_term),
            length: u64::from(seen.len),
            commit: u64::from(seen.commit),
        };
        let changed = replica != self.replica || seen.hash != self.seen.hash;
        (self.replica, self.seen) = (replica, seen);
        changed
    }

    /// What the step delivered, against the node before it.
    fn delivery(&self, seen: &world::Seen<'_, SmallRaft>, before: &Replica) -> Option<Delivered> {
        let (Choice::Deliver(_), Some(Input::Message { message, .. })) = (seen.choice, seen.input) else {
            return None;
        };
        let now = self.replica;
        Some(Delivered {
            kind: message.kind(),
            term: relation(&u64::from(message.term()), &before.term) as u8,
            sequence: 1,
            index: message.index().map_or(1, |index| relation(&u64::from(index), &before.length)) as u8,
            roles: (before.role, now.role),
            length: relation(&now.length, &before.length) as u8,
            commit: relation(&now.commit, &before.commit) as u8,
        })
    }

    /// Hashes what waits for the node.
    fn gather_contents(&mut self, seen: &world::Seen<'_, SmallRaft>, to: NodeId) {
        let (mut bag, mut list) = (0_u64, 0_u64);
        for from in 0..seen.views.len() as NodeId {
            for (message, kind) in seen.links.waiting(from, to) {
                let content = mix(content(message) ^ u64::from(from));
                bag = bag.wrapping_add(if kind == Message::HEARTBEAT { 0 } else { content });
                list = mix(list.rotate_left(7) ^ content);
            }
        }
        self.contents = (bag, list);
    }

    /// Finds the set of messages that wait for the node. Returns whether it is another now.
    fn gather_waiting(&mut self, seen: &world::Seen<'_, SmallRaft>, to: NodeId) -> bool {
        let (term, length) = (self.replica.term, self.replica.length);
        let mut set = WaitingSet::default();
        for from in 0..seen.views.len() as NodeId {
            for (message, kind) in seen.links.waiting(from, to) {
                let its = u64::from(message.term());
                if 1 << kind & HEARTBEATS == 0 && its >= term {
                    let index = message.index().map_or(1, |index| relation(&u64::from(index), &length)) as u8;
                    set.insert(WaitingMessage { kind, newer: its > term, index });
                }
            }
        }
        std::mem::replace(&mut self.waiting, set) != set
    }
}

/// A message as a number.
fn content(message: &Message) -> u64 {
    let mut hasher = StableHasher::default();
    hasher.write_u8(message.kind());
    hasher.write_u32(message.term());
    hasher.write_u32(message.index().unwrap_or_default());
    match *message {
        Message::RequestVote { last_term, .. } => hasher.write_u32(last_term),
        Message::Vote { granted, .. } => hasher.write_u8(u8::from(granted)),
        Message::Append { prev_term, commit, round, entries, count, .. } => {
            for number in [prev_term, commit, round] {
                hasher.write_u32(number);
            }
            for entry in &entries[..usize::from(count)] {
                hasher.write_u32(entry.term);
                let (tag, number) = match entry.payload {
                    Payload::Nothing => (0, 0),
                    Payload::Command(call) => (1, call),
                    Payload::Members(members) => (2, u32::from(members)),
                };
                hasher.write_u8(tag);
                hasher.write_u32(number);
            }
        }
        Message::Appended { round, .. } => hasher.write_u32(round),
        Message::Rejected { .. } => {}
    }
    hasher.finish()
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
        if a.seen.hash == b.seen.hash {
            return LogRelation::Equal;
        }
        let (left, right) = (a.log.borrow(), b.log.borrow());
        let agree = |len| view::prefix_hash(&left, len) == view::prefix_hash(&right, len);
        let shared = a.seen.len.min(b.seen.len);
        if agree(shared) {
            return LogRelation::Prefix;
        }
        let committed = shared.min(a.seen.commit.max(b.seen.commit));
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
            let (replica, seen) = (&server.replica, &server.seen);
            hasher.write(&[u8::from(replica.up), replica.role, seen.votes, seen.members]);
            hasher.write_u8(seen.vote.map_or(0, |vote| vote + 1));
            for number in [seen.term, seen.last_term, seen.len, seen.commit] {
                hasher.write_u32(number);
            }
            hasher.write_u64(seen.hash);
            hasher.write_u64(server.contents.0);
            if detail >= Detail::Persistence {
                hasher.write_u32(seen.durable);
                hasher.write_u8(u8::from(seen.dirty));
            }
            if detail == Detail::Detailed {
                hasher.write_u32(seen.held);
                hasher.write_u32(seen.reads);
                hasher.write_u8(seen.quiet);
                hasher.write_u64(server.contents.1);
            }
        }
    }
}

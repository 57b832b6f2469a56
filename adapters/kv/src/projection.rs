//! A cluster as lenses see it, kept up to date from the nodes that a step touched.

use crate::message::Message;
use crate::node::{NODES_MAX, Role};
use crate::system::Kv;
use crate::view::View;
use misrule_models::presets::{Inbox, LogRelation, Replica, Replicas, WaitingMessage, WaitingSet};
use misrule_models::{Key, KeyWriter, Lens, NodeId, relation};
use misrule_world::Seen;

/// Kinds that are left out of what waits, since they bring no entry and no vote: Refuse, Rejected, Forward, Heartbeat.
const IDLE: u64 = 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8;
/// Kinds that bring entries: Append and Install. Of these it counts whether they fit the receiver's log.
const ENTRIES: u64 = 1 << 3 | 1 << 6;

/// All nodes.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    servers: [Server; NODES_MAX],
    count: NodeId,
    up: u64,
    /// Whether some lens wants to know which messages wait.
    reads_inboxes: bool,
}

/// One node.
#[derive(Debug, Default)]
struct Server {
    view: View,
    waiting: WaitingSet,
}

impl Projection {
    pub(crate) fn new(reads_inboxes: bool) -> Self {
        Self { reads_inboxes, ..Self::default() }
    }

    /// Takes in a step. Returns the bit set of nodes whose own state may be another now, and of those whose waiting
    /// messages or state may be.
    pub(crate) fn update(&mut self, seen: &Seen<'_, Kv>) -> (u64, u64) {
        self.count = seen.views.len() as NodeId;
        let is_first = seen.node.is_none() && seen.touched.count_ones() == u32::from(self.count);
        let mut states = if is_first { seen.touched } else { self.up ^ seen.up };
        states |= seen.node.map_or(0, |node| 1 << node);
        self.up = seen.up;
        let mut inboxes = states;
        for (node, server) in (0..self.count).zip(&mut self.servers) {
            let is_touched = states & (1 << node) != 0;
            if is_touched {
                server.view.clone_from(&seen.views[usize::from(node)]);
            }
            let kinds = seen.links.changed_kinds(node) & !IDLE;
            if self.reads_inboxes && (is_touched || kinds != 0) && server.gather(node, seen) {
                inboxes |= 1 << node;
            }
        }
        (states, inboxes)
    }

    fn view(&self, node: NodeId) -> &View {
        &self.servers[usize::from(node)].view
    }
}

impl Server {
    /// Finds the set of messages that wait for the node. Returns whether it is another now.
    fn gather(&mut self, to: NodeId, seen: &Seen<'_, Kv>) -> bool {
        let (term, last) = (self.view.term, self.view.last());
        let mut set = WaitingSet::default();
        for (message, kind) in (0..seen.views.len() as NodeId).flat_map(|from| seen.links.waiting(from, to)) {
            let sent: u32 = Message::term(message).unwrap_or(term);
            if IDLE & (1 << kind) != 0 || sent < term {
                continue;
            }
            let index = message.index().filter(|_| ENTRIES & (1 << kind) != 0);
            let index = index.map_or(1, |index| relation(&index, &last)) as u8;
            set.insert(WaitingMessage { kind, newer: sent > term, index });
        }
        std::mem::replace(&mut self.waiting, set) != set
    }
}

impl Replicas for Projection {
    fn count(&self) -> NodeId {
        self.count
    }

    fn replica(&self, node: NodeId) -> Replica {
        let view = self.view(node);
        Replica {
            up: self.up & (1 << node) != 0,
            role: view.role as u8,
            term: u64::from(view.term),
            log_term: u64::from(view.last_term),
            length: view.last(),
            commit: view.commit,
        }
    }

    /// Where one log begins behind the end of the other, the shorter one counts as a prefix.
    fn logs(&self, a: NodeId, b: NodeId) -> LogRelation {
        let (a, b) = (self.view(a), self.view(b));
        let shared = a.last().min(b.last());
        let agree = |index: u64| match (a.digest(index), b.digest(index)) {
            (Some(left), Some(right)) => left == right,
            _ => true,
        };
        if !agree(shared) {
            let committed = shared.min(a.commit.max(b.commit));
            return if agree(committed) { LogRelation::Conflict } else { LogRelation::DecidedConflict };
        }
        if a.last() == b.last() { LogRelation::Equal } else { LogRelation::Prefix }
    }
}

impl Inbox for Projection {
    fn waiting(&self, to: NodeId, each: &mut dyn FnMut(WaitingMessage)) {
        self.servers[usize::from(to)].waiting.each(each);
    }
}

/// The lens `durable`: one key for each touched node, how what it has in memory relates to what is on its disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Durable;

impl Lens<Projection> for Durable {
    fn keys(&self, view: &Projection, touched: u64, out: &mut Vec<Key>) {
        for node in (0..view.count).filter(|node| touched & (1 << node) != 0) {
            let seen = view.view(node);
            let mut key = KeyWriter::default();
            key.put(view.up >> node & 1, 1).put(seen.role as u64, 2);
            key.relation(&seen.durable, &seen.last()).relation(&seen.durable, &seen.commit);
            key.relation(&seen.applied.index, &seen.base.index).relation(&seen.acknowledged, &seen.durable);
            key.put(u64::from(seen.acknowledged > 0), 1).put(u64::from(seen.owed > 0), 1);
            // How many other nodes have on their disks what this one has committed, and as long a log as it has.
            let others = || (0..view.count).filter(|other| *other != node).map(|other| view.view(other));
            key.put(others().filter(|other| other.durable >= seen.commit).count() as u64, 3);
            key.put(others().filter(|other| other.durable >= seen.last()).count() as u64, 3);
            key.put(u64::from(seen.role == Role::Stopped && seen.trouble.is_some()), 1);
            out.push(Key { lens: 0, facet: 0, code: key.code() });
        }
    }
}

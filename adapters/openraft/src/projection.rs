//! A cluster as lenses see it, kept up to date step by step.

use crate::message::{HEARTBEAT, Wire};
use crate::system::Openraft;
use crate::types::LogId;
use crate::view::View;
use misrule_models::presets::{Inbox, LogRelation, Replica, Replicas, WaitingMessage, WaitingSet};
use misrule_models::{NodeId, relation};
use misrule_world::Seen;
use openraft::{LogIdOptionExt, ServerState};

/// All nodes.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    servers: Vec<Server>,
    /// Whether some lens wants to know which messages wait.
    reads_inboxes: bool,
}

/// One node.
#[derive(Debug, Default)]
struct Server {
    replica: Replica,
    /// The index of the first entry that was not purged, and the entries from there on.
    first: u64,
    ids: Vec<LogId>,
    changes: u64,
    waiting: WaitingSet,
}

/// A vote as one ordered number: term, then node.
fn rank((term, node): (u64, u64)) -> u64 {
    term << 8 | node
}

impl Projection {
    pub(crate) fn new(reads_inboxes: bool) -> Self {
        Self { reads_inboxes, ..Self::default() }
    }

    /// A new execution.
    pub(crate) fn reset(&mut self, seen: &Seen<'_, Openraft>) {
        self.servers.clear();
        self.servers.resize_with(seen.views.len(), Server::default);
        for (node, view) in (0_u8..).zip(seen.views) {
            self.servers[usize::from(node)].refresh(view, seen.up & (1 << node) != 0, true);
        }
        self.gather(seen, u64::MAX);
    }

    /// Takes in a step. Returns the bit set of nodes whose own state is another now, and of those whose waiting
    /// messages or state are.
    pub(crate) fn update(&mut self, seen: &Seen<'_, Openraft>) -> (u64, u64) {
        let mut states = 0;
        if let Some(node) = seen.node {
            let (at, is_up) = (usize::from(node), seen.up & (1 << node) != 0);
            // A start gives the node another image.
            let is_other = is_up != self.servers[at].replica.up;
            if self.servers[at].refresh(&seen.views[at], is_up, is_other) {
                states = 1 << node;
            }
        }
        let inboxes = if self.reads_inboxes { self.gather(seen, states) } else { 0 };
        (states, inboxes | states)
    }

    /// Looks at what waits for nodes where it may be another now. Returns those where it is.
    fn gather(&mut self, seen: &Seen<'_, Openraft>, states: u64) -> u64 {
        let mut changed = 0;
        for (node, server) in (0..).zip(&mut self.servers) {
            let kinds = seen.links.changed_kinds(node) & !(1 << HEARTBEAT);
            if (kinds != 0 || states & (1 << node) != 0) && server.gather(node, seen) {
                changed |= 1 << node;
            }
        }
        changed
    }
}

impl Server {
    /// Reads the view. Returns whether anything that lenses read is another now.
    fn refresh(&mut self, view: &View, up: bool, is_other: bool) -> bool {
        let image = view.image();
        let before = self.replica;
        (self.replica.up, self.replica.term) = (up, rank(view.vote()));
        self.replica.role = match view.role() {
            ServerState::Learner => 0,
            ServerState::Follower => 1,
            ServerState::Candidate => 2,
            ServerState::Leader => 3,
            ServerState::Shutdown => 4,
        };
        if is_other || self.changes != image.changes {
            self.changes = image.changes;
            self.replica.length = image.now.length();
            self.replica.commit = image.committed.max(image.applied).next_index();
            let last = image.now.last().map_or((0, 0), |id| (id.leader_id.term, id.leader_id.node_id));
            self.replica.log_term = rank(last);
            self.first = image.now.first_index();
            self.ids.clear();
            self.ids.extend((self.first..image.now.length()).filter_map(|index| image.now.id(index)));
        }
        before != self.replica
    }

    /// Finds the set of messages that wait for the node. Returns whether it is another now.
    fn gather(&mut self, to: NodeId, seen: &Seen<'_, Openraft>) -> bool {
        let (term, length) = (self.replica.term, self.replica.length);
        let waiting = (0..seen.views.len() as NodeId).flat_map(|from| seen.links.waiting(from, to));
        let mut set = WaitingSet::default();
        for (message, kind) in waiting {
            let message: &Wire = message;
            let facts = message.body.facts();
            let sent = facts.vote.map_or(term, rank);
            if kind == HEARTBEAT || sent < term {
                continue;
            }
            let index = facts.index.map_or(1, |index| relation(&index, &length)) as u8;
            set.insert(WaitingMessage { kind, newer: sent > term, index });
        }
        std::mem::replace(&mut self.waiting, set) != set
    }

    fn id(&self, index: u64) -> Option<LogId> {
        index.checked_sub(self.first).and_then(|at| self.ids.get(at as usize)).copied()
    }
}

impl Replicas for Projection {
    fn count(&self) -> NodeId {
        self.servers.len() as NodeId
    }

    fn replica(&self, node: NodeId) -> Replica {
        self.servers[usize::from(node)].replica
    }

    /// By the last entry that both have room for: logs that agree there agree before it, unless something is broken.
    /// Where it was purged they count as agreeing.
    fn logs(&self, a: NodeId, b: NodeId) -> LogRelation {
        let (a, b) = (&self.servers[usize::from(a)], &self.servers[usize::from(b)]);
        let agree = |length: u64| match length.checked_sub(1).map(|last| (a.id(last), b.id(last))) {
            Some((Some(left), Some(right))) => left == right,
            _ => true,
        };
        let shared = a.replica.length.min(b.replica.length);
        if agree(shared) {
            let same = a.replica.length == b.replica.length;
            return if same { LogRelation::Equal } else { LogRelation::Prefix };
        }
        let committed = shared.min(a.replica.commit.max(b.replica.commit));
        if agree(committed) { LogRelation::Conflict } else { LogRelation::DecidedConflict }
    }
}

impl Inbox for Projection {
    fn waiting(&self, to: NodeId, each: &mut dyn FnMut(WaitingMessage)) {
        self.servers[usize::from(to)].waiting.each(each);
    }
}

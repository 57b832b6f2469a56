//! The implementation as the lens presets see it: `pairs@impl`, `waiting@impl` and the others.
//!
//! There is one projection for each lane, so that transactions share one space of keys. It is kept up to date
//! from the nodes that a step touched.

use crate::inbox::Inboxes;
use crate::state::{COORDINATOR, LANES_MAX, Lane, Message, Phase};
use crate::system::TwoPhaseCommit;
use misrule_models::presets::{
    Delivered, Detail, Inbox, LastDelivery, LogRelation, Replicas, WaitingMessage, Whole,
};
use misrule_models::{Key, Lens, NodeId, Replica, StableHasher, relation};
use misrule_world::{Input, Seen, bits};
use std::hash::Hasher;

/// The most nodes: the coordinator and six managers.
pub(crate) const NODES_MAX: usize = 7;

/// All lanes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Projection {
    lanes: [Transaction; LANES_MAX],
    count: u8,
    /// Where some lens wants to know which messages wait.
    inboxes: Option<Inboxes>,
}

impl Projection {
    /// Of so many lanes; `reads_inboxes` where some lens wants to know which messages wait.
    pub(crate) fn new(count: u8, reads_inboxes: bool) -> Self {
        Self { count, inboxes: reads_inboxes.then(Inboxes::default), ..Self::default() }
    }

    /// Takes over what a step changed; a step that touches every node sets everything.
    pub(crate) fn refresh(&mut self, seen: &Seen<'_, TwoPhaseCommit>, pushed: &[(NodeId, NodeId, u16)]) {
        for (at, transaction) in self.lanes[..usize::from(self.count)].iter_mut().enumerate() {
            transaction.refresh(seen, at);
        }
        let Some(inboxes) = &mut self.inboxes else { return };
        inboxes.refresh(seen, pushed);
        for to in bits(seen.touched) {
            for (at, transaction) in self.lanes[..usize::from(self.count)].iter_mut().enumerate() {
                transaction.inbox(to, inboxes.waiting(to, at));
            }
        }
    }

    fn lanes(&self) -> &[Transaction] {
        &self.lanes[..usize::from(self.count)]
    }
}

/// One lane at every node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transaction {
    nodes: [Lane; NODES_MAX],
    up: u64,
    count: NodeId,
    /// For each receiver, the waiting messages: bit `kind * 3 + relation of the rounds`.
    waiting: [u32; NODES_MAX],
    /// Nodes whose lane changed in the last step, or that stopped or started.
    changed: u64,
    /// Nodes for which other messages wait than before, in kinds and relations, or that changed.
    stirred: u64,
    delivered: Option<Delivered>,
}

impl Transaction {
    /// Takes over what the step did to the nodes' lane numbered `at`.
    fn refresh(&mut self, seen: &Seen<'_, TwoPhaseCommit>, at: usize) {
        self.count = seen.views.len() as NodeId;
        self.changed = self.up ^ seen.up;
        self.up = seen.up;
        self.delivered = None;
        for (node, view) in (0..).zip(seen.views) {
            if seen.touched & (1 << node) == 0 {
                continue;
            }
            let (known, now) = (&mut self.nodes[usize::from(node)], &view.lanes[at]);
            if let (Some(Input::Message { message, .. }), true) = (seen.input, seen.node == Some(node)) {
                self.delivered = delivered(node, at, *message, known, now);
            }
            if known != now {
                self.changed |= 1 << node;
                *known = *now;
            }
        }
        // The first step of an execution shows everything, changed or not.
        if seen.node.is_none() && seen.input.is_none() && seen.touched.count_ones() == u32::from(self.count) {
            self.changed = seen.touched;
        }
        self.stirred = self.changed;
    }

    /// Notes that for `to` wait those messages.
    fn inbox(&mut self, to: NodeId, waiting: u32) {
        if std::mem::replace(&mut self.waiting[usize::from(to)], waiting) != waiting {
            self.stirred |= 1 << to;
        }
    }

    /// What the node knows to be the outcome: round and whether to commit.
    fn outcome(&self, node: NodeId) -> (u32, Phase) {
        let lane = &self.nodes[usize::from(node)];
        (lane.round, if lane.phase.decided() { lane.phase } else { Phase::Idle })
    }
}

/// Role of a node: managers 0 idle, 1 prepared, 2 in doubt, 3 decided; coordinator 4 idle, 5 waits for votes, 6
/// decided, 7 decided and restarted since.
fn role(node: NodeId, lane: &Lane) -> u8 {
    match (node == COORDINATOR, lane.phase) {
        (true, Phase::Idle | Phase::Prepared) => 4,
        (true, Phase::Preparing) => 5,
        (true, _) => 6 + u8::from(lane.recovered),
        (false, Phase::Idle | Phase::Preparing) => 0,
        (false, Phase::Prepared) => 1 + u8::from(lane.recovered),
        (false, _) => 3,
    }
}

/// How many yes votes a node knows of.
fn votes(node: NodeId, lane: &Lane) -> u64 {
    if node == COORDINATOR { u64::from(lane.votes.count_ones()) } else { u64::from(lane.voted) }
}

fn delivered(node: NodeId, at: usize, message: Message, before: &Lane, after: &Lane) -> Option<Delivered> {
    let txn = message.txn().filter(|txn| usize::from(txn.lane) == at)?;
    let decided = |lane: &Lane| (lane.round, lane.phase.decided() || lane.pending.is_some());
    Some(Delivered {
        kind: message.kind(),
        term: relation(&txn.round, &before.round) as u8,
        sequence: 1,
        // How many have acknowledged, before and after.
        index: relation(&after.acks.count_ones(), &before.acks.count_ones()) as u8,
        roles: (role(node, before), role(node, after)),
        length: relation(&votes(node, after), &votes(node, before)) as u8,
        commit: relation(&decided(after), &decided(before)) as u8,
    })
}

/// `term` is the round, `log_term` whether a record waits for the disk, `length` the number of yes votes known,
/// `commit` whether the outcome is known.
impl Replicas for Transaction {
    fn count(&self) -> NodeId {
        self.count
    }

    fn replica(&self, node: NodeId) -> Replica {
        let lane = &self.nodes[usize::from(node)];
        Replica {
            up: self.up & (1 << node) != 0,
            role: role(node, lane),
            term: u64::from(lane.round),
            log_term: u64::from(lane.pending.is_some()),
            length: votes(node, lane),
            commit: u64::from(lane.phase.decided()),
        }
    }

    fn logs(&self, a: NodeId, b: NodeId) -> LogRelation {
        let ((round_a, a), (round_b, b)) = (self.outcome(a), self.outcome(b));
        if round_a != round_b || a != b && !(a.decided() && b.decided()) {
            LogRelation::Prefix
        } else if a == b {
            LogRelation::Equal
        } else {
            LogRelation::DecidedConflict
        }
    }
}

/// Messages of older rounds are kept, as relation 0: acting on them is what goes wrong here.
impl Inbox for Transaction {
    fn waiting(&self, to: NodeId, each: &mut dyn FnMut(WaitingMessage)) {
        let set = self.waiting[usize::from(to)];
        for bit in (0..24_u8).filter(|bit| set & (1 << bit) != 0) {
            let index = bit % 3;
            each(WaitingMessage { kind: bit / 3, newer: index == 2, index });
        }
    }
}

impl LastDelivery for Transaction {
    fn delivered(&self) -> Option<Delivered> {
        self.delivered
    }
}

/// The lens over every transaction: one key space. A node that a step touched without changing it in a
/// transaction makes no keys there.
pub(crate) struct Each<L> {
    lens: L,
    touched: fn(&Transaction) -> u64,
}

impl<L> Each<L> {
    /// A lens over the states of nodes.
    pub(crate) fn node(lens: L) -> Self {
        Self { lens, touched: |transaction| transaction.changed }
    }

    /// A lens over nodes and what waits for them.
    pub(crate) fn inbox(lens: L) -> Self {
        Self { lens, touched: |transaction| transaction.stirred }
    }
}

impl<L: Lens<Transaction>> Lens<Projection> for Each<L> {
    fn keys(&self, view: &Projection, touched: u64, out: &mut Vec<Key>) {
        for transaction in view.lanes() {
            self.lens.keys(transaction, touched & (self.touched)(transaction), out);
        }
    }
}

/// Rounds are written as their distance from the newest, since they only grow.
impl Whole for Projection {
    fn digest(&self, detail: Detail, hasher: &mut StableHasher) {
        for transaction in self.lanes() {
            let nodes = &transaction.nodes[..usize::from(transaction.count)];
            let newest = nodes.iter().map(|lane| lane.round).max().unwrap_or(0);
            for (lane, waiting) in nodes.iter().zip(transaction.waiting) {
                hasher.write_u8((newest - lane.round).min(2) as u8);
                hasher.write_u8(lane.phase as u8);
                hasher.write_u16(lane.votes);
                hasher.write_u32(waiting);
                if detail == Detail::Detailed {
                    hasher.write_u8(lane.pending.map_or(0, |record| record as u8));
                    hasher.write_u16(lane.acks);
                    hasher.write_u8(u8::from(lane.voted) | u8::from(lane.told) << 1);
                    hasher.write_u8(u8::from(lane.recovered));
                }
            }
            hasher.write_u8(transaction.up as u8);
        }
    }
}

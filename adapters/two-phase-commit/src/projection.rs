//! The implementation as the lens presets see it: `pairs@impl`, `waiting@impl` and the others.
//!
//! There is one projection for each slot, so that transactions share one space of keys. It is kept up to date
//! from the nodes that a step touched.

use crate::state::{COORDINATOR, Message, Phase, SLOTS_MAX, Slot};
use crate::system::TwoPhaseCommit;
use misrule_models::presets::{
    Delivered, Detail, Inbox, LastDelivery, LogRelation, Replicas, WaitingMessage, Whole,
};
use misrule_models::{Key, Lens, NodeId, Replica, StableHasher, relation};
use misrule_world::{Input, Seen};
use std::hash::Hasher;

/// The most nodes: the coordinator and six managers.
pub(crate) const NODES_MAX: usize = 7;

/// All slots.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Projection {
    slots: [Transaction; SLOTS_MAX],
    count: u8,
}

impl Projection {
    pub(crate) fn new(count: u8) -> Self {
        Self { count, ..Self::default() }
    }

    /// Takes over what a step changed; a step that touches every node sets everything.
    pub(crate) fn refresh(&mut self, seen: &Seen<'_, TwoPhaseCommit>) {
        for (at, transaction) in self.slots[..usize::from(self.count)].iter_mut().enumerate() {
            transaction.refresh(seen, at);
        }
    }

    fn slots(&self) -> &[Transaction] {
        &self.slots[..usize::from(self.count)]
    }
}

/// One slot at every node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transaction {
    nodes: [Slot; NODES_MAX],
    up: u64,
    count: NodeId,
    /// For each receiver, the waiting messages: bit `kind * 3 + relation of the rounds`.
    waiting: [u32; NODES_MAX],
    delivered: Option<Delivered>,
}

impl Transaction {
    /// Takes over what the step changed in the slot numbered `at`.
    fn refresh(&mut self, seen: &Seen<'_, TwoPhaseCommit>, at: usize) {
        self.count = seen.views.len() as NodeId;
        self.up = seen.up;
        self.delivered = None;
        for node in (0..self.count).filter(|node| seen.touched & (1 << node) != 0) {
            let index = usize::from(node);
            let before = std::mem::replace(&mut self.nodes[index], seen.views[index].slots[at]);
            if let (Some(Input::Message { message, .. }), true) = (seen.input, seen.node == Some(node)) {
                self.delivered = delivered(node, at, *message, &before, &self.nodes[index]);
            }
            let round = self.nodes[index].round;
            self.waiting[index] = 0;
            for from in 0..self.count {
                for (message, kind) in seen.links.waiting(from, node) {
                    if let Some(txn) = message.txn().filter(|txn| usize::from(txn.slot) == at) {
                        self.waiting[index] |= 1 << (u64::from(kind) * 3 + relation(&txn.round, &round));
                    }
                }
            }
        }
    }

    /// What the node knows to be the outcome: round and whether to commit.
    fn outcome(&self, node: NodeId) -> (u32, Phase) {
        let slot = &self.nodes[usize::from(node)];
        (slot.round, if slot.phase.decided() { slot.phase } else { Phase::Idle })
    }
}

/// Role of a node: managers 0 idle, 1 prepared, 2 in doubt, 3 decided; coordinator 4 idle, 5 waits for votes, 6
/// decided, 7 decided and restarted since.
fn role(node: NodeId, slot: &Slot) -> u8 {
    match (node == COORDINATOR, slot.phase) {
        (true, Phase::Idle | Phase::Prepared) => 4,
        (true, Phase::Preparing) => 5,
        (true, _) => 6 + u8::from(slot.recovered),
        (false, Phase::Idle | Phase::Preparing) => 0,
        (false, Phase::Prepared) => 1 + u8::from(slot.recovered),
        (false, _) => 3,
    }
}

/// How many yes votes a node knows of.
fn votes(node: NodeId, slot: &Slot) -> u64 {
    if node == COORDINATOR { u64::from(slot.votes.count_ones()) } else { u64::from(slot.voted) }
}

fn delivered(node: NodeId, at: usize, message: Message, before: &Slot, after: &Slot) -> Option<Delivered> {
    let txn = message.txn().filter(|txn| usize::from(txn.slot) == at)?;
    let decided = |slot: &Slot| (slot.round, slot.phase.decided() || slot.pending.is_some());
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
        let slot = &self.nodes[usize::from(node)];
        Replica {
            up: self.up & (1 << node) != 0,
            role: role(node, slot),
            term: u64::from(slot.round),
            log_term: u64::from(slot.pending.is_some()),
            length: votes(node, slot),
            commit: u64::from(slot.phase.decided()),
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

/// The lens over every transaction: one key space.
pub(crate) struct Each<L>(pub(crate) L);

impl<L: Lens<Transaction>> Lens<Projection> for Each<L> {
    fn keys(&self, view: &Projection, touched: u64, out: &mut Vec<Key>) {
        for transaction in view.slots() {
            self.0.keys(transaction, touched, out);
        }
    }
}

/// Rounds are written as their distance from the newest, since they only grow.
impl Whole for Projection {
    fn digest(&self, detail: Detail, hasher: &mut StableHasher) {
        for transaction in self.slots() {
            let nodes = &transaction.nodes[..usize::from(transaction.count)];
            let newest = nodes.iter().map(|slot| slot.round).max().unwrap_or(0);
            for (slot, waiting) in nodes.iter().zip(transaction.waiting) {
                hasher.write_u8((newest - slot.round).min(2) as u8);
                hasher.write_u8(slot.phase as u8);
                hasher.write_u16(slot.votes);
                hasher.write_u32(waiting);
                if detail == Detail::Detailed {
                    hasher.write_u8(slot.pending.map_or(0, |record| record as u8));
                    hasher.write_u16(slot.acks);
                    hasher.write_u8(u8::from(slot.voted) | u8::from(slot.told) << 1);
                    hasher.write_u8(u8::from(slot.recovered));
                }
            }
            hasher.write_u8(transaction.up as u8);
        }
    }
}

//! The lens presets over the model's state.

use super::message::Ballot;
use super::state::{State, role_code};
use crate::presets::{Delivered, Detail, Inbox, LastDelivery, WaitingMessage, Whole};
use crate::{LogRelation, NodeId, Replica, Replicas, StableHasher, relation};
use std::hash::{Hash, Hasher};

impl Replicas for State {
    fn count(&self) -> NodeId {
        State::count(self)
    }

    fn replica(&self, node: NodeId) -> Replica {
        let node = self.node(node);
        Replica {
            up: node.up,
            role: role_code(node.role, node.phase),
            term: node.promise.rank(),
            log_term: node.accepted_round.rank(),
            length: u64::from(node.log.len()),
            commit: u64::from(node.decided),
        }
    }

    fn logs(&self, a: NodeId, b: NodeId) -> LogRelation {
        let (a, b) = (self.node(a), self.node(b));
        a.log.relation(&b.log, a.decided.max(b.decided))
    }
}

impl LastDelivery for State {
    fn delivered(&self) -> Option<Delivered> {
        self.delivered
    }
}

/// Empty where the network is open: the world then knows what waits.
impl Inbox for State {
    fn waiting(&self, to: NodeId, each: &mut dyn FnMut(WaitingMessage)) {
        let node = self.node(to);
        self.traffic.each(&mut |_, envelope| {
            let ballot = envelope.message.ballot();
            if envelope.to != to || (ballot < node.promise && ballot != Ballot::ZERO) {
                return;
            }
            each(WaitingMessage {
                kind: envelope.message.kind(),
                newer: ballot > node.promise,
                index: envelope.message.index().map_or(1, |index| relation(&index, &node.log.len()) as u8),
            });
        });
    }
}

impl Whole for State {
    fn digest(&self, detail: Detail, hasher: &mut StableHasher) {
        for node in &self.nodes {
            hasher.write_u8(u8::from(node.up) << 3 | role_code(node.role, node.phase));
            hasher.write_u64(node.promise.rank());
            hasher.write_u64(node.accepted_round.rank());
            hasher.write_u32(node.decided);
            node.log.hash(hasher);
            if detail >= Detail::Detailed {
                node.sequence.hash(hasher);
                node.cached.hash(hasher);
                node.buffered.hash(hasher);
                node.batch.hash(hasher);
                hasher.write_u32(node.hole);
                node.leading.hash(hasher);
            }
        }
        self.traffic.hash(hasher);
    }
}

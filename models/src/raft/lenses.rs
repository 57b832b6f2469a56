//! The lens presets over the model's state.

use super::configuration::Configuration;
use super::state::State;
use crate::presets::{Delivered, Detail, Inbox, LastDelivery, WaitingMessage, Whole};
use crate::{LogRelation, NodeId, Replica, Replicas, StableHasher, relation};
use std::hash::{Hash, Hasher};

impl Replicas for State {
    fn count(&self) -> NodeId {
        State::count(self)
    }

    fn replica(&self, node: NodeId) -> Replica {
        let (me, node) = (node, self.node(node));
        // Who does not vote, or in a joint configuration, has another role.
        let votes = node.configuration.has_voter(me) && !node.configuration.is_joint();
        Replica {
            up: node.up,
            role: node.role as u8 | if votes { 0 } else { 4 },
            term: u64::from(node.term),
            log_term: u64::from(node.last().1),
            length: u64::from(node.length()),
            commit: u64::from(node.commit),
        }
    }

    fn logs(&self, a: NodeId, b: NodeId) -> LogRelation {
        let (a, b) = (self.node(a), self.node(b));
        a.log.relation(&b.log, a.commit.max(b.commit))
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
        for envelope in &self.messages {
            let message = &envelope.message;
            if envelope.to == to && message.term() >= node.term && !message.is_heartbeat() {
                let index = message.index().map_or(1, |index| relation(&index, &node.length()));
                each(WaitingMessage {
                    kind: message.kind(),
                    newer: message.term() > node.term,
                    index: index as u8,
                });
            }
        }
    }
}

/// `message` has roles, terms, logs and messages; `persistence` adds votes and disks; `detailed` all the rest.
impl Whole for State {
    fn digest(&self, detail: Detail, hasher: &mut StableHasher) {
        for node in &self.nodes {
            hasher.write(&[u8::from(node.up), node.role as u8]);
            hasher.write_u32(node.term);
            hasher.write_u32(node.commit);
            node.log.hash(hasher);
            if node.configuration != Configuration::of_voters(self.count()) {
                node.configuration.hash(hasher);
            }
            if detail >= Detail::Persistence {
                node.vote.hash(hasher);
                node.disk.hash(hasher);
                node.pending.hash(hasher);
            }
            if detail >= Detail::Detailed {
                hasher.write_u64(node.votes);
                node.next.hash(hasher);
                node.matched.hash(hasher);
                if !node.reads.is_empty() {
                    node.reads.hash(hasher);
                }
            }
        }
        self.messages.hash(hasher);
    }
}

//! The lens presets over the model's state.

use super::state::State;
use crate::presets::{Detail, Whole};
use crate::{LogRelation, NodeId, Replica, Replicas, StableHasher};
use std::hash::{Hash, Hasher};

impl Replicas for State {
    fn count(&self) -> NodeId {
        State::count(self)
    }

    fn replica(&self, node: NodeId) -> Replica {
        let node = self.node(node);
        Replica {
            up: node.up,
            role: node.role as u8,
            term: u64::from(node.term),
            log_term: u64::from(node.last().1),
            length: u64::from(node.length()),
            commit: u64::from(node.commit),
        }
    }

    fn logs(&self, a: NodeId, b: NodeId) -> LogRelation {
        let (a, b) = (self.node(a), self.node(b));
        let common = a.log.iter().zip(&b.log).take_while(|(x, y)| x == y).count();
        if common < a.log.len().min(b.log.len()) {
            let is_decided = common < a.commit.max(b.commit) as usize;
            return if is_decided { LogRelation::DecidedConflict } else { LogRelation::Conflict };
        }
        if a.log.len() == b.log.len() { LogRelation::Equal } else { LogRelation::Prefix }
    }
}

impl Whole for State {
    fn digest(&self, detail: Detail, hasher: &mut StableHasher) {
        for node in &self.nodes {
            hasher.write(&[u8::from(node.up), node.role as u8]);
            hasher.write_u32(node.term);
            hasher.write_u32(node.commit);
            node.log.hash(hasher);
            if detail >= Detail::Detailed {
                node.hash(hasher);
            }
        }
        self.messages.hash(hasher);
    }
}

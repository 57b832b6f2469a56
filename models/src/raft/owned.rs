//! What the crate `openraft` 0.9 does otherwise than the paper: [`Rules::owned_terms`], [`Rules::leads_again`].
//!
//! There a vote is for a term and a node, votes are ordered by both, and of two candidates in one term the one with the
//! greater number wins where the other has not yet led. That is the paper's protocol with finer terms: each of
//! them has one node that may ask for votes in it, and who enters it can vote for nobody else.

use super::state::{NodeState, Role};
use super::{Raft, Rules};
use crate::NodeId;

/// Terms of the model to a term of the implementation: more than there may be nodes.
const TERMS: u32 = Raft::NODES_MAX as u32 + 1;

/// The term of the model in which `node` asks for votes in a `term` of the implementation; of nobody, 0 is term 0.
pub fn owned_term(term: u32, node: Option<NodeId>) -> u32 {
    term * TERMS + node.map_or(0, |node| u32::from(node) + 1)
}

impl Rules {
    /// What the crate `openraft` 0.9 does. Its heartbeats are `Append`s.
    pub const fn openraft_0_9() -> Self {
        Self {
            empty_entry: true,
            batch: u32::MAX,
            check_quorum: true,
            snapshots: true,
            learns_commit: true,
            commit_kept: true,
            commit_unsynced: true,
            owned_terms: true,
            cuts_refused: true,
            leads_again: true,
            ..Self::lagging()
        }
    }
}

impl Raft {
    /// The term that a node begins when it asks for votes.
    pub(super) fn next_term(&self, node: &NodeState, me: NodeId) -> u32 {
        if self.rules.owned_terms { owned_term(node.term / TERMS + 1, Some(me)) } else { node.term + 1 }
    }

    /// A disk that has a term which is another's has the vote in it.
    pub(super) fn own_vote(&self, node: &mut NodeState) {
        if self.rules.owned_terms && node.disk.term == node.term {
            node.disk.vote = node.vote;
        }
    }

    /// Whether a node has started that led in its term.
    pub(super) fn may_lead_again(&self, node: &NodeState) -> bool {
        self.rules.leads_again && node.role == Role::Follower && node.term > 0 && node.disk.led == node.term
    }
}

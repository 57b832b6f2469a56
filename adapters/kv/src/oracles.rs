//! The oracles: what must hold of the implementation, judged on its views.
//!
//! | oracle | property | |
//! | --- | --- | --- |
//! | `invariant` | `applied-logs-agree` | all nodes apply the same entry at an index |
//! | | `applied-monotone` | commit and applied index of a running node never go back |
//! | | `one-leader-per-term` | |
//! | | `one-vote-per-term` | of a node, across its restarts |
//! | `durability` | `acknowledged-writes-survive` | what a client was told is in the log or the snapshot of more than half of the nodes, and of every leader of a later term |
//! | | `synced-log-survives` | what a node holds for durable is there when it starts again |
//! | | `snapshot-kept` | so is its snapshot |
//! | | `disk-readable` | a node never has to refuse its own disk, where the disk keeps its promises |
//!
//! What clients saw has oracles of its own, `history`: `linearizable` (in `misrule_world::histories`), and with
//! `workload=cycle` instead `ring-intact` (in `ring`).

use crate::log::Base;
use crate::node::Role;
use crate::store::Trouble;
use crate::system::Kv;
use crate::view::View;
use misrule_world::{Choice, Contract, Failure, NodeId, Seen};

/// The last entry whose client was answered.
#[derive(Clone, Copy, Debug, Default)]
struct Acknowledged {
    index: u64,
    digest: u64,
    term: u32,
}

/// What is known of a node from the last step after which it ran.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    base: u64,
    commit: u64,
    applied: u64,
    durable: u64,
    durable_digest: u64,
    /// It stopped in the middle of a step: how far that step had come is not known.
    is_unsure: bool,
}

/// What must hold, across restarts.
#[derive(Debug)]
pub(crate) struct Oracles {
    nodes: usize,
    /// Whether disks under the contract keep what they promise.
    is_honest: bool,
    /// For each index from 1, the digest of the log that was applied up to it.
    applied: Vec<u64>,
    /// For each node, for each term from 0, 1 more than the node that has its vote.
    votes: Vec<Vec<u8>>,
    /// For each term from 0, 1 more than its leader.
    leaders: Vec<u8>,
    known: Vec<Known>,
    acknowledged: Acknowledged,
    /// Bit set of nodes that have the entry acknowledged last, or may have it.
    holders: u64,
}

impl Oracles {
    pub(crate) fn new(nodes: NodeId, contract: &Contract) -> Self {
        let nodes = usize::from(nodes);
        Self {
            nodes,
            is_honest: !contract.disk.lies && contract.disk.media.outcomes().next().is_none(),
            applied: Vec::new(),
            votes: vec![Vec::new(); nodes],
            leaders: Vec::new(),
            known: vec![Known::default(); nodes],
            acknowledged: Acknowledged::default(),
            holders: 0,
        }
    }

    /// A new execution.
    pub(crate) fn reset(&mut self, seen: &Seen<'_, Kv>) -> Option<Failure> {
        self.applied.clear();
        self.votes.iter_mut().for_each(Vec::clear);
        self.leaders.clear();
        self.known.fill(Known::default());
        self.acknowledged = Acknowledged::default();
        self.holders = 0;
        (0..seen.views.len() as NodeId).find_map(|node| self.look(node, seen))
    }

    /// Looks at the node that ran.
    pub(crate) fn check(&mut self, seen: &Seen<'_, Kv>) -> Option<Failure> {
        let node = seen.node?;
        let at = usize::from(node);
        if seen.died {
            self.known[at].is_unsure = true;
            self.holders |= 1 << node;
        }
        if seen.up & (1 << node) == 0 {
            return None;
        }
        let view = &seen.views[at];
        if view.role == Role::Stopped {
            // What it has on its disk shows when it starts again.
            self.known[at].is_unsure = true;
            self.holders |= 1 << node;
            return self.refused(node, view);
        }
        if matches!(seen.choice, Choice::Restart { .. }) {
            let failure = self.survived(node, view);
            let known = &mut self.known[at];
            (known.commit, known.applied) = (0, 0);
            if failure.is_some() {
                return failure;
            }
        }
        self.look(node, seen)
    }

    fn look(&mut self, node: NodeId, seen: &Seen<'_, Kv>) -> Option<Failure> {
        let view = &seen.views[usize::from(node)];
        self.vote(node, view)
            .or_else(|| self.leader(node, view))
            .or_else(|| self.agree(node, view))
            .or_else(|| self.forward(node, view))
            .or_else(|| self.acknowledged(node, seen))
    }

    /// A node refuses its disk.
    fn refused(&self, node: NodeId, view: &View) -> Option<Failure> {
        let Some(Trouble::Contradiction(what)) = view.trouble else { return None };
        let text = format!("node {} refuses its own disk: {what}", node + 1);
        let failure =
            Failure { detail: what.to_owned(), ..Failure::new("durability", "disk-readable", text) };
        self.is_honest.then_some(failure)
    }

    /// A node has started again.
    fn survived(&self, node: NodeId, view: &View) -> Option<Failure> {
        let known = &self.known[usize::from(node)];
        if view.base.index < known.base {
            let text = format!(
                "node {} had a snapshot of entry {}, and starts from {}",
                node + 1,
                known.base,
                view.base.index
            );
            return Some(Failure::new("durability", "snapshot-kept", text));
        }
        let is_there =
            view.base.index >= known.durable || view.digest(known.durable) == Some(known.durable_digest);
        if is_there || known.is_unsure {
            return None;
        }
        let text = format!(
            "node {} had its log up to entry {} on its disk, and starts with another one, up to {}",
            node + 1,
            known.durable,
            view.last()
        );
        Some(Failure::new("durability", "synced-log-survives", text))
    }

    fn vote(&mut self, node: NodeId, view: &View) -> Option<Failure> {
        let vote = view.vote? + 1;
        let votes = &mut self.votes[usize::from(node)];
        let before = note(votes, view.term, vote)?;
        let text = format!(
            "node {} has voted for node {before} in term {}, and now votes for node {vote}",
            node + 1,
            view.term
        );
        Some(Failure::new("invariant", "one-vote-per-term", text))
    }

    fn leader(&mut self, node: NodeId, view: &View) -> Option<Failure> {
        if view.role != Role::Leader {
            return None;
        }
        let before = note(&mut self.leaders, view.term, node + 1)?;
        let text = format!("node {before} has led in term {}, and now node {} does", view.term, node + 1);
        Some(Failure::new("invariant", "one-leader-per-term", text))
    }

    /// What is applied is the same everywhere.
    fn agree(&mut self, node: NodeId, view: &View) -> Option<Failure> {
        let Base { index, digest, .. } = view.applied;
        while (self.applied.len() as u64) < index {
            let next = self.applied.len() as u64 + 1;
            self.applied.push(if next == index { Some(digest) } else { view.digest(next) }?);
        }
        let expected = *self.applied.get((index as usize).checked_sub(1)?)?;
        if digest == expected {
            return None;
        }
        let same =
            |at: u64| view.digest(at).is_none_or(|digest| self.applied.get(at as usize - 1) == Some(&digest));
        let first = (view.base.index + 1..=index).find(|at| !same(*at)).unwrap_or(index);
        let text = format!("node {} has applied another entry {first} than a node before it", node + 1);
        Some(Failure::new("invariant", "applied-logs-agree", text))
    }

    /// What a running node has committed and applied only grows.
    fn forward(&mut self, node: NodeId, view: &View) -> Option<Failure> {
        let known = &mut self.known[usize::from(node)];
        let (commit, applied) = (known.commit, known.applied);
        *known = Known {
            base: view.base.index,
            commit: view.commit,
            applied: view.applied.index,
            durable: view.durable,
            durable_digest: view.digest(view.durable).unwrap_or_default(),
            is_unsure: false,
        };
        if view.commit >= commit && view.applied.index >= applied {
            return None;
        }
        let text = format!(
            "node {} had committed {commit} entries and applied {applied}, and now {} and {}",
            node + 1,
            view.commit,
            view.applied.index
        );
        Some(Failure::new("invariant", "applied-monotone", text))
    }

    /// What clients were told is kept by a majority.
    fn acknowledged(&mut self, node: NodeId, seen: &Seen<'_, Kv>) -> Option<Failure> {
        let view = &seen.views[usize::from(node)];
        let index = view.acknowledged;
        if index > self.acknowledged.index {
            let digest = *self.applied.get(index as usize - 1)?;
            self.acknowledged = Acknowledged { index, digest, term: view.term };
            self.holders = 0;
            for (at, view) in seen.views.iter().enumerate() {
                let is_unsure = self.known[at].is_unsure || view.role == Role::Stopped;
                self.holders |= u64::from(is_unsure || self.holds(view)) << at;
            }
        }
        let promised = self.acknowledged;
        if promised.index == 0 {
            return None;
        }
        let holds = self.holds(view);
        self.holders = (self.holders & !(1 << node)) | u64::from(holds) << node;
        if !holds && view.role == Role::Leader && view.term > promised.term {
            let text = format!(
                "node {} leads in term {} without entry {}, which was acknowledged in term {}",
                node + 1,
                view.term,
                promised.index,
                promised.term
            );
            return Some(Failure::new("durability", "acknowledged-writes-survive", text));
        }
        let count = self.holders.count_ones() as usize;
        if count > self.nodes / 2 {
            return None;
        }
        let text =
            format!("entry {} was acknowledged, and {count} of {} nodes have it", promised.index, self.nodes);
        Some(Failure::new("durability", "acknowledged-writes-survive", text))
    }

    fn holds(&self, view: &View) -> bool {
        let Acknowledged { index, digest, .. } = self.acknowledged;
        view.base.index >= index || view.digest(index) == Some(digest)
    }
}

/// Notes who it is in that term; returns who it was before, where that was another one.
fn note(terms: &mut Vec<u8>, term: u32, who: u8) -> Option<u8> {
    let at = term as usize;
    if terms.len() <= at {
        terms.resize(at + 1, 0);
    }
    let before = std::mem::replace(&mut terms[at], who);
    (before != 0 && before != who).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::Oracles;
    use crate::log::Base;
    use crate::node::Role;
    use crate::view::View;
    use misrule_world::Contract;

    fn oracles() -> Oracles {
        Oracles::new(3, &Contract::default())
    }

    /// A majority has voted twice where a term has two leaders, so that schedules show the votes first.
    #[test]
    fn a_term_has_one_leader() {
        let mut oracles = oracles();
        let view = |role, term| View { role, term, ..View::default() };
        assert_eq!(oracles.leader(0, &view(Role::Leader, 3)), None);
        assert_eq!(oracles.leader(0, &view(Role::Leader, 3)), None);
        assert_eq!(oracles.leader(1, &view(Role::Candidate, 3)), None);
        assert_eq!(oracles.leader(1, &view(Role::Leader, 4)), None);
        let failure = oracles.leader(1, &view(Role::Leader, 3)).unwrap();
        assert_eq!(failure.property, "one-leader-per-term");
        assert_eq!(failure.message, "node 1 has led in term 3, and now node 2 does");
    }

    #[test]
    fn what_is_committed_and_applied_only_grows() {
        let mut oracles = oracles();
        let view =
            |commit, index| View { commit, applied: Base { index, ..Base::default() }, ..View::default() };
        for (commit, index) in [(1, 0), (1, 1), (4, 2)] {
            assert_eq!(oracles.forward(1, &view(commit, index)), None);
        }
        let failure = oracles.forward(1, &view(3, 2)).unwrap();
        assert_eq!(failure.property, "applied-monotone");
        assert_eq!(oracles.forward(1, &view(3, 1)).unwrap().property, "applied-monotone");
        assert_eq!(oracles.forward(2, &view(0, 0)), None, "nodes are judged each by itself");
    }
}

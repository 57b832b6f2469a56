//! The oracles over views: what Raft promises (Ongaro, Ousterhout, "In Search of an Understandable Consensus
//! Algorithm", 2014, figure 3), and what a disk must not forget (section 5.1 and 5.2).

use crate::image::Image;
use crate::node::Done;
use crate::view::View;
use misrule_models::NodeId;
use misrule_world::Failure;

/// Judges nodes one by one, as they change.
#[derive(Debug, Default)]
pub(crate) struct Oracles {
    nodes: Vec<Judged>,
    /// For each term the node that led it, counted from 1; 0 for none.
    leaders: Vec<NodeId>,
    /// For each index, who had an entry there first, by term.
    logged: Vec<Vec<Logged>>,
    /// For each index the entry that was committed first.
    committed: Vec<Committed>,
    /// For each index the hash of what was applied first.
    applied: Vec<(NodeId, Option<u64>)>,
    /// What was seen in this execution, by [`SOMETIMES`].
    pub(crate) seen: [bool; SOMETIMES.len()],
}

/// What is seen sometimes, in the order of [`Oracles::seen`].
pub(crate) const SOMETIMES: [&str; 8] = [
    "leader-elected",
    "entry-committed",
    "conflicting-suffix-truncated",
    "leader-transferred",
    "snapshot-installed",
    "read-served",
    "configuration-changed",
    "configuration-joint",
];

/// What was judged last of a node.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    changes: u64,
    term: u64,
    /// Term and vote as they were durable.
    durable: (u64, u64),
    commit: u64,
    durable_commit: u64,
    applied: u64,
    leads: bool,
    done: Done,
    is_up: bool,
}

/// The first log that had an entry with this term at an index.
#[derive(Clone, Copy, Debug)]
struct Logged {
    term: u64,
    hash: u64,
    node: NodeId,
}

/// The first log that was committed up to an index.
#[derive(Clone, Copy, Debug)]
struct Committed {
    node: NodeId,
    hash: u64,
    /// The term of that node then: no lower than that of the leader that committed the entry.
    term: u64,
}

impl Oracles {
    /// A new execution with empty disks.
    pub(crate) fn reset(&mut self, nodes: usize) {
        self.nodes.clear();
        self.nodes.resize(nodes, Judged::default());
        self.leaders.clear();
        for logged in &mut self.logged {
            logged.clear();
        }
        self.committed.clear();
        self.applied.clear();
        self.seen = [false; SOMETIMES.len()];
    }

    /// Node stopped: what it had in memory only is gone.
    pub(crate) fn stopped(&mut self, node: NodeId) {
        self.nodes[usize::from(node)].is_up = false;
    }

    /// Judges what `node` shows; constant time where nothing changed.
    #[inline]
    pub(crate) fn check(&mut self, node: NodeId, view: &View) -> Option<Failure> {
        let judged = &self.nodes[usize::from(node)];
        let leads = view.role().leads();
        let same = judged.is_up
            && (judged.term, judged.commit, judged.applied) == (view.term(), view.commit(), view.applied())
            && judged.leads == leads
            && judged.done == view.done()
            && judged.changes == view.image().changes();
        if same { None } else { self.judge(node, view) }
    }

    fn judge(&mut self, node: NodeId, view: &View) -> Option<Failure> {
        let mut image = view.shared_image().borrow_mut();
        let from = image.take_changed();
        let before = self.nodes[usize::from(node)];
        let hard = image.durable();
        self.nodes[usize::from(node)] = Judged {
            changes: image.changes(),
            term: view.term(),
            durable: (hard.term, hard.vote),
            commit: view.commit(),
            durable_commit: hard.commit,
            applied: view.applied(),
            leads: view.role().leads(),
            done: view.done(),
            is_up: true,
        };
        let done = view.done();
        self.seen[1] |= view.commit() > before.commit;
        self.seen[2] |= image.truncations() > 0;
        self.seen[3] |= view.role().leads() && view.is_transferred();
        self.seen[4] |= done.snapshots > 0;
        self.seen[5] |= done.reads > 0;
        self.seen[6] |= done.configurations > 0;
        self.seen[7] |= view.conf().is_joint();
        unfounded(node, view)
            .or_else(|| backwards(node, view, &image, &before))
            .or_else(|| self.log_matching(node, &image, from))
            .or_else(|| self.election_safety(node, view, &before))
            .or_else(|| self.leader_completeness(node, view, &image, &before))
            .or_else(|| self.applied_logs(node, view, &image))
            .or_else(|| self.committed_logs(node, view, &image))
    }

    /// Election safety: at most one leader in a term.
    fn election_safety(&mut self, node: NodeId, view: &View, before: &Judged) -> Option<Failure> {
        if !view.role().leads() || (before.leads && before.is_up && before.term == view.term()) {
            return None;
        }
        self.seen[0] = true;
        let term = view.term() as usize;
        if self.leaders.len() <= term {
            self.leaders.resize(term + 1, 0);
        }
        let leader = &mut self.leaders[term];
        let other = std::mem::replace(leader, node + 1);
        if other == 0 || other == node + 1 {
            return None;
        }
        let text = format!("nodes {other} and {} both lead term {term}", node + 1);
        Some(Failure::new("invariant", "election-safety", text))
    }

    /// Log matching: logs that have an entry of the same term at an index are the same up to it.
    fn log_matching(&mut self, node: NodeId, image: &Image, from: u64) -> Option<Failure> {
        let last = image.last_index();
        if self.logged.len() < last as usize {
            self.logged.resize(last as usize, Vec::new());
        }
        for index in from.max(1)..=last {
            let (Some(term), Some(hash)) = (image.term(index), image.prefix_hash(index)) else { continue };
            let known = &mut self.logged[index as usize - 1];
            let Some(first) = known.iter().find(|first| first.term == term) else {
                known.push(Logged { term, hash, node });
                continue;
            };
            if first.hash != hash {
                let text = format!(
                    "nodes {} and {} have an entry of term {term} at index {index}, and other entries before it or there",
                    first.node + 1,
                    node + 1
                );
                return Some(Failure::new("invariant", "log-matching", text));
            }
        }
        None
    }

    /// Leader completeness: who becomes leader has every entry that was committed in a lower term.
    fn leader_completeness(
        &self,
        node: NodeId,
        view: &View,
        image: &Image,
        before: &Judged,
    ) -> Option<Failure> {
        if !view.role().leads() || (before.leads && before.is_up && before.term == view.term()) {
            return None;
        }
        let count = self.committed.iter().rposition(|first| first.term < view.term())? as u64 + 1;
        let first = self.committed[count as usize - 1];
        let has_all = match image.prefix_hash(count) {
            Some(hash) => first.hash == 0 || hash == first.hash,
            // Hidden in a snapshot, or missing.
            None => image.base().index > count,
        };
        if has_all {
            return None;
        }
        let text = format!(
            "node {} leads term {} without the {count} entries that node {} had committed",
            node + 1,
            view.term(),
            first.node + 1
        );
        Some(Failure::new("invariant", "leader-completeness", text))
    }

    /// State machine safety: all nodes apply the same entries.
    fn applied_logs(&mut self, node: NodeId, view: &View, image: &Image) -> Option<Failure> {
        let applied = view.applied();
        for index in self.applied.len() as u64 + 1..=applied {
            let hash = if index == applied { Some(view.applied_hash) } else { image.prefix_hash(index) };
            self.applied.push((node, hash));
        }
        let (first, hash) = self.applied.get_mut((applied as usize).checked_sub(1)?)?;
        // Whoever comes first to an index that others have passed in a snapshot says what is there.
        if *hash.get_or_insert(view.applied_hash) == view.applied_hash {
            return None;
        }
        let text =
            format!("nodes {} and {} have applied other entries up to index {applied}", *first + 1, node + 1);
        Some(Failure::new("invariant", "state-machine-safety", text))
    }

    /// The same of what nodes know to be committed, before they apply it.
    fn committed_logs(&mut self, node: NodeId, view: &View, image: &Image) -> Option<Failure> {
        let commit = view.commit();
        for index in self.committed.len() as u64 + 1..=commit.min(image.last_index()) {
            // Of what a snapshot hides others have known before.
            let hash = image.prefix_hash(index).unwrap_or_default();
            self.committed.push(Committed { node, hash, term: view.term() });
        }
        let first = self.committed.get((commit as usize).checked_sub(1)?)?;
        let agrees = image.prefix_hash(commit).is_none_or(|hash| first.hash == 0 || first.hash == hash);
        // A node whose disk refused the entries knows of their commit and does nothing any more.
        if agrees && (image.last_index() >= commit || view.is_halted()) {
            return None;
        }
        let text = format!(
            "nodes {} and {} have committed other entries up to index {commit}",
            first.node + 1,
            node + 1
        );
        Some(Failure::new("invariant", "state-machine-safety", text))
    }
}

/// Pre-vote (Ongaro, "Consensus: Bridging Theory and Practice", 2014, section 9.6): who asks for votes has heard of a
/// quorum that would give them.
fn unfounded(node: NodeId, view: &View) -> Option<Failure> {
    if !view.done().unfounded {
        return None;
    }
    let text =
        format!("node {} asks for votes in term {} without a quorum of pre-votes", node + 1, view.term());
    Some(Failure::new("invariant", "pre-vote-quorum", text))
}

/// What never goes backwards: term, vote and commit index, also over a restart as far as they were durable.
fn backwards(node: NodeId, view: &View, image: &Image, before: &Judged) -> Option<Failure> {
    let (hard, (term, vote)) = (image.durable(), before.durable);
    let lowest = if before.is_up { before.term } else { term };
    if view.term() < lowest {
        let text = format!("node {} was in term {lowest} and now is in term {}", node + 1, view.term());
        return Some(Failure::new("durability", "term-monotone", text));
    }
    if hard.term == term && vote != 0 && hard.vote != vote {
        let text = format!(
            "node {} has given its vote of term {term} to node {vote} and now to {}",
            node + 1,
            if hard.vote == 0 { "none".to_owned() } else { format!("node {}", hard.vote) }
        );
        return Some(Failure::new("durability", "one-vote-per-term", text));
    }
    let lowest = if before.is_up { before.commit } else { before.durable_commit };
    if view.commit() < lowest {
        let text =
            format!("node {} had committed up to index {lowest} and now up to {}", node + 1, view.commit());
        return Some(Failure::new("durability", "commit-monotone", text));
    }
    None
}

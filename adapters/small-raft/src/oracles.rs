//! What must hold without a model: what Raft promises (figure 3 of the paper), what a disk must not forget, and what
//! clients may rely on. Each looks only at what a step changed.

use crate::message::bit;
use crate::server::Role;
use crate::system::is_read;
use crate::view::{Seen, View};
use misrule_models::NodeId;
use misrule_world::{Answer, ClientEvent, Failure};

/// Judges servers one by one, as they change.
#[derive(Debug, Default)]
pub(crate) struct Oracles {
    nodes: Vec<Judged>,
    /// For each term its leaders: bit set.
    leaders: Vec<u8>,
    /// For each index what was committed first.
    committed: Vec<Committed>,
    /// The last index that a client was told of.
    acknowledged: u32,
    /// For each session the number of its call that reads, and what was acknowledged when it asked; 0 where it has none.
    reads: Vec<(u32, u32)>,
}

misrule_world::clone_in_place!(Oracles { nodes, leaders, committed, acknowledged, reads });

/// What was judged last of a server.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    seen: Seen,
    is_up: bool,
    /// The highest term that it has told others, whenever.
    told: u32,
}

/// The first log that was committed up to an index.
#[derive(Clone, Copy, Debug)]
struct Committed {
    hash: u64,
    node: NodeId,
    /// The term of that server then: no lower than that of the leader that committed the entry.
    term: u32,
}

impl Oracles {
    /// A new execution with empty disks.
    pub(crate) fn reset(&mut self, nodes: usize) {
        self.nodes.clear();
        self.nodes.resize(nodes, Judged::default());
        self.leaders.clear();
        self.committed.clear();
        self.acknowledged = 0;
        self.reads.clear();
    }

    /// A server stopped: what it had in memory only is gone.
    pub(crate) fn stopped(&mut self, node: NodeId) {
        self.nodes[usize::from(node)].is_up = false;
    }

    /// Judges what a server shows.
    #[inline]
    pub(crate) fn check(&mut self, node: NodeId, view: &View) -> Option<Failure> {
        let (before, now) = (&mut self.nodes[usize::from(node)], view.state());
        let same = before.is_up
            && before.seen.role == now.role
            && (before.seen.term, before.seen.commit, before.told) == (now.term, now.commit, now.told)
            && before.seen.hash == now.hash;
        if same {
            return None;
        }
        let judged = *before;
        *before = Judged { seen: *now, is_up: true, told: judged.told.max(now.told) };
        // A server whose disk refused something says nothing more, and may be in the middle of a change.
        if now.halted { None } else { self.judge(node, &judged, view) }
    }

    #[inline(never)]
    fn judge(&mut self, node: NodeId, before: &Judged, view: &View) -> Option<Failure> {
        term_monotone(node, before, view.state())
            .or_else(|| self.election_safety(node, before, view))
            .or_else(|| self.committed_logs(node, view))
    }

    /// Election safety, and leader completeness: who comes to lead is the only one in its term, and has what was
    /// committed in lower terms.
    fn election_safety(&mut self, node: NodeId, before: &Judged, view: &View) -> Option<Failure> {
        let now = view.state();
        let led = before.is_up && before.seen.role == Role::Leader && before.seen.term == now.term;
        if now.role != Role::Leader || led {
            return None;
        }
        let term = now.term as usize;
        if self.leaders.len() <= term {
            self.leaders.resize(term + 1, 0);
        }
        self.leaders[term] |= bit(node);
        let others = self.leaders[term] & !bit(node);
        if others != 0 {
            let text =
                format!("nodes {} and {} both lead term {term}", others.trailing_zeros() + 1, node + 1);
            return Some(Failure::new("election-safety", "one-leader-in-a-term", text));
        }
        let count = self.committed.iter().rposition(|first| first.term < now.term)? + 1;
        let first = self.committed[count - 1];
        if view.hash(count as u32) == Some(first.hash) {
            return None;
        }
        let text = format!(
            "node {} leads term {term} without the {count} entries that node {} had committed",
            node + 1,
            first.node + 1
        );
        Some(Failure::new("leader-completeness", "leader-has-what-is-committed", text))
    }

    /// State machine safety: servers agree on what is committed, and a committed entry stays.
    fn committed_logs(&mut self, node: NodeId, view: &View) -> Option<Failure> {
        let now = view.state();
        let at = (now.commit as usize).checked_sub(1)?;
        let Some(hash) = view.hash(now.commit) else {
            let text = format!("node {} has committed {} entries, and has {}", node + 1, now.commit, now.len);
            return Some(Failure::new("state-machine-safety", "committed-entries-stay", text));
        };
        for index in self.committed.len() as u32 + 1..=now.commit {
            let hash = view.hash(index).unwrap_or_default();
            self.committed.push(Committed { hash, node, term: now.term });
        }
        let first = self.committed[at];
        if first.hash == hash {
            return None;
        }
        let text = format!(
            "nodes {} and {} have committed other entries up to index {}",
            first.node + 1,
            node + 1,
            now.commit
        );
        Some(Failure::new("state-machine-safety", "committed-logs-agree", text))
    }

    /// Reads: one returns no less than what had been acknowledged when it was asked.
    pub(crate) fn clients(&mut self, events: &[ClientEvent]) -> Option<Failure> {
        let mut failure = None;
        for event in events {
            match *event {
                ClientEvent::Asked { call, operation, .. } => {
                    let session = usize::from(call.session());
                    if self.reads.len() <= session {
                        self.reads.resize(session + 1, (0, 0));
                    }
                    let number = if is_read(operation) { call.number() } else { 0 };
                    self.reads[session] = (number, self.acknowledged);
                }
                ClientEvent::Answered { call, answer: Answer::Number(index) } => {
                    let (number, least) = self.reads[usize::from(call.session())];
                    if number == call.number() && index < least {
                        let text = format!(
                            "read {call} returns what was committed up to index {index}, and {least} was acknowledged before"
                        );
                        failure.get_or_insert(Failure::new(
                            "stale-read",
                            "reads-see-what-was-acknowledged",
                            text,
                        ));
                    }
                    self.acknowledged = self.acknowledged.max(index);
                }
                _ => {}
            }
        }
        failure
    }
}

/// A restart does not forget a term that others were told.
fn term_monotone(node: NodeId, before: &Judged, now: &Seen) -> Option<Failure> {
    let lowest = if before.is_up { before.seen.term } else { before.told };
    if now.term >= lowest {
        return None;
    }
    let text = format!("node {} told of term {lowest} and now is in term {}", node + 1, now.term);
    Some(Failure::new("durability", "term-monotone", text))
}

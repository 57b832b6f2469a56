//! Raft: Ongaro and Ousterhout, *In Search of an Understandable Consensus Algorithm* (extended version, 2014),
//! Figure 2, with the history variables of Ongaro's TLA+ specification (his thesis, Appendix B).
//!
//! What a node has in memory and what is on its disk are two things here: an action changes memory, [`Action::Persist`]
//! brings the disk up to it, and only then votes and answers leave (`pending`). What a leader sends to its followers
//! leaves at once, as section 10.2.1 of the thesis allows; its own log counts for a commit only as far as it is on its
//! disk. A crash keeps the disk.
//!
//! Every message ever sent may arrive at any time and any number of times: loss, order and duplication need no action.
//! An entry is a term and a number. An `Append` carries one entry at most, as in the TLA+ specification.
//!
//! # What this model leaves out
//!
//! The empty entry of a new leader, batches and pipelining (so that no implementation is followed yet), pre-vote,
//! check-quorum, leader transfer, membership changes, snapshots and compaction, `ReadIndex`, leases, the applied index, a
//! commit index that is kept on the disk, and hints in rejections.

mod lenses;
mod properties;
mod state;
mod step;

pub use state::{Disk, Envelope, LogEntry, Message, NodeState, Role, State};

use crate::{Model, NodeId, Property, Refusal, Step};

/// Rules of the protocol that a test can break.
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The disk lags behind memory until [`Action::Persist`]; otherwise each action persists at its end.
    pub disk_lags: bool,
    /// Votes and answers wait for the disk.
    pub persist_before_reply: bool,
    /// A vote needs a log that is at least as up to date (section 5.4.1).
    pub votes_compare_logs: bool,
    /// A leader counts copies for entries of its own term only (section 5.4.2).
    pub commits_own_term_only: bool,
    /// A node votes once a term.
    pub votes_once: bool,
}

impl Rules {
    /// The paper's rules over a disk that keeps up with memory.
    pub const fn paper() -> Self {
        Self {
            disk_lags: false,
            persist_before_reply: true,
            votes_compare_logs: true,
            commits_own_term_only: true,
            votes_once: true,
        }
    }

    /// The paper's rules over a disk that lags behind memory.
    pub const fn lagging() -> Self {
        Self { disk_lags: true, ..Self::paper() }
    }
}

/// How far exploration goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The highest term.
    pub term_max: u32,
    /// Proposals in all.
    pub entries_max: u32,
    /// Crashes in all.
    pub faults_max: u8,
}

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The node hears of no leader and asks for votes in the next term.
    Timeout {
        /// The node.
        node: NodeId,
    },
    /// A candidate has the votes of a majority.
    BecomeLeader {
        /// The node.
        node: NodeId,
    },
    /// A leader takes an entry.
    Propose {
        /// The leader.
        node: NodeId,
        /// The entry's number.
        value: u32,
    },
    /// A leader sends the next entry, or a heartbeat where there is none.
    Append {
        /// The leader.
        node: NodeId,
        /// The follower.
        peer: NodeId,
    },
    /// A leader counts copies and commits what a majority has.
    AdvanceCommit {
        /// The leader.
        node: NodeId,
    },
    /// The disk catches up with memory, and what waited for it leaves.
    Persist {
        /// The node.
        node: NodeId,
    },
    /// A message arrives.
    Deliver(Envelope),
    /// The node stops.
    Crash {
        /// The node.
        node: NodeId,
    },
    /// The node starts from its disk.
    Restart {
        /// The node.
        node: NodeId,
    },
}

/// Raft for a fixed set of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raft {
    nodes: NodeId,
    rules: Rules,
    bounds: Bounds,
}

impl Raft {
    /// The most nodes.
    pub const NODES_MAX: NodeId = 7;

    /// A cluster of 1 to [`NODES_MAX`](Self::NODES_MAX) nodes; `None` for other numbers.
    pub fn new(nodes: NodeId, rules: Rules, bounds: Bounds) -> Option<Self> {
        (1..=Self::NODES_MAX).contains(&nodes).then_some(Self { nodes, rules, bounds })
    }
}

impl Model for Raft {
    type State = State;
    type Action = Action;

    fn initial(&self, out: &mut Vec<State>) {
        out.push(State::new(self.nodes));
    }

    fn step(&self, state: &mut State, action: &Action) -> Step<State> {
        match self.take(state, action) {
            Ok(()) => Step::Taken,
            Err(why) => Step::Refused(Refusal(why)),
        }
    }

    fn enabled(&self, state: &State, out: &mut Vec<Action>) {
        for node in 0..self.nodes {
            let it = state.node(node);
            if !it.up {
                out.push(Action::Restart { node });
                continue;
            }
            if it.role == Role::Leader {
                if state.proposed < self.bounds.entries_max {
                    out.push(Action::Propose { node, value: state.proposed + 1 });
                }
                out.extend(
                    (0..self.nodes).filter(|peer| *peer != node).map(|peer| Action::Append { node, peer }),
                );
                out.extend(self.commits(it).map(|_| Action::AdvanceCommit { node }));
            } else if it.term < self.bounds.term_max {
                out.push(Action::Timeout { node });
            }
            if self.has_won(it) {
                out.push(Action::BecomeLeader { node });
            }
            if it.waits_for_disk() {
                out.push(Action::Persist { node });
            }
            if state.faults < self.bounds.faults_max {
                out.push(Action::Crash { node });
            }
        }
        let arrivals = state.messages.iter().filter(|envelope| state.node(envelope.to).up);
        out.extend(arrivals.cloned().map(Action::Deliver));
    }

    fn properties(&self) -> &'static [Property<Self>] {
        properties::PROPERTIES
    }
}

#[cfg(test)]
mod tests;

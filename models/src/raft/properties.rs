//! What must always hold (Figure 3 of the paper, and durability) and what should be seen sometimes. Logs are compared by
//! their hashes, so that each costs a few comparisons a pair of nodes.

use super::Raft;
use super::configuration::Configuration;
use super::state::{NodeState, Role, State};
use crate::{Kind, Property};

const PROPERTIES: &[Property<Raft>] = &[
    Property { name: "configuration-changed", kind: Kind::Sometimes, holds: configuration_changed },
    Property { name: "election-safety", kind: Kind::Always, holds: election_safety },
    Property { name: "leader-append-only", kind: Kind::Always, holds: leader_append_only },
    Property { name: "log-matching", kind: Kind::Always, holds: log_matching },
    Property { name: "leader-completeness", kind: Kind::Always, holds: leader_completeness },
    Property { name: "state-machine-safety", kind: Kind::Always, holds: state_machine_safety },
    Property { name: "commit-needs-durable-quorum", kind: Kind::Always, holds: commit_is_durable },
    Property { name: "vote-and-term-stay", kind: Kind::Always, holds: vote_and_term_stay },
    Property { name: "leader-elected", kind: Kind::Sometimes, holds: leader_elected },
    Property { name: "entry-committed", kind: Kind::Sometimes, holds: entry_committed },
    Property { name: "conflicting-suffix-truncated", kind: Kind::Sometimes, holds: suffix_truncated },
    Property { name: "recovered", kind: Kind::Sometimes, holds: recovered },
    Property { name: "reads-never-stale", kind: Kind::Always, holds: reads_never_stale },
    Property { name: "read-confirmed", kind: Kind::Sometimes, holds: read_confirmed },
];

/// The properties of a model: the first one only where configurations change, the last two only where there are reads.
pub(super) fn of(raft: &Raft) -> &'static [Property<Raft>] {
    let behind = PROPERTIES.len() - if raft.has_reads() { 0 } else { 2 };
    &PROPERTIES[usize::from(!raft.has_changes())..behind]
}

fn election_safety(_: &Raft, state: &State) -> bool {
    !state.marks.elected_twice
}

fn leader_append_only(_: &Raft, state: &State) -> bool {
    !state.marks.leader_rewritten
}

/// Logs that have an entry of the same index and term are the same up to it.
fn log_matching(_: &Raft, state: &State) -> bool {
    let agree = |a: &NodeState, b: &NodeState| {
        let common = a.length().min(b.length());
        // From the end, where logs that do not conflict agree at once.
        let same = (1..=common).rev().find(|index| a.term_at(*index) == b.term_at(*index));
        same.is_none_or(|last| a.log.shares(&b.log, last))
    };
    state.nodes.iter().enumerate().all(|(at, a)| state.nodes[at + 1..].iter().all(|b| agree(a, b)))
}

/// A leader has every entry that was committed in an earlier term.
fn leader_completeness(_: &Raft, state: &State) -> bool {
    let leads = |node: &&NodeState| node.role == Role::Leader;
    state.nodes.iter().filter(leads).all(|leader| {
        let common = leader.log.common(&state.committed) as usize;
        state.committed_by[common..].iter().all(|by| *by >= leader.term)
    })
}

/// Nodes have committed the same entries.
fn state_machine_safety(_: &Raft, state: &State) -> bool {
    !state.marks.disagreed && state.nodes.iter().all(|node| node.log.shares(&state.committed, node.commit))
}

/// The disks of a quorum have what is committed, for ever: of the configuration in force when the last of it was committed.
/// Where all nodes vote that is more than half of them.
fn commit_is_durable(raft: &Raft, state: &State) -> bool {
    let committed = &state.committed;
    let holds = |node: &NodeState| u64::from(node.disk.log.shares(committed, committed.len()));
    let disks = state.nodes.iter().rev().fold(0, |set, node| set << 1 | holds(node));
    let all = Configuration::of_voters(raft.nodes);
    (if raft.has_changes() { state.committed_in } else { all }).is_quorum(disks)
}

/// A node's term never falls below what others have heard of, and its vote in that term is no other.
fn vote_and_term_stay(_: &Raft, state: &State) -> bool {
    state.nodes.iter().all(|node| {
        let (term, vote) = node.told;
        node.term > term || node.term == term && (vote.is_none() || vote == node.vote)
    })
}

fn leader_elected(_: &Raft, state: &State) -> bool {
    !state.elected.is_empty()
}

fn entry_committed(_: &Raft, state: &State) -> bool {
    !state.committed.is_empty()
}

fn suffix_truncated(_: &Raft, state: &State) -> bool {
    state.marks.truncated
}

fn configuration_changed(_: &Raft, state: &State) -> bool {
    state.marks.reconfigured
}

/// A read has the index of all that was committed when it came (thesis, section 6.4).
fn reads_never_stale(_: &Raft, state: &State) -> bool {
    !state.marks.read_stale
}

fn read_confirmed(_: &Raft, state: &State) -> bool {
    state.marks.read
}

fn recovered(_: &Raft, state: &State) -> bool {
    state.marks.recovered
}

//! What must always hold (Figure 3 of the paper, and durability) and what should be seen sometimes.

use super::Raft;
use super::state::{LogEntry, NodeState, Role, State};
use crate::{Kind, Property};

pub(super) const PROPERTIES: &[Property<Raft>] = &[
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
];

fn election_safety(_: &Raft, state: &State) -> bool {
    let terms = state.elected.iter().map(|(term, _)| term);
    terms.clone().zip(terms.skip(1)).all(|(one, other)| one != other)
}

fn leader_append_only(_: &Raft, state: &State) -> bool {
    !state.marks.leader_rewritten
}

/// Logs that have an entry of the same index and term are the same up to it.
fn log_matching(_: &Raft, state: &State) -> bool {
    let agree = |a: &NodeState, b: &NodeState| {
        let same = a.log.iter().zip(&b.log).rposition(|(x, y)| x.term == y.term);
        same.is_none_or(|last| a.log[..=last] == b.log[..=last])
    };
    state.nodes.iter().enumerate().all(|(at, a)| state.nodes[at + 1..].iter().all(|b| agree(a, b)))
}

/// A leader has every entry that was committed in an earlier term.
fn leader_completeness(_: &Raft, state: &State) -> bool {
    let leads = |node: &&NodeState| node.role == Role::Leader;
    state.nodes.iter().filter(leads).all(|leader| {
        let mut committed = state.committed.iter().enumerate();
        committed.all(|(at, (entry, by))| *by >= leader.term || leader.log.get(at) == Some(entry))
    })
}

/// Nodes have committed the same entries.
fn state_machine_safety(_: &Raft, state: &State) -> bool {
    !state.marks.disagreed
        && state.nodes.iter().all(|node| {
            let commit = node.commit as usize;
            commit <= node.log.len()
                && begins(&node.log, &state.committed[..commit.min(state.committed.len())])
        })
}

/// More than half of all disks have what is committed, for ever.
fn commit_is_durable(_: &Raft, state: &State) -> bool {
    let holders = state.nodes.iter().filter(|node| begins(&node.disk.log, &state.committed)).count();
    holders > state.nodes.len() / 2
}

fn begins(log: &[LogEntry], committed: &[(LogEntry, u32)]) -> bool {
    log.len() >= committed.len()
        && log.iter().zip(committed).all(|(entry, (committed, _))| entry == committed)
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

fn recovered(_: &Raft, state: &State) -> bool {
    state.marks.recovered
}

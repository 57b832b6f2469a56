//! What must always hold and what should be seen sometimes. Each costs one pass over the nodes.

use super::state::{NodeState, Phase, Role, State};
use super::{Network, SequencePaxos};
use crate::{Kind, Property};

pub(super) const PROPERTIES: &[Property<SequencePaxos>] = &[
    Property { name: "decided-logs-agree", kind: Kind::Always, holds: decided_logs_agree },
    Property { name: "decided-within-log", kind: Kind::Always, holds: decided_within_log },
    Property { name: "one-leader-per-ballot", kind: Kind::Always, holds: one_leader_per_ballot },
    Property { name: "decided-needs-accept-quorum", kind: Kind::Always, holds: decided_needs_accept_quorum },
    Property { name: "decided-entries-stay", kind: Kind::Always, holds: decided_entries_stay },
    Property { name: "leader-elected", kind: Kind::Sometimes, holds: leader_elected },
    Property { name: "entry-decided", kind: Kind::Sometimes, holds: entry_decided },
    Property { name: "conflicting-suffix-truncated", kind: Kind::Sometimes, holds: suffix_truncated },
    Property { name: "recovered", kind: Kind::Sometimes, holds: recovered },
];

/// The node that knows most to be decided.
fn furthest(state: &State) -> Option<&NodeState> {
    state.nodes.iter().max_by_key(|node| node.decided)
}

fn decided_logs_agree(_: &SequencePaxos, state: &State) -> bool {
    // Every decided prefix is compared with the longest, of which it must be a prefix.
    furthest(state).is_none_or(|longest| {
        state.nodes.iter().all(|node| {
            let common = node.decided.min(node.log.len()).min(longest.log.len());
            node.log.prefix_hash(common) == longest.log.prefix_hash(common)
        })
    })
}

fn decided_within_log(_: &SequencePaxos, state: &State) -> bool {
    state.nodes.iter().all(|node| node.decided <= node.log.len())
}

/// A ballot names its owner, so two leaders share one only when a node leads in a ballot of another.
fn one_leader_per_ballot(_: &SequencePaxos, state: &State) -> bool {
    let mut nodes = (0..).zip(&state.nodes);
    nodes.all(|(index, node)| node.role == Role::Follower || node.promise.owner() == Some(index))
}

/// A majority has accepted what any node knows to be decided. Logs are durable and a later round keeps what was
/// chosen, so this holds in every state and not only when the decision falls.
/// Over unordered links it is not judged: see [`SequencePaxos::over_unordered_links`].
fn decided_needs_accept_quorum(model: &SequencePaxos, state: &State) -> bool {
    if model.network == Network::Open && !model.strict {
        return true;
    }
    furthest(state).is_none_or(|longest| {
        let decided = longest.decided.min(longest.log.len());
        let hash = longest.log.prefix_hash(decided);
        let holds = |node: &&NodeState| node.log.len() >= decided && node.log.prefix_hash(decided) == hash;
        state.nodes.iter().filter(holds).count() > state.nodes.len() / 2
    })
}

/// The same for one node over time, where no other has decided the entry.
fn decided_entries_stay(_: &SequencePaxos, state: &State) -> bool {
    !state.marks.rewritten
}

fn leader_elected(_: &SequencePaxos, state: &State) -> bool {
    state.nodes.iter().any(|node| node.is(Role::Leader, Phase::Accept))
}

fn entry_decided(_: &SequencePaxos, state: &State) -> bool {
    state.nodes.iter().any(|node| node.decided > 0)
}

fn suffix_truncated(_: &SequencePaxos, state: &State) -> bool {
    state.marks.truncated
}

fn recovered(_: &SequencePaxos, state: &State) -> bool {
    state.marks.recovered
}

//! What the service promises once faults have stopped: more than half of the nodes elect a leader, and what clients
//! change is applied at each of them.

use crate::judge::KvJudge;
use crate::node::{NODES_MAX, Role};
use crate::system::Kv;
use crate::view::View;
use misrule_world::{NodeId, Recovering, Recovers, Recovery};

/// Rounds of the timers election and heartbeat. A node puts up with two to five election timers, so that an election
/// has at least ten rounds, and needs two.
const TIMER_ROUNDS: [u32; 2] = [5, 3];

impl Recovers<Kv> for KvJudge {
    fn policy(&self) -> Recovery {
        Recovery {
            may_stay_down: (self.nodes() - 1) / 2,
            operation: Some(0),
            timers: TIMER_ROUNDS.to_vec(),
            ..Recovery::default()
        }
    }

    /// A call that a client has made since has taken effect at each node of the core.
    fn progressed(&self, now: &Recovering<'_, Kv>) -> bool {
        now.core_views().all(|view| view.called > self.calls_before())
    }

    fn waits_for(&self, now: &Recovering<'_, Kv>, node: NodeId) -> String {
        now.views.get(usize::from(node)).map_or_else(String::new, wanted)
    }

    /// A node that has trouble with its disk refuses everything until it starts again.
    fn stopped(&self, now: &Recovering<'_, Kv>, node: NodeId) -> bool {
        now.views.get(usize::from(node)).is_some_and(|view| view.role == Role::Stopped)
    }
}

const _: () = assert!(NODES_MAX <= 32, "a core names all nodes");

fn wanted(view: &View) -> String {
    let what = match (view.role, view.leader) {
        (Role::Stopped, _) => return "a start".to_owned(),
        (Role::Follower, None) => "a leader".to_owned(),
        (Role::Follower, Some(leader)) => format!("entries of node {}", leader + 1),
        (Role::Candidate, _) => format!("votes of a majority in term {}", view.term),
        (Role::Leader, _) => format!("a majority to store entry {}", view.commit + 1),
    };
    format!("{what} ({} of {} entries committed)", view.commit, view.last())
}

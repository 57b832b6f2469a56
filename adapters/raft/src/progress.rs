//! What raft promises once faults have stopped: a majority elects a leader, and what clients change is applied at each
//! node of the core.
//!
//! With changes of membership nothing is promised: who is needed then depends on what was decided last, and a core that
//! is given in numbers of nodes may lack it.

use crate::judge::RaftJudge;
use crate::system::Raft;
use crate::view::{Role, View};
use misrule_world::{NodeId, Recovering, Recovers, Recovery};

/// Rounds between two ticks: a heartbeat is there and back within two.
const TICK_ROUNDS: u32 = 3;
/// With five servers, two of them away, one of the others may be the only one that can win an election, and loses it whenever
/// another's timeout runs out first: in one of 10,000 recoveries 18 times in a row, which took 400 rounds.
const ROUNDS_MAX: u32 = 2_000;

impl Recovers<Raft> for RaftJudge {
    fn policy(&self) -> Recovery {
        Recovery {
            may_stay_down: (self.nodes - 1) / 2,
            operation: Some(0),
            timers: vec![TICK_ROUNDS],
            rounds_max: ROUNDS_MAX,
            ..Recovery::default()
        }
    }

    /// A call that a client has made since has taken effect at each node of the core.
    fn progressed(&self, now: &Recovering<'_, Raft>) -> bool {
        now.core_views().all(|view| view.called() > self.clients.calls_before())
    }

    fn waits_for(&self, now: &Recovering<'_, Raft>, node: NodeId) -> String {
        now.views.get(usize::from(node)).map_or_else(String::new, wanted)
    }

    /// A node whose disk refused an operation does nothing until it is started again.
    fn stopped(&self, now: &Recovering<'_, Raft>, node: NodeId) -> bool {
        now.views.get(usize::from(node)).is_some_and(View::is_halted)
    }
}

fn wanted(view: &View) -> String {
    let what = match (view.role(), view.leader()) {
        (Role::Follower | Role::Voter, 0) => "a leader".to_owned(),
        (Role::Follower | Role::Voter, leader) => format!("entries of node {leader}"),
        (Role::PreCandidate, _) => "a majority that would elect it".to_owned(),
        (Role::Candidate, _) => format!("votes of a majority in term {}", view.term()),
        (Role::Leader | Role::Leaving, _) => format!("a majority to store entry {}", view.commit() + 1),
    };
    format!("{what} ({} of {} entries committed)", view.commit(), view.image().last_index())
}

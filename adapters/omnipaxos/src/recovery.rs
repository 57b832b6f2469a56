//! What omnipaxos promises once faults have stopped: a majority decides what clients ask for, at each of its servers.

use crate::judge::OmnipaxosJudge;
use crate::system::{APPEND, Omnipaxos, Role, View};
use misrule_world::{NodeId, Recovering, Recovers, Recovery};

/// Rounds between two ticks. An election takes one tick, and a heartbeat is there and back within two rounds: where
/// ticks are faster no server ever hears of another in time.
const TICK_ROUNDS: u32 = 3;

impl Recovers<Omnipaxos> for OmnipaxosJudge {
    fn policy(&self) -> Recovery {
        Recovery {
            may_stay_down: (self.nodes - 1) / 2,
            operation: Some(APPEND),
            timers: vec![TICK_ROUNDS],
            ..Recovery::default()
        }
    }

    /// An entry that was asked for since is decided at every server of the core.
    fn progressed(&self, now: &Recovering<'_, Omnipaxos>) -> bool {
        now.core_views().all(|view| {
            let image = view.image();
            let decided = image.decided().min(image.length());
            image.values()[..decided].iter().rev().any(|value| *value >= now.fresh)
        })
    }

    fn waits_for(&self, now: &Recovering<'_, Omnipaxos>, node: NodeId) -> String {
        now.views.get(usize::from(node)).map_or_else(String::new, wanted)
    }
}

fn wanted(view: &View) -> String {
    let image = view.image();
    let leader = image.promise().map_or(0, |ballot| ballot.pid);
    let what = match view.role() {
        Role::New => "a leader".to_owned(),
        Role::Recovering => format!("server {leader} to prepare it again"),
        Role::Preparing => format!("the log of server {leader}"),
        Role::Following => format!("entries of server {leader}"),
        Role::Electing => "promises of a majority".to_owned(),
        Role::Leading => "a majority to accept".to_owned(),
    };
    format!("{what} ({} of {} entries decided)", image.decided(), image.length())
}

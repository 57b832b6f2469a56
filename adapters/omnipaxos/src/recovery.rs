//! What omnipaxos promises once faults have stopped: a majority decides what clients ask for, and where every server is
//! back, each of them does.
//!
//! Not each server of a core that leaves some out: one that has promised the ballot of a server that stays away answers
//! `NotAccepted` to every leader with a lower one. The leader then leaves it alone (0.2.4, `handle_notaccepted`), and it
//! does not take over either, since it hears of a leader that is content. It catches up at the next election. Nothing
//! that the crate promises is broken by that, but the log has a copy fewer meanwhile; a test of the engine's recoveries
//! shows it in three steps.

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

    /// An entry that was asked for since is decided at enough servers.
    fn progressed(&self, now: &Recovering<'_, Omnipaxos>) -> bool {
        let has_decided = |view: &&View| {
            let image = view.image();
            let decided = image.decided().min(image.length());
            image.values()[..decided].iter().rev().any(|value| *value >= now.fresh)
        };
        let servers = usize::from(self.nodes);
        let is_whole = now.core.count_ones() as usize == servers;
        let enough = if is_whole { servers } else { servers / 2 + 1 };
        now.core_views().filter(has_decided).count() >= enough
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

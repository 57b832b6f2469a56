//! What openraft promises once faults have stopped: a majority commits what clients ask for.
//!
//! Nothing is promised where the operator asks for elections (`elections=trigger`): when to ask is theirs to know. Nor
//! where each poll of a task is a choice (`tasks=step`): rounds are then no measure of time.

use crate::judge::OpenraftJudge;
use crate::system::{Openraft, TICK, TIMEOUT};
use crate::view::View;
use misrule_world::{NodeId, Recovering, Recovers, Recovery};
use openraft::{LogIdOptionExt, ServerState};

/// Rounds between two ticks of the clock: a heartbeat is there and back within two.
const TICK_ROUNDS: u32 = 3;
/// Rounds until a request has failed: longer than there and back, with a flush on the way.
const TIMEOUT_ROUNDS: u32 = 5;
/// One timer stands for the timeouts of all requests of a node, one after the other: what it needs several of takes long,
/// such as the second part of a snapshot beside requests to nodes that are away.
const ROUNDS_MAX: u32 = 2_000;

impl Recovers<Openraft> for OpenraftJudge {
    fn policy(&self) -> Recovery {
        let mut timers = vec![0; 2];
        timers[usize::from(TICK)] = TICK_ROUNDS;
        timers[usize::from(TIMEOUT)] = TIMEOUT_ROUNDS;
        Recovery {
            may_stay_down: (self.nodes - 1) / 2,
            operation: Some(0),
            timers,
            rounds_max: ROUNDS_MAX,
            ..Recovery::default()
        }
    }

    /// A call that a client has made since has taken effect at a majority.
    fn progressed(&self, now: &Recovering<'_, Openraft>) -> bool {
        let has_called = |view: &&View| view.called() > self.clients.calls_before();
        now.core_views().filter(has_called).count() > usize::from(self.nodes) / 2
    }

    fn waits_for(&self, now: &Recovering<'_, Openraft>, node: NodeId) -> String {
        now.views.get(usize::from(node)).map_or_else(String::new, wanted)
    }

    /// A node whose disk has failed gives up, and is started again by its operator.
    fn stopped(&self, now: &Recovering<'_, Openraft>, node: NodeId) -> bool {
        now.views.get(usize::from(node)).is_some_and(|view| view.stopped().is_some())
    }
}

fn wanted(view: &View) -> String {
    let image = view.image();
    let (committed, length) = (image.committed.max(image.applied).next_index(), image.now.length());
    let what = match (view.role(), image.has_waiters()) {
        (_, true) => "its disk",
        (ServerState::Candidate, _) => "votes of a majority",
        (ServerState::Leader, _) => "a majority to append",
        _ => "a leader",
    };
    format!("{what} ({committed} of {length} entries committed)")
}

//! Two-phase commit: the module `TwoPhase` of Jim Gray and Leslie Lamport, "Consensus on Transaction Commit",
//! ACM Transactions on Database Systems 31(1), 2006, section 3 and the TLA+ appendix.
//!
//! A coordinator (the paper's transaction manager, node 0) commits when every resource manager (nodes 1 to n)
//! has said that it is prepared, and may abort at any time before. Messages are a set that only grows: a
//! message that was sent can be received at any time later, any number of times.
//!
//! With both [`Switches`] off this is the published model, action for action: 3, 5 and 7 resource managers
//! have 288, 8,832 and 296,448 distinct states, and TLC generates 1,146, 58,146 and 2,744,706.
//!
//! # What the switches add
//! `crash`: any node may crash and restart. A resource manager keeps its state, a coordinator only its
//! decision: it forgets which Prepared messages it has received. A resource manager that restarts prepared is
//! *in doubt* until it learns the outcome. `timeout`: the coordinator may give up waiting. That leads where
//! `TmAbort` leads and is a name of its own, so that an implementation whose timer fires although every
//! resource manager is known to be prepared is refused.
//!
//! # What this model leaves out
//! - One transaction only: no identifiers, no locks, no reuse of a coordinator.
//! - The coordinator's request to prepare, and a vote against: a resource manager prepares or aborts unasked
//!   and says nothing when it aborts; the coordinator then aborts of its own accord. Acknowledgements, and the
//!   forgetting of decided transactions after them, are left out too.
//! - Messages are never lost for good, and a sent message is never forgotten: the model allows everything that
//!   a lossy link allows, since a message need not be received, but cannot say that a message *must* be sent
//!   again.
//! - A decision and a vote are written and sent in one step; the moment between the write and the send, and
//!   writes that a crash tears or loses, are left out. An implementation that sends before its write is safe
//!   shows as a refusal after the crash.
//! - A working resource manager restarts working. One that aborts on restart (it has lost its work) is
//!   followed by `Restart` and `RmAbort`.
//! - Heuristic decisions: a resource manager in doubt waits for ever.
//! - Time: a timeout may come at any moment.

mod state;
mod view;

pub use state::{Coordinator, ResourceManager, State};

use crate::{Kind, Model, NodeId, Property, Refusal, Step};

/// The most resource managers that a state has room for.
pub const RESOURCE_MANAGERS_MAX: u8 = 15;

/// What the model allows beyond the published one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Switches {
    /// Nodes crash and restart.
    pub crash: bool,
    /// The coordinator gives up waiting.
    pub timeout: bool,
}

/// The model: how many resource managers there are and what may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoPhaseCommit {
    resource_managers: u8,
    switches: Switches,
}

/// A transition. Resource managers are named by node, from 1. Named as in the paper, the coordinator `Tm`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// A working resource manager becomes prepared and says so.
    RmPrepare(NodeId),
    /// A working resource manager aborts on its own.
    RmAbort(NodeId),
    /// The coordinator receives that a resource manager is prepared.
    TmRcvPrepared(NodeId),
    /// The coordinator knows every resource manager to be prepared, and commits.
    TmCommit,
    /// The coordinator aborts.
    TmAbort,
    /// The coordinator gives up waiting for a Prepared message, and aborts.
    TmTimeout,
    /// A resource manager receives the decision to commit.
    RmRcvCommit(NodeId),
    /// A resource manager receives the decision to abort.
    RmRcvAbort(NodeId),
    /// A node crashes.
    Crash(NodeId),
    /// A crashed node comes back with what it had written.
    Restart(NodeId),
}

impl Action {
    /// The names of all actions, at the positions that [`index`](Self::index) gives.
    pub const NAMES: [&'static str; 10] = [
        "RmPrepare",
        "RmAbort",
        "TmRcvPrepared",
        "TmCommit",
        "TmAbort",
        "TmTimeout",
        "RmRcvCommit",
        "RmRcvAbort",
        "Crash",
        "Restart",
    ];

    /// The position of the action's name among [`NAMES`](Self::NAMES).
    pub fn index(self) -> usize {
        self.parts().0
    }

    /// The position of its name, and the node that it names.
    fn parts(self) -> (usize, Option<NodeId>) {
        match self {
            Self::RmPrepare(rm) => (0, Some(rm)),
            Self::RmAbort(rm) => (1, Some(rm)),
            Self::TmRcvPrepared(rm) => (2, Some(rm)),
            Self::TmCommit => (3, None),
            Self::TmAbort => (4, None),
            Self::TmTimeout => (5, None),
            Self::RmRcvCommit(rm) => (6, Some(rm)),
            Self::RmRcvAbort(rm) => (7, Some(rm)),
            Self::Crash(node) => (8, Some(node)),
            Self::Restart(node) => (9, Some(node)),
        }
    }
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, node) = self.parts();
        // Nodes count from 1 in text.
        match node {
            Some(node) => write!(f, "{}(n{})", Self::NAMES[name], u16::from(node) + 1),
            None => f.write_str(Self::NAMES[name]),
        }
    }
}

impl TwoPhaseCommit {
    /// The model for a number of resource managers, or `None` unless there are 1 to
    /// [`RESOURCE_MANAGERS_MAX`].
    pub fn new(resource_managers: u8, switches: Switches) -> Option<Self> {
        (1..=RESOURCE_MANAGERS_MAX)
            .contains(&resource_managers)
            .then_some(Self { resource_managers, switches })
    }

    /// Replaces a state by its representative: the resource managers, all alike, in the order of what is
    /// known of each. For [`explore`](crate::explore).
    pub fn canonical(&self, state: &mut State) {
        state.sort_resource_managers();
    }

    /// Why `action` is not enabled, if it is not.
    fn refusal(self, state: &State, action: Action) -> Option<Refusal> {
        match action {
            Action::RmPrepare(rm) | Action::RmAbort(rm) => self
                .unable(state, rm, 1)
                .or_else(|| unless(state.resource_manager(rm) == ResourceManager::Working, NOT_WORKING)),
            Action::TmRcvPrepared(rm) => self
                .unable(state, rm, 1)
                .filter(|refusal| *refusal != DOWN)
                .or_else(|| undecided(state))
                .or_else(|| unless(state.sent_prepared(rm), "no Prepared message was sent")),
            Action::TmCommit => undecided(state)
                .or_else(|| unless(state.all_received(), "a resource manager is not known to be prepared")),
            Action::TmAbort => undecided(state),
            Action::TmTimeout => unless(self.switches.timeout, "timeouts are switched off")
                .or_else(|| undecided(state))
                .or_else(|| unless(!state.all_received(), "every resource manager is known to be prepared")),
            Action::RmRcvCommit(rm) => self
                .unable(state, rm, 1)
                .or_else(|| unless(state.sent_commit(), "no Commit message was sent")),
            Action::RmRcvAbort(rm) => {
                self.unable(state, rm, 1).or_else(|| unless(state.sent_abort(), "no Abort message was sent"))
            }
            Action::Crash(node) => unless(self.switches.crash, "crashes are switched off")
                .or_else(|| self.unable(state, node, 0)),
            Action::Restart(node) => unless(self.switches.crash, "crashes are switched off")
                .or_else(|| unless(self.unable(state, node, 0) == Some(DOWN), "the node is up")),
        }
    }

    /// Why `node`, numbered from `first` on, can do nothing.
    fn unable(self, state: &State, node: NodeId, first: NodeId) -> Option<Refusal> {
        unless((first..=self.resource_managers).contains(&node), "there is no such node")
            .or_else(|| (!state.up(node)).then_some(DOWN))
    }
}

const DOWN: Refusal = Refusal("the node is down");
const NOT_WORKING: &str = "the resource manager is no longer working";

fn unless(condition: bool, refusal: &'static str) -> Option<Refusal> {
    (!condition).then_some(Refusal(refusal))
}

/// Why the coordinator cannot decide.
fn undecided(state: &State) -> Option<Refusal> {
    if state.up(0) {
        unless(state.coordinator() == Coordinator::Undecided, "the coordinator has decided")
    } else {
        Some(DOWN)
    }
}

impl Model for TwoPhaseCommit {
    type State = State;
    type Action = Action;

    fn initial(&self, out: &mut Vec<State>) {
        out.push(State::new(self.resource_managers));
    }

    fn step(&self, state: &mut State, action: &Action) -> Step<State> {
        if let Some(refusal) = self.refusal(state, *action) {
            return Step::Refused(refusal);
        }
        match *action {
            Action::RmPrepare(rm) => state.set_resource_manager(rm, ResourceManager::Prepared),
            Action::RmAbort(rm) | Action::RmRcvAbort(rm) => {
                state.set_resource_manager(rm, ResourceManager::Aborted);
            }
            Action::RmRcvCommit(rm) => state.set_resource_manager(rm, ResourceManager::Committed),
            Action::TmRcvPrepared(rm) => state.set_received(rm),
            Action::TmCommit => state.set_coordinator(Coordinator::Committed),
            Action::TmAbort | Action::TmTimeout => state.set_coordinator(Coordinator::Aborted),
            Action::Crash(node) => state.crash(node),
            Action::Restart(node) => state.restart(node),
        }
        Step::Taken
    }

    fn transitions(&self) -> &'static [&'static str] {
        &Action::NAMES
    }

    fn transition(&self, action: &Action) -> usize {
        action.index()
    }

    fn enabled(&self, state: &State, out: &mut Vec<Action>) {
        let mut offer = |action| {
            if self.refusal(state, action).is_none() {
                out.push(action);
            }
        };
        offer(Action::TmCommit);
        offer(Action::TmAbort);
        offer(Action::TmTimeout);
        for rm in 1..=self.resource_managers {
            offer(Action::RmPrepare(rm));
            offer(Action::RmAbort(rm));
            offer(Action::TmRcvPrepared(rm));
            offer(Action::RmRcvCommit(rm));
            offer(Action::RmRcvAbort(rm));
        }
        if self.switches.crash {
            for node in 0..=self.resource_managers {
                offer(Action::Crash(node));
                offer(Action::Restart(node));
            }
        }
    }

    fn properties(&self) -> &'static [Property<Self>] {
        if self.switches.crash { &PROPERTIES } else { &PROPERTIES[..PROPERTIES.len() - 1] }
    }
}

/// The last one only where nodes crash.
static PROPERTIES: [Property<TwoPhaseCommit>; 5] = [
    Property {
        name: "consistent",
        kind: Kind::Always,
        holds: |_, state| !(state.any(ResourceManager::Committed) && state.any(ResourceManager::Aborted)),
    },
    Property {
        name: "commit-needs-all-prepared",
        kind: Kind::Always,
        holds: |_, state| {
            let committed =
                state.coordinator() == Coordinator::Committed || state.any(ResourceManager::Committed);
            let prepared = !state.any(ResourceManager::Working) && !state.any(ResourceManager::Aborted);
            !committed || prepared
        },
    },
    Property {
        name: "commits",
        kind: Kind::Sometimes,
        holds: |_, state| state.any(ResourceManager::Committed),
    },
    Property {
        name: "aborts",
        kind: Kind::Sometimes,
        holds: |_, state| state.coordinator() == Coordinator::Aborted && state.any(ResourceManager::Aborted),
    },
    Property {
        name: "recovers-in-doubt",
        kind: Kind::Sometimes,
        holds: |_, state| (1..=state.resource_managers()).any(|rm| state.in_doubt(rm)),
    },
];

#[cfg(test)]
mod tests;

//! A second, naive two-phase commit, written from the paper for Stateright with sets instead of bits. The
//! model of this crate must have the same states and transitions, with and without faults.

use misrule_models::two_phase_commit::{Switches, TwoPhaseCommit};
use misrule_models::{Limits, explore};
use stateright::{Checker, Model, Property};
use std::collections::BTreeSet;

struct Naive {
    managers: u8,
    faults: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Manager {
    Working,
    Prepared,
    /// Restarted prepared.
    InDoubt,
    Committed,
    Aborted,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Message {
    Prepared(usize),
    Commit,
    Abort,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    managers: Vec<(Manager, bool)>,
    decision: Option<bool>,
    coordinator_up: bool,
    received: BTreeSet<usize>,
    messages: BTreeSet<Message>,
}

#[derive(Clone, Debug, PartialEq)]
enum Action {
    Prepare(usize),
    ChooseToAbort(usize),
    Receive(Option<usize>, Message),
    Decide(bool),
    TimeOut,
    CrashOrRestart(Option<usize>),
}

impl Naive {
    fn everyone(&self) -> BTreeSet<usize> {
        (0..usize::from(self.managers)).collect()
    }
}

impl Model for Naive {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            managers: vec![(Manager::Working, true); usize::from(self.managers)],
            decision: None,
            coordinator_up: true,
            received: BTreeSet::new(),
            messages: BTreeSet::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let undecided = state.decision.is_none() && state.coordinator_up;
        let everyone = state.received == self.everyone();
        if undecided {
            actions.push(Action::Decide(false));
            if everyone {
                actions.push(Action::Decide(true));
            } else if self.faults {
                actions.push(Action::TimeOut);
            }
        }
        for (rm, (manager, up)) in state.managers.iter().enumerate() {
            if *up && *manager == Manager::Working {
                actions.extend([Action::Prepare(rm), Action::ChooseToAbort(rm)]);
            }
        }
        for message in &state.messages {
            if let Message::Prepared(_) = message {
                if undecided {
                    actions.push(Action::Receive(None, message.clone()));
                }
            } else {
                let up = self.everyone().into_iter().filter(|rm| state.managers[*rm].1);
                actions.extend(up.map(|rm| Action::Receive(Some(rm), message.clone())));
            }
        }
        if self.faults {
            actions.push(Action::CrashOrRestart(None));
            actions.extend(self.everyone().into_iter().map(|rm| Action::CrashOrRestart(Some(rm))));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Prepare(rm) => {
                state.managers[rm].0 = Manager::Prepared;
                state.messages.insert(Message::Prepared(rm));
            }
            Action::ChooseToAbort(rm) | Action::Receive(Some(rm), Message::Abort) => {
                state.managers[rm].0 = Manager::Aborted;
            }
            Action::Receive(Some(rm), _) => state.managers[rm].0 = Manager::Committed,
            Action::Receive(None, Message::Prepared(rm)) => {
                state.received.insert(rm);
            }
            Action::Receive(None, _) => return None,
            Action::Decide(true) => {
                state.decision = Some(true);
                state.messages.insert(Message::Commit);
            }
            Action::Decide(false) | Action::TimeOut => {
                state.decision = Some(false);
                state.messages.insert(Message::Abort);
            }
            Action::CrashOrRestart(None) => {
                state.coordinator_up = !state.coordinator_up;
                state.received.clear();
            }
            Action::CrashOrRestart(Some(rm)) => {
                let (manager, up) = &mut state.managers[rm];
                *manager = match (*manager, *up) {
                    (Manager::InDoubt, true) => Manager::Prepared,
                    (Manager::Prepared, false) => Manager::InDoubt,
                    (other, _) => other,
                };
                *up = !*up;
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("consistent", |_, state: &State| {
            let any = |wanted| state.managers.iter().any(|(manager, _)| *manager == wanted);
            !(any(Manager::Committed) && any(Manager::Aborted))
        })]
    }
}

fn assert_same(managers: u8, faults: bool) {
    let naive = Naive { managers, faults }.checker().spawn_bfs().join();
    naive.assert_properties();
    let model =
        TwoPhaseCommit::new(managers, Switches { crash: faults, timeout: faults }).expect("a size in range");
    let found = explore(&model, Limits::default(), None).expect("a sound model");
    assert_eq!(found.states, naive.unique_state_count() as u64, "states of {managers}");
    assert_eq!(found.transitions, naive.state_count() as u64, "transitions of {managers}");
    // Stateright counts states on the path, not actions.
    assert_eq!(u64::from(found.depth) + 1, naive.max_depth() as u64, "depth of {managers}");
}

#[test]
fn the_same_as_published() {
    for managers in 1..=5 {
        assert_same(managers, false);
    }
}

#[test]
fn the_same_with_faults() {
    for managers in 1..=4 {
        assert_same(managers, true);
    }
}

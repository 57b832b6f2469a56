//! The model: one instance of two-phase commit for each lane, begun anew for each transaction of the lane.
//!
//! [`two_phase_commit`] models one transaction. The implementation runs some at once and one after another in
//! each lane; transactions share nothing but the nodes that crash. So the model here is a family: a crash is
//! a crash in every instance, every other action belongs to one transaction, and `Begin` puts an instance
//! back to its initial state.
//!
//! # What this model leaves out
//! - Everything that [`two_phase_commit`] leaves out.
//! - Acknowledgements: `Begin` is enabled once every manager has the outcome of the transaction before, which
//!   is what the acknowledgements stand for.
//! - Which free lane a transaction takes, and clients.
//! - Messages about older transactions of a lane: nobody may act on them.

use crate::state::LANES_MAX;
use misrule_models::presets::{Detail, Whole};
use misrule_models::two_phase_commit::{
    self, Action as One, Coordinator, ResourceManager, State as Instance, Switches, TwoPhaseCommit,
};
use misrule_models::{Fields, Key, Kind, Lens, Model, NodeId, Property, Refusal, StableHasher, Step};
use std::fmt::{Debug, Display, Formatter};

/// The transaction that a lane's instance stands for: lane, counted from 0, and round; 0 before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Running {
    /// The round of the lane.
    pub round: u32,
    /// The state of its transaction.
    pub state: Instance,
}

/// The state: an instance for each lane. Lanes that are not used stay in the initial state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The instances; those from `count` on are not used.
    pub lanes: [Running; LANES_MAX],
    /// How many lanes are used.
    pub count: u8,
}

/// A transition.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The next transaction of a lane begins, as that round.
    Begin(u8, u32),
    /// An action of the transaction that is that round of the lane; never a crash or a restart.
    Of(u8, u32, One),
    /// A node crashes.
    Crash(NodeId),
    /// A crashed node comes back.
    Restart(NodeId),
}

impl Debug for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Begin(lane, round) => write!(f, "Begin(t{}.{round})", lane + 1),
            Self::Of(lane, round, action) => write!(f, "t{}.{round} {action:?}", lane + 1),
            Self::Crash(node) => One::Crash(*node).fmt(f),
            Self::Restart(node) => One::Restart(*node).fmt(f),
        }
    }
}

/// The family of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transactions {
    one: TwoPhaseCommit,
    initial: Instance,
    count: u8,
}

impl Transactions {
    /// A model of `managers` that take part in `count` transactions at once; `None` for sizes out of range.
    pub fn new(managers: NodeId, count: u8) -> Option<Self> {
        let one = TwoPhaseCommit::new(managers, Switches { crash: true, timeout: true })?;
        let mut initial = Vec::new();
        one.initial(&mut initial);
        let initial = initial.pop()?;
        (usize::from(count) <= LANES_MAX).then_some(Self { one, initial, count })
    }

    /// Takes a crash or a restart in every instance.
    fn everywhere(&self, state: &mut State, action: One) -> Step<State> {
        // The instances agree on who is up, so the first one refuses or none does.
        for lane in &mut state.lanes {
            if let Step::Refused(refusal) = self.one.step(&mut lane.state, &action) {
                return Step::Refused(refusal);
            }
        }
        Step::Taken
    }
}

impl State {
    /// The lanes in use.
    pub fn lanes(&self) -> &[Running] {
        &self.lanes[..usize::from(self.count)]
    }

    /// The instance of a lane that is used.
    fn lane(&mut self, lane: u8) -> Option<&mut Running> {
        self.lanes[..usize::from(self.count)].get_mut(usize::from(lane))
    }

    /// Puts the instance of `lane` back to the initial state, as that round. Nodes that are down stay down.
    pub fn begin(&mut self, lane: u8, round: u32) {
        let Some(running) = self.lane(lane) else { return };
        running.round = round;
        let before = running.state;
        running.state.clear();
        let nodes = 0..=before.resource_managers();
        nodes.filter(|node| !before.up(*node)).for_each(|node| running.state.crash(node));
    }
}

impl Running {
    /// Why the next transaction of the lane cannot begin yet.
    fn not_ended(&self) -> Option<Refusal> {
        let state = &self.state;
        if !state.up(0) {
            return Some(Refusal("the coordinator is down"));
        }
        let decided = state.coordinator() != Coordinator::Undecided
            && !state.any(ResourceManager::Working)
            && !state.any(ResourceManager::Prepared);
        let ended = self.round == 0 || decided;
        (!ended).then_some(Refusal("a node does not know the outcome of the transaction before"))
    }
}

const NO_LANE: Refusal = Refusal("there is no such lane");

impl Model for Transactions {
    type State = State;
    type Action = Action;

    fn initial(&self, out: &mut Vec<State>) {
        let lane = Running { round: 0, state: self.initial };
        out.push(State { lanes: [lane; LANES_MAX], count: self.count });
    }

    fn step(&self, state: &mut State, action: &Action) -> Step<State> {
        match *action {
            Action::Begin(lane, round) => {
                let Some(running) = state.lane(lane) else { return Step::Refused(NO_LANE) };
                if let Some(refusal) = running.not_ended() {
                    return Step::Refused(refusal);
                }
                if round != running.round + 1 {
                    return Step::Refused(Refusal("rounds of a lane follow one another"));
                }
                state.begin(lane, round);
                Step::Taken
            }
            Action::Of(lane, round, action) => {
                let Some(running) = state.lane(lane) else { return Step::Refused(NO_LANE) };
                if round != running.round {
                    return Step::Refused(Refusal("another transaction has the lane"));
                }
                match self.one.step(&mut running.state, &action) {
                    Step::Refused(refusal) => Step::Refused(refusal),
                    // The published model is deterministic.
                    Step::Taken | Step::Branches(_) => Step::Taken,
                }
            }
            Action::Crash(node) => self.everywhere(state, One::Crash(node)),
            Action::Restart(node) => self.everywhere(state, One::Restart(node)),
        }
    }

    fn enabled(&self, state: &State, out: &mut Vec<Action>) {
        let mut actions = Vec::new();
        for (at, running) in state.lanes().iter().enumerate() {
            if running.not_ended().is_none() {
                out.push(Action::Begin(at as u8, running.round + 1));
            }
            actions.clear();
            self.one.enabled(&running.state, &mut actions);
            for action in &actions {
                match *action {
                    // Once, from the first instance.
                    One::Crash(node) if at == 0 => out.push(Action::Crash(node)),
                    One::Restart(node) if at == 0 => out.push(Action::Restart(node)),
                    One::Crash(_) | One::Restart(_) => {}
                    action if running.round > 0 => out.push(Action::Of(at as u8, running.round, action)),
                    _ => {}
                }
            }
        }
    }

    fn properties(&self) -> &'static [Property<Self>] {
        &PROPERTIES
    }

    fn transitions(&self) -> &'static [&'static str] {
        &TRANSITIONS
    }

    fn transition(&self, action: &Action) -> usize {
        match *action {
            Action::Of(_, _, action) => action.index(),
            Action::Crash(node) => One::Crash(node).index(),
            Action::Restart(node) => One::Restart(node).index(),
            Action::Begin(..) => One::NAMES.len(),
        }
    }
}

/// Those of one transaction, in their order, and one more.
static TRANSITIONS: [&str; One::NAMES.len() + 1] = {
    let mut names = ["Begin"; One::NAMES.len() + 1];
    let mut at = 0;
    while at < One::NAMES.len() {
        names[at] = One::NAMES[at];
        at += 1;
    }
    names
};

/// Whether the property that has this position among those of one transaction holds in every instance.
fn every(model: &Transactions, state: &State, position: usize) -> bool {
    let property = &model.one.properties()[position];
    state.lanes().iter().all(|lane| (property.holds)(&model.one, &lane.state))
}

/// Whether it holds in some instance.
fn some(model: &Transactions, state: &State, position: usize) -> bool {
    let property = &model.one.properties()[position];
    state.lanes().iter().any(|lane| (property.holds)(&model.one, &lane.state))
}

/// Those of one transaction, in their order, and one more.
static PROPERTIES: [Property<Transactions>; 6] = [
    Property { name: "consistent", kind: Kind::Always, holds: |model, state| every(model, state, 0) },
    Property {
        name: "commit-needs-all-prepared",
        kind: Kind::Always,
        holds: |model, state| every(model, state, 1),
    },
    Property { name: "commits", kind: Kind::Sometimes, holds: |model, state| some(model, state, 2) },
    Property { name: "aborts", kind: Kind::Sometimes, holds: |model, state| some(model, state, 3) },
    Property {
        name: "recovers-in-doubt",
        kind: Kind::Sometimes,
        holds: |model, state| some(model, state, 4),
    },
    Property {
        name: "lane-used-again",
        kind: Kind::Sometimes,
        holds: |_, state| state.lanes().iter().any(|lane| lane.round > 1),
    },
];

impl Fields for State {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        for (at, lane) in self.lanes().iter().enumerate() {
            visit(&format!("t{}.round", at + 1), &lane.round);
            lane.state.fields(&mut |name, value| visit(&format!("t{}.{name}", at + 1), value));
        }
    }
}

/// A lens over every transaction: the keys of all instances, in one space.
#[derive(Clone, Copy, Debug)]
pub struct EachInstance<L>(pub L);

impl<L: Lens<two_phase_commit::State>> Lens<State> for EachInstance<L> {
    fn keys(&self, view: &State, touched: u64, out: &mut Vec<Key>) {
        for lane in view.lanes() {
            self.0.keys(&lane.state, touched, out);
        }
    }
}

/// Rounds are left out: they only grow.
impl Whole for State {
    fn digest(&self, detail: Detail, hasher: &mut StableHasher) {
        for lane in self.lanes() {
            lane.state.digest(detail, hasher);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Transactions};
    use misrule_models::two_phase_commit::Action as One;
    use misrule_models::{Kind, Model, Property, Refusal, Step};

    fn taken(model: Transactions, actions: &[Action]) -> super::State {
        let mut states = Vec::new();
        model.initial(&mut states);
        for action in actions {
            assert_eq!(model.step(&mut states[0], action), Step::Taken, "{action:?}");
        }
        states[0]
    }

    #[test]
    fn a_lane_is_used_again_when_everybody_knows_the_outcome() {
        let model = Transactions::new(2, 2).unwrap();
        let abort =
            [Action::Begin(0, 1), Action::Of(0, 1, One::TmAbort), Action::Of(0, 1, One::RmRcvAbort(1))];
        let mut state = taken(model, &abort);
        let again = Action::Begin(0, 2);
        let why = Refusal("a node does not know the outcome of the transaction before");
        assert_eq!(model.step(&mut state, &again), Step::Refused(why));
        let last = Action::Of(0, 1, One::RmRcvAbort(2));
        let state = taken(model, &[&abort[..], &[last, Action::Crash(1), again]].concat());
        assert!(!state.lanes[0].state.up(1) && !state.lanes[0].state.sent_abort());
        let mut state = state;
        let refused = Step::Refused(Refusal("another transaction has the lane"));
        assert_eq!(model.step(&mut state, &last), refused);
    }

    /// The size of a bounded family: two rounds of one lane. Each round is the model with both switches on.
    #[test]
    fn reachable_states_of_a_small_family() {
        let model = Transactions::new(2, 1).unwrap();
        let mut states = Vec::new();
        model.initial(&mut states);
        let mut known: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();
        let (mut rounds, mut actions) = ([0_u32; 3], Vec::new());
        while let Some(state) = states.pop() {
            if state.lanes[0].round > 2 || !known.insert(format!("{state:?}")) {
                continue;
            }
            rounds[state.lanes[0].round as usize] += 1;
            for property in model.properties().iter().filter(|property| property.kind == Kind::Always) {
                assert!((property.holds)(&model, &state), "{}", property.name);
            }
            actions.clear();
            model.enabled(&state, &mut actions);
            for action in &actions {
                let mut next = state;
                assert_eq!(model.step(&mut next, action), Step::Taken, "{action:?}");
                states.push(next);
            }
        }
        // Before the first round nodes only crash and restart. Each round reaches what one transaction
        // reaches: `misrule model check two-phase-commit-faults --size 2`.
        let one = misrule_models::registry::find("two-phase-commit-faults").unwrap();
        let one = one.check(2, misrule_models::registry::Symmetry::Keep, misrule_models::Limits::default());
        let one = one.unwrap().found.states;
        assert_eq!(rounds.map(u64::from), [8, one, one]);
    }

    #[test]
    fn properties_are_those_of_one_transaction() {
        let model = Transactions::new(3, 1).unwrap();
        let named = |property: &Property<_>| (property.name, property.kind);
        let of_one: Vec<_> = model.one.properties().iter().map(|one| (one.name, one.kind)).collect();
        let found: Vec<_> = model.properties().iter().map(named).collect();
        assert_eq!(found[..of_one.len()], of_one);
    }
}

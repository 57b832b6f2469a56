//! `directed`: as `frontier`, but what it explores follows plans on the model.
//!
//! From a cell that it has returned to, and after news, it asks for a plan ([`Run::plan`]): choices after which the model
//! would have a key that this campaign has never seen, or a `sometimes` property that it has never seen, the nearest
//! first. It makes these choices, looks whether the implementation went there, and plans again. Where there is no plan it
//! draws as `frontier` does; so it does on a target whose mapping expects nothing, and with lenses at `@impl`. A goal
//! for which plans were made in vain [`TRIES`] times is given up: the implementation need not do what the model may.

use super::frontier::Frontier;
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{Choice, Effect, FaultProfile, Key, Report, Rng, Run, SOMETIMES, Search};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::ControlFlow;

/// States of the model that one plan may look at.
const STATES: u32 = 64;
/// Steps drawn before the next plan where nothing was new.
const PAUSE: u32 = 20;
/// Plans in vain after which a goal is given up.
const TRIES: u8 = 8;
/// What looking at a state of the model costs, in steps that no lens looks at.
const STATE_COST: u64 = 5;
/// Keys remembered as seen. Beyond, a campaign's lens is too fine to be guided by, and nothing is planned any more.
const KNOWN_MAX: usize = 1_000_000;

/// Explores by plans.
pub(super) struct Directed {
    frontier: Frontier,
    known: FxHashSet<Key>,
    /// For each goal how many plans were made.
    tries: FxHashMap<Key, u8>,
    /// What is left of the plan, the last choice first.
    planned: Vec<Choice>,
    /// Steps until the next plan; none is made in executions of the random ladder.
    pause: Option<u32>,
    /// States of the model looked at in this execution.
    states: u64,
}

impl Directed {
    pub(super) fn new(faults: FaultProfile, lenses: usize, steps_max: u32) -> Self {
        Self {
            frontier: Frontier::new(faults, lenses, steps_max, None),
            known: FxHashSet::default(),
            tries: FxHashMap::default(),
            planned: Vec::new(),
            pause: None,
            states: 0,
        }
    }

    /// Makes a plan to the nearest key that is wanted.
    fn search(&mut self, run: &dyn Run) {
        let (known, tries) = (&self.known, &self.tries);
        let mut wants = |key: Key| {
            let tried = tries.get(&key).copied().unwrap_or(0);
            tried < TRIES && (key.lens == SOMETIMES || !known.contains(&key))
        };
        let mut search = Search::new(&mut wants, STATES);
        run.plan(&mut search);
        let (states, found) = (search.states, search.found);
        self.states += u64::from(states);
        if let Some((key, choices)) = found {
            *self.tries.entry(key).or_default() += 1;
            self.planned = choices;
            self.planned.reverse();
        }
    }
}

impl Guidance for Directed {
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan {
        let plan = self.frontier.plan(archive, rng);
        let plans = Frontier::is_exploring(&plan) && self.known.len() < KNOWN_MAX;
        self.pause = plans.then_some(0);
        self.planned.clear();
        self.states = 0;
        plan
    }

    fn pick(&mut self, run: &dyn Run, rng: &mut Rng) -> Option<Choice> {
        if self.planned.is_empty() {
            match &mut self.pause {
                Some(0) => {
                    self.pause = Some(PAUSE);
                    self.search(run);
                }
                Some(pause) => *pause -= 1,
                None => {}
            }
        }
        self.planned.pop().or_else(|| self.frontier.pick(run, rng))
    }

    fn saw(&mut self, report: &Report, news: bool, left: u32) -> u32 {
        self.known.extend(report.keys.iter().copied());
        if report.effect != Effect::Applied {
            self.planned.clear();
        }
        if news && self.planned.is_empty() {
            self.pause = self.pause.map(|_| 0);
        }
        self.frontier.saw(report, news, left).max(self.planned.len() as u32)
    }

    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()> {
        self.frontier.charge(plan, run, self.states * STATE_COST)
    }
}

#[cfg(test)]
mod tests {
    use super::{Directed, PAUSE, TRIES};
    use crate::archive::Archive;
    use crate::guidance::{Guidance, Plan};
    use misrule_world::{About, Choice, FaultProfile, Key, Menu, Report, Rng, Run, Search, Watch};

    const GOAL: Key = Key { lens: 0, facet: 0, code: 7 };
    const WAY: [Choice; 2] = [Choice::Restart { node: 1 }, Choice::Restart { node: 0 }];

    /// Always knows the same way to one key.
    struct Pointing(Box<dyn Run>);

    impl Run for Pointing {
        fn reset(&mut self, seed: u64, watch: Watch, report: &mut Report) {
            self.0.reset(seed, watch, report);
        }
        fn menu(&self) -> &Menu {
            self.0.menu()
        }
        fn step(&mut self, choice: Choice, report: &mut Report) {
            self.0.step(choice, report);
        }
        fn plan(&self, search: &mut Search<'_>) {
            search.states = 3;
            search.found = (search.wants)(GOAL).then(|| (GOAL, WAY.to_vec()));
        }
        fn about(&self) -> About<'_> {
            self.0.about()
        }
    }

    fn pointing() -> Pointing {
        let target = misrule_two_phase_commit::two_phase_commit();
        let setup = target.setup(&[], "", &[]).unwrap();
        let mut run = crate::open(&target, &setup).unwrap();
        run.reset(1, Watch::default(), &mut Report::default());
        Pointing(run)
    }

    /// What is picked in so many executions that explore, each as long as two plans and a pause.
    fn picked(directed: &mut Directed, executions: u32) -> Vec<Choice> {
        let (run, mut rng) = (pointing(), Rng::new(3));
        let mut picked = Vec::new();
        for _ in 0..executions {
            directed.plan(&Archive::new(1), &mut rng);
            directed.pause = Some(0);
            let pick = |_| directed.pick(&run, &mut rng).unwrap();
            picked.extend((0..PAUSE + 2 * WAY.len() as u32).map(pick));
        }
        picked
    }

    fn plans(picked: &[Choice]) -> usize {
        picked.windows(2).filter(|pair| *pair == WAY).count()
    }

    #[test]
    fn a_plan_is_made_at_once_and_after_each_pause_until_the_goal_is_given_up() {
        let mut directed = Directed::new(FaultProfile::None, 1, 1_000);
        let first = picked(&mut directed, 1);
        assert_eq!((first.first(), plans(&first)), (WAY.first(), 2));
        assert_eq!(plans(&first) + plans(&picked(&mut directed, 20)), usize::from(TRIES));
    }

    #[test]
    fn a_key_that_was_seen_is_no_goal() {
        let mut directed = Directed::new(FaultProfile::None, 1, 1_000);
        directed.saw(&Report { keys: vec![GOAL], ..Report::default() }, false, 1);
        assert_eq!(plans(&picked(&mut directed, 5)), 0);
    }

    #[test]
    fn the_random_ladder_is_not_directed() {
        let mut directed = Directed::new(FaultProfile::None, 1, 1_000);
        let plan: Plan = directed.plan(&Archive::new(1), &mut Rng::new(3));
        assert!(!crate::guidance::frontier::Frontier::is_exploring(&plan));
        assert_eq!(directed.pause, None);
    }
}

//! `corpus`: mutants of kept schedules, as coverage-guided fuzzers of inputs make them.
//!
//! After AFL, with the energy by rarity of `AFLFast` (Boehme, Pham, Roychoudhury 2016, "Coverage-based Greybox
//! Fuzzing as Markov Chain", section 4): of eight drawn cells the least visited is taken, and the schedule that
//! owns it gets the mutant. Our mutators work on it once; then some steps are drawn.

use super::ladder::EqualShares;
use super::random::Random;
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{Choice, FaultProfile, Rng, Run};
use std::ops::ControlFlow;

/// Parts in 100 of the steps that are random executions: what there is to mutate comes from these.
const RANDOM_PART: u64 = 10;
/// Mean numbers of steps drawn after a mutant, equal steps each.
const TAILS: [u32; 3] = [1, 20, 200];

/// The first arm of mutants in [`Plan::arm`].
const MUTANT: usize = 1 << 16;

/// Mutation of a corpus.
pub(super) struct Corpus {
    random: Random,
    random_steps: u64,
    all_steps: u64,
    tails: EqualShares,
}

impl Corpus {
    pub(super) fn new(faults: FaultProfile, steps_max: u32) -> Self {
        let random = Random::new(faults, steps_max);
        Self { random, random_steps: 0, all_steps: 0, tails: EqualShares::new(TAILS.len()) }
    }
}

impl Guidance for Corpus {
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan {
        let fresh = self.random.plan(archive, rng);
        if self.random_steps * 100 <= self.all_steps * RANDOM_PART {
            return fresh;
        }
        let arm = self.tails.next();
        Plan { mutate: true, tail: rng.geometric(TAILS[arm]), arm: MUTANT + arm, ..fresh }
    }

    fn pick(&mut self, run: &dyn Run, rng: &mut Rng) -> Option<Choice> {
        self.random.pick(run, rng)
    }

    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()> {
        let steps = u64::from(run.steps());
        self.all_steps += steps.max(1);
        if plan.arm >= MUTANT {
            self.tails.charge(plan.arm - MUTANT, steps);
            return ControlFlow::Continue(());
        }
        self.random_steps += steps;
        self.random.learn(plan, run)
    }
}

//! `frontier`: return to a rarely visited cell, explore onward, longer on novelty.
//!
//! After Go-Explore (Ecoffet et al. 2021, "First return, then explore"), with the parameters that two rounds
//! of trials chose (`notes/frontier.md`, second round, section 5). One configuration for all targets.

use super::ladder::EqualSteps;
use super::random::Random;
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{Choice, FaultProfile, Menu, Report, Rng};
use std::ops::ControlFlow;

/// Parts in 100 of the steps that stay with the random ladder: it bounds the loss where a lens misleads.
const RANDOM_PART: u64 = 30;
/// Parts in 100 of the steps that go to mutants of kept schedules.
const MUTANT_PART: u64 = 5;
/// Mean lengths of the exploring suffix, equal steps each.
const SUFFIXES: [u32; 4] = [20, 200, 1_000, 3_000];
/// Cells drawn for each pick; the least visited wins.
const TOURNAMENT: u32 = 8;
/// Longest way from which to explore.
const DEPTH_MAX: u32 = 30_000;
/// Steps drawn after a mutant.
const MUTANT_TAIL: u32 = 20;

/// The arms of the strategy as numbers in [`Plan::arm`]: the ladder's own come after these.
const MUTANT: usize = usize::MAX;
const EXPLORE: usize = 1 << 16;

/// The default guidance.
pub(super) struct Frontier {
    random: Random,
    random_steps: u64,
    mutant_steps: u64,
    all_steps: u64,
    suffixes: EqualSteps,
    lenses: EqualSteps,
    steps_max: u32,
    /// Suffix mean of the execution that runs; 0 outside exploration.
    mean: u32,
}

impl Frontier {
    pub(super) fn new(faults: FaultProfile, lenses: usize, steps_max: u32) -> Self {
        Self {
            random: Random::new(faults, steps_max),
            random_steps: 0,
            mutant_steps: 0,
            all_steps: 0,
            suffixes: EqualSteps::new(SUFFIXES.len()),
            lenses: EqualSteps::new(lenses.max(1)),
            steps_max,
            mean: 0,
        }
    }

    /// A return to a cell with a suffix at least as long as the way, so that at most half of the steps are
    /// spent on returning.
    fn explore(&mut self, archive: &Archive, rng: &mut Rng) -> Option<Plan> {
        let rung = self.suffixes.next();
        let lens = self.lenses.next();
        let depth_max = DEPTH_MAX.min(self.steps_max.saturating_sub(1));
        let cell = archive.pick(lens, TOURNAMENT, depth_max, rng)?;
        let way = cell.way.clone()?;
        self.mean = SUFFIXES[rung];
        let tail = rng.geometric(self.mean).max(way.len()).min(self.steps_max - way.len());
        Some(Plan { way, mutate: false, tail, arm: EXPLORE + (rung << 8) + lens })
    }
}

impl Guidance for Frontier {
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan {
        let fresh = self.random.plan(archive, rng);
        self.mean = 0;
        if self.random_steps * 100 <= self.all_steps * RANDOM_PART {
            return fresh;
        }
        if self.mutant_steps * 100 <= self.all_steps * MUTANT_PART {
            return Plan { mutate: true, tail: MUTANT_TAIL, arm: MUTANT, ..fresh };
        }
        self.explore(archive, rng).unwrap_or(fresh)
    }

    fn pick(&mut self, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        self.random.pick(menu, rng)
    }

    fn saw(&mut self, _report: &Report, news: bool, left: u32) -> u32 {
        if news { left.max(self.mean) } else { left }
    }

    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()> {
        let steps = u64::from(run.steps());
        self.all_steps += steps.max(1);
        match plan.arm {
            MUTANT => self.mutant_steps += steps,
            arm if arm >= EXPLORE => {
                self.suffixes.charge((arm - EXPLORE) >> 8, steps);
                self.lenses.charge((arm - EXPLORE) & 0xff, steps);
            }
            _ => {
                self.random_steps += steps;
                return self.random.learn(plan, run);
            }
        }
        ControlFlow::Continue(())
    }
}

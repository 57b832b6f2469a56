//! `frontier`: return to a rarely visited cell, explore onward, longer on novelty.
//!
//! After Go-Explore (Ecoffet et al. 2021, "First return, then explore"), with the parameters of two rounds of trials
//! (`notes/frontier.md`, second round, section 5), but for the share of random steps and, where the target cannot fork,
//! the reach of short suffixes: there returning costs steps (`benches/results/frontier-trials.txt`). One configuration
//! for all targets. Each part can be left out, for ablations.

use super::ladder::EqualSteps;
use super::random::Random;
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{Choice, FaultProfile, Menu, Report, Rng};
use std::ops::ControlFlow;

/// Parts in 100 of the steps that stay with the random ladder: it bounds the loss where a lens misleads.
const RANDOM_PART: u64 = 50;
/// Of so many random executions the lenses look at one. The others run as fast as `random` does.
const LOOK_EVERY: u64 = 8;
/// Parts in 100 of the steps that go to mutants of kept schedules.
const MUTANT_PART: u64 = 5;
/// Mean lengths of the exploring suffix, equal steps each.
const SUFFIXES: [u32; 4] = [20, 200, 1_000, 3_000];
/// Cells drawn for each pick; the least visited wins.
const TOURNAMENT: u32 = 8;
/// Longest way to a cell from which to explore without a snapshot, in means of the suffix: returning costs steps as
/// well, and a short suffix behind a long way explores next to nothing.
const DEPTH_MEANS: u32 = 2;
/// Steps drawn after a mutant.
const MUTANT_TAIL: u32 = 20;

/// The arms of the strategy as numbers in [`Plan::arm`]: the ladder's own come after these.
const MUTANT: usize = usize::MAX;
const EXPLORE: usize = 1 << 16;

/// A part of the strategy that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Preferring rarely visited cells: any cell is picked.
    Picking,
    /// Exploring longer on news.
    Extension,
    /// The random share.
    Random,
    /// Mutants.
    Mutants,
    /// Several lengths of the suffix: there is one.
    Suffixes,
    /// Snapshots: every return is a replay.
    Snapshots,
}

/// Mean length of the suffix where there is only one: the mean of [`SUFFIXES`] by orders of magnitude.
const ONE_SUFFIX: u32 = 332;

/// The default guidance.
pub(super) struct Frontier {
    random: Random,
    random_steps: u64,
    /// Random executions.
    fresh: u64,
    mutant_steps: u64,
    all_steps: u64,
    suffixes: EqualSteps,
    lenses: EqualSteps,
    steps_max: u32,
    without: Option<Part>,
    /// Suffix mean of the execution that runs; 0 outside exploration.
    mean: u32,
}

impl Frontier {
    pub(super) fn new(faults: FaultProfile, lenses: usize, steps_max: u32, without: Option<Part>) -> Self {
        Self {
            without,
            random: Random::new(faults, steps_max),
            random_steps: 0,
            fresh: 0,
            mutant_steps: 0,
            all_steps: 0,
            suffixes: EqualSteps::new(SUFFIXES.len()),
            lenses: EqualSteps::new(lenses.max(1)),
            steps_max,
            mean: 0,
        }
    }

    fn has(&self, part: Part) -> bool {
        self.without != Some(part)
    }

    /// A return to a cell that is not far or has a snapshot, and a suffix.
    fn explore(&mut self, archive: &Archive, rng: &mut Rng) -> Option<Plan> {
        let rung = self.suffixes.next();
        let lens = self.lenses.next();
        let mean = if self.has(Part::Suffixes) { SUFFIXES[rung] } else { ONE_SUFFIX };
        let depth_max = (DEPTH_MEANS * mean).min(self.steps_max.saturating_sub(1));
        let tournament = if self.has(Part::Picking) { TOURNAMENT } else { 1 };
        let cell = archive.pick(lens, tournament, depth_max, rng)?;
        let way = cell.way.clone().filter(|way| way.len() < self.steps_max)?;
        self.mean = mean;
        let tail = rng.geometric(mean).min(self.steps_max - way.len());
        let arm = EXPLORE + (rung << 8) + lens;
        Some(Plan { way, snapshot: cell.snapshot.clone(), ..Plan::fresh(tail, arm) })
    }
}

impl Guidance for Frontier {
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan {
        let saves = self.has(Part::Snapshots);
        let fresh = Plan { saves, ..self.random.plan(archive, rng) };
        self.mean = 0;
        if self.has(Part::Random) && self.random_steps * 100 <= self.all_steps * RANDOM_PART {
            self.fresh += 1;
            return Plan { keys: self.fresh % LOOK_EVERY == 1, ..fresh };
        }
        if self.has(Part::Mutants) && self.mutant_steps * 100 <= self.all_steps * MUTANT_PART {
            return Plan { mutate: true, tail: MUTANT_TAIL, arm: MUTANT, ..fresh };
        }
        self.explore(archive, rng).map_or(fresh, |plan| Plan { saves, ..plan })
    }

    fn pick(&mut self, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        self.random.pick(menu, rng)
    }

    fn saw(&mut self, _report: &Report, news: bool, left: u32) -> u32 {
        if news && self.has(Part::Extension) { left.max(self.mean) } else { left }
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

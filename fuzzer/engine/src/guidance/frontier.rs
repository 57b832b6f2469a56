//! `frontier`: return to a rarely visited cell, explore onward, longer on novelty.
//!
//! After Go-Explore (Ecoffet et al. 2021, "First return, then explore"), with the parameters of two rounds of trials
//! (`notes/frontier.md`, second round, section 5), but for the share of the random ladder and, where the target cannot
//! fork, the reach of short suffixes: there returning costs steps (`benches/results/frontier-trials.txt`). Shares are
//! of cost, not of steps: a step that lenses look at costs more, and so does taking a snapshot up. Cost is counted, never
//! measured, so that a campaign does not depend on the clock. One configuration for all targets. Each part can be left
//! out, for ablations.

use super::ladder::EqualShares;
use super::random::Random;
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{Choice, FaultProfile, Report, Rng, Run};
use std::ops::ControlFlow;

/// Parts in 100 of the cost that leave the random ladder: what stays bounds the loss where a lens misleads.
const GUIDED_PART: u64 = 50;
/// The same for the first [`HEAD`] of a campaign: what the ladder finds soon needs no guidance.
const GUIDED_PART_HEAD: u64 = 12;
/// The head of a campaign, in steps that no lens looks at.
const HEAD: u64 = 4_000_000;
/// What a step costs that lenses look at. It takes 2.6 to 3.3 times as long as one of `random`; counting three did not pay
/// (`benches/results/sixth`).
const LOOK_COST: u64 = 2;
/// What taking up a snapshot costs.
const RETURN_COST: u64 = 40;
/// Of so many random executions the lenses look at one. The others run as fast as `random` does.
const LOOK_EVERY: u64 = 8;
/// Parts in 100 of what leaves the ladder that go to mutants of kept schedules.
const MUTANT_PART: u64 = 10;
/// Mean lengths of the exploring suffix, equal cost each.
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
    /// Random executions.
    fresh: u64,
    /// What all executions have cost, those that were not the ladder's, and mutants.
    cost: u64,
    guided_cost: u64,
    mutant_cost: u64,
    suffixes: EqualShares,
    lenses: EqualShares,
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
            fresh: 0,
            cost: 0,
            guided_cost: 0,
            mutant_cost: 0,
            suffixes: EqualShares::new(SUFFIXES.len()),
            lenses: EqualShares::new(lenses.max(1)),
            steps_max,
            mean: 0,
        }
    }

    /// Whether the plan is one of an exploration of its own, after [`Guidance::plan`] has made it.
    pub(super) fn is_exploring(plan: &Plan) -> bool {
        plan.arm >= EXPLORE && plan.arm != MUTANT
    }

    /// Counts what an execution has cost, with what more was spent on it.
    pub(super) fn charge(&mut self, plan: &Plan, run: &Execution, more: u64) -> ControlFlow<()> {
        let of_steps = u64::from(run.steps()) * if plan.keys { LOOK_COST } else { 1 };
        let of_return = if run.resumed > 0 { RETURN_COST } else { 0 };
        let cost = (of_steps + of_return + more).max(1);
        self.cost += cost;
        if plan.arm < EXPLORE {
            return self.random.learn(plan, run);
        }
        self.guided_cost += cost;
        if plan.arm == MUTANT {
            self.mutant_cost += cost;
        } else {
            self.suffixes.charge((plan.arm - EXPLORE) >> 8, cost);
            self.lenses.charge((plan.arm - EXPLORE) & 0xff, cost);
        }
        ControlFlow::Continue(())
    }

    fn has(&self, part: Part) -> bool {
        self.without != Some(part)
    }

    /// Whether the random ladder has had its share.
    fn is_guided(&self) -> bool {
        let head = self.cost.min(HEAD);
        let due = head * GUIDED_PART_HEAD + (self.cost - head) * GUIDED_PART;
        !self.has(Part::Random) || self.guided_cost * 100 < due
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
        if !self.is_guided() {
            self.fresh += 1;
            return Plan { keys: self.fresh % LOOK_EVERY == 1, ..fresh };
        }
        if self.has(Part::Mutants) && self.mutant_cost * 100 <= self.guided_cost * MUTANT_PART {
            return Plan { mutate: true, tail: MUTANT_TAIL, arm: MUTANT, ..fresh };
        }
        self.explore(archive, rng).map_or(fresh, |plan| Plan { saves, ..plan })
    }

    fn pick(&mut self, run: &dyn Run, rng: &mut Rng) -> Option<Choice> {
        self.random.pick(run, rng)
    }

    fn saw(&mut self, _report: &Report, news: bool, left: u32) -> u32 {
        if news && self.has(Part::Extension) { left.max(self.mean) } else { left }
    }

    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()> {
        self.charge(plan, run, 0)
    }
}

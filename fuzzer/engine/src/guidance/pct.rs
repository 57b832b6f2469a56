//! `pct`: priorities that change at few points.
//!
//! After Burckhardt, Kothari, Musuvathi, Nagarakatte 2010, "A Randomized Scheduler with Probabilistic Guarantees of
//! Finding Bugs", section 3: each thread has a random priority, the highest that is enabled runs, and at `d - 1`
//! random steps the one that runs falls below all others. Here links and timers are the threads; the drawer picks
//! between the kinds, and `d` is drawn for each execution, since nobody knows a bug's depth.

use super::priority::Priorities;
use super::random::Random;
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{Choice, FaultProfile, Menu, Rng, Run};
use std::ops::ControlFlow;

/// The largest depth `d` that is drawn.
const DEPTH_MAX: u32 = 8;

/// Probabilistic concurrency testing.
pub(super) struct Pct {
    random: Random,
    priorities: Priorities,
    /// Picks at which a priority still changes, the last one first.
    changes: Vec<u32>,
    picks: u32,
    /// How many steps are planned; 0 once priorities are drawn.
    planned: u32,
}

impl Pct {
    pub(super) fn new(faults: FaultProfile, steps_max: u32) -> Self {
        Self {
            random: Random::new(faults, steps_max),
            priorities: Priorities::default(),
            changes: Vec::with_capacity(DEPTH_MAX as usize),
            picks: 0,
            planned: 0,
        }
    }

    fn begin(&mut self, menu: &Menu, rng: &mut Rng) {
        let planned = std::mem::take(&mut self.planned);
        self.picks = 0;
        self.priorities.draw(menu, u64::from(DEPTH_MAX), rng);
        self.changes.clear();
        let changes = rng.below(DEPTH_MAX);
        self.changes.extend((0..changes).map(|_| rng.below(planned)));
        self.changes.sort_unstable_by(|a, b| b.cmp(a));
    }
}

impl Guidance for Pct {
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan {
        let plan = self.random.plan(archive, rng);
        self.planned = plan.tail;
        plan
    }

    fn pick(&mut self, run: &dyn Run, rng: &mut Rng) -> Option<Choice> {
        let menu = run.menu();
        if self.planned > 0 {
            self.begin(menu, rng);
        }
        let drawn = self.random.pick(run, rng)?;
        let (choice, place) = self.priorities.instead(drawn, menu);
        if let Some(place) = place {
            // A change point at which a fault came waits for the next delivery or timer.
            while self.changes.last().is_some_and(|change| *change <= self.picks) {
                self.changes.pop();
                self.priorities.set(place, self.changes.len() as u64);
            }
        }
        self.picks += 1;
        Some(choice)
    }

    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()> {
        self.random.learn(plan, run)
    }
}

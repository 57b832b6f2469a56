//! `pos`: random priorities, drawn anew for what races with the step that runs.
//!
//! After Yuan, Yang, Gu 2018, "Partial Order Aware Concurrency Sampling", section 4 (POS): each pending event has a
//! random priority, the highest runs, and those in a race with it draw anew. Here events are the first messages of
//! links and the timers that are set, and two race when they are of the same node; the drawer picks between the
//! kinds.

use super::priority::Priorities;
use super::random::Random;
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{Choice, FaultProfile, NodeId, Rng, Run};
use std::ops::ControlFlow;

/// Partial order sampling.
pub(super) struct Pos {
    random: Random,
    priorities: Priorities,
    fresh: bool,
}

impl Pos {
    pub(super) fn new(faults: FaultProfile, steps_max: u32) -> Self {
        Self { random: Random::new(faults, steps_max), priorities: Priorities::default(), fresh: true }
    }
}

/// The node that a choice runs, stops or starts.
fn node_of(choice: Choice) -> Option<NodeId> {
    match choice {
        Choice::Crash { node, .. } => Some(node),
        called => called.caller(),
    }
}

impl Guidance for Pos {
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan {
        self.fresh = true;
        self.random.plan(archive, rng)
    }

    fn pick(&mut self, run: &dyn Run, rng: &mut Rng) -> Option<Choice> {
        let menu = run.menu();
        if std::mem::take(&mut self.fresh) {
            self.priorities.draw(menu, 0, rng);
        }
        let drawn = self.random.pick(run, rng)?;
        let (choice, _) = self.priorities.instead(drawn, menu);
        if let Some(node) = node_of(choice) {
            self.priorities.redraw(node, menu, rng);
        }
        Some(choice)
    }

    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()> {
        self.random.learn(plan, run)
    }
}

//! `random`: enabled choices by weight, and a ladder of lengths. Everything else is measured against it.

use super::ladder::{EqualShares, lengths};
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::draw::Drawer;
use crate::execute::Execution;
use misrule_world::{Choice, ChoiceKind, FaultProfile, Menu, Rng, Run};
use std::ops::ControlFlow;

/// The strong random walk.
pub(super) struct Random {
    drawer: Drawer,
    lengths: Vec<u32>,
    shares: EqualShares,
    fresh: bool,
}

impl Random {
    pub(super) fn new(faults: FaultProfile, steps_max: u32) -> Self {
        let lengths = lengths(steps_max);
        let shares = EqualShares::new(lengths.len());
        Self { drawer: Drawer::new(faults), lengths, shares, fresh: true }
    }

    /// A choice of that kind, if it is enabled now.
    pub(super) fn of_kind(&mut self, kind: ChoiceKind, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        self.begin(menu, rng);
        self.drawer.of_kind(kind, menu, rng)
    }

    /// At the first pick of an execution.
    fn begin(&mut self, menu: &Menu, rng: &mut Rng) {
        if std::mem::take(&mut self.fresh) {
            self.drawer.reset(menu, rng);
        }
    }
}

impl Guidance for Random {
    fn plan(&mut self, _archive: &Archive, _rng: &mut Rng) -> Plan {
        let arm = self.shares.next();
        self.fresh = true;
        Plan::fresh(self.lengths[arm], arm)
    }

    fn pick(&mut self, run: &dyn Run, rng: &mut Rng) -> Option<Choice> {
        let menu = run.menu();
        self.begin(menu, rng);
        self.drawer.pick(menu, rng)
    }

    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()> {
        self.shares.charge(plan.arm, u64::from(run.steps()));
        ControlFlow::Continue(())
    }
}

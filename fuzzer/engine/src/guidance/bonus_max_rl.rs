//! `bonus-max-rl`: tabular Q-learning with a bonus for states that were seldom visited.
//!
//! After Borgarelli, Enea, Majumdar, Nagendra 2024, "Reward Augmentation in Reinforcement Learning for Testing
//! Distributed Systems", section 4 (BonusMaxRL): `Q(s,a) <- (1 - alpha) Q(s,a) + alpha max(1 / visits(s'), gamma
//! max Q(s',.))`, from an optimistic 1. The state is the last keys of a lens; actions are the deliveries, timers
//! and local steps that are enabled. Faults and requests come from the drawer, as often as it draws them, and are
//! learnt from by nobody.

use super::random::Random;
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{Choice, FaultProfile, Menu, Report, Rng, Run, Slot, bits, mix};
use std::ops::ControlFlow;

/// One, in the fixed point of values.
const ONE: u32 = 1 << 20;
/// The learning rate, in parts of 100.
const ALPHA: u32 = 20;
/// The discount, in parts of 100.
const GAMMA: u32 = 95;
/// Picks in 100 that are left to the drawer.
const EPSILON: u32 = 5;
/// Values that are kept. Pairs of state and action share a place when their hashes agree in these bits.
const VALUES: usize = 1 << 20;
/// Visit counts that are kept, by the same rule.
const VISITS: usize = 1 << 18;

/// Q-learning over lens keys.
pub(super) struct BonusMaxRl {
    random: Random,
    /// By how much a value is below one: fresh memory is optimistic.
    deficits: Vec<u32>,
    visits: Vec<u32>,
    state: u64,
    /// Where the value of the last action stands; none after a choice of the drawer.
    last: Option<usize>,
}

impl BonusMaxRl {
    pub(super) fn new(faults: FaultProfile, steps_max: u32) -> Self {
        Self {
            random: Random::new(faults, steps_max),
            deficits: vec![0; VALUES],
            visits: vec![0; VISITS],
            state: 0,
            last: None,
        }
    }

    fn place(&self, choice: Choice) -> usize {
        let action = match choice {
            Choice::Deliver(slot) => u64::from(slot.from) << 8 | u64::from(slot.to),
            Choice::Timer { node, timer } => 1 << 16 | u64::from(node) << 8 | u64::from(timer),
            Choice::Local { node, step } => 2 << 16 | u64::from(node) << 8 | u64::from(step),
            _ => 3 << 16,
        };
        mix(self.state ^ mix(action)) as usize & (VALUES - 1)
    }

    /// The action of the highest value, the drawn one where none is higher, with its place.
    fn best(&self, drawn: Choice, menu: &Menu) -> (Choice, usize) {
        let place = self.place(drawn);
        let mut best = (self.deficits[place], drawn, place);
        actions(menu, &mut |choice| {
            let place = self.place(choice);
            if self.deficits[place] < best.0 {
                best = (self.deficits[place], choice, place);
            }
        });
        (best.1, best.2)
    }

    /// Learns what the last action was worth, now that the highest value of its next state is known.
    fn reward(&mut self, highest: u32) {
        let Some(last) = self.last.take() else { return };
        let visits = self.visits[self.state as usize & (VISITS - 1)].max(1);
        let worth = (ONE / visits).max(highest / 100 * GAMMA);
        let before = ONE - self.deficits[last];
        self.deficits[last] = ONE - (before / 100 * (100 - ALPHA) + worth / 100 * ALPHA);
    }
}

/// Calls `with` for each delivery, timer and local step that is enabled: of each link the first message.
fn actions(menu: &Menu, with: &mut dyn FnMut(Choice)) {
    for (link, count) in menu.deliverable.iter().enumerate() {
        if *count > 0 {
            let (from, to) = menu.ends(link);
            with(Choice::Deliver(Slot { from, to, at: 1, kind: Slot::ANY_KIND }));
        }
    }
    for node in 0..menu.nodes {
        bits(menu.timers[usize::from(node)]).for_each(|timer| with(Choice::Timer { node, timer }));
        bits(menu.locals[usize::from(node)]).for_each(|step| with(Choice::Local { node, step }));
    }
}

impl Guidance for BonusMaxRl {
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan {
        self.last = None;
        self.state = 0;
        self.random.plan(archive, rng)
    }

    fn saw(&mut self, report: &Report, _news: bool, left: u32) -> u32 {
        if !report.keys.is_empty() {
            self.state = report.keys.iter().fold(0, |state, key| {
                mix(state ^ key.code ^ u64::from(key.lens) << 8 ^ u64::from(key.facet))
            });
        }
        let visits = &mut self.visits[self.state as usize & (VISITS - 1)];
        *visits = visits.saturating_add(1);
        left
    }

    fn pick(&mut self, run: &dyn Run, rng: &mut Rng) -> Option<Choice> {
        let menu = run.menu();
        let drawn = self.random.pick(run, rng)?;
        if !matches!(drawn, Choice::Deliver(_) | Choice::Timer { .. } | Choice::Local { .. }) {
            self.last = None;
            return Some(drawn);
        }
        let (best, place) = self.best(drawn, menu);
        self.reward(ONE - self.deficits[place]);
        let choice = if rng.chance(EPSILON, 100) { drawn } else { best };
        self.last = Some(self.place(choice));
        Some(choice)
    }

    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()> {
        self.random.learn(plan, run)
    }
}

#[cfg(test)]
mod tests {
    use super::{BonusMaxRl, ONE};
    use misrule_world::{Choice, FaultProfile};

    #[test]
    fn values_fall_with_visits_and_hold_on_to_what_lies_ahead() {
        let mut learner = BonusMaxRl::new(FaultProfile::Default, 100);
        let place = learner.place(Choice::Timer { node: 0, timer: 0 });
        let mut after = |visits: u32, highest: u32| {
            learner.deficits[place] = 0;
            learner.visits[0] = visits;
            learner.last = Some(place);
            learner.reward(highest);
            ONE - learner.deficits[place]
        };
        let (first, often, ahead) = (after(1, 0), after(100, 0), after(100, ONE));
        let near = |value: u32, hundredths: u32| value.abs_diff(ONE / 100 * hundredths) < ONE / 100;
        assert!(near(first, 100), "{first}");
        assert!(near(often, 80), "{often}");
        assert!(near(ahead, 99), "{ahead}");
    }
}

//! `mallory`: Q-learning over the timeline chooses kinds of faults within an execution.
//!
//! After Meng, Pirlea, Roychoudhury, Sergey 2023, "Greybox Fuzzing of Distributed Systems" (Mallory), section 4: an
//! execution has some decisions; at each, a table tells from a summary of the timeline which kind of fault comes
//! next, and a fault is punished when what follows has been seen before. All that is no fault is drawn by weight.
//! The constants are those of the published code; its softmax over actions is left out, since at its temperature it
//! is nearly uniform.

use super::random::Random;
use super::{Guidance, Plan};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{Choice, ChoiceKind, FaultKind, FaultProfile, FaultWeights, Menu, Report, Rng, Run, mix};
use std::ops::ControlFlow;

/// Decisions in an execution: 30 seconds, one each 2.5.
const DECISIONS: u32 = 12;
/// Fewest steps between two decisions.
const STEPS_MIN: u32 = 5;
/// The learning rate, in parts of 100.
const ALPHA: i64 = 10;
/// The discount, in parts of 100.
const GAMMA: i64 = 60;
/// Decisions in 100 that are random.
const EPSILON: u32 = 20;
/// The reward when nothing was new, in the fixed point of values: minus one.
const SEEN: i64 = -(1 << 20);
/// While a fault that befalls messages or operations is chosen, one step in so many is one.
const OFTEN: u32 = 8;
/// States that are kept; those whose hashes agree in these bits share a row.
const STATES: usize = 1 << 14;

/// What can be chosen, and the weight that must not be 0 for it; `None` leaves the system alone.
const ACTIONS: [Option<(ChoiceKind, FaultKind)>; 10] = [
    None,
    Some((ChoiceKind::Drop, FaultKind::Drop)),
    Some((ChoiceKind::Duplicate, FaultKind::Duplicate)),
    Some((ChoiceKind::Disk, FaultKind::Disk)),
    Some((ChoiceKind::Crash, FaultKind::Crash)),
    Some((ChoiceKind::Restart, FaultKind::Restart)),
    Some((ChoiceKind::Cut, FaultKind::Isolate)),
    Some((ChoiceKind::Heal, FaultKind::Heal)),
    Some((ChoiceKind::Clog, FaultKind::Swizzle)),
    Some((ChoiceKind::Unclog, FaultKind::Unclog)),
];

/// Actions that go on until the next decision: the first ones but one.
const LASTING: usize = 3;

/// Q-learning that picks nemeses.
pub(super) struct Mallory {
    random: Random,
    profile: FaultProfile,
    /// The weights of this execution.
    faults: FaultWeights,
    values: Vec<[i64; ACTIONS.len()]>,
    /// The last key of the timeline.
    summary: u64,
    /// Whether a key was new since the last decision.
    news: bool,
    steps: u32,
    step: u32,
    /// State and action of the last decision.
    last: Option<(usize, usize)>,
}

impl Mallory {
    pub(super) fn new(faults: FaultProfile, steps_max: u32) -> Self {
        Self {
            random: Random::new(FaultProfile::None, steps_max),
            profile: faults,
            faults: FaultWeights::default(),
            values: vec![[0; ACTIONS.len()]; STATES],
            summary: 0,
            news: false,
            steps: STEPS_MIN,
            step: 0,
            last: None,
        }
    }

    /// The state that the summary stands for.
    fn state(&self) -> usize {
        mix(self.summary) as usize & (STATES - 1)
    }

    /// Learns from the last decision and makes the next.
    fn decide(&mut self, rng: &mut Rng) -> usize {
        let state = self.state();
        self.reward(state);
        let row = &self.values[state];
        let action = if rng.chance(EPSILON, 100) {
            rng.below(ACTIONS.len() as u32) as usize
        } else {
            // Of several that are best, any: at first all are.
            let highest = row.iter().max().copied().unwrap_or(0);
            let best = || (0..ACTIONS.len()).filter(|action| row[*action] == highest);
            best().nth(rng.below(best().count() as u32) as usize).unwrap_or(0)
        };
        self.last = Some((state, action));
        self.news = false;
        action
    }

    fn reward(&mut self, state: usize) {
        let Some((before, action)) = self.last else { return };
        let reward = if self.news { 0 } else { SEEN };
        let ahead = self.values[state].iter().max().copied().unwrap_or(0);
        let value = &mut self.values[before][action];
        *value += (reward + ahead * GAMMA / 100 - *value) * ALPHA / 100;
    }

    /// The fault that is due now, if there is one and it is enabled.
    fn fault(&mut self, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        let action = if self.step.is_multiple_of(self.steps) {
            self.decide(rng)
        } else {
            let (_, action) = self.last?;
            if action > LASTING || !rng.chance(1, OFTEN) {
                return None;
            }
            action
        };
        let (kind, weight) = ACTIONS[action]?;
        if self.faults.of(weight) == 0 {
            return None;
        }
        self.random.of_kind(kind, menu, rng)
    }
}

impl Guidance for Mallory {
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan {
        let plan = self.random.plan(archive, rng);
        self.faults = self.profile.weights(rng);
        self.steps = (plan.tail / DECISIONS).max(STEPS_MIN);
        (self.step, self.summary, self.news, self.last) = (0, 0, false, None);
        plan
    }

    fn saw(&mut self, report: &Report, news: bool, left: u32) -> u32 {
        self.news |= news;
        if let Some(key) = report.keys.last() {
            self.summary = key.code;
        }
        left
    }

    fn pick(&mut self, run: &dyn Run, rng: &mut Rng) -> Option<Choice> {
        let menu = run.menu();
        let fault = if self.profile == FaultProfile::None { None } else { self.fault(menu, rng) };
        self.step += 1;
        fault.or_else(|| self.random.pick(run, rng))
    }

    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()> {
        self.reward(self.state());
        self.random.learn(plan, run)
    }
}

#[cfg(test)]
mod tests {
    use super::{ACTIONS, EPSILON, Mallory};
    use misrule_world::{FaultProfile, Rng};

    #[test]
    fn what_brings_news_is_chosen_more_often() {
        let mut learner = Mallory::new(FaultProfile::Default, 1_000);
        let mut rng = Rng::new(5);
        let mut chosen = [0_u32; ACTIONS.len()];
        for _ in 0..4_000 {
            let action = learner.decide(&mut rng);
            chosen[action] += 1;
            learner.news = action == 4;
        }
        // All but a part of the random decisions.
        assert!(chosen[4] > 4_000 * (90 - EPSILON) / 100, "{chosen:?}");
    }
}

//! Which executions of a campaign end in a recovery, and of which core.

use crate::execute::Execution;
use crate::recover::RecoveryEnd;
use misrule_world::{NodeId, Recovery, Rng, Run, mix, nth_bit, whole_core};

/// When the executions of a campaign end in a recovery. Nothing does where the target promises nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryWhen {
    /// Never.
    Never,
    /// As long as recoveries have taken less than one step for 16 others: long executions are followed by several.
    #[default]
    Sampled,
    /// Each, unless it has failed before.
    Always,
}

impl RecoveryWhen {
    /// All values with their words.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Never, "never"), (Self::Sampled, "sampled"), (Self::Always, "always")];

    /// The word.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// A step of a recovery is due for so many others.
const SHARE: u64 = 16;

/// What a campaign counts of recoveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoverySummary {
    /// Executions that ended in one.
    pub executions: u64,
    /// Their steps; they are no part of the campaign's steps.
    pub steps: u64,
    /// Those that made progress.
    pub progressed: u64,
    /// Those in which the core did not do what is promised.
    pub stalled: u64,
}

impl RecoverySummary {
    /// Counts an execution.
    pub(crate) fn count(&mut self, execution: &Execution) {
        let Some(recovered) = execution.recovery else { return };
        self.executions += 1;
        self.steps += u64::from(recovered.steps);
        self.progressed += u64::from(recovered.end == RecoveryEnd::Progressed);
        self.stalled += u64::from(recovered.end == RecoveryEnd::Stalled);
    }
}

/// Draws recoveries. It has a generator of its own, so that what else is drawn does not depend on it.
pub(crate) struct Sampler {
    when: RecoveryWhen,
    policy: Option<Recovery>,
    nodes: NodeId,
    rng: Rng,
    steps: u64,
    recovering: u64,
}

impl Sampler {
    pub(crate) fn new(when: RecoveryWhen, run: &dyn Run, seed: u64) -> Self {
        let policy = if when == RecoveryWhen::Never { None } else { run.recovery() };
        Self {
            when,
            policy,
            nodes: run.menu().nodes,
            rng: Rng::new(mix(seed ^ SHARE)),
            steps: 0,
            recovering: 0,
        }
    }

    /// The core whose recovery is to end an execution, if one is.
    pub(crate) fn draw(&mut self, execution: &Execution) -> Option<u32> {
        let policy = self.policy.as_ref()?;
        self.steps += u64::from(execution.steps());
        let due = self.when == RecoveryWhen::Always || self.recovering * SHARE < self.steps;
        if !due || execution.failure.is_some() {
            return None;
        }
        let mut core = whole_core(self.nodes);
        for _ in 0..self.rng.below(u32::from(policy.may_stay_down) + 1) {
            let spare = u64::from(core & !policy.needed);
            let number = self.rng.below(spare.count_ones().max(1));
            core &= !nth_bit(spare, number).map_or(0, |node| 1 << node);
        }
        policy.refusal(core, self.nodes).is_none().then_some(core)
    }

    /// Takes note of what a recovery has cost.
    pub(crate) fn charge(&mut self, execution: &Execution) {
        self.recovering += execution.recovery.map_or(0, |recovered| u64::from(recovered.steps));
    }
}

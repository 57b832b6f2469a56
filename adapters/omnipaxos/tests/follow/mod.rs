//! Drives a run at random and goes on after failures, counting them.

use crate::driver::Picker;
use misrule_world::{Report, Run, Watch};
use std::collections::BTreeMap;

/// What executions came to.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// Executed steps.
    pub(crate) steps: u64,
    /// How often each failure ended an execution: oracle, property, and the model's property that was broken
    /// at the same step.
    pub(crate) failures: BTreeMap<(&'static str, String, Option<&'static str>), u64>,
    /// The first message of each failure, with seed and step.
    pub(crate) first: BTreeMap<String, String>,
}

/// Runs executions of `length` steps, or until one fails, until `steps` are done.
pub(crate) fn follow(run: &mut dyn Run, seed: u64, length: u64, steps: u64, watch: Watch) -> Followed {
    let (mut done, mut report) = (Followed::default(), Report::default());
    let mut round = 0;
    while done.steps < steps {
        let mut picker = Picker::new(seed.wrapping_mul(1_000_003) + round);
        round += 1;
        run.reset(round, watch, &mut report);
        for step in 0..length {
            let choice = picker.pick(run.menu());
            run.step(choice, &mut report);
            done.steps += 1;
            if let Some(failure) = report.failure.take() {
                let name = format!("{} {} {:?}", failure.oracle, failure.property, report.model_property);
                done.first.entry(name).or_insert(format!("{round}/{step}: {}", failure.message));
                let kind = (failure.oracle, failure.property, report.model_property);
                *done.failures.entry(kind).or_default() += 1;
                break;
            }
        }
    }
    done
}

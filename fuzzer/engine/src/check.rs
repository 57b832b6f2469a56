//! `check`: executes a target twice and says where the two executions first differ.

use crate::replay::{Step, replay};
use misrule_world::{FaultProfile, Run, Schedule, Tail, Watch};

/// The first difference between two executions of one schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which execution of the check, counted from 1.
    pub execution: u64,
    /// The step, 0 for the start.
    pub step: usize,
    /// What the first execution showed there, as text.
    pub first: String,
    /// What the second execution showed there.
    pub second: String,
}

/// Executes `executions` random schedules of `steps` steps twice each, on one world and on another, and
/// returns the hash of all traces, for comparison between processes.
///
/// # Errors
/// The first difference; what follows it was not run.
pub fn check(
    one: &mut dyn Run,
    other: &mut dyn Run,
    seed: u64,
    executions: u64,
    steps: u32,
    faults: FaultProfile,
) -> Result<u64, Box<Difference>> {
    let watch = Watch { keys: true, model: true, conformance: true, trace: true };
    let mut digest = 0;
    for execution in 1..=executions {
        let tail = Tail { seed: misrule_world::mix(seed ^ execution), steps, faults };
        let schedule = Schedule { choices: Vec::new(), tail: Some(tail) };
        let first = replay(one, seed, &schedule, watch, false, &mut |_, _| {});
        let explicit = Schedule { choices: first.choices.clone(), tail: None };
        let second = replay(other, seed, &explicit, watch, false, &mut |_, _| {});
        if first.trace_hash != second.trace_hash || first.failure != second.failure {
            return Err(Box::new(locate(one, other, seed, &explicit, watch, execution)));
        }
        digest = misrule_world::mix(digest ^ u64::from_str_radix(&first.trace_hash, 16).unwrap_or(0));
    }
    Ok(digest)
}

/// Executes both again with everything recorded and finds the first step that differs.
fn locate(
    one: &mut dyn Run,
    other: &mut dyn Run,
    seed: u64,
    schedule: &Schedule,
    watch: Watch,
    execution: u64,
) -> Difference {
    let first = replay(one, seed, schedule, watch, true, &mut |_, _| {});
    let second = replay(other, seed, schedule, watch, true, &mut |_, _| {});
    let steps = first.trace.steps.len().max(second.trace.steps.len());
    let told =
        |step: Option<&Step>| step.map_or_else(|| "the execution has ended".to_owned(), |s| format!("{s:?}"));
    let step =
        (0..steps).find(|at| first.trace.steps.get(*at) != second.trace.steps.get(*at)).unwrap_or(steps);
    Difference {
        execution,
        step,
        first: told(first.trace.steps.get(step)),
        second: told(second.trace.steps.get(step)),
    }
}

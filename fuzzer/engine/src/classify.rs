//! Classes of findings, by rule, with their evidence.

use crate::execute::Execution;
use crate::execute::{Misfit, Mode, Unwatched, Watcher, execute};
use misrule_models::Outcome;
use misrule_world::{Choice, Report, Run, Watch};

/// Whose fault a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Actions that the model allows break the model's own property.
    Specification,
    /// The schedule needs a fault outside the contract.
    Environment,
    /// The adapter is wrong: the run does not replay, events are unmapped, or the judge itself failed.
    Adapter,
    /// The rest: the implementation does what it should not.
    Implementation,
}

impl Class {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Specification => "specification",
            Self::Environment => "environment",
            Self::Adapter => "adapter",
            Self::Implementation => "implementation",
        }
    }
}

/// Remembers whether the model's property failed at any step.
#[derive(Default)]
struct PropertyWatch {
    broken: Option<&'static str>,
}

impl Watcher for PropertyWatch {
    fn saw(&mut self, _step: u32, _run: &dyn Run, report: &Report) -> bool {
        self.broken = self.broken.or(report.model_property);
        false
    }

    fn saw_recovery(&mut self, step: u32, run: &dyn Run, report: &Report) {
        self.saw(step, run, report);
    }
}

/// Classifies a minimised finding by executing it twice more. Returns the class and one sentence of evidence.
pub(crate) fn classify(run: &mut dyn Run, seed: u64, oracle: &str, choices: &[Choice]) -> (Class, String) {
    let all = Watch { keys: false, model: true, conformance: true, trace: false };
    let before = run.about().tally;
    let mut watch = PropertyWatch::default();
    let (mut first, mut second) = (Execution::default(), Execution::default());
    let mut report = Report::default();
    let mode = Mode { seed, watch: all, misfit: Misfit::Skip };
    execute(run, mode, choices, None, &mut watch, &mut report, &mut first);
    let after = run.about().tally;
    execute(run, mode, choices, None, &mut Unwatched, &mut report, &mut second);
    if oracle == "judge" {
        return (Class::Adapter, "the target's judge panicked".to_owned());
    }
    if first.choices != second.choices || first.failure != second.failure {
        return (Class::Adapter, "two replays in a row differ".to_owned());
    }
    let unmapped = after.events.count(Outcome::Unmapped) - before.events.count(Outcome::Unmapped);
    if unmapped > 0 {
        return (Class::Adapter, format!("{unmapped} events of the minimised schedule are unmapped"));
    }
    let contract = run.menu().contract;
    let mut media = 0;
    for choice in choices {
        let outside = match choice {
            Choice::Drop(_) => !contract.loss,
            Choice::Duplicate(_) => !contract.duplication,
            Choice::Disk { outcome, .. } => {
                media += u32::from(outcome.is_media());
                !contract.disk.allows(*outcome) || media > u32::from(contract.disk.media.budget)
            }
            _ => false,
        };
        if outside {
            let word = choice.kind().word();
            return (Class::Environment, format!("the schedule needs `{word}`, which the contract excludes"));
        }
    }
    let followed = after.steps_followed - before.steps_followed;
    let walked = after.steps_walked - before.steps_walked;
    match watch.broken {
        Some(property) if followed == walked => (
            Class::Specification,
            format!("the model takes all {walked} steps and then breaks its own property `{property}`"),
        ),
        _ if followed == 0 => {
            (Class::Implementation, "no rule for another class applies; no model followed a step".to_owned())
        }
        _ => (
            Class::Implementation,
            format!("no rule for another class applies; the model followed {walked} of {followed} steps"),
        ),
    }
}

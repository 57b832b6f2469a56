//! Findings: a failed oracle with what is needed to show it again.

use crate::classify::{Class, classify};
use crate::execute::{Execution, Misfit, Mode, execute_explicit};
use crate::fingerprint::Fingerprint;
use crate::minimise::{Budget, minimise};
use misrule_world::{Choice, Failure, Run, Watch};

/// A failed oracle, minimised and classified. Later failures with the same fingerprint are only counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What failed, as the minimised schedule shows it.
    pub failure: Failure,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// Whose fault it is.
    pub class: Class,
    /// Why that class, in one sentence.
    pub evidence: String,
    /// The choices of the execution that found it, as executed.
    pub found: Vec<Choice>,
    /// The minimised choices.
    pub minimised: Vec<Choice>,
    /// Whether no single choice can be left out of them.
    pub minimal: bool,
    /// Executions that minimising took.
    pub executions_minimise: u64,
    /// The campaign's execution that found it, counted from 1; 0 for the replay of the regression corpus.
    pub execution_found: u64,
    /// Steps that the campaign had executed by then.
    pub steps_found: u64,
    /// How often it was found.
    pub count: u64,
    /// Whether the regression corpus records it.
    pub known: bool,
}

/// What an execution may compute when it is to show a known failure again, cheapest first. A failure of the
/// model's oracles needs the model; one oracle may hide another, so that no single watch shows all findings.
pub const WATCHES: [Watch; 3] = {
    let plain = Watch { keys: false, model: false, conformance: false, trace: false };
    [plain, Watch { model: true, ..plain }, Watch { model: true, conformance: true, ..plain }]
};

impl Finding {
    /// Whether its property or its fingerprint is among `names`; true where there are none.
    pub fn is_one_of(&self, names: &[String]) -> bool {
        let fingerprint = self.fingerprint.to_string();
        names.is_empty() || names.iter().any(|name| *name == self.failure.property || *name == fingerprint)
    }

    /// Minimises and classifies a failing execution.
    ///
    /// When the failure does not show on a second world, the finding is kept as found, of class `adapter`:
    /// the target is not deterministic.
    pub fn examine(
        run: &mut dyn Run,
        seed: u64,
        failure: Failure,
        found: Vec<Choice>,
        budget: Budget,
    ) -> Self {
        let fingerprint = Fingerprint::of(&failure);
        let minimised = WATCHES.iter().find_map(|watch| {
            minimise(run, seed, *watch, &found, fingerprint, budget).map(|minimised| (minimised, *watch))
        });
        let Some((minimised, watch)) = minimised else {
            return Self {
                fingerprint,
                failure,
                class: Class::Adapter,
                evidence: "the execution does not fail again when it is replayed".to_owned(),
                minimised: found.clone(),
                found,
                minimal: false,
                executions_minimise: 0,
                execution_found: 0,
                steps_found: 0,
                count: 1,
                known: false,
            };
        };
        let mut execution = Execution::default();
        let mode = Mode { seed, watch, misfit: Misfit::Skip };
        execute_explicit(run, mode, &minimised.choices, &mut execution);
        let failure = execution.failure.unwrap_or(failure);
        let (class, evidence) = classify(run, seed, failure.oracle, &minimised.choices);
        Self {
            failure,
            fingerprint,
            class,
            evidence,
            found,
            minimal: minimised.minimal,
            executions_minimise: minimised.executions,
            minimised: minimised.choices,
            execution_found: 0,
            steps_found: 0,
            count: 1,
            known: false,
        }
    }
}

//! The persistence audit: the same operations and crash choices under several contracts, to see which findings
//! a contract that promises too much would hide.

use crate::execute::{Chooser, Execution, Misfit, Mode, TailChooser, Unwatched, execute};
use crate::fingerprint::Fingerprint;
use misrule_world::{Choice, Contract, Failure, FaultProfile, Report, Run, Schedule, Tail, Watch, mix};

/// What each contract is audited with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditOptions {
    /// Seed of all schedules.
    pub seed: u64,
    /// Executions under each contract.
    pub executions: u64,
    /// Steps of each.
    pub steps: u32,
    /// How many faults are drawn.
    pub faults: FaultProfile,
}

/// A finding and where it appeared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// The first such failure.
    pub failure: Failure,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The first of the contracts under which it appeared, by position.
    pub contract: usize,
    /// The choices that showed it there.
    pub choices: Vec<Choice>,
    /// For each contract, in how many executions it appeared.
    pub executions: Vec<u64>,
    /// For each contract, the first of these, counted from 1; `None` where there is none.
    pub first: Vec<Option<u64>>,
}

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Executions under each contract that were done.
    pub executions: u64,
    /// For each contract, executed steps.
    pub steps: Vec<u64>,
    /// The findings, in the order found.
    pub rows: Vec<AuditRow>,
}

/// Executes the same schedules under several contracts, given as worlds of one target. A schedule is drawn under the
/// last contract, which should permit most; under the others its choices are executed again, without what the
/// contract excludes: crashes keep what it makes them keep. Where that goes on beyond the failure that ended the
/// drawn execution, the rest is drawn.
///
/// `go_on` is asked after each schedule; when it says no, the audit is of what was done so far.
pub fn audit(
    runs: &mut [Box<dyn Run>],
    options: AuditOptions,
    go_on: &mut dyn FnMut(&Audit) -> bool,
) -> Audit {
    let mut audit = Audit { steps: vec![0; runs.len()], ..Audit::default() };
    let mut execution = Execution::default();
    for number in 1..=options.executions {
        let mut drawn: Option<Vec<Choice>> = None;
        for (at, run) in runs.iter_mut().enumerate().rev() {
            let choices = match &drawn {
                None => Vec::new(),
                Some(drawn) => fitting(drawn, &run.menu().contract),
            };
            execute_one(&mut **run, options, number, &choices, &mut execution);
            audit.steps[at] += u64::from(execution.steps());
            note(&mut audit, at, number, &mut execution);
            drawn.get_or_insert_with(|| std::mem::take(&mut execution.choices));
        }
        audit.executions = number;
        if !go_on(&audit) {
            break;
        }
    }
    audit
}

/// Executes choices and draws what is missing of the length.
fn execute_one(
    run: &mut dyn Run,
    options: AuditOptions,
    number: u64,
    choices: &[Choice],
    out: &mut Execution,
) {
    let seed = mix(options.seed ^ number);
    let left = options.steps.saturating_sub(choices.len() as u32);
    let tail = Tail { seed: mix(seed ^ choices.len() as u64), steps: left, faults: options.faults };
    let mut tail = TailChooser::of(&Schedule { choices: Vec::new(), tail: Some(tail) });
    let watch = Watch { model: true, ..Watch::default() };
    let chooser = tail.as_mut().map(|tail| tail as &mut dyn Chooser);
    let mode = Mode { seed: options.seed, watch, misfit: Misfit::Repair };
    execute(run, mode, choices, chooser, &mut Unwatched, &mut Report::default(), out);
}

/// Enters the failure of an execution, if there is one.
fn note(audit: &mut Audit, contract: usize, number: u64, execution: &mut Execution) {
    let Some(failure) = execution.failure.take() else { return };
    let fingerprint = Fingerprint::of(&failure);
    let contracts = audit.steps.len();
    let known = audit.rows.iter().position(|row| row.fingerprint == fingerprint);
    let at = known.unwrap_or_else(|| {
        audit.rows.push(AuditRow {
            failure,
            fingerprint,
            contract,
            choices: execution.choices.clone(),
            executions: vec![0; contracts],
            first: vec![None; contracts],
        });
        audit.rows.len() - 1
    });
    let row = &mut audit.rows[at];
    if contract < row.contract {
        row.contract = contract;
        row.choices.clone_from(&execution.choices);
    }
    row.executions[contract] += 1;
    row.first[contract].get_or_insert(number);
}

/// Those of the choices that the contract does not exclude.
fn fitting(choices: &[Choice], contract: &Contract) -> Vec<Choice> {
    let allowed = |choice: &&Choice| match choice {
        Choice::Disk { outcome, .. } => contract.disk.allows(*outcome),
        _ => true,
    };
    choices.iter().filter(allowed).copied().collect()
}

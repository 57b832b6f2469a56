//! Every state that a crash may leave, of every disk operation of a short workload: each is recovered from, and
//! judged by the oracles of a campaign.
//!
//! As ALICE (Pillai et al., OSDI 2014) and Ace (Mohan et al., OSDI 2018) do for file systems: exhaustive within
//! bounds instead of random. What a crash may leave is what the contract permits.

use crate::execute::{Execution, Misfit, Mode, execute_explicit};
use crate::fingerprint::Fingerprint;
use misrule_world::{Choice, Failure, Keep, NodeId, Run, Watch};
use std::collections::BTreeSet;

/// Bounds of an exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashOptions {
    /// Sets of units gone through at one crash point.
    pub sets_max: usize,
    /// How many crashes in a row: 1 is a crash of the workload, 2 also one in the middle of each recovery.
    pub crashes: u32,
    /// Executions of all together; a workload that needs more is not explored to its end.
    pub executions_max: u64,
}

impl Default for CrashOptions {
    fn default() -> Self {
        Self { sets_max: 4_096, crashes: 1, executions_max: 10_000_000 }
    }
}

/// What an exploration went through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrashCounts {
    /// Crash points: between two disk operations of a call, and after each call.
    pub points: u64,
    /// Sets of units that the contract permits, all points together.
    pub sets: u64,
    /// States recovered from: sets of one point that leave the same image of the disk are one state.
    pub states: u64,
    /// Different images among them, by node.
    pub images: u64,
    /// States that broke an oracle.
    pub failing: u64,
    /// Executions; each crash point takes one, and each state.
    pub executions: u64,
    /// Whether every permitted state was recovered from.
    pub complete: bool,
}

/// States that broke one oracle in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenStates {
    /// The first such failure.
    pub failure: Failure,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The choices that show it.
    pub choices: Vec<Choice>,
    /// How many states showed it.
    pub states: u64,
}

/// The result of an exploration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrashReport {
    /// What was gone through.
    pub counts: CrashCounts,
    /// What failed, in the order found.
    pub broken: Vec<BrokenStates>,
}

/// Recovers from every state that the contract permits at every disk operation of a workload. After the restart
/// the rest of the workload is executed; choices of it that cannot apply any more are skipped.
///
/// `go_on` is asked after each crash point; when it says no, the report is of what was done so far, not complete.
///
/// # Errors
/// When the workload itself fails, without any crash added: its failure.
pub fn crash_states(
    run: &mut dyn Run,
    seed: u64,
    workload: &[Choice],
    options: CrashOptions,
    go_on: &mut dyn FnMut(&CrashCounts) -> bool,
) -> Result<CrashReport, Box<Failure>> {
    // The model is left out: it may not know the crash points that are added here.
    let mode = Mode { seed, watch: Watch::default(), misfit: Misfit::Repair };
    let mut explorer = Explorer {
        run,
        mode,
        options,
        images: BTreeSet::new(),
        report: CrashReport::default(),
        execution: Execution::default(),
        go_on,
        stopped: false,
    };
    explorer.report.counts.complete = true;
    execute_explicit(explorer.run, mode, workload, &mut explorer.execution);
    if let Some(failure) = explorer.execution.failure.take() {
        return Err(Box::new(failure));
    }
    let workload = explorer.execution.choices.clone();
    let mut before = Vec::with_capacity(workload.len() + 4);
    for (at, choice) in workload.iter().enumerate() {
        explorer.call(&mut before, *choice, &workload[at + 1..], options.crashes);
        before.push(*choice);
    }
    explorer.report.counts.images = explorer.images.len() as u64;
    Ok(explorer.report)
}

struct Explorer<'a> {
    run: &'a mut dyn Run,
    mode: Mode,
    options: CrashOptions,
    images: BTreeSet<(NodeId, u64)>,
    report: CrashReport,
    execution: Execution,
    go_on: &'a mut dyn FnMut(&CrashCounts) -> bool,
    stopped: bool,
}

impl Explorer<'_> {
    /// Crashes the node of a call after each of its disk operations, and after the call. `before` comes back
    /// as it was.
    fn call(&mut self, before: &mut Vec<Choice>, call: Choice, rest: &[Choice], crashes: u32) {
        let Some(node) = call.caller() else { return };
        let start = before.len();
        for at in 1..=u16::MAX {
            let point = |keep| Choice::CrashAt { node, at, keep };
            before.extend([point(Keep::NONE), call]);
            let holds = self.execute(before);
            // What a point that fails by itself could leave is not known.
            self.report.counts.complete &= holds;
            let dies = holds && self.run.menu().up & (1 << node) == 0;
            if dies {
                self.states(before, node, start, &point, rest, crashes);
            }
            before.truncate(start);
            if !dies || self.stopped {
                break;
            }
        }
        before.extend([call, Choice::Crash { node, keep: Keep::NONE }]);
        if !self.stopped && self.execute(before) && self.execution.skipped == 0 {
            self.states(before, node, start + 1, &|keep| Choice::Crash { node, keep }, rest, crashes);
        }
        before.truncate(start);
    }

    /// Recovers from every state of one crash point: the choice at `crash` in `choices` is replaced by `point`
    /// with what the crash keeps.
    fn states(
        &mut self,
        choices: &mut Vec<Choice>,
        node: NodeId,
        crash: usize,
        point: &dyn Fn(Keep) -> Choice,
        rest: &[Choice],
        crashes: u32,
    ) {
        let found = self.run.crash_states(node, self.options.sets_max);
        let counts = &mut self.report.counts;
        counts.points += 1;
        counts.sets += found.sets as u64;
        counts.complete &= found.complete;
        let length = choices.len();
        for state in found.states {
            if self.stopped {
                break;
            }
            self.images.insert((node, state.image));
            self.report.counts.states += 1;
            choices[crash] = point(state.keep);
            choices.push(Choice::Restart { node });
            choices.extend_from_slice(rest);
            let holds = self.execute(choices);
            self.report.counts.failing += u64::from(!holds);
            choices.truncate(length);
            if crashes > 1 && holds {
                self.call(choices, Choice::Restart { node }, rest, crashes - 1);
            }
        }
        self.stopped |= !(self.go_on)(&self.report.counts);
        self.report.counts.complete &= !self.stopped;
    }

    /// Executes and notes a failure. Returns whether every oracle held.
    fn execute(&mut self, choices: &[Choice]) -> bool {
        if self.report.counts.executions >= self.options.executions_max {
            self.stopped = true;
            self.report.counts.complete = false;
            return true;
        }
        self.report.counts.executions += 1;
        execute_explicit(self.run, self.mode, choices, &mut self.execution);
        let Some(failure) = self.execution.failure.take() else { return true };
        let fingerprint = Fingerprint::of(&failure);
        if let Some(known) = self.report.broken.iter_mut().find(|known| known.fingerprint == fingerprint) {
            known.states += 1;
        } else {
            let choices = self.execution.choices.clone();
            self.report.broken.push(BrokenStates { failure, fingerprint, choices, states: 1 });
        }
        false
    }
}

//! Replay: executes a schedule with everything recorded.

use crate::execute::{Chooser, Execution, Misfit, Mode, TailChooser, Watcher, execute};
use crate::finding::WATCHES;
use crate::fingerprint::Fingerprint;
use crate::recover::Recovered;
use misrule_world::{Choice, Failure, NodeId, Report, Run, Schedule, TraceHash, TraceStep, Watch};

/// A recorded step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The choice as executed; `None` for the start.
    pub choice: Option<Choice>,
    /// Links onto which it put messages, in order: sender, receiver, and the position there, counted from 1.
    pub pushed: Vec<(NodeId, NodeId, u16)>,
    /// What it did.
    pub told: TraceStep,
    /// Whether it is a step of a recovery: computed, no line of the schedule. The step that begins one is not.
    pub recovery: bool,
}

/// A recorded execution: the start, then one entry a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The steps; the first is the start.
    pub steps: Vec<Step>,
}

/// What a replay showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The recorded steps; empty unless they were asked for.
    pub trace: Trace,
    /// The trace hash; the same whether steps were recorded or not.
    pub trace_hash: String,
    /// The choices as executed.
    pub choices: Vec<Choice>,
    /// Choices that could not apply.
    pub skipped: u32,
    /// The first choice that could not apply for another reason than drift: its position in the schedule and why.
    pub misfit: Option<(u32, &'static str)>,
    /// For each choice whose guard met another message: its position in the schedule and the kind found.
    pub drift: Vec<(u32, u8)>,
    /// The failure, if an oracle failed.
    pub failure: Option<Failure>,
    /// What became of the recovery, where the schedule ends in one.
    pub recovery: Option<Recovered>,
}

impl Replay {
    /// The fingerprint of the failure.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.failure.as_ref().map(Fingerprint::of)
    }

    /// Executed steps, without those of a recovery.
    pub fn steps(&self) -> u32 {
        self.choices.len() as u32 - u32::from(self.recovery.is_some())
    }
}

struct Recording<'a> {
    hash: TraceHash,
    keep: bool,
    trace: Trace,
    each: &'a mut dyn FnMut(u32, &Step),
}

impl Recording<'_> {
    fn record(&mut self, step: u32, run: &dyn Run, report: &Report, recovery: bool) {
        let Some(told) = report.trace.clone() else { return };
        let vocabulary = run.about().vocabulary;
        self.hash.update(vocabulary, report.choice, &told);
        let choice = (step > 0).then_some(report.choice);
        let recorded = Step { choice, pushed: report.pushed.clone(), told, recovery };
        (self.each)(step, &recorded);
        if self.keep {
            self.trace.steps.push(recorded);
        }
    }
}

impl Watcher for Recording<'_> {
    fn saw(&mut self, step: u32, run: &dyn Run, report: &Report) -> bool {
        self.record(step, run, report, false);
        false
    }

    fn saw_recovery(&mut self, step: u32, run: &dyn Run, report: &Report) {
        self.record(step, run, report, !matches!(report.choice, Choice::Recover { .. }));
    }
}

/// Executes a schedule, skipping what cannot apply, with the model and every comparison on.
///
/// With `keep` the steps are kept in the result; `each` is called with every step as it happens, numbered from
/// 0 for the start.
pub fn replay(
    run: &mut dyn Run,
    seed: u64,
    schedule: &Schedule,
    watch: Watch,
    keep: bool,
    each: &mut dyn FnMut(u32, &Step),
) -> Replay {
    let mut execution = Execution::default();
    let mut recording = Recording { hash: TraceHash::default(), keep, trace: Trace::default(), each };
    let mut report = Report::default();
    let mut tail = TailChooser::of(schedule);
    let watch = Watch { trace: true, ..watch };
    execute(
        run,
        Mode { seed, watch, misfit: Misfit::Skip },
        &schedule.choices,
        tail.as_mut().map(|tail| tail as &mut dyn Chooser),
        &mut recording,
        &mut report,
        &mut execution,
    );
    if let Some(failure) = &execution.failure {
        let line = format!("failure {} {} {}", failure.oracle, failure.property, failure.detail);
        recording.hash.line(&line);
    }
    Replay {
        trace: recording.trace,
        trace_hash: recording.hash.digest(),
        choices: execution.choices,
        skipped: execution.skipped,
        misfit: execution.misfit,
        drift: execution.drift,
        failure: execution.failure,
        recovery: execution.recovery,
    }
}

/// Replays a schedule with the model and every comparison on. One oracle may hide another: where the finding
/// with the fingerprint `wanted` does not show, the schedule is executed again with less watched, and the
/// first replay that shows it counts; when none does, the one with everything on.
pub fn replay_recorded(
    run: &mut dyn Run,
    seed: u64,
    schedule: &Schedule,
    wanted: Option<&str>,
    keep: bool,
    each: &mut dyn FnMut(u32, &Step),
) -> Replay {
    let shows = |replay: &Replay| {
        wanted.is_none_or(|wanted| replay.fingerprint().is_some_and(|found| found.to_string() == wanted))
    };
    let [less @ .., full] = WATCHES;
    let first = replay(run, seed, schedule, full, keep, each);
    if shows(&first) {
        return first;
    }
    let others = less.iter().rev().map(|watch| replay(run, seed, schedule, *watch, keep, &mut |_, _| {}));
    others.into_iter().find(shows).unwrap_or(first)
}

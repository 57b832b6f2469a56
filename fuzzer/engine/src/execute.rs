//! The one loop that drives a world: campaigns, replay, minimiser and checks all come through here.

use crate::fingerprint::Fingerprint;
use crate::recover::{Recovered, recover};
use misrule_world::{Choice, Effect, Failure, Report, Run, Schedule, Slot, Watch};

/// What a run is to do about a choice that cannot apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// Skip it and count it.
    Skip,
    /// A message choice whose guard does not fit takes the first waiting message of its kind, if there is one; a
    /// crash keeps what is there of what it names; other choices are skipped. For mutants and minimising only: a replay never takes another message.
    Repair,
}

/// What happened in an execution, in buffers that are reused.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// The choices that were executed, positions and kinds filled in. The steps of a recovery are none of them; the
    /// choice that begins one is the last.
    pub choices: Vec<Choice>,
    /// How many steps had led to the snapshot that the execution began from; 0 where it began at the start.
    pub resumed: u32,
    /// Choices that could not apply.
    pub skipped: u32,
    /// The first choice of the schedule that could not apply for another reason than drift: its position and why.
    pub misfit: Option<(u32, &'static str)>,
    /// For each choice of the schedule whose guard met another message: its position and the kind found.
    pub drift: Vec<(u32, u8)>,
    /// The failure that ended the execution.
    pub failure: Option<Failure>,
    /// What became of the recovery, where the execution ended in one.
    pub recovery: Option<Recovered>,
}

impl Execution {
    /// Executed steps, without those of a recovery and those before a snapshot.
    pub fn steps(&self) -> u32 {
        self.choices.len() as u32 - u32::from(self.recovery.is_some())
    }

    /// The fingerprint of the failure, if there was one.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.failure.as_ref().map(Fingerprint::of)
    }

    pub(crate) fn clear(&mut self) {
        self.choices.clear();
        self.resumed = 0;
        (self.skipped, self.misfit) = (0, None);
        self.drift.clear();
        self.failure = None;
        self.recovery = None;
    }
}

/// Looks at an execution while it runs.
pub trait Watcher {
    /// After the start (`step` 0) and after each executed step, counted from 1. Returns whether something new
    /// was seen.
    fn saw(&mut self, step: u32, run: &dyn Run, report: &Report) -> bool;

    /// After each step of a recovery, the one that begins it included. Steps are counted on.
    fn saw_recovery(&mut self, _step: u32, _run: &dyn Run, _report: &Report) {}
}

/// A watcher that wants nothing.
pub struct Unwatched;

impl Watcher for Unwatched {
    fn saw(&mut self, _step: u32, _run: &dyn Run, _report: &Report) -> bool {
        false
    }
}

/// Gives the choices that follow a schedule's explicit ones.
pub trait Chooser {
    /// The next choice, or `None` to end the execution. `report` is that of the last choice; `news` says whether it
    /// was executed and showed something new.
    fn next(&mut self, run: &dyn Run, report: &Report, news: bool) -> Option<Choice>;
}

/// How to execute.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// Seed of draws inside the target.
    pub seed: u64,
    /// What to compute.
    pub watch: Watch,
    /// What to do with choices that cannot apply.
    pub misfit: Misfit,
}

/// Executes explicit choices, then what `chooser` gives, until it ends or an oracle fails. A recovery that ends the
/// choices comes after what `chooser` gives.
pub fn execute(
    run: &mut dyn Run,
    mode: Mode,
    choices: &[Choice],
    chooser: Option<&mut dyn Chooser>,
    watcher: &mut dyn Watcher,
    report: &mut Report,
    out: &mut Execution,
) {
    out.clear();
    run.reset(mode.seed, mode.watch, report);
    let mut news = note(run, watcher, report, out);
    let (choices, core) = match choices.split_last() {
        Some((Choice::Recover { core }, before)) => (before, Some(*core)),
        _ => (choices, None),
    };
    for (at, choice) in choices.iter().enumerate() {
        if out.failure.is_some() {
            return;
        }
        if step(run, mode.misfit, *choice, report) {
            out.choices.push(report.choice);
            news = note(run, watcher, report, out);
        } else {
            out.skipped += 1;
            match report.effect {
                Effect::Drift { found } => out.drift.push((at as u32, found)),
                Effect::Skipped(why) => out.misfit = out.misfit.or(Some((at as u32, why))),
                Effect::Applied => {}
            }
        }
    }
    if let Some(chooser) = chooser {
        choose(run, chooser, news, watcher, report, out);
    }
    if let (Some(core), None) = (core, &out.failure) {
        recover(run, core, watcher, report, out);
    }
}

/// Goes on from a snapshot that `run` has just taken up, `resumed` steps after the start, with what `chooser` gives.
pub(crate) fn go_on(
    run: &mut dyn Run,
    resumed: u32,
    chooser: &mut dyn Chooser,
    watcher: &mut dyn Watcher,
    report: &mut Report,
    out: &mut Execution,
) {
    out.clear();
    out.resumed = resumed;
    choose(run, chooser, false, watcher, report, out);
}

fn choose(
    run: &mut dyn Run,
    chooser: &mut dyn Chooser,
    mut news: bool,
    watcher: &mut dyn Watcher,
    report: &mut Report,
    out: &mut Execution,
) {
    while out.failure.is_none() {
        let Some(choice) = chooser.next(run, report, news) else { break };
        run.step(choice, report);
        if report.effect == Effect::Applied {
            out.choices.push(report.choice);
            news = note(run, watcher, report, out);
        } else {
            out.skipped += 1;
            news = false;
        }
    }
}

/// Executes the explicit choices of a schedule and nothing else.
pub fn execute_explicit(run: &mut dyn Run, mode: Mode, choices: &[Choice], out: &mut Execution) {
    let mut report = Report::default();
    execute(run, mode, choices, None, &mut Unwatched, &mut report, out);
}

fn note(run: &mut dyn Run, watcher: &mut dyn Watcher, report: &mut Report, out: &mut Execution) -> bool {
    let news = watcher.saw(out.resumed + out.steps(), run, report);
    if report.failure.is_some() {
        out.failure = report.failure.take();
    }
    news
}

fn step(run: &mut dyn Run, misfit: Misfit, choice: Choice, report: &mut Report) -> bool {
    run.step(choice, report);
    if report.effect == Effect::Applied {
        return true;
    }
    let fitted = run.menu().fitted(choice);
    if misfit == Misfit::Repair && fitted != choice {
        run.step(fitted, report);
        return report.effect == Effect::Applied;
    }
    let Some(slot) = choice.slot() else { return false };
    if misfit == Misfit::Skip || slot.kind == Slot::ANY_KIND {
        return false;
    }
    run.step(choice.with_slot(Slot { at: Slot::FIRST_OF_KIND, ..slot }), report);
    report.effect == Effect::Applied
}

/// Draws the tail of a schedule: the chooser of replays of schedules that end in one.
pub struct TailChooser {
    drawer: crate::draw::Drawer,
    rng: misrule_world::Rng,
    left: u32,
    started: bool,
}

impl TailChooser {
    /// The chooser of a schedule's tail, if it has one.
    pub fn of(schedule: &Schedule) -> Option<Self> {
        schedule.tail.map(|tail| Self {
            drawer: crate::draw::Drawer::new(tail.faults),
            rng: misrule_world::Rng::new(tail.seed),
            left: tail.steps,
            started: false,
        })
    }
}

impl Chooser for TailChooser {
    fn next(&mut self, run: &dyn Run, _report: &Report, _news: bool) -> Option<Choice> {
        self.left = self.left.checked_sub(1)?;
        if !std::mem::replace(&mut self.started, true) {
            self.drawer.reset(run.menu(), &mut self.rng);
        }
        self.drawer.pick(run.menu(), &mut self.rng)
    }
}

//! The executor: one input is one execution of the world.

use super::input::Candidate;
use super::observer::RunObserver;
use crate::archive::{Archive, Met};
use crate::campaign::Options;
use crate::execute::{Chooser, Misfit, Mode, Unwatched, Watcher, execute, go_on};
use crate::guidance::Guidance;
use crate::observed::MetCell;
use crate::recover::recover;
use crate::sample::Sampler;
use crate::split::Laps;
use crate::way::Way;
use libafl::executors::{Executor, ExitKind, HasObservers};
use libafl::state::HasExecutions;
use libafl::{Error, HasMetadata};
use libafl_bolts::tuples::{Handle, MatchName, MatchNameRef, RefIndexable};
use misrule_world::{Choice, FaultProfile, Report, Rng, Run, Setup, Snapshot, Watch, mix};

/// One execution in so many compares model and implementation, where the comparison is sampled.
pub(crate) const SAMPLE: u64 = 16;

/// What stays the same over a campaign.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) draw_seed: u64,
    pub(crate) faults: FaultProfile,
    pub(crate) conformance: crate::Conformance,
    /// Whether lenses need the model in every execution.
    pub(crate) model_guides: bool,
    /// Longest execution, in steps.
    pub(crate) steps_max: u32,
    /// Whether there are lenses at all.
    pub(crate) keys: bool,
    pub(crate) recovery: crate::RecoveryWhen,
    /// Whether states are saved and taken up.
    pub(crate) snapshots: bool,
}

impl Settings {
    /// What a campaign's options say, and how many lenses it has.
    pub(crate) fn of(setup: &Setup, options: &Options) -> (Self, usize) {
        let lenses = setup.lenses.len();
        let settings = Self {
            seed: options.seed,
            draw_seed: mix(options.seed),
            faults: options.faults,
            conformance: options.conformance,
            model_guides: setup.lenses.iter().any(|lens| lens.ends_with("@model")),
            steps_max: options.steps_max,
            keys: lenses > 0,
            recovery: options.recovery,
            snapshots: options.snapshots,
        };
        (settings, lenses)
    }
}

pub(crate) struct WorldExecutor<OT> {
    pub(crate) run: Box<dyn Run>,
    pub(crate) guidance: Box<dyn Guidance>,
    pub(crate) settings: Settings,
    pub(crate) observers: OT,
    handle: Handle<RunObserver>,
    report: Report,
    choices: Vec<Choice>,
    sampler: Sampler,
    /// What the calls take that LibAFL makes, where it is asked for.
    pub(crate) laps: Laps,
    /// Whether the guidance has nothing left to run.
    pub(crate) done: bool,
    /// Whether lenses look at the next execution.
    pub(crate) keys: bool,
    /// Whether its state is saved where it meets cells.
    pub(crate) saves: bool,
    /// The snapshot at the end of its way, where there is one.
    pub(crate) resume: Option<Snapshot>,
}

impl<OT> WorldExecutor<OT> {
    pub(crate) fn new(
        run: Box<dyn Run>,
        guidance: Box<dyn Guidance>,
        settings: Settings,
        observers: OT,
        handle: Handle<RunObserver>,
    ) -> Self {
        let (report, choices, laps) = (Report::default(), Vec::new(), Laps::default());
        let sampler = Sampler::new(settings.recovery, &*run, settings.seed);
        Self {
            run,
            guidance,
            settings,
            observers,
            handle,
            report,
            choices,
            sampler,
            laps,
            done: false,
            keys: true,
            saves: false,
            resume: None,
        }
    }

    /// Takes up the snapshot at the end of the input's way, if there is one that can be. Where it lacks the model and
    /// only the comparison with it would need that, there is no comparison.
    fn take_up(&mut self, input: &Candidate, watch: &mut Watch) -> bool {
        let Some(snapshot) = self.resume.take().filter(|_| !input.mutant) else { return false };
        if self.run.restore(&snapshot, *watch) {
            return true;
        }
        let plain = Watch { model: self.settings.model_guides && watch.keys, conformance: false, ..*watch };
        if plain != *watch && self.run.restore(&snapshot, plain) {
            *watch = plain;
            return true;
        }
        false
    }

    fn watch(&self, execution: u64) -> Watch {
        let conformance = match self.settings.conformance {
            crate::Conformance::Always => true,
            crate::Conformance::Sampled => execution % SAMPLE == 1,
            crate::Conformance::Off => false,
        };
        Watch {
            keys: self.settings.keys && self.keys,
            model: conformance || (self.settings.model_guides && self.keys),
            conformance,
            trace: false,
        }
    }
}

/// Lets the guidance choose inside the tail.
struct Guided<'a> {
    guidance: &'a mut dyn Guidance,
    rng: Rng,
    left: u32,
    /// Steps until the execution is as long as one may be.
    room: u32,
    /// Whether the first step of the tail is still to come: news before it is old news.
    first: bool,
}

impl Chooser for Guided<'_> {
    fn next(&mut self, run: &dyn Run, report: &Report, news: bool) -> Option<Choice> {
        let news = news && !std::mem::take(&mut self.first);
        self.left = self.guidance.saw(report, news, self.left);
        self.left = self.left.checked_sub(1)?;
        self.room = self.room.checked_sub(1)?;
        self.guidance.pick(run, &mut self.rng)
    }
}

/// Enters the keys of each step into the archive.
pub(crate) struct Meeting<'a> {
    pub(crate) archive: &'a mut Archive,
    pub(crate) met: &'a mut Vec<MetCell>,
    pub(crate) new_cells: u32,
    /// Whether the state is saved where a cell is met.
    pub(crate) saves: bool,
}

impl Meeting<'_> {
    fn note(&mut self, step: u32, cell: u32, run: &dyn Run) {
        let snapshot = match self.met.last() {
            _ if !self.saves => None,
            Some(last) if last.step == step => last.snapshot.clone(),
            _ => run.save(),
        };
        self.met.push(MetCell { step, cell, snapshot });
    }
}

impl Watcher for Meeting<'_> {
    fn saw(&mut self, step: u32, run: &dyn Run, report: &Report) -> bool {
        let mut news = false;
        for key in &report.keys {
            match self.archive.meet(*key, step) {
                Met::New(cell) => {
                    self.note(step, cell, run);
                    self.new_cells += 1;
                    news = true;
                }
                Met::Shorter(cell) => self.note(step, cell, run),
                Met::Known | Met::Beyond => {}
            }
        }
        news
    }
}

impl<OT: MatchName, EM, S: HasExecutions + HasMetadata, Z> Executor<EM, Candidate, S, Z>
    for WorldExecutor<OT>
{
    fn run_target(
        &mut self,
        _fuzzer: &mut Z,
        state: &mut S,
        _manager: &mut EM,
        input: &Candidate,
    ) -> Result<ExitKind, Error> {
        *state.executions_mut() += 1;
        let mut watch = self.watch(*state.executions());
        let resumed = self.take_up(input, &mut watch);
        let archive = state.metadata_mut::<Archive>()?;
        // An execution that no lens looks at enters no cell, and is none of those that could have.
        if watch.keys {
            archive.start_run();
        }
        let mut observers = RefIndexable::from(&mut self.observers);
        let observer: &mut RunObserver =
            observers.get_mut(&self.handle).ok_or_else(|| Error::illegal_state("no run observer"))?;
        let observed = &mut observer.observed;
        observed.met.clear();
        observed.conformance = watch.conformance;
        observed.looked = watch.keys;
        observed.kept = None;
        observed.given = input.way.len();
        observed.returned = if input.mutant || resumed { 0 } else { input.way.len() };
        observed.before = if resumed { input.way.clone() } else { Way::default() };
        let start = self.laps.now();
        self.choices.clear();
        if !resumed {
            input.way.append_to(&mut self.choices);
        }
        let prepared = self.laps.now();
        self.laps.settling += prepared - start;
        let mut guided = input.tail.map(|tail| Guided {
            guidance: &mut *self.guidance,
            rng: Rng::new(tail.seed),
            left: tail.steps,
            room: self.settings.steps_max.saturating_sub(input.way.len()),
            first: true,
        });
        let mut meeting = Meeting {
            archive,
            met: &mut observed.met,
            new_cells: 0,
            saves: self.saves && self.settings.snapshots,
        };
        let (run, report, execution) = (&mut *self.run, &mut self.report, &mut observed.execution);
        match &mut guided {
            Some(guided) if resumed => go_on(run, input.way.len(), guided, &mut meeting, report, execution),
            guided => {
                let misfit = if input.mutant { Misfit::Repair } else { Misfit::Skip };
                let mode = Mode { seed: self.settings.draw_seed, watch, misfit };
                let chooser = guided.as_mut().map(|guided| guided as &mut dyn Chooser);
                execute(run, mode, &self.choices, chooser, &mut meeting, report, execution);
            }
        }
        observed.new_cells = meeting.new_cells;
        if input.tail.is_some() {
            let execution = &mut observed.execution;
            if let Some(core) = self.sampler.draw(execution) {
                recover(&mut *self.run, core, &mut Unwatched, &mut self.report, execution);
                self.sampler.charge(execution);
            }
        }
        self.laps.executing += self.laps.now() - prepared;
        Ok(if observed.execution.failure.is_some() { ExitKind::Crash } else { ExitKind::Ok })
    }
}

impl<OT> HasObservers for WorldExecutor<OT> {
    type Observers = OT;
    fn observers(&self) -> RefIndexable<&OT, OT> {
        RefIndexable::from(&self.observers)
    }
    fn observers_mut(&mut self) -> RefIndexable<&mut OT, OT> {
        RefIndexable::from(&mut self.observers)
    }
}

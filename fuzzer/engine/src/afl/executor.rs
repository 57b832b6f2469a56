//! The executor: one input is one execution of the world.

use super::input::Candidate;
use super::observer::RunObserver;
use crate::archive::{Archive, Met};
use crate::campaign::Options;
use crate::execute::{Chooser, Misfit, Mode, Unwatched, Watcher, execute};
use crate::guidance::Guidance;
use crate::recover::recover;
use crate::sample::Sampler;
use crate::split::Laps;
use libafl::executors::{Executor, ExitKind, HasObservers};
use libafl::state::HasExecutions;
use libafl::{Error, HasMetadata};
use libafl_bolts::tuples::{Handle, MatchName, MatchNameRef, RefIndexable};
use misrule_world::{Choice, FaultProfile, Report, Rng, Run, Setup, Watch, mix};

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
        }
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
        self.guidance.pick(run.menu(), &mut self.rng)
    }
}

/// Enters the keys of each step into the archive.
pub(crate) struct Meeting<'a> {
    pub(crate) archive: &'a mut Archive,
    pub(crate) met: &'a mut Vec<(u32, u32)>,
    pub(crate) new_cells: u32,
}

impl Watcher for Meeting<'_> {
    fn saw(&mut self, step: u32, _run: &dyn Run, report: &Report) -> bool {
        let mut news = false;
        for key in &report.keys {
            match self.archive.meet(*key, step) {
                Met::New(cell) => {
                    self.met.push((step, cell));
                    self.new_cells += 1;
                    news = true;
                }
                Met::Shorter(cell) => self.met.push((step, cell)),
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
        let watch = self.watch(*state.executions());
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
        observed.kept = None;
        observed.given = input.way.len();
        observed.returned = if input.mutant { 0 } else { input.way.len() };
        let start = self.laps.now();
        self.choices.clear();
        input.way.append_to(&mut self.choices);
        let prepared = self.laps.now();
        self.laps.settling += prepared - start;
        let mut guided = input.tail.map(|tail| Guided {
            guidance: &mut *self.guidance,
            rng: Rng::new(tail.seed),
            left: tail.steps,
            room: self.settings.steps_max.saturating_sub(input.way.len()),
            first: true,
        });
        let mut meeting = Meeting { archive, met: &mut observed.met, new_cells: 0 };
        let misfit = if input.mutant { Misfit::Repair } else { Misfit::Skip };
        execute(
            &mut *self.run,
            Mode { seed: self.settings.draw_seed, watch, misfit },
            &self.choices,
            guided.as_mut().map(|guided| guided as &mut dyn Chooser),
            &mut meeting,
            &mut self.report,
            &mut observed.execution,
        );
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

//! The LibAFL campaign: our input, observer, executor, feedback, scheduler, mutators and stage around its
//! fuzzer. LibAFL is named in this module and nowhere else.

mod executor;
mod feedback;
mod input;
mod mutators;
mod observer;
mod scheduler;
mod stage;

use crate::archive::Archive;
use crate::guidance::Guidance;
use crate::observed::Observed;
use executor::WorldExecutor;
use feedback::{FailureFeedback, NewCellFeedback};
use input::Candidate;
use libafl::corpus::{Corpus, InMemoryCorpus};
use libafl::events::SimpleEventManager;
use libafl::fuzzer::{Evaluator, Fuzzer, StdFuzzer};
use libafl::monitors::NopMonitor;
use libafl::state::{HasCorpus, StdState};
use libafl::{Error, HasMetadata};
use libafl_bolts::impl_serdeany;
use libafl_bolts::rands::StdRand;
use libafl_bolts::tuples::{Handled, tuple_list};
use misrule_world::{Run, mix};
use mutators::mutators;
use observer::RunObserver;
use scheduler::CellScheduler;
use stage::Explore;

pub(crate) use executor::{Meeting, Settings};

impl_serdeany!(Archive);

type State = StdState<InMemoryCorpus<Candidate>, Candidate, StdRand, InMemoryCorpus<Candidate>>;
type Observers = (RunObserver, ());
type Manager = SimpleEventManager<Candidate, NopMonitor, State>;
type Engine = StdFuzzer<
    CellScheduler,
    NewCellFeedback,
    libafl::inputs::BytesInputConverter,
    libafl::fuzzer::NopInputFilter,
    FailureFeedback,
>;

/// A campaign in LibAFL: each call of [`Loop::once`] executes one plan.
pub(crate) struct Loop {
    state: State,
    manager: Manager,
    fuzzer: Engine,
    executor: WorldExecutor<Observers>,
    stages: (Explore, ()),
}

/// An error of LibAFL itself: a bug of ours.
pub(crate) fn internal(error: &Error) -> crate::EngineError {
    crate::EngineError::Internal(error.to_string())
}

impl Loop {
    pub(crate) fn new(
        run: Box<dyn Run>,
        guidance: Box<dyn Guidance>,
        settings: Settings,
        lenses: usize,
    ) -> Result<Self, crate::EngineError> {
        Self::build(run, guidance, settings, lenses).map_err(|error| internal(&error))
    }

    fn build(
        run: Box<dyn Run>,
        guidance: Box<dyn Guidance>,
        settings: Settings,
        lenses: usize,
    ) -> Result<Self, Error> {
        let observer = RunObserver::default();
        let handle = observer.handle();
        let mut feedback = NewCellFeedback::new(handle.clone());
        let mut objective = FailureFeedback::new(handle.clone());
        let mut state = StdState::new(
            StdRand::with_seed(mix(settings.seed)),
            InMemoryCorpus::new(),
            InMemoryCorpus::new(),
            &mut feedback,
            &mut objective,
        )?;
        state.add_metadata(Archive::new(lenses));
        let stage = Explore::new(mutators(run.menu()), settings.seed);
        let executor = WorldExecutor::new(run, guidance, settings, tuple_list!(observer), handle);
        let mut engine = Self {
            state,
            manager: SimpleEventManager::new(NopMonitor::new()),
            fuzzer: StdFuzzer::new(CellScheduler::new(mix(settings.seed ^ 1)), feedback, objective),
            executor,
            stages: tuple_list!(stage),
        };
        // LibAFL's loop starts from a corpus entry; the empty schedule is one. It is never removed.
        let empty = Candidate::default();
        engine.fuzzer.add_input(&mut engine.state, &mut engine.executor, &mut engine.manager, empty)?;
        Ok(engine)
    }

    /// Executes one plan, and returns what was observed.
    pub(crate) fn once(&mut self) -> Result<&Observed, crate::EngineError> {
        let result =
            self.fuzzer.fuzz_one(&mut self.stages, &mut self.executor, &mut self.state, &mut self.manager);
        result.map_err(|error| internal(&error))?;
        Ok(self.observed())
    }

    /// Executes a known schedule, such as an entry of the regression corpus, so that it feeds the archive.
    pub(crate) fn feed(
        &mut self,
        choices: &[misrule_world::Choice],
    ) -> Result<&Observed, crate::EngineError> {
        let result =
            Explore::feed(&mut self.fuzzer, &mut self.executor, &mut self.state, &mut self.manager, choices);
        result.map_err(|error| internal(&error))?;
        Ok(self.observed())
    }

    /// What the last execution showed.
    pub(crate) fn observed(&self) -> &Observed {
        &self.executor.observers.0.observed
    }

    /// The archive.
    pub(crate) fn archive(&self) -> Result<&Archive, crate::EngineError> {
        self.state.metadata::<Archive>().map_err(|error| internal(&error))
    }

    /// Whether the guidance has nothing left to run.
    pub(crate) fn done(&self) -> bool {
        self.executor.done
    }

    /// How many schedules the corpus keeps.
    pub(crate) fn kept(&self) -> usize {
        self.state.corpus().count()
    }

    /// The world of the campaign, for its counts.
    pub(crate) fn run(&self) -> &dyn Run {
        &*self.executor.run
    }

    /// What the calls take that LibAFL makes; nothing is timed until it is given a clock.
    pub(crate) fn laps(&mut self) -> &mut crate::split::Laps {
        &mut self.executor.laps
    }

    /// For each mutator: its name, executions, executed steps and new cells.
    pub(crate) fn yields(&self) -> Vec<crate::MutatorYield> {
        self.stages.0.yields()
    }
}

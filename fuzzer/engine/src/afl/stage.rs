//! The stage: asks the guidance for one plan and has it executed.

use super::executor::WorldExecutor;
use super::input::Candidate;
use super::mutators::ScheduleMutator;
use super::{Engine, Manager, Observers, State};
use crate::MutatorYield;
use crate::archive::Archive;
use crate::guidance::Plan;
use crate::observed::MetCell;
use crate::way::Way;
use libafl::corpus::{Corpus, CorpusId};
use libafl::fuzzer::Evaluator;
use libafl::mutators::{MutationResult, Mutator};
use libafl::stages::{Restartable, Stage};
use libafl::state::{HasCorpus, HasSolutions};
use libafl::{Error, HasMetadata};
use libafl_bolts::Named;
use misrule_world::{Choice, Rng, Tail};

/// One plan, one execution.
pub(crate) struct Explore {
    mutators: Vec<ScheduleMutator>,
    yields: Vec<MutatorYield>,
    rng: Rng,
}

impl Explore {
    pub(crate) fn new(mutators: Vec<ScheduleMutator>, seed: u64) -> Self {
        let yields = mutators.iter().map(|mutator| MutatorYield::new(mutator.name())).collect();
        Self { mutators, yields, rng: Rng::new(seed) }
    }

    pub(crate) fn yields(&self) -> Vec<MutatorYield> {
        self.yields.clone()
    }

    /// Executes known choices.
    pub(crate) fn feed(
        fuzzer: &mut Engine,
        executor: &mut WorldExecutor<Observers>,
        state: &mut State,
        manager: &mut Manager,
        choices: &[Choice],
    ) -> Result<(), Error> {
        let input = Candidate { way: Way::new(choices), tail: None, mutant: false };
        Self::evaluate(fuzzer, executor, state, manager, &input)
    }

    fn evaluate(
        fuzzer: &mut Engine,
        executor: &mut WorldExecutor<Observers>,
        state: &mut State,
        manager: &mut Manager,
        input: &Candidate,
    ) -> Result<(), Error> {
        let (_, id) = fuzzer.evaluate_input(state, executor, manager, input)?;
        let observed = &mut executor.observers.0.observed;
        if observed.execution.failure.is_some() {
            // LibAFL put an empty entry among its solutions; the campaign keeps findings itself.
            if let Some(id) = state.solutions().last() {
                state.solutions_mut().remove(id)?;
            }
            return Ok(());
        }
        let Some(id) = id else { return Ok(()) };
        let way = match state.corpus().get(id)?.borrow().input() {
            Some(input) => input.way.clone(),
            None => return Ok(()),
        };
        let start = executor.laps.now();
        let mut orphans = Vec::new();
        let archive = state.metadata_mut::<Archive>()?;
        for MetCell { step, cell, snapshot } in observed.met.drain(..) {
            orphans.extend(archive.settle(cell, way.cut(step), id.0, snapshot));
        }
        observed.kept = Some(way);
        executor.laps.settling += executor.laps.now() - start;
        // The first entry stays: LibAFL's loop needs one.
        let first = state.corpus().first();
        for orphan in
            orphans.into_iter().map(CorpusId).filter(|orphan| Some(*orphan) != first && *orphan != id)
        {
            state.corpus_mut().remove(orphan)?;
        }
        Ok(())
    }

    fn mutant(
        &mut self,
        state: &mut State,
        plan: &Plan,
        steps_max: u32,
    ) -> Result<Option<(usize, Candidate)>, Error> {
        let Some(current) = *state.corpus().current() else { return Ok(None) };
        let way = match state.corpus().get(current)?.borrow().input() {
            Some(input) => input.way.clone(),
            None => return Ok(None),
        };
        let mut input = Candidate { way, tail: None, mutant: false };
        let at = self.rng.below(self.mutators.len() as u32) as usize;
        if self.mutators[at].mutate(state, &mut input)? == MutationResult::Skipped {
            return Ok(None);
        }
        input.way = input.way.cut(steps_max.saturating_sub(plan.tail));
        Ok(Some((at, input)))
    }
}

impl Stage<WorldExecutor<Observers>, Manager, State, Engine> for Explore {
    fn perform(
        &mut self,
        fuzzer: &mut Engine,
        executor: &mut WorldExecutor<Observers>,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<(), Error> {
        let start = executor.laps.now();
        let plan = executor.guidance.plan(state.metadata::<Archive>()?, &mut self.rng);
        let mutant = if plan.mutate { self.mutant(state, &plan, executor.settings.steps_max)? } else { None };
        executor.keys = plan.keys;
        executor.saves = plan.saves;
        executor.resume.clone_from(&plan.snapshot);
        let tail = Tail { seed: self.rng.next(), steps: plan.tail, faults: executor.settings.faults };
        let (mutator, input) = match mutant {
            Some((at, input)) => (Some(at), Candidate { tail: Some(tail), ..input }),
            None => (None, Candidate { way: plan.way.clone(), tail: Some(tail), mutant: false }),
        };
        executor.laps.planning += executor.laps.now() - start;
        Self::evaluate(fuzzer, executor, state, manager, &input)?;
        let start = executor.laps.now();
        let observed = &executor.observers.0.observed;
        executor.done = executor.guidance.learn(&plan, &observed.execution).is_break();
        executor.laps.planning += executor.laps.now() - start;
        if let Some(at) = mutator {
            let row = &mut self.yields[at];
            row.executions += 1;
            row.steps += u64::from(observed.execution.steps());
            row.new_cells += u64::from(observed.new_cells);
        }
        Ok(())
    }
}

impl Restartable<State> for Explore {
    fn should_restart(&mut self, _state: &mut State) -> Result<bool, Error> {
        Ok(true)
    }
    fn clear_progress(&mut self, _state: &mut State) -> Result<(), Error> {
        Ok(())
    }
}

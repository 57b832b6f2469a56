//! LibAFL mutators around the plain functions of [`crate::mutate`].

use super::feedback::CellDepths;
use super::input::Candidate;
use crate::archive::Archive;
use crate::mutate::{MUTATORS, Material, Mutate};
use crate::way::Way;
use libafl::corpus::{Corpus, CorpusId};
use libafl::mutators::{MutationResult, Mutator};
use libafl::state::{HasCorpus, HasRand};
use libafl::{Error, HasMetadata};
use libafl_bolts::Named;
use libafl_bolts::rands::Rand;
use misrule_world::{Choice, Contract, Menu, NodeId, Rng};
use std::borrow::Cow;

/// One mutator.
#[derive(Debug)]
pub(crate) struct ScheduleMutator {
    name: Cow<'static, str>,
    mutate: Mutate,
    nodes: NodeId,
    sessions: u8,
    contract: Contract,
}

/// All mutators, for the worlds of a menu.
pub(crate) fn mutators(menu: &Menu) -> Vec<ScheduleMutator> {
    let one = |&(name, mutate): &(&'static str, Mutate)| ScheduleMutator {
        name: Cow::Borrowed(name),
        mutate,
        nodes: menu.nodes,
        sessions: menu.sessions,
        contract: menu.contract,
    };
    MUTATORS.iter().map(one).collect()
}

impl Named for ScheduleMutator {
    fn name(&self) -> &Cow<'static, str> {
        &self.name
    }
}

impl<S> Mutator<Candidate, S> for ScheduleMutator
where
    S: HasCorpus<Candidate> + HasRand + HasMetadata,
{
    fn mutate(&mut self, state: &mut S, input: &mut Candidate) -> Result<MutationResult, Error> {
        let mut rng = Rng::new(state.rand_mut().next());
        let cells = match *state.corpus().current() {
            Some(id) => kept(state, id)?.1,
            None => Vec::new(),
        };
        let other = match state.metadata::<Archive>()?.pick_owner(&mut rng) {
            Some(owner) => kept(state, CorpusId(owner))?,
            None => (Vec::new(), Vec::new()),
        };
        let material = Material {
            nodes: self.nodes,
            sessions: self.sessions,
            contract: self.contract,
            cells: &cells,
            other: (&other.0, &other.1),
        };
        let mut choices = input.way.choices();
        if !(self.mutate)(&mut choices, &material, &mut rng) {
            return Ok(MutationResult::Skipped);
        }
        input.way = Way::new(&choices);
        input.mutant = true;
        Ok(MutationResult::Mutated)
    }

    fn post_exec(&mut self, _state: &mut S, _new: Option<CorpusId>) -> Result<(), Error> {
        Ok(())
    }
}

/// The choices and the cell depths of a kept schedule.
fn kept<S: HasCorpus<Candidate>>(state: &S, id: CorpusId) -> Result<(Vec<Choice>, Vec<u32>), Error> {
    let testcase = state.corpus().get(id)?.borrow();
    let choices = testcase.input().as_ref().map(|input| input.way.choices()).unwrap_or_default();
    let cells = testcase.metadata::<CellDepths>().map(|depths| depths.0.clone()).unwrap_or_default();
    Ok((choices, cells))
}

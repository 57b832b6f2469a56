//! The scheduler: constant time, by cells.

use super::input::Candidate;
use crate::archive::Archive;
use libafl::corpus::{Corpus, CorpusId};
use libafl::schedulers::Scheduler;
use libafl::state::HasCorpus;
use libafl::{Error, HasMetadata};
use misrule_world::Rng;

/// Picks the kept schedule that owns one of the least visited cells of a few drawn ones.
#[derive(Debug)]
pub(crate) struct CellScheduler {
    rng: Rng,
}

impl CellScheduler {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed) }
    }
}

impl<S: HasCorpus<Candidate> + HasMetadata> Scheduler<Candidate, S> for CellScheduler {
    fn on_add(&mut self, _state: &mut S, _id: CorpusId) -> Result<(), Error> {
        Ok(())
    }

    fn next(&mut self, state: &mut S) -> Result<CorpusId, Error> {
        let owner = state.metadata::<Archive>()?.pick_owner(&mut self.rng).map(CorpusId);
        let id = owner
            .or_else(|| state.corpus().first())
            .ok_or_else(|| Error::empty("the corpus has lost its first entry"))?;
        self.set_current_scheduled(state, Some(id))?;
        Ok(id)
    }

    fn set_current_scheduled(&mut self, state: &mut S, next: Option<CorpusId>) -> Result<(), Error> {
        *state.corpus_mut().current_mut() = next;
        Ok(())
    }
}

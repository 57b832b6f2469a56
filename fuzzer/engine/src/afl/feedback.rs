//! Feedbacks: a run that met new cells is kept, cut at the last of them; a run that failed is a solution.

use super::input::Candidate;
use super::observer::RunObserver;
use crate::way::Way;
use libafl::Error;
use libafl::HasMetadata;
use libafl::corpus::Testcase;
use libafl::executors::ExitKind;
use libafl::feedbacks::{Feedback, StateInitializer};
use libafl_bolts::Named;
use libafl_bolts::impl_serdeany;
use libafl_bolts::tuples::{Handle, MatchName, MatchNameRef};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Metadata of a kept schedule: the steps after which it met cells.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CellDepths(pub(crate) Vec<u32>);
impl_serdeany!(CellDepths);

/// Keeps runs that met new cells, or known ones by a clearly shorter way.
#[derive(Debug)]
pub(crate) struct NewCellFeedback {
    handle: Handle<RunObserver>,
}

impl NewCellFeedback {
    pub(crate) fn new(handle: Handle<RunObserver>) -> Self {
        Self { handle }
    }
}

impl Named for NewCellFeedback {
    fn name(&self) -> &Cow<'static, str> {
        &Cow::Borrowed("new-cell")
    }
}

impl<S> StateInitializer<S> for NewCellFeedback {}

impl<EM, OT: MatchName, S> Feedback<EM, Candidate, OT, S> for NewCellFeedback {
    fn is_interesting(
        &mut self,
        _state: &mut S,
        _manager: &mut EM,
        _input: &Candidate,
        observers: &OT,
        _exit: &ExitKind,
    ) -> Result<bool, Error> {
        Ok(run(observers, &self.handle)?.observed.met.iter().any(|met| met.step > 0))
    }

    fn append_metadata(
        &mut self,
        _state: &mut S,
        _manager: &mut EM,
        observers: &OT,
        testcase: &mut Testcase<Candidate>,
    ) -> Result<(), Error> {
        let observed = &run(observers, &self.handle)?.observed;
        let keep = observed.met.last().map_or(0, |met| met.step);
        let (choices, resumed) = (&observed.execution.choices, observed.execution.resumed);
        // A run that followed its way, or went on from the end of it, shares it.
        let follows = |input: &&Candidate| !input.mutant && (observed.execution.skipped == 0 || resumed > 0);
        let way = match testcase.input().as_ref().filter(follows).map(|input| &input.way) {
            Some(way) if keep <= way.len() => way.cut(keep),
            Some(way) => way.then(&choices[(way.len() - resumed) as usize..(keep - resumed) as usize]),
            None => Way::new(&choices[..keep as usize]),
        };
        testcase.set_input(Candidate { way, tail: None, mutant: false });
        testcase.add_metadata(CellDepths(observed.met.iter().map(|met| met.step).collect()));
        Ok(())
    }
}

/// Every failing run is a solution; the campaign tells findings apart by fingerprint and does not store them
/// here.
#[derive(Debug)]
pub(crate) struct FailureFeedback {
    handle: Handle<RunObserver>,
}

impl FailureFeedback {
    pub(crate) fn new(handle: Handle<RunObserver>) -> Self {
        Self { handle }
    }
}

impl Named for FailureFeedback {
    fn name(&self) -> &Cow<'static, str> {
        &Cow::Borrowed("failure")
    }
}

impl<S> StateInitializer<S> for FailureFeedback {}

impl<EM, OT: MatchName, S> Feedback<EM, Candidate, OT, S> for FailureFeedback {
    fn is_interesting(
        &mut self,
        _state: &mut S,
        _manager: &mut EM,
        _input: &Candidate,
        observers: &OT,
        _exit: &ExitKind,
    ) -> Result<bool, Error> {
        Ok(run(observers, &self.handle)?.observed.execution.failure.is_some())
    }

    fn append_metadata(
        &mut self,
        _state: &mut S,
        _manager: &mut EM,
        _observers: &OT,
        testcase: &mut Testcase<Candidate>,
    ) -> Result<(), Error> {
        // The finding keeps the schedule; a second copy of every duplicate would only fill memory.
        testcase.set_input(Candidate::default());
        Ok(())
    }
}

fn run<'a, OT: MatchName>(observers: &'a OT, handle: &Handle<RunObserver>) -> Result<&'a RunObserver, Error> {
    observers.get(handle).ok_or_else(|| Error::illegal_state("no run observer"))
}

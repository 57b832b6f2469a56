//! The oracle of linearizability.

use super::{Processes, describe, nothing, outcome};
use crate::clients::{Answer, Call, ClientEvent};
use crate::report::{Failure, Report};
use crate::vocabulary::Vocabulary;
use misrule_history::{Misfit, Online, OnlineVerdict, Operation, Specification};

/// Configurations that one execution may try and give up before the oracle says that it does not know. Each takes
/// some 50 bytes until the next execution begins.
pub const CONFIGURATIONS_MAX: usize = 100_000;

/// Judges after each answer whether all that clients saw is linearizable: whether each call could have taken effect at
/// one moment between question and answer. The step of the first answer that fits no order fails.
///
/// ```
/// use misrule_history::specifications::Cell;
/// use misrule_world::{Answer, Argument, Call, ClientEvent, Operation, Report, Vocabulary};
/// use misrule_world::histories::Linearizable;
///
/// let operation = |name, argument| Operation { name, argument, weight: 1 };
/// let operations = vec![operation("write", Argument::Fresh), operation("read", Argument::None)];
/// let vocabulary = Vocabulary { nodes: 2, operations, sessions: 2, ..Vocabulary::default() };
/// let mut oracle = Linearizable::new(&vocabulary, Cell::register());
///
/// // Session 1 writes 7 and is told so; then session 2 reads nothing.
/// let (write, read) = (Call::new(0, 1).unwrap(), Call::new(1, 2).unwrap());
/// let mut report = Report::default();
/// for event in [
///     ClientEvent::Asked { call: write, node: 0, operation: 0, argument: 7 },
///     ClientEvent::Answered { call: write, answer: Answer::Nothing },
///     ClientEvent::Asked { call: read, node: 1, operation: 1, argument: 0 },
///     ClientEvent::Answered { call: read, answer: Answer::Nothing },
/// ] {
///     assert!(report.failure.is_none());
///     oracle.after(&[event], &mut report);
/// }
/// let failure = report.failure.unwrap();
/// assert_eq!((failure.oracle, failure.property.as_str()), ("history", "linearizable"));
/// assert_eq!(failure.message, "process 1: read -> ok cannot be placed; in this order it is answered 7");
/// ```
pub struct Linearizable<S: Specification> {
    vocabulary: Vocabulary,
    online: Online<S>,
    processes: Processes,
    /// For each session its open call, if it has one, with the number by which `online` knows it.
    open: Vec<(Option<(Call, usize)>, Operation)>,
    undecided: u64,
}

impl<S: Specification> Linearizable<S> {
    /// For a target with this vocabulary, whose operations are those of the specification.
    pub fn new(vocabulary: &Vocabulary, specification: S) -> Self {
        Self::within(vocabulary, specification, CONFIGURATIONS_MAX)
    }

    /// The same with another limit than [`CONFIGURATIONS_MAX`].
    pub fn within(vocabulary: &Vocabulary, specification: S, configurations_max: usize) -> Self {
        Self {
            vocabulary: vocabulary.clone(),
            online: Online::new(specification, configurations_max),
            processes: Processes::new(vocabulary),
            open: (0..vocabulary.sessions).map(|_| (None, nothing())).collect(),
            undecided: 0,
        }
    }

    /// A new execution.
    pub fn reset(&mut self) {
        self.online.reset();
        self.processes.reset();
        for (call, _) in &mut self.open {
            *call = None;
        }
    }

    /// Looks at what clients did and saw in a step, and puts a failure into the report if there is none yet. Operations
    /// that the specification does not have fail too.
    pub fn after(&mut self, clients: &[ClientEvent], report: &mut Report) {
        for event in clients {
            match self.saw(*event) {
                Ok(None) => {}
                Ok(Some(failure)) => drop(report.failure.get_or_insert(failure)),
                Err(misfit) => {
                    let text = format!("the target does not fit its specification: {}", misfit.text);
                    report.failure.get_or_insert(Failure::new("history", "fits-specification", text));
                }
            }
        }
    }

    /// In how many executions the limit was exceeded, so that what was seen from there on was not judged; for
    /// [`Tally::undecided`](crate::Tally::undecided).
    pub fn undecided(&self) -> (&'static str, u64) {
        ("linearizable", self.undecided)
    }

    fn saw(&mut self, event: ClientEvent) -> Result<Option<Failure>, Misfit> {
        match event {
            ClientEvent::Asked { call, operation, argument, .. } => {
                let process = self.processes.of(call);
                if let Some((open, asked)) = self.open.get_mut(usize::from(call.session())) {
                    describe(asked, &self.vocabulary, operation, argument);
                    asked.process = process;
                    *open = Some((call, self.online.invoke(asked)?));
                }
                Ok(None)
            }
            ClientEvent::Retried { .. } => Ok(None),
            ClientEvent::Answered { call, answer } => self.answered(call, answer),
            ClientEvent::Abandoned { call } => {
                self.processes.abandon(call);
                if let Some((open, _)) = self.open.get_mut(usize::from(call.session())) {
                    *open = None;
                }
                Ok(None)
            }
        }
    }

    fn answered(&mut self, call: Call, answer: Answer) -> Result<Option<Failure>, Misfit> {
        let Some((open, asked)) = self.open.get_mut(usize::from(call.session())) else { return Ok(None) };
        let Some((_, number)) = open.take_if(|(known, _)| *known == call) else { return Ok(None) };
        if self.online.verdict() != OnlineVerdict::Holds {
            return Ok(None);
        }
        // The reason is not looked at, and an empty one takes no memory.
        asked.outcome = outcome(answer, "");
        match self.online.answer(number, asked)? {
            OnlineVerdict::Holds => Ok(None),
            OnlineVerdict::Unknown => {
                self.undecided += 1;
                Ok(None)
            }
            OnlineVerdict::Broken => {
                let allowed = self.online.allowed().join(" or ");
                let text = format!("{asked} cannot be placed; in this order it is answered {allowed}");
                Ok(Some(Failure::new("history", "linearizable", text)))
            }
        }
    }
}

//! Histories: what clients asked, what they were told, and in which order.

use crate::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;

/// How an operation ended, as far as its client knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It took effect, with this result.
    Ok(Value),
    /// It did not happen, and never will.
    Failed {
        /// Why, where that is known. A comparison that failed for no other reason than its value has none.
        error: Option<String>,
    },
    /// Nobody knows: it may have taken effect, may still do so at any later time, or never. Abandoned operations
    /// are of this kind too.
    Unknown,
}

/// One operation of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The client, which has at most one operation open at a time.
    pub process: u64,
    /// The name of what was asked: `read`, `enqueue`. A name that the program knows takes no memory.
    pub function: Cow<'static, str>,
    /// Which object it was asked of, where there are several; objects are independent.
    pub key: Option<Value>,
    /// What was given.
    pub argument: Value,
    /// How it ended.
    pub outcome: Outcome,
    /// The number of the event that began it, in real-time order; in a file, the line.
    pub invoked: u64,
    /// The number of the event that ended it; none where the outcome is unknown.
    pub returned: Option<u64>,
}

impl fmt::Display for Operation {
    /// As people read it: `process 3: cas [1,2] -> fail`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}: {}", self.process, self.function)?;
        if let Some(key) = &self.key {
            write!(f, " {key}")?;
        }
        if self.argument != Value::Nil {
            write!(f, " {}", self.argument)?;
        }
        match &self.outcome {
            Outcome::Ok(result) if *result == Value::Nil || *result == self.argument => write!(f, " -> ok"),
            Outcome::Ok(result) => write!(f, " -> {result}"),
            Outcome::Failed { .. } => write!(f, " -> fail"),
            Outcome::Unknown => write!(f, " -> unknown"),
        }
    }
}

/// An event that cannot follow those before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OrderError {
    /// The client waits for the answer to another operation; the new one was not recorded.
    #[error("process {process} has an operation open since event {since}")]
    Open {
        /// The client.
        process: u64,
        /// The event that began its open operation.
        since: u64,
    },
    /// The client waits for no answer; the answer was not recorded.
    #[error("an answer before its question: process {process} has no operation open")]
    NothingOpen {
        /// The client.
        process: u64,
    },
}

/// What clients asked and were told, in real-time order. Operations without an answer are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    operations: Vec<Operation>,
    open: BTreeMap<u64, usize>,
    events: u64,
}

impl History {
    /// Without operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// The operations, in the order in which they began.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The operation for whose answer this client waits.
    pub fn open(&self, process: u64) -> Option<&Operation> {
        self.open.get(&process).map(|at| &self.operations[*at])
    }

    /// Records that a client asks; the result is the operation's position.
    ///
    /// # Errors
    /// When the client has an operation open.
    pub fn invoke(
        &mut self,
        process: u64,
        function: impl Into<Cow<'static, str>>,
        key: Option<Value>,
        argument: Value,
    ) -> Result<usize, OrderError> {
        if let Some(open) = self.open(process) {
            return Err(OrderError::Open { process, since: open.invoked });
        }
        self.events += 1;
        let at = self.operations.len();
        self.open.insert(process, at);
        self.operations.push(Operation {
            process,
            function: function.into(),
            key,
            argument,
            outcome: Outcome::Unknown,
            invoked: self.events,
            returned: None,
        });
        Ok(at)
    }

    /// Records the answer to a client's open operation, or that the client abandons it ([`Outcome::Unknown`]); the
    /// result is the operation's position.
    ///
    /// # Errors
    /// When the client has no operation open.
    pub fn complete(&mut self, process: u64, outcome: Outcome) -> Result<usize, OrderError> {
        let at = self.open.remove(&process).ok_or(OrderError::NothingOpen { process })?;
        self.events += 1;
        let operation = &mut self.operations[at];
        operation.returned = (outcome != Outcome::Unknown).then_some(self.events);
        operation.outcome = outcome;
        Ok(at)
    }

    /// Makes the next event at least this one: lines of a file that hold no event are numbers left out.
    pub(crate) fn skip_to(&mut self, event: u64) {
        self.events = self.events.max(event.saturating_sub(1));
    }
}

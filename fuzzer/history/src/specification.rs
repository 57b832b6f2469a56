//! What an object may answer.

use crate::{Operation, Value};
use std::hash::Hash;
use thiserror::Error;

/// An operation that a specification does not know, or whose argument or result cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("event {event}: {text}")]
pub struct Misfit {
    /// The event, in a file the line.
    pub event: u64,
    /// Which field is wrong, as in a file: `f`, `key` or `value`.
    pub field: &'static str,
    /// What was expected, and what stands there.
    pub text: String,
}

/// A sequential object. Four methods say what it does; the others, which may stay as they are, let the search see
/// dead ends early.
pub trait Specification {
    /// The object's state.
    type State: Clone + Eq + Hash;
    /// What was asked and what was answered, understood once.
    type Call: Clone + PartialEq;

    /// Understands an operation. `None` when it tells nothing and does nothing, whenever it took effect: a write that
    /// failed, a read without an answer.
    ///
    /// # Errors
    /// When no such operation exists.
    fn call(&self, operation: &Operation) -> Result<Option<Self::Call>, Misfit>;

    /// The state before all operations.
    fn init(&self) -> Self::State;

    /// The state after the operation, or `None` where it could not have been answered so. A call without an answer
    /// is possible in every state.
    fn step(&self, state: &Self::State, call: &Self::Call) -> Option<Self::State>;

    /// What would have been answered in this state, for people.
    fn allowed(&self, state: &Self::State, call: &Self::Call) -> String;

    /// The object that is asked. Objects do not know of each other, and each begins in the same state.
    fn partition<'a>(&self, operation: &'a Operation) -> Option<&'a Value> {
        operation.key.as_ref()
    }

    /// Whether the call never changes the state, whatever that is. May say no too often.
    fn only_looks(&self, _call: &Self::Call) -> bool {
        false
    }

    /// Whether the call is possible in every state and leads to the same one from each. May say no too often.
    fn overwrites(&self, _call: &Self::Call) -> bool {
        false
    }

    /// The only state in which the call is possible, if there is only one.
    fn needs(&self, _call: &Self::Call) -> Option<Self::State> {
        None
    }

    /// Whether the call may lead to this state from some other one. May say yes too often, never no wrongly.
    fn may_give(&self, _call: &Self::Call, _state: &Self::State) -> bool {
        true
    }

    /// Whether the call is answered alike in all states that it changes. May say no too often.
    fn answers_alike(&self, _call: &Self::Call) -> bool {
        false
    }
}

/// `function` is none of `known`.
pub(crate) fn unknown_function(operation: &Operation, known: &[&str]) -> Misfit {
    let text = format!("expected {}, found `{}`", known.join(", "), operation.function);
    Misfit { event: operation.invoked, field: "f", text }
}

/// The argument is not what was expected.
pub(crate) fn wrong_argument(operation: &Operation, expected: &str) -> Misfit {
    let text = format!("`{}` takes {expected}, found {}", operation.function, operation.argument);
    Misfit { event: operation.invoked, field: "value", text }
}

/// The result is not what was expected.
pub(crate) fn wrong_result(operation: &Operation, expected: &str, found: &Value) -> Misfit {
    let text = format!("`{}` answers {expected}, found {found}", operation.function);
    Misfit { event: operation.returned.unwrap_or(operation.invoked), field: "value", text }
}

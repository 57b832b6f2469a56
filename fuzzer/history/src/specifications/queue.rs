//! A queue, first in, first out.

use crate::specification::{unknown_function, wrong_argument};
use crate::{Misfit, Operation, Outcome, Specification, Value};

/// `enqueue` takes a value other than nil; `dequeue` answers the oldest value, or nil where there is none. Empty at
/// first.
#[derive(Clone, Copy, Debug)]
pub struct Queue;

/// What is asked of a [`Queue`], with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueCall {
    /// Add at the end.
    Enqueue(Value),
    /// Take the first; `None` without an answer.
    Dequeue(Option<Value>),
}

impl Specification for Queue {
    type State = Vec<Value>;
    type Call = QueueCall;

    fn call(&self, operation: &Operation) -> Result<Option<QueueCall>, Misfit> {
        let call = match &*operation.function {
            "enqueue" if operation.argument == Value::Nil => {
                return Err(wrong_argument(operation, "a value other than null"));
            }
            "enqueue" => QueueCall::Enqueue(operation.argument.clone()),
            "dequeue" => QueueCall::Dequeue(match &operation.outcome {
                Outcome::Ok(result) => Some(result.clone()),
                Outcome::Failed { .. } | Outcome::Unknown => None,
            }),
            _ => return Err(unknown_function(operation, &["enqueue", "dequeue"])),
        };
        Ok((!matches!(operation.outcome, Outcome::Failed { .. })).then_some(call))
    }

    fn init(&self) -> Vec<Value> {
        Vec::new()
    }

    fn step(&self, state: &Vec<Value>, call: &QueueCall) -> Option<Vec<Value>> {
        match call {
            QueueCall::Enqueue(value) => Some(state.iter().chain([value]).cloned().collect()),
            QueueCall::Dequeue(result) => {
                let possible =
                    result.as_ref().is_none_or(|result| result == state.first().unwrap_or(&Value::Nil));
                possible.then(|| state.get(1..).unwrap_or_default().to_vec())
            }
        }
    }

    fn allowed(&self, state: &Vec<Value>, call: &QueueCall) -> String {
        match call {
            QueueCall::Enqueue(_) => "ok".to_owned(),
            QueueCall::Dequeue(_) => state.first().unwrap_or(&Value::Nil).to_string(),
        }
    }

    fn only_looks(&self, call: &QueueCall) -> bool {
        *call == QueueCall::Dequeue(Some(Value::Nil))
    }

    fn needs(&self, call: &QueueCall) -> Option<Vec<Value>> {
        self.only_looks(call).then(Vec::new)
    }

    fn may_give(&self, call: &QueueCall, state: &Vec<Value>) -> bool {
        match call {
            QueueCall::Enqueue(value) => state.last() == Some(value),
            QueueCall::Dequeue(_) => true,
        }
    }

    fn answers_alike(&self, call: &QueueCall) -> bool {
        matches!(call, QueueCall::Enqueue(_))
    }
}

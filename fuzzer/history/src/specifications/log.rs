//! A log that only grows.

use crate::specification::{unknown_function, wrong_argument, wrong_result};
use crate::{Misfit, Operation, Outcome, Specification, Value};

/// `append` takes an entry and answers nothing, the entry, or a list of its position (from 0) and the entry; `read`
/// takes nothing and answers all entries as a list, or takes a position and answers the entry there, nil where there
/// is none yet. Empty at first.
#[derive(Clone, Copy, Debug)]
pub struct AppendLog;

/// What is asked of an [`AppendLog`], with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogCall {
    /// Add at the end; with the position, where that was told.
    Append(Value, Option<usize>),
    /// These were all entries.
    ReadAll(Vec<Value>),
    /// The entry at this position was this.
    ReadAt(usize, Value),
}

fn position(value: &Value) -> Option<usize> {
    match value {
        Value::Integer(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

impl Specification for AppendLog {
    type State = Vec<Value>;
    type Call = LogCall;

    fn call(&self, operation: &Operation) -> Result<Option<LogCall>, Misfit> {
        let argument = &operation.argument;
        match (&*operation.function, &operation.outcome) {
            ("append", _) if *argument == Value::Nil => {
                Err(wrong_argument(operation, "a value other than null"))
            }
            ("append", Outcome::Failed { .. }) => Ok(None),
            ("append", Outcome::Unknown) => Ok(Some(LogCall::Append(argument.clone(), None))),
            ("append", Outcome::Ok(result)) => {
                let expected = "nothing, its argument, or a list of position and argument";
                let at = match result {
                    result if *result == Value::Nil || result == argument => None,
                    Value::List(pair) if pair.len() == 2 && pair[1] == *argument => position(&pair[0]),
                    _ => return Err(wrong_result(operation, expected, result)),
                };
                let told = *result != Value::Nil && result != argument;
                if told && at.is_none() {
                    return Err(wrong_result(operation, expected, result));
                }
                Ok(Some(LogCall::Append(argument.clone(), at)))
            }
            ("read", outcome) => {
                let at = match argument {
                    Value::Nil => None,
                    other => Some(
                        position(other).ok_or_else(|| wrong_argument(operation, "a position or nothing"))?,
                    ),
                };
                match (at, outcome) {
                    (_, Outcome::Failed { .. } | Outcome::Unknown) => Ok(None),
                    (Some(at), Outcome::Ok(entry)) => Ok(Some(LogCall::ReadAt(at, entry.clone()))),
                    (None, Outcome::Ok(Value::List(entries))) => Ok(Some(LogCall::ReadAll(entries.clone()))),
                    (None, Outcome::Ok(result)) => {
                        Err(wrong_result(operation, "a list of all entries", result))
                    }
                }
            }
            _ => Err(unknown_function(operation, &["append", "read"])),
        }
    }

    fn init(&self) -> Vec<Value> {
        Vec::new()
    }

    fn step(&self, state: &Vec<Value>, call: &LogCall) -> Option<Vec<Value>> {
        let possible = match call {
            LogCall::Append(entry, at) => {
                let fits = at.is_none_or(|at| at == state.len());
                return fits.then(|| state.iter().chain([entry]).cloned().collect());
            }
            LogCall::ReadAll(entries) => entries == state,
            LogCall::ReadAt(at, entry) => entry == state.get(*at).unwrap_or(&Value::Nil),
        };
        possible.then(|| state.clone())
    }

    fn allowed(&self, state: &Vec<Value>, call: &LogCall) -> String {
        match call {
            LogCall::Append(..) => format!("position {}", state.len()),
            LogCall::ReadAll(_) => Value::List(state.clone()).to_string(),
            LogCall::ReadAt(at, _) => state.get(*at).unwrap_or(&Value::Nil).to_string(),
        }
    }

    fn only_looks(&self, call: &LogCall) -> bool {
        matches!(call, LogCall::ReadAll(_) | LogCall::ReadAt(..))
    }

    fn needs(&self, call: &LogCall) -> Option<Vec<Value>> {
        match call {
            LogCall::ReadAll(entries) => Some(entries.clone()),
            LogCall::Append(..) | LogCall::ReadAt(..) => None,
        }
    }

    fn may_give(&self, call: &LogCall, state: &Vec<Value>) -> bool {
        match call {
            LogCall::Append(entry, at) => {
                state.last() == Some(entry) && at.is_none_or(|at| at + 1 == state.len())
            }
            LogCall::ReadAll(_) | LogCall::ReadAt(..) => false,
        }
    }
}

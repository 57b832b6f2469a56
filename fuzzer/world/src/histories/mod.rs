//! What clients saw, as histories: oracles that judge it while an execution runs, and the history that goes into a
//! file.
//!
//! A call is an operation of a history: its function is the operation's name in the vocabulary; an argument is a
//! whole number, or with [`Argument::Keyed`] a key and none, one or a list of two values, where 0 is null. So a target
//! whose operations are called as in a specification of `misrule-history` needs to say nothing more. A session that
//! gives up a call goes on as a new process.

mod linearizable;
mod listener;
mod writes;

pub use linearizable::{CONFIGURATIONS_MAX, Linearizable};
pub use listener::Listener;
pub use writes::{Repeats, Writes};

use crate::clients::{Answer, Call, ClientEvent};
use crate::vocabulary::{Argument, Keyed, KeyedValues, Vocabulary};
use misrule_history::{History, Operation, OrderError, Outcome, Value};

/// The history of what clients did and saw, in order; for a file, `misrule_history::print` writes it.
///
/// # Errors
/// Events that no world tells of, such as two open calls of one session.
pub fn history<'a>(
    vocabulary: &Vocabulary,
    events: impl IntoIterator<Item = &'a ClientEvent>,
) -> Result<History, OrderError> {
    let mut history = History::new();
    let mut processes = Processes::new(vocabulary);
    for event in events {
        match *event {
            ClientEvent::Asked { call, operation, argument, .. } => {
                let mut asked = nothing();
                describe(&mut asked, &mut Vec::new(), vocabulary, operation, argument);
                history.invoke(processes.of(call), asked.function, asked.key, asked.argument)?;
            }
            ClientEvent::Retried { .. } => {}
            ClientEvent::Answered { call, answer } => {
                history.complete(processes.of(call), outcome(answer, REFUSED))?;
            }
            ClientEvent::Abandoned { call } => {
                history.complete(processes.of(call), Outcome::Unknown)?;
                processes.abandon(call);
            }
        }
    }
    Ok(history)
}

/// Why an operation failed, as files tell it.
const REFUSED: &str = "refused";

/// For each session the process that it is now.
struct Processes(Vec<u64>);

impl Processes {
    fn new(vocabulary: &Vocabulary) -> Self {
        Self((0..u64::from(vocabulary.sessions)).collect())
    }

    /// A new execution.
    fn reset(&mut self) {
        for (process, session) in self.0.iter_mut().zip(0..) {
            *process = session;
        }
    }

    fn of(&self, call: Call) -> u64 {
        self.0.get(usize::from(call.session())).copied().unwrap_or_default()
    }

    fn abandon(&mut self, call: Call) {
        let sessions = self.0.len() as u64;
        if let Some(process) = self.0.get_mut(usize::from(call.session())) {
            *process += sessions;
        }
    }
}

/// An operation that says nothing yet.
fn nothing() -> Operation {
    Operation {
        process: 0,
        function: "".into(),
        key: None,
        argument: Value::Nil,
        outcome: Outcome::Unknown,
        invoked: 0,
        returned: None,
    }
}

/// Makes `out` the operation that is asked. A list of values is made in the memory of the last one.
fn describe(
    out: &mut Operation,
    list: &mut Vec<Value>,
    vocabulary: &Vocabulary,
    operation: u8,
    argument: u32,
) {
    let known = vocabulary.operations.get(usize::from(operation));
    out.function = known.map_or("?", |known| known.name).into();
    out.outcome = Outcome::Unknown;
    let number = |number: u16| if number == 0 { Value::Nil } else { Value::Integer(i64::from(number)) };
    let Keyed { key, from, value } = Keyed::of(argument);
    if let Value::List(last) = &mut out.argument {
        *list = std::mem::take(last);
    }
    out.key = None;
    match known.map_or(Argument::None, |known| known.argument) {
        Argument::None => out.argument = Value::Nil,
        Argument::Fresh | Argument::Below(_) => out.argument = Value::Integer(i64::from(argument)),
        Argument::Peer => out.argument = Value::Integer(i64::from(argument) + 1),
        Argument::Keyed { values, .. } => {
            out.key = Some(Value::Integer(i64::from(key)));
            match values {
                KeyedValues::None => out.argument = Value::Nil,
                KeyedValues::Fresh => out.argument = number(value),
                KeyedValues::FromTo => {
                    list.clear();
                    list.extend([number(from), number(value)]);
                    out.argument = Value::List(std::mem::take(list));
                }
            }
        }
    }
}

/// What an answer says; `refused` is the reason of one that failed.
fn outcome(answer: Answer, refused: &str) -> Outcome {
    match answer {
        Answer::Nothing => Outcome::Ok(Value::Nil),
        Answer::Bool(value) => Outcome::Ok(Value::Bool(value)),
        Answer::Number(value) => Outcome::Ok(Value::Integer(i64::from(value))),
        Answer::Failed => Outcome::Failed { error: Some(refused.to_owned()) },
    }
}

#[cfg(test)]
mod tests;

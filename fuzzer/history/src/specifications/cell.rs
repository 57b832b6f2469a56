//! One value that is read, written, compared and set, appended to: registers, and a key of a key-value store.

use crate::specification::{unknown_function, wrong_argument, wrong_result};
use crate::{Misfit, Operation, Outcome, Specification, Value};

/// One value. Three specifications differ in what it is at first and which functions there are.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The value at first. As a text it also means nil: a store may answer either for a key that was never set.
    init: Value,
    functions: &'static [&'static str],
    keyed: bool,
}

impl Cell {
    /// `read` and `write`; nil at first.
    pub fn register() -> Self {
        Self { init: Value::Nil, functions: &["read", "write"], keyed: false }
    }

    /// `read`, `write` and `cas`, which takes a list of the value to compare with and the value to set; nil at first.
    pub fn cas_register() -> Self {
        Self { init: Value::Nil, functions: &["read", "write", "cas"], keyed: false }
    }

    /// For each key, `get`, `put`, `append` (of a text to a text), `delete` and `cas`; the empty text at first.
    pub fn key_value() -> Self {
        let functions = &["get", "put", "append", "delete", "cas"];
        Self { init: Value::Text(String::new()), functions, keyed: true }
    }

    /// A value as this cell holds it.
    fn held(&self, value: &Value) -> Value {
        if *value == Value::Nil { self.init.clone() } else { value.clone() }
    }
}

/// What is asked of a [`Cell`], with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellCall {
    /// The value was this.
    Read(Value),
    /// Set the value.
    Write(Value),
    /// Add a text at the end; done to anything but a text, it does nothing.
    Append(String),
    /// Set the value if it is another.
    CompareAndSet {
        /// The value to compare with.
        from: Value,
        /// The value to set.
        to: Value,
        /// Whether they were equal, where that is known.
        equal: Option<bool>,
    },
}

impl Specification for Cell {
    type State = Value;
    type Call = CellCall;

    fn call(&self, operation: &Operation) -> Result<Option<CellCall>, Misfit> {
        let function = &*operation.function;
        if !self.functions.contains(&function) {
            return Err(unknown_function(operation, self.functions));
        }
        if self.keyed && operation.key.is_none() {
            let text = format!("expected a key for `{function}`");
            return Err(Misfit { event: operation.invoked, field: "key", text });
        }
        let failed = matches!(operation.outcome, Outcome::Failed { .. });
        let call = match (function, &operation.argument) {
            ("read" | "get", _) => match &operation.outcome {
                Outcome::Ok(result) => CellCall::Read(self.held(result)),
                Outcome::Failed { .. } | Outcome::Unknown => return Ok(None),
            },
            ("cas", Value::List(pair)) => {
                let [from, to] = pair.as_slice() else {
                    return Err(wrong_argument(operation, "a list of two values"));
                };
                let equal = match &operation.outcome {
                    Outcome::Ok(Value::Bool(equal)) => Some(*equal),
                    Outcome::Ok(result) if *result == Value::Nil || *result == operation.argument => {
                        Some(true)
                    }
                    Outcome::Ok(result) => {
                        return Err(wrong_result(operation, "nothing, its argument, true or false", result));
                    }
                    Outcome::Failed { error: None } => Some(false),
                    Outcome::Failed { error: Some(_) } => return Ok(None),
                    Outcome::Unknown => None,
                };
                CellCall::CompareAndSet { from: self.held(from), to: self.held(to), equal }
            }
            ("cas", _) => return Err(wrong_argument(operation, "a list of two values")),
            ("append", Value::Text(text)) => CellCall::Append(text.clone()),
            ("append", _) => return Err(wrong_argument(operation, "a text")),
            ("delete", _) => CellCall::Write(self.init.clone()),
            (_, value) => CellCall::Write(self.held(value)),
        };
        let says = matches!(call, CellCall::Read(_) | CellCall::CompareAndSet { .. });
        Ok((says || !failed).then_some(call))
    }

    fn init(&self) -> Value {
        self.init.clone()
    }

    fn step(&self, state: &Value, call: &CellCall) -> Option<Value> {
        match call {
            CellCall::Read(value) => (state == value).then(|| state.clone()),
            CellCall::Write(value) => Some(value.clone()),
            CellCall::Append(text) => Some(match state {
                Value::Text(before) => Value::Text([before.as_str(), text].concat()),
                other => other.clone(),
            }),
            CellCall::CompareAndSet { from, to, equal } => {
                let now = state == from;
                let next = if now { to } else { state };
                equal.is_none_or(|equal| equal == now).then(|| next.clone())
            }
        }
    }

    fn allowed(&self, state: &Value, call: &CellCall) -> String {
        match call {
            CellCall::Read(_) => state.to_string(),
            CellCall::Write(_) | CellCall::Append(_) => "ok".to_owned(),
            CellCall::CompareAndSet { from, .. } if state == from => format!("ok: the value is {state}"),
            CellCall::CompareAndSet { .. } => format!("fail: the value is {state}"),
        }
    }

    fn only_looks(&self, call: &CellCall) -> bool {
        match call {
            CellCall::Read(_) => true,
            CellCall::Write(_) | CellCall::Append(_) => false,
            CellCall::CompareAndSet { from, to, equal } => from == to || *equal == Some(false),
        }
    }

    fn overwrites(&self, call: &CellCall) -> bool {
        matches!(call, CellCall::Write(_))
    }

    fn needs(&self, call: &CellCall) -> Option<Value> {
        match call {
            CellCall::Read(value) => Some(value.clone()),
            CellCall::CompareAndSet { from, equal: Some(true), .. } => Some(from.clone()),
            _ => None,
        }
    }

    fn may_give(&self, call: &CellCall, state: &Value) -> bool {
        match (call, state) {
            (CellCall::Read(_) | CellCall::CompareAndSet { equal: Some(false), .. }, _) => false,
            (CellCall::Write(value) | CellCall::CompareAndSet { to: value, .. }, state) => value == state,
            (CellCall::Append(text), Value::Text(state)) => state.ends_with(text.as_str()),
            (CellCall::Append(_), _) => false,
        }
    }

    fn answers_alike(&self, _call: &CellCall) -> bool {
        // A write is always done, and a comparison that changes the value was successful.
        true
    }
}

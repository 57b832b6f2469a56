//! Objects and histories for tests, written without the crate's specifications.

#![allow(clippy::cast_possible_wrap, dead_code, reason = "small numbers; not every test uses everything")]

use misrule_history::specifications::Named;
use misrule_history::{History, Operation, Outcome, Value};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;

/// Draws for tests.
pub(crate) struct Draw(Xoshiro256PlusPlus);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A plain object of each kind: cells hold a value, queues and logs hold lists.
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) named: Named,
    cells: BTreeMap<Option<Value>, Value>,
    lists: BTreeMap<Option<Value>, Vec<Value>>,
}

impl Object {
    pub(crate) fn new(named: Named) -> Self {
        Self { named, cells: BTreeMap::new(), lists: BTreeMap::new() }
    }

    /// Does one operation and answers; `None` for a comparison that failed.
    pub(crate) fn apply(&mut self, function: &str, key: Option<&Value>, argument: &Value) -> Option<Value> {
        let first = if self.named == Named::KeyValue { Value::from("") } else { Value::Nil };
        let cell = self.cells.entry(key.cloned()).or_insert(first);
        let list = self.lists.entry(key.cloned()).or_default();
        match (self.named, function, argument) {
            (_, "read" | "get", _) if self.named != Named::Log => return Some(cell.clone()),
            (_, "write" | "put", value) => *cell = value.clone(),
            (_, "cas", Value::List(pair)) => {
                if *cell != pair[0] {
                    return None;
                }
                *cell = pair[1].clone();
            }
            (Named::KeyValue, "append", Value::Text(text)) => {
                if let Value::Text(before) = cell {
                    before.push_str(text);
                }
            }
            (_, "enqueue" | "append", value) => list.push(value.clone()),
            (_, "dequeue", _) => return Some(if list.is_empty() { Value::Nil } else { list.remove(0) }),
            (_, "read", Value::Integer(at)) => {
                return Some(
                    usize::try_from(*at).ok().and_then(|at| list.get(at)).cloned().unwrap_or_default(),
                );
            }
            (_, "read", _) => return Some(Value::List(list.clone())),
            other => panic!("{other:?}"),
        }
        Some(Value::Nil)
    }
}

/// What a generated execution is like.
pub(crate) struct Shape {
    pub(crate) clients: u64,
    pub(crate) operations: u64,
    pub(crate) keys: u64,
    /// Values are below this; none for a fresh value at each write.
    pub(crate) values: Option<u64>,
    /// One in this many operations is abandoned.
    pub(crate) abandoned: u64,
}

/// An operation drawn for the object.
fn drawn(draw: &mut Draw, named: Named, shape: &Shape, fresh: &mut i64) -> (&'static str, Value) {
    let mut value = |draw: &mut Draw| {
        *fresh += 1;
        shape.values.map_or(*fresh, |values| draw.below(values) as i64)
    };
    let look = draw.one_in(2);
    match named {
        Named::Register | Named::CasRegister if look => ("read", Value::Nil),
        Named::CasRegister if draw.one_in(2) => {
            ("cas", Value::List(vec![value(draw).into(), value(draw).into()]))
        }
        Named::Register | Named::CasRegister => ("write", value(draw).into()),
        Named::KeyValue if look => ("get", Value::Nil),
        Named::KeyValue => {
            let text = format!("{};", value(draw));
            (if draw.one_in(3) { "put" } else { "append" }, text.into())
        }
        Named::Queue if look => ("dequeue", Value::Nil),
        Named::Queue => ("enqueue", value(draw).into()),
        Named::Log if look && draw.one_in(3) => ("read", Value::Integer(draw.below(4) as i64)),
        Named::Log if look => ("read", Value::Nil),
        Named::Log => ("append", value(draw).into()),
    }
}

/// Where a client is.
#[derive(Clone)]
enum Phase {
    Idle,
    Asked(&'static str, Option<Value>, Value),
    Done(Outcome),
}

/// A history of an object that does each operation at one moment between question and answer.
pub(crate) fn execution(draw: &mut Draw, named: Named, shape: &Shape) -> History {
    let mut object = Object::new(named);
    let mut history = History::new();
    let mut phases = vec![Phase::Idle; shape.clients as usize];
    let (mut begun, mut fresh) = (0, 0);
    while begun < shape.operations || phases.iter().any(|phase| !matches!(phase, Phase::Idle)) {
        let client = draw.below(shape.clients);
        let phase = &mut phases[client as usize];
        *phase = match phase.clone() {
            Phase::Idle if begun == shape.operations => continue,
            Phase::Idle => {
                begun += 1;
                let (function, argument) = drawn(draw, named, shape, &mut fresh);
                let key = (named == Named::KeyValue || shape.keys > 1)
                    .then(|| Value::from(draw.below(shape.keys).to_string()));
                history.invoke(client, function, key.clone(), argument.clone()).unwrap();
                Phase::Asked(function, key, argument)
            }
            Phase::Asked(..) if shape.abandoned > 0 && draw.one_in(2 * shape.abandoned) => {
                // Abandoned before it took effect; it never will.
                history.complete(client, Outcome::Unknown).unwrap();
                Phase::Idle
            }
            Phase::Asked(function, key, argument) => {
                Phase::Done(match object.apply(function, key.as_ref(), &argument) {
                    Some(result) => Outcome::Ok(result),
                    None => Outcome::Failed { error: None },
                })
            }
            Phase::Done(outcome) => {
                let abandon = shape.abandoned > 0 && draw.one_in(2 * shape.abandoned);
                history.complete(client, if abandon { Outcome::Unknown } else { outcome }).unwrap();
                Phase::Idle
            }
        };
    }
    history
}

/// The same history with other outcomes: `change` is asked for each answered operation.
pub(crate) fn changed(
    history: &History,
    mut change: impl FnMut(usize, &Outcome) -> Option<Outcome>,
) -> History {
    let mut events = Vec::new();
    for (at, operation) in history.operations().iter().enumerate() {
        events.push((operation.invoked, at, false));
        events.extend(operation.returned.map(|returned| (returned, at, true)));
    }
    events.sort_unstable();
    let mut other = History::new();
    for (_, at, answer) in events {
        let operation = &history.operations()[at];
        if answer {
            let outcome = change(at, &operation.outcome).unwrap_or_else(|| operation.outcome.clone());
            other.complete(operation.process, outcome).unwrap();
        } else {
            if other.open(operation.process).is_some() {
                other.complete(operation.process, Outcome::Unknown).unwrap();
            }
            let (key, argument) = (operation.key.clone(), operation.argument.clone());
            other.invoke(operation.process, operation.function.clone(), key, argument).unwrap();
        }
    }
    other
}

/// A result drawn from those that the function may give.
pub(crate) fn any_result(draw: &mut Draw, operation: &Operation) -> Outcome {
    let number = draw.below(3).cast_signed();
    match (&operation.outcome, &*operation.function) {
        (_, "cas") if draw.one_in(2) => Outcome::Failed { error: None },
        (Outcome::Ok(Value::List(list)), "read") => {
            let mut list = list.clone();
            match draw.below(3) {
                0 => list.push(number.into()),
                1 => drop(list.pop()),
                _ => list.reverse(),
            }
            Outcome::Ok(list.into())
        }
        (_, "read" | "dequeue") if draw.one_in(4) => Outcome::Ok(Value::Nil),
        (_, "read" | "dequeue") => Outcome::Ok(number.into()),
        (Outcome::Ok(Value::Text(text)), "get") => match draw.below(3) {
            0 => Outcome::Ok(format!("{text}{number};").into()),
            1 => Outcome::Ok(format!("{number};").into()),
            _ => Outcome::Ok(text.get(2..).unwrap_or_default().into()),
        },
        (outcome, _) => outcome.clone(),
    }
}

/// A shape for all orders to be tried.
pub(crate) fn small(draw: &mut Draw) -> Shape {
    Shape {
        clients: 2 + draw.below(4),
        operations: 3 + draw.below(6),
        keys: 1 + draw.below(2),
        values: Some(2 + draw.below(2)),
        abandoned: [0, 4, 2][draw.below(3) as usize],
    }
}

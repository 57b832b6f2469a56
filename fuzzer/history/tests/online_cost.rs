//! What an event costs: no allocation in the steady state, few configurations given up.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and prints its figures")]

mod common;

use common::Draw;
use misrule_history::specifications::{Cell, Named};
use misrule_history::{Online, OnlineVerdict, Operation, Outcome, Value};

const SESSIONS: usize = 8;
const EXECUTIONS: u64 = 200;
const OPERATIONS: usize = 200;
const CONFIGURATIONS_MAX: usize = 100_000;

/// A question, or an answer to the question of that number.
struct Event {
    answers: Option<usize>,
    operation: Operation,
}

/// What sessions do, and to how many keys; values are fresh ones, or some few.
#[derive(Clone, Copy)]
struct Workload {
    named: Named,
    functions: &'static [&'static str],
    keys: u64,
    values: Option<u64>,
    /// One in this many operations is abandoned.
    abandoned: u64,
}

impl Workload {
    fn question(&self, draw: &mut Draw, process: usize, fresh: &mut i64) -> Operation {
        let function = self.functions[draw.below(self.functions.len() as u64) as usize];
        let mut value = || {
            *fresh += 1;
            Value::Integer(self.values.map_or(*fresh, |values| draw.below(values).cast_signed()))
        };
        let argument = match function {
            "read" | "get" | "delete" => Value::Nil,
            "cas" => vec![value(), value()].into(),
            _ => value(),
        };
        let key = (self.keys > 1).then(|| Value::Integer(draw.below(self.keys).cast_signed()));
        let (process, function) = (process as u64, function.into());
        Operation { process, function, key, argument, outcome: Outcome::Unknown, invoked: 0, returned: None }
    }

    /// One execution: sessions ask, something happens at one moment, they are answered.
    fn execution(&self, seed: u64) -> Vec<Event> {
        let mut draw = Draw::new(seed);
        let mut cells = vec![Value::Nil; self.keys as usize];
        let mut open: Vec<Option<(usize, Operation)>> = vec![None; SESSIONS];
        let (mut events, mut asked, mut fresh) = (Vec::new(), 0, 0);
        while asked < OPERATIONS || open.iter().any(Option::is_some) {
            let session = draw.below(SESSIONS as u64) as usize;
            match &mut open[session] {
                None if asked == OPERATIONS => {}
                None => {
                    let mut operation = self.question(&mut draw, session, &mut fresh);
                    if let Value::List(pair) = &mut operation.argument {
                        // A comparison with what was there a moment ago.
                        let key = key(operation.key.as_ref());
                        pair[0] = cells[key].clone();
                    }
                    events.push(Event { answers: None, operation: operation.clone() });
                    open[session] = Some((asked, operation));
                    asked += 1;
                }
                Some((_, operation)) if operation.outcome == Outcome::Unknown => {
                    operation.outcome = done(&mut cells[key(operation.key.as_ref())], operation);
                    if self.abandoned > 0 && draw.one_in(self.abandoned) {
                        open[session] = None;
                    }
                }
                Some((number, operation)) => {
                    events.push(Event { answers: Some(*number), operation: operation.clone() });
                    open[session] = None;
                }
            }
        }
        events
    }
}

fn key(key: Option<&Value>) -> usize {
    if let Some(Value::Integer(key)) = key { key.cast_unsigned() as usize } else { 0 }
}

fn done(cell: &mut Value, operation: &Operation) -> Outcome {
    match (&*operation.function, &operation.argument) {
        ("read" | "get", _) => return Outcome::Ok(cell.clone()),
        ("cas", Value::List(pair)) if *cell != pair[0] => return Outcome::Failed { error: None },
        ("cas", Value::List(pair)) => cell.clone_from(&pair[1]),
        (_, value) => cell.clone_from(value),
    }
    Outcome::Ok(Value::Nil)
}

fn judge(online: &mut Online<Cell>, events: &[Event]) -> usize {
    online.reset();
    for event in events {
        match event.answers {
            None => drop(online.invoke(&event.operation).unwrap()),
            Some(number) => {
                assert_eq!(online.answer(number, &event.operation).unwrap(), OnlineVerdict::Holds);
            }
        }
    }
    online.given_up()
}

#[test]
fn an_event_costs_little_and_allocates_nothing() {
    let register = Workload {
        named: Named::Register,
        functions: &["read", "write"],
        keys: 1,
        values: None,
        abandoned: 0,
    };
    let cas = Workload { named: Named::CasRegister, functions: &["read", "write", "cas"], ..register };
    let kv =
        Workload { named: Named::KeyValue, functions: &["get", "put", "delete", "cas"], keys: 4, ..register };
    for (at, workload) in [register, cas, kv].into_iter().enumerate() {
        for (values, abandoned) in [(None, 0), (None, 20), (Some(3), 0), (Some(3), 20)] {
            let workload = Workload { values, abandoned, ..workload };
            let executions: Vec<Vec<Event>> =
                (0..EXECUTIONS).map(|seed| workload.execution(seed << 2 | at as u64)).collect();
            let events: usize = executions.iter().map(Vec::len).sum();
            let cell = [Cell::register(), Cell::cas_register(), Cell::key_value()][at].clone();
            let mut online = Online::new(cell, CONFIGURATIONS_MAX);
            let mut given_up = 0;
            for events in &executions {
                given_up += judge(&mut online, events);
            }
            #[expect(clippy::disallowed_methods, reason = "figures for people")]
            let start = std::time::Instant::now();
            let measured = allocation_counter::measure(|| {
                for events in &executions {
                    judge(&mut online, events);
                }
            });
            eprintln!(
                "{} values={values:?} abandoned={abandoned}: {} ns an event, {given_up} configurations given up in {events}",
                workload.named.name(),
                start.elapsed().as_nanos() / events as u128
            );
            assert_eq!(measured.count_total, 0, "allocations in {events} events");
            assert!(given_up * 4 < events, "{given_up} configurations given up in {events} events");
        }
    }
}

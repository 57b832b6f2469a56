//! Histories of 1,000 operations by 50 clients are decided.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and prints its figures")]

mod common;

use common::{Draw, Shape, changed, execution};
use misrule_history::specifications::Named;
use misrule_history::{History, Limits, Order, Outcome, Value, Verdict};

fn check(name: &str, named: Named, history: &History, steps: u64) -> Verdict {
    let limits = Limits { stop_after_steps: steps, expired: &mut || false };
    #[expect(clippy::disallowed_methods, reason = "figures for people")]
    let start = std::time::Instant::now();
    let checked = named.check(history, Order::RealTime, limits).unwrap();
    eprintln!(
        "{name} {} {}: steps={} {:?}",
        named.name(),
        checked.verdict.name(),
        checked.steps,
        start.elapsed()
    );
    // Much of the history, or of its one key, can be explained.
    assert!(checked.explanation.is_none_or(|explanation| explanation.order.len() > 20));
    checked.verdict
}

/// One answer in the second half becomes one of the first half.
fn broken(history: &History) -> History {
    let looks = |at: &usize| {
        let operation = &history.operations()[*at];
        ["read", "get"].contains(&&*operation.function) && operation.returned.is_some()
    };
    let count = history.operations().len();
    let old = (count / 5..count).find(looks).unwrap();
    let new = (count * 4 / 5..count).find(looks).unwrap();
    let result = history.operations()[old].outcome.clone();
    changed(history, |at, _| (at == new).then(|| result.clone()))
}

#[test]
fn registers_with_unique_values_are_decided() {
    for seed in 0..5 {
        let shape = Shape { clients: 50, operations: 1_000, keys: 1, values: None, abandoned: 100 };
        let history = execution(&mut Draw::new(seed), Named::Register, &shape);
        assert_eq!(check("real", Named::Register, &history, 10_000_000), Verdict::Pass);
        assert_eq!(check("broken", Named::Register, &broken(&history), 10_000_000), Verdict::Fail);
    }
}

#[test]
fn key_value_stores_are_decided() {
    for seed in 0..5 {
        let shape = Shape { clients: 50, operations: 1_000, keys: 10, values: None, abandoned: 100 };
        let history = execution(&mut Draw::new(seed), Named::KeyValue, &shape);
        assert_eq!(check("real", Named::KeyValue, &history, 10_000_000), Verdict::Pass);
        let nobody =
            changed(&history, |at, _| (at == 900).then(|| Outcome::Ok(Value::from("nobody wrote this"))));
        let other = if history.operations()[900].function == "get" { nobody } else { broken(&history) };
        assert_eq!(check("broken", Named::KeyValue, &other, 10_000_000), Verdict::Fail);
    }
}

/// What is beyond the steps is unknown, never a pass.
#[test]
fn limits_end_in_unknown() {
    let shape = Shape { clients: 50, operations: 1_000, keys: 1, values: None, abandoned: 0 };
    let history = execution(&mut Draw::new(1), Named::Register, &shape);
    assert_eq!(check("short", Named::Register, &history, 100), Verdict::Unknown);
    let mut looks = 0;
    let mut expired = || {
        looks += 1;
        looks > 1
    };
    let limits = Limits { stop_after_steps: u64::MAX, expired: &mut expired };
    let checked = Named::Register.check(&history, Order::RealTime, limits).unwrap();
    assert_eq!(checked.verdict, Verdict::Unknown);
    assert!(checked.steps <= 2048 && checked.orders.is_empty() && checked.explanation.is_none());
}

/// An answered operation of that function at or behind a place, of whose result `wanted` holds.
fn find(history: &History, from: usize, function: &str, wanted: impl Fn(&Value) -> bool) -> usize {
    let fits = |at: &usize| {
        let operation = &history.operations()[*at];
        let Outcome::Ok(result) = &operation.outcome else { return false };
        operation.function == function && operation.argument == Value::Nil && wanted(result)
    };
    (from..history.operations().len()).find(fits).unwrap()
}

/// The history with other results at some places.
fn with(history: &History, results: &[(usize, Value)]) -> History {
    changed(history, |at, _| {
        results.iter().find(|(place, _)| *place == at).map(|(_, result)| Outcome::Ok(result.clone()))
    })
}

fn result(history: &History, at: usize) -> Value {
    match &history.operations()[at].outcome {
        Outcome::Ok(result) => result.clone(),
        other => panic!("{other:?}"),
    }
}

/// The history without one operation.
fn without(history: &History, left_out: usize) -> History {
    let text = misrule_history::print(history);
    let operation = &history.operations()[left_out];
    let numbers = [Some(operation.invoked), operation.returned];
    let mut events: Vec<u64> = history.operations().iter().map(|operation| operation.invoked).collect();
    events.extend(history.operations().iter().filter_map(|operation| operation.returned));
    events.sort_unstable();
    let lines = text.lines().zip(events).filter(|(_, event)| !numbers.contains(&Some(*event)));
    misrule_history::read(&lines.map(|(line, _)| line).collect::<Vec<_>>().join("\n")).unwrap()
}

fn shape(abandoned: u64) -> Shape {
    Shape { clients: 50, operations: 1_000, keys: 1, values: None, abandoned }
}

/// The steps that must suffice, for each check.
const STEPS_MAX: u64 = 200_000;

#[test]
fn queues_are_decided() {
    for seed in 0..5 {
        for abandoned in [0, 100, 10] {
            let real = execution(&mut Draw::new(seed), Named::Queue, &shape(abandoned));
            assert_eq!(check("real", Named::Queue, &real, STEPS_MAX), Verdict::Pass);
            let there = |result: &Value| *result != Value::Nil;
            let (early, late) = (find(&real, 300, "dequeue", there), find(&real, 600, "dequeue", there));
            let (first, second) = (result(&real, early), result(&real, late));
            let swapped = with(&real, &[(early, second.clone()), (late, first.clone())]);
            let twice = with(&real, &[(late, first)]);
            let invented = with(&real, &[(late, Value::Integer(-1))]);
            for (name, broken) in [("swapped", swapped), ("twice", twice), ("invented", invented)] {
                assert_eq!(check(name, Named::Queue, &broken, STEPS_MAX), Verdict::Fail, "{name} {seed}");
            }
            if abandoned == 0 {
                // With a dequeue of unknown outcome, that one may have taken it.
                let lost = without(&real, early);
                assert_eq!(check("lost", Named::Queue, &lost, STEPS_MAX), Verdict::Fail, "{seed}");
                let nothing = with(&real, &[(early, Value::Nil)]);
                assert_eq!(check("nothing", Named::Queue, &nothing, STEPS_MAX), Verdict::Fail, "{seed}");
            }
        }
    }
}

#[test]
fn logs_are_decided() {
    for seed in 0..2 {
        for abandoned in [0, 100, 10] {
            let real = execution(&mut Draw::new(seed), Named::Log, &shape(abandoned));
            assert_eq!(check("real", Named::Log, &real, STEPS_MAX), Verdict::Pass);
            let long = |result: &Value| matches!(result, Value::List(list) if list.len() > 50);
            let (early, late) = (find(&real, 300, "read", long), find(&real, 700, "read", long));
            let Value::List(list) = result(&real, late) else { panic!("a list") };
            let changed = |change: &dyn Fn(&mut Vec<Value>)| {
                let mut list = list.clone();
                change(&mut list);
                with(&real, &[(late, list.into())])
            };
            for (name, broken) in [
                ("swapped", changed(&|list| list.swap(20, 30))),
                ("lost", changed(&|list| drop(list.remove(20)))),
                ("twice", changed(&|list| list[30] = list[20].clone())),
                ("invented", changed(&|list| list[30] = Value::Integer(-1))),
                ("stale", with(&real, &[(late, result(&real, early))])),
            ] {
                assert_eq!(check(name, Named::Log, &broken, STEPS_MAX), Verdict::Fail, "{name} {seed}");
            }
        }
    }
}

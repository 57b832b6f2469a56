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

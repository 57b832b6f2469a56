//! The split with a clock of the test's: each reading takes a microsecond.

mod common;

use common::{setup, two_phase_commit};
use misrule_engine::{EngineError, Options, SplitOptions, split};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

fn clock() -> u64 {
    NOW.set(NOW.get() + 1_000);
    NOW.get()
}

fn options(guidance: &str) -> SplitOptions {
    let campaign = Options {
        guidance: guidance.to_owned(),
        stop_after_steps: Some(5_000),
        steps_max: 300,
        ..Options::default()
    };
    SplitOptions { campaign, rounds: 2 }
}

#[test]
fn parts_are_named_once_and_measured_apart_from_the_whole() {
    let target = two_phase_commit();
    let setup = setup(&target, &[], &["pairs@model"]);
    let found = split(&target, &setup, &options("frontier"), clock).unwrap();
    let names: Vec<_> = found.parts.iter().map(|part| part.name).collect();
    let expected =
        ["target", "world", "view", "oracles", "mapping", "model", "lens", "set", "guidance", "LibAFL"];
    assert_eq!(names, expected);
    assert!(found.steps >= 5_000 && found.executions > 10);
    // With this clock, only readings take time: one an execution from outside, and a section costs nothing.
    let small = |count: u64| f64::from(u32::try_from(count).expect("a small test"));
    let whole = small(found.executions) * 1_000.0 / small(found.steps);
    assert!((found.whole - whole).abs() < 1e-6, "{} {whole}", found.whole);
    assert!(found.parts[0].nanoseconds.abs() < 1e-6, "{:?}", found.parts);
    assert!(found.sum().is_finite() && found.difference().is_finite());
}

#[test]
fn findings_do_not_end_the_measurement() {
    let target = two_phase_commit();
    let setup = setup(&target, &[("bug", "commit-on-first-yes")], &["pairs@impl"]);
    assert!(split(&target, &setup, &options("random"), clock).unwrap().steps >= 5_000);
}

#[test]
fn an_unknown_strategy_is_told() {
    let target = two_phase_commit();
    let setup = setup(&target, &[], &[]);
    assert!(matches!(split(&target, &setup, &options("nobody"), clock), Err(EngineError::Guidance(_))));
}

//! The verdicts of published histories.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and prints its figures")]

use misrule_history::specifications::Named;
use misrule_history::{Limits, Order, Verdict, print, read};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// The folder with `expected.json`; another one may be given by `MISRULE_HISTORIES`.
fn folder() -> PathBuf {
    std::env::var_os("MISRULE_HISTORIES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), PathBuf::from)
}

#[test]
fn published_verdicts_are_found_again() {
    let folder = folder();
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let expected: Json = serde_json::from_str(&text("expected.json")).unwrap();
    let expected = expected.as_object().unwrap();
    assert!(expected.len() >= 14);
    for (name, entry) in expected {
        let history = read(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let named = Named::find(entry["spec"].as_str().unwrap()).unwrap();
        let limits = Limits { stop_after_steps: 10_000_000, expired: &mut || false };
        let checked = named.check(&history, Order::RealTime, limits).unwrap();
        let wanted = if entry["linearizable"] == true { Verdict::Pass } else { Verdict::Fail };
        eprintln!(
            "{name} {} operations={} partitions={} steps={}",
            checked.verdict.name(),
            history.operations().len(),
            checked.partitions,
            checked.steps
        );
        assert_eq!(checked.verdict, wanted, "{name}");
        assert_eq!(checked.explanation.is_some(), wanted == Verdict::Fail);
        let printed = print(&history);
        let again = read(&printed).unwrap();
        assert_eq!(print(&again), printed, "{name}");
        let limits = Limits { stop_after_steps: 10_000_000, expired: &mut || false };
        assert_eq!(named.check(&again, Order::RealTime, limits).unwrap().verdict, wanted, "{name}");
    }
}

//! Diagnosing lenses on a planted bug.

mod common;

use common::{setup, two_phase_commit};
use misrule_engine::{DiagnoseOptions, Diagnosis, Wanted, diagnose, open};
use misrule_world::FaultProfile;

fn options() -> DiagnoseOptions {
    DiagnoseOptions {
        seed: 1,
        faults: FaultProfile::Default,
        conformance: true,
        before: 1,
        learn: 60_000,
        search: 400_000,
        bugs: 10,
        others: 60,
        steps_max: 300,
    }
}

fn diagnosed(bug: &str, options: DiagnoseOptions) -> Diagnosis {
    let target = two_phase_commit();
    let lenses = ["pairs@impl", "detailed@impl"];
    let mut run = open(&target, &setup(&target, &[("bug", bug)], &lenses)).expect("a valid setup");
    diagnose(&mut *run, lenses.len(), options, &Wanted::Failing(&|_| true), &mut || true)
}

#[test]
fn equal_seeds_give_equal_diagnoses() {
    let first = diagnosed("commit-on-first-yes", options());
    assert_eq!(first, diagnosed("commit-on-first-yes", options()));
    assert_eq!((first.bugs.len(), first.others.len()), (10, 10));
    assert!(first.lenses[1].keys > 10 * first.lenses[0].keys, "{first:?}");
    assert_ne!(first, diagnosed("commit-on-first-yes", DiagnoseOptions { seed: 2, ..options() }));
}

#[test]
fn executions_that_start_alike_are_as_rare_as_others() {
    // Only the keys of the start count, and every execution starts alike.
    let told = diagnosed("commit-on-first-yes", DiagnoseOptions { before: 10_000, ..options() });
    for lens in &told.lenses {
        assert!(lens.percentiles.iter().all(|percentile| (percentile - 0.5).abs() < 1e-9), "{lens:?}");
    }
}

#[test]
fn it_stops_when_it_is_told_to() {
    let target = two_phase_commit();
    let mut run = open(&target, &setup(&target, &[], &["pairs@impl"])).expect("a valid setup");
    let mut left = 3;
    let told = diagnose(&mut *run, 1, options(), &Wanted::Failing(&|_| true), &mut || {
        left -= 1;
        left > 0
    });
    assert!(told.interrupted && told.bugs.is_empty() && left == 0);
}

//! Campaigns: silent without a bug under every setting, loud with each bug, and the same when run again.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use misrule_engine::{Budget, Campaign, Conformance, Options, Outcome, RecoveryWhen, campaign, check};
use misrule_openraft::openraft;
use misrule_world::{ChoiceKind, FaultProfile, Settings, Setup};

const LENSES: [&str; 2] = ["pairs@impl", "waiting@impl"];

/// Every value of every setting, but for those with which something is found.
const SETTINGS: [&[(&str, &str)]; 10] = [
    &[],
    &[("nodes", "5"), ("flush", "late"), ("snapshots", "off")],
    &[("nodes", "7"), ("keys", "16"), ("sessions", "8")],
    &[("tasks", "fifo")],
    &[("tasks", "step"), ("flush", "late"), ("snapshots", "off")],
    &[("elections", "trigger")],
    &[("elections", "trigger"), ("tasks", "step"), ("transfer", "off")],
    &[("learners", "2"), ("history", "off")],
    &[("membership", "single"), ("learners", "1")],
    &[("membership", "joint"), ("nodes", "5")],
];

fn setup(given: &[(&str, &str)], contract: &str, lenses: &[&str]) -> Setup {
    openraft().setup(given, contract, lenses).unwrap()
}

fn run(setup: &Setup, options: &Options) -> Outcome {
    campaign(&Campaign { target: &openraft(), setup, options, corpus: &[] }, &mut ()).unwrap()
}

fn options(guidance: &str, steps: u64) -> Options {
    Options {
        guidance: guidance.to_owned(),
        stop_after_steps: Some(steps),
        steps_max: 3_000,
        minimise: Budget { stop_after_steps: 100_000, stop_after_executions: 200 },
        ..Options::default()
    }
}

#[test]
fn nothing_is_found_without_a_bug() {
    for given in SETTINGS {
        for guidance in ["random", "frontier"] {
            let outcome = run(&setup(given, "explicit-sync", &LENSES), &options(guidance, 25_000));
            let found = outcome.findings.first().map(|finding| &finding.failure);
            assert_eq!(found, None, "{given:?} {guidance}");
            let crashes = outcome.summary.choices[ChoiceKind::Crash as usize].applied;
            assert!(crashes > 20, "{given:?} {guidance}: {crashes} crashes");
        }
    }
}

/// Disks that keep more than what was synced, and disks that report errors: a node gives up then, and starts again.
#[test]
fn other_disks_are_survived() {
    for disk in ["immediate", "ordered", "posix-min", "fsyncgate"] {
        let faults = FaultProfile::Heavy;
        let outcome = run(&setup(&[], disk, &[]), &Options { faults, ..options("random", 60_000) });
        assert_eq!(outcome.findings.first().map(|finding| &finding.failure), None, "{disk}");
    }
}

#[test]
fn every_recovery_makes_progress() {
    for given in &SETTINGS[..4] {
        let options = Options { recovery: RecoveryWhen::Always, ..options("random", 20_000) };
        let outcome = run(&setup(given, "explicit-sync", &[]), &options);
        assert_eq!(outcome.findings.first().map(|finding| &finding.failure), None, "{given:?}");
        let recovery = &outcome.summary.recovery;
        assert!(recovery.progressed > 5 && recovery.stalled == 0, "{given:?}: {recovery:?}");
    }
}

#[test]
fn each_bug_is_found() {
    let bugs = [
        ("early-flush", "commit-has-quorum"),
        ("vote-not-synced", "leader-has-quorum"),
        ("flush-forgotten", "no-deadlock"),
        ("flush-dropped", "node-runs"),
        ("local-read", "linearizable"),
        ("membership-forgotten", "conf"),
    ];
    for (bug, property) in bugs {
        // The last one is of the membership, and seen where the model follows.
        let (members, conformance) = match bug {
            "membership-forgotten" => ("joint", Conformance::Always),
            _ => ("off", Conformance::Off),
        };
        let never = Options { recovery: RecoveryWhen::Never, conformance, ..options("random", 500_000) };
        let given = [("bug", bug), ("flush", "late"), ("membership", members)];
        let outcome = run(&setup(&given, "explicit-sync", &[]), &never);
        let found = outcome.findings.first().map(|finding| finding.failure.property.as_str());
        assert_eq!(found, Some(property), "{bug}");
    }
}

#[test]
fn the_same_choices_give_the_same_trace() {
    let target = openraft();
    for given in SETTINGS {
        let setup = setup(given, "explicit-sync", &LENSES);
        let (mut one, mut other) = (target.open(&setup).unwrap(), target.open(&setup).unwrap());
        let digest = check(one.as_mut(), other.as_mut(), 1, 20, 300, FaultProfile::Heavy);
        assert!(digest.is_ok(), "{given:?}: {digest:?}");
    }
}

/// The model follows every step, and sees all that it speaks of.
#[test]
fn the_model_refuses_nothing() {
    let settings = [
        &[][..],
        &[("nodes", "5"), ("tasks", "fifo")],
        &[("elections", "trigger")],
        &[("flush", "late"), ("snapshots", "off")],
    ];
    for given in settings {
        let setup = setup(given, "explicit-sync", &["pairs@model", "waiting@impl"]);
        let options = Options { conformance: Conformance::Always, ..options("frontier", 60_000) };
        let outcome = run(&setup, &options);
        assert_eq!(outcome.findings.first().map(|finding| &finding.failure), None, "{given:?}");
        let tally = &outcome.summary.tally;
        assert_eq!(tally.steps_walked, tally.steps_followed, "{given:?}");
        assert!(tally.steps_followed >= 60_000, "{given:?}: {tally:?}");
        for (name, executions) in &tally.sometimes {
            assert!(*executions > 0, "{given:?}: {name} was never seen");
        }
    }
}

#[test]
fn tasks_that_wait_for_each_other_are_told_with_what_they_wait_for() {
    let given = [("bug", "flush-forgotten"), ("flush", "late"), ("snapshots", "off")];
    let outcome = run(&setup(&given, "explicit-sync", &[]), &options("random", 500_000));
    let failure = &outcome.findings.first().unwrap().failure;
    assert_eq!(failure.property, "no-deadlock");
    for part in ["RaftCore::main waits for a oneshot value", "answer waits for a oneshot value"] {
        assert!(failure.message.contains(part), "{}", failure.message);
    }
}

#[test]
fn settings_that_cannot_be_are_refused_before_anything_runs() {
    let target = openraft();
    for (name, value) in [("nodes", "2"), ("nodes", "8"), ("learners", "3"), ("keys", "0"), ("flush", "soon")]
    {
        let given = [(name.to_owned(), value.to_owned())];
        assert!(Settings::resolve(&target.settings, &given).is_err(), "{name}={value}");
    }
    for given in
        [&[("tasks", "step")][..], &[("stale-appends", "sent")], &[("nodes", "7"), ("learners", "1")]]
    {
        let error = target.open(&setup(given, "explicit-sync", &["pairs@model"])).err().unwrap();
        assert!(error.to_string().contains("nothing follows openraft: use lenses at the implementation"));
    }
}

//! Campaigns: silent without a bug under every setting, loud with each bug, and the same when run again.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use misrule_engine::{Budget, Campaign, Options, Outcome, RecoveryWhen, campaign, check};
use misrule_openraft::openraft;
use misrule_world::{ChoiceKind, FaultProfile, Settings, Setup};

const LENSES: [&str; 2] = ["pairs@impl", "waiting@impl"];

/// Every value of every setting.
const SETTINGS: [&[(&str, &str)]; 7] = [
    &[],
    &[("nodes", "5"), ("flush", "late")],
    &[("nodes", "7"), ("snapshots", "on"), ("flush", "late")],
    &[("tasks", "fifo")],
    &[("tasks", "step"), ("flush", "late")],
    &[("elections", "trigger")],
    &[("elections", "trigger"), ("tasks", "step"), ("flush", "late"), ("snapshots", "on")],
];

fn setup(given: &[(&str, &str)], contract: &str, lenses: &[&str]) -> Setup {
    let target = openraft();
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Setup {
        settings: Settings::resolve(&target.settings, &given).unwrap(),
        contract: target.contract.overridden(contract).unwrap(),
        lenses: lenses.iter().map(|lens| (*lens).to_owned()).collect(),
    }
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
    ];
    for (bug, property) in bugs {
        let never = Options { recovery: RecoveryWhen::Never, ..options("random", 500_000) };
        let outcome = run(&setup(&[("bug", bug), ("flush", "late")], "explicit-sync", &[]), &never);
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

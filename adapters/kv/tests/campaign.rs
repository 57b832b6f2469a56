//! Campaigns: silent without a bug under every honest disk, loud with each bug under the weakest disk that permits it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use misrule_engine::{
    Budget, Campaign, Finding, Observer, Options, Outcome, Progress, RecoveryWhen, campaign, check,
};
use misrule_kv::{BUGS, kv};
use misrule_world::{ChoiceKind, DiskOutcome, DiskPreset, FaultProfile, Settings, Setup};
use std::time::Duration;

/// No clock, no interruption.
struct Silent;

impl Observer for Silent {
    fn elapsed(&mut self) -> Duration {
        Duration::ZERO
    }
    fn progress(&mut self, _progress: &Progress) -> bool {
        false
    }
    fn found(&mut self, _finding: &Finding) {}
}

fn setup(given: &[(&str, &str)], disk: &str, lenses: &[&str]) -> Setup {
    let target = kv();
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Setup {
        settings: Settings::resolve(&target.settings, &given).unwrap(),
        contract: target.contract.overridden(disk).unwrap(),
        lenses: lenses.iter().map(|lens| (*lens).to_owned()).collect(),
    }
}

fn run(setup: &Setup, options: &Options) -> Outcome {
    campaign(&Campaign { target: &kv(), setup, options, corpus: &[] }, &mut Silent).unwrap()
}

/// All faults, heavily, for so many steps.
fn options(guidance: &str, steps: u64) -> Options {
    Options {
        guidance: guidance.to_owned(),
        faults: FaultProfile::Heavy,
        stop_after_steps: Some(steps),
        minimise: Budget { stop_after_steps: 100_000, stop_after_executions: 2_000 },
        ..Options::default()
    }
}

const LENSES: [&str; 3] = ["pairs@impl", "waiting@impl", "durable@impl"];

#[test]
fn nothing_is_found_without_a_bug() {
    let presets = DiskPreset::ALL.into_iter().filter(|(preset, _)| *preset != DiskPreset::LyingDisk);
    for (preset, disk) in presets {
        for (guidance, given) in
            [("random", [].as_slice()), ("frontier", &[("nodes", "5"), ("snapshot-every", "2")])]
        {
            // Calls that were given up stay open for ever, and each may take effect at any later time: what long
            // executions show of clients cannot always be decided.
            let options = Options { steps_max: 3_000, ..options(guidance, 100_000) };
            let outcome = run(&setup(given, disk, &LENSES), &options);
            let found = outcome.findings.first().map(|finding| &finding.failure);
            assert_eq!(found, None, "{disk} {guidance}");
            let summary = &outcome.summary;
            let met = |kind: ChoiceKind| summary.choices[kind as usize].applied;
            assert!(met(ChoiceKind::Crash) > 100, "{disk} {guidance}");
            let fails = preset.fields().allows(DiskOutcome::SyncFails);
            assert_eq!(met(ChoiceKind::Disk) > 100, fails, "{disk} {guidance}");
            let undecided = summary.tally.undecided[0].1;
            assert!(undecided * 20 < summary.executions, "{disk} {guidance}: {undecided}");
            let calls = &summary.calls;
            assert!(calls.answered > 200 && calls.retried > 50 && calls.abandoned > 10, "{calls:?}");
        }
    }
}

/// Errors that a disk reports are survived: the node stops, and starts again.
#[test]
fn reported_errors_are_survived() {
    let media = "fsyncgate,media=write-error+no-space+short-write+read-error+short-read,media-budget=200";
    let outcome = run(&setup(&[], media, &[]), &options("random", 200_000));
    assert_eq!(outcome.findings.first().map(|finding| &finding.failure), None);
    assert!(outcome.summary.choices[ChoiceKind::Disk as usize].applied > 500);
}

/// A disk that lies loses what it had promised to keep, and no implementation can help that.
#[test]
fn a_disk_that_lies_is_found_out() {
    let outcome = run(&setup(&[], "lying-disk", &[]), &options("random", 500_000));
    assert_eq!(outcome.findings.len(), 1);
}

/// Recoveries make progress, whatever happened before.
#[test]
fn every_recovery_makes_progress() {
    for disk in ["posix-min", "fsyncgate", "posix-min,clock=drift-10,delay=5"] {
        let options = Options { recovery: RecoveryWhen::Always, ..options("random", 50_000) };
        let outcome = run(&setup(&[], disk, &[]), &options);
        assert_eq!(outcome.findings.first().map(|finding| &finding.failure), None, "{disk}");
        let recovery = &outcome.summary.recovery;
        assert!(recovery.progressed > 50 && recovery.stalled == 0, "{disk}: {recovery:?}");
    }
}

/// For each bug the weakest disk that permits it, in how many steps it is found at most, and what may be wrong first.
const FOUND: [(&str, &str, u64, &[&str]); 10] = [
    (
        "ack-before-sync",
        "explicit-sync",
        500_000,
        &["acknowledged-writes-survive", "applied-logs-agree", "disk-readable"],
    ),
    (
        "no-dir-sync",
        "explicit-sync",
        500_000,
        &["synced-log-survives", "snapshot-kept", "one-vote-per-term", "disk-readable"],
    ),
    ("rename-before-data", "explicit-sync", 500_000, &["disk-readable"]),
    ("vote-not-durable", "explicit-sync", 500_000, &["one-vote-per-term"]),
    (
        "torn-tail",
        "torn-prefix",
        500_000,
        &["applied-logs-agree", "disk-readable", "acknowledged-writes-survive", "linearizable"],
    ),
    ("prefix-order", "reorder-writes", 20_000_000, &["disk-readable"]),
    (
        "atomic-multi-block",
        "posix-min",
        3_000_000,
        &["applied-logs-agree", "disk-readable", "acknowledged-writes-survive"],
    ),
    (
        "sync-error-ignored",
        "fsync-keeps",
        1_000_000,
        &["synced-log-survives", "disk-readable", "one-vote-per-term"],
    ),
    ("no-reelection", "explicit-sync", 1_000_000, &["recovers-after-heal"]),
    ("stale-read", "explicit-sync", 500_000, &["linearizable"]),
];

#[test]
fn each_bug_is_found() {
    for ((bug, disk, steps, properties), (_, known, _)) in FOUND.into_iter().zip(BUGS) {
        assert_eq!(bug, known, "in the order of the bugs");
        // More snapshots make a crash in the middle of one likelier.
        let given = [("bug", bug), ("snapshot-every", if bug == "prefix-order" { "1" } else { "6" })];
        let outcome = run(&setup(&given, disk, &[]), &options("random", steps));
        let found = outcome.findings.first().map(|finding| finding.failure.property.as_str());
        let found = found.unwrap_or_else(|| panic!("{bug} is not found in {steps} steps"));
        assert!(properties.contains(&found), "{bug}: {found}");
    }
}

#[test]
fn the_same_choices_give_the_same_trace() {
    let target = kv();
    for disk in ["posix-min", "no-powersafe-overwrite", "fsyncgate"] {
        let setup = setup(&[], disk, &LENSES);
        let (mut one, mut other) = (target.open(&setup).unwrap(), target.open(&setup).unwrap());
        let digest = check(one.as_mut(), other.as_mut(), 1, 20, 500, FaultProfile::Heavy);
        assert!(digest.is_ok(), "{disk}: {digest:?}");
    }
}

//! The target as a whole: silent without a bug, loud with each, deterministic.

#![allow(clippy::unwrap_used, reason = "tests")]

use misrule_engine::{Budget, Campaign, Options, Outcome, RecoveryWhen, campaign, check};
use misrule_raft::{BUGS, raft};
use misrule_world::{ChoiceKind, Failure, FaultProfile, Setup};

const LENSES: [&str; 5] = ["pairs@impl", "waiting@impl", "delivery@impl", "message@impl", "detailed@impl"];

fn setup(given: &[(&str, &str)], contract: &str, lenses: &[&str]) -> Setup {
    raft().setup(given, contract, lenses).unwrap()
}

fn run(setup: &Setup, options: &Options) -> Outcome {
    campaign(&Campaign { target: &raft(), setup, options, corpus: &[] }, &mut ()).unwrap()
}

/// All faults, heavily, for so many steps.
fn options(guidance: &str, steps: u64) -> Options {
    Options {
        guidance: guidance.to_owned(),
        faults: FaultProfile::Heavy,
        stop_after_steps: Some(steps),
        steps_max: 5_000,
        minimise: Budget { stop_after_steps: 100_000, stop_after_executions: 2_000 },
        ..Options::default()
    }
}

/// Settings under which nothing is to be found; with each of them the others are the defaults.
const SILENT: [&[(&str, &str)]; 10] = [
    &[],
    &[("nodes", "5")],
    &[("nodes", "7")],
    &[("pre-vote", "on"), ("check-quorum", "on")],
    &[("apply", "later")],
    &[("sync", "must-sync"), ("pre-vote", "on")],
    &[("flush", "later")],
    &[("membership", "single")],
    &[("membership", "joint"), ("nodes", "5")],
    &[
        ("membership", "joint"),
        ("flush", "later"),
        ("apply", "later"),
        ("pre-vote", "on"),
        ("check-quorum", "on"),
    ],
];

#[test]
fn nothing_is_found_without_a_bug() {
    for given in SILENT {
        for contract in ["fifo", "reorder", "reorder+loss+dup", "reorder,ordered"] {
            for guidance in ["random", "frontier"] {
                let outcome = run(&setup(given, contract, &LENSES[..2]), &options(guidance, 25_000));
                let found = outcome.findings.first().map(|finding| &finding.failure);
                assert_eq!(found, None, "{given:?} {contract} {guidance}");
                let met = |kind: ChoiceKind| outcome.summary.choices[kind as usize].applied;
                assert!(met(ChoiceKind::Crash) > 50, "{given:?} {contract} {guidance}");
            }
        }
    }
}

#[test]
fn everything_is_seen_sometimes() {
    let given = [("membership", "joint")];
    let outcome = run(&setup(&given, "reorder+dup", &LENSES[..2]), &options("random", 400_000));
    let sometimes = &outcome.summary.tally.sometimes;
    // Eight of the judge, and two of the model that it has not.
    assert_eq!(sometimes.len(), 10);
    for (name, executions) in sometimes {
        assert!(*executions > 5, "{name}: {executions}");
    }
    let calls = &outcome.summary.calls;
    assert!(calls.answered > 1_000 && calls.retried > 100, "{calls:?}");
    let all = outcome.summary.executions;
    assert!(outcome.summary.tally.undecided.iter().all(|(_, undecided)| undecided * 20 < all));
}

/// Recoveries make progress, whatever happened before.
#[test]
fn every_recovery_makes_progress() {
    for given in [
        [("nodes", "3"), ("flush", "at-once"), ("pre-vote", "off"), ("check-quorum", "off")],
        [("nodes", "5"), ("flush", "later"), ("pre-vote", "off"), ("check-quorum", "off")],
        [("nodes", "3"), ("flush", "at-once"), ("pre-vote", "on"), ("check-quorum", "on")],
    ] {
        let options = Options { recovery: RecoveryWhen::Always, ..options("random", 60_000) };
        let outcome = run(&setup(&given, "reorder+loss+dup", &[]), &options);
        assert_eq!(outcome.findings.first().map(|finding| &finding.failure), None, "{given:?}");
        let recovery = &outcome.summary.recovery;
        assert!(recovery.progressed > 50 && recovery.stalled == 0, "{given:?}: {recovery:?}");
    }
}

/// What the crate itself does wrong: settings, and the place of the panic.
const PANICS: [(&[(&str, &str)], &str); 3] = [
    // `maybe_commit` of a leader that is not in the configuration any more.
    (&[("membership", "single"), ("leaver-steps-down", "off")], "raft/src/raft.rs:943"),
    // A node asks for votes after it took a snapshot and before that is on the disk.
    (&[("flush", "always-later")], "raft/src/raft.rs:1543"),
    // The only voter is elected while entries of it are not on the disk.
    (&[("flush", "always-later"), ("membership", "joint"), ("snapshots", "off")], "raft/src/raft.rs:1214"),
];

#[test]
fn known_panics_of_the_crate_are_found() {
    for (given, place) in PANICS {
        let panics = |failure: &Failure| failure.property == "no-panic" && failure.detail == place;
        // The last one needs luck: a campaign of so many steps misses it now and then.
        let found = (1..=5).any(|seed| {
            let until = vec!["no-panic".to_owned()];
            let options = Options { seed, until, ..options("frontier", 3_000_000) };
            let outcome = run(&setup(given, "reorder", &LENSES[..2]), &options);
            outcome.findings.iter().any(|finding| panics(&finding.failure))
        });
        assert!(found, "{given:?}: no panic at {place}");
    }
}

/// A leader that was made a learner goes on, and where one other node votes it answers reads without asking it.
#[test]
fn a_leader_that_votes_no_more_reads_what_is_stale() {
    let given = [("membership", "single"), ("leaver-steps-down", "off")];
    let options = Options { until: vec!["linearizable".to_owned()], ..options("frontier", 3_000_000) };
    let outcome = run(&setup(&given, "fifo", &LENSES[..2]), &options);
    assert!(outcome.findings.iter().any(|finding| finding.failure.property == "linearizable"));
}

/// For each bug what it breaks, and in how many steps that is found at most.
const FOUND: [(&str, u64, &str); 8] = [
    ("vote-not-synced", 200_000, "term-monotone"),
    ("vote-forgotten", 200_000, "one-vote-per-term"),
    ("commit-forgotten", 200_000, "commit-monotone"),
    ("entries-not-synced", 500_000, "leader-completeness"),
    ("apply-before-commit", 500_000, "state-machine-safety"),
    ("reject-lost", 500_000, "election-safety"),
    ("tail-kept", 500_000, "log-matching"),
    ("read-unconfirmed", 200_000, "linearizable"),
];

#[test]
fn each_bug_is_found() {
    for ((bug, steps, property), (_, known, _)) in FOUND.into_iter().zip(BUGS) {
        assert_eq!(bug, known, "in the order of the bugs");
        let options = Options { until: vec![property.to_owned()], ..options("random", steps) };
        let outcome = run(&setup(&[("bug", bug)], "reorder", &[]), &options);
        let found = outcome.findings.iter().any(|finding| finding.failure.property == property);
        assert!(found, "{bug}: no {property} in {steps} steps");
    }
}

#[test]
fn the_same_choices_give_the_same_trace() {
    let target = raft();
    for nodes in ["3", "5"] {
        for contract in ["reorder", "reorder+loss+dup,ordered"] {
            let given = [("nodes", nodes), ("flush", "later"), ("apply", "later"), ("membership", "joint")];
            let setup = setup(&given, contract, &LENSES);
            let (mut one, mut other) = (target.open(&setup).unwrap(), target.open(&setup).unwrap());
            let digest = check(one.as_mut(), other.as_mut(), 1, 20, 500, FaultProfile::Heavy);
            assert!(digest.is_ok(), "{nodes} {contract}: {digest:?}");
        }
    }
}

#[test]
fn every_lens_makes_keys() {
    for lens in LENSES {
        let outcome = run(&setup(&[], "reorder+dup", &[lens]), &options("random", 20_000));
        assert!(outcome.summary.cells.iter().all(|cells| *cells > 100), "{lens}");
    }
}

#[test]
fn what_the_crate_forbids_is_an_error_before_the_campaign() {
    let opened = |given: &[(&str, &str)]| raft().open(&setup(given, "reorder", &[])).err();
    assert_eq!(opened(&[("nodes", "4")]).unwrap().0, "raft runs with nodes=3, 5 or 7");
    let lease = opened(&[("reads", "lease")]).unwrap().0;
    assert!(lease.contains("LeaseBased requires check_quorum"), "{lease}");
    assert!(opened(&[("nodes", "5"), ("check-quorum", "on"), ("reads", "lease")]).is_none());
}

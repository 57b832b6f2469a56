//! The target as a whole: silent without a bug, loud with each, deterministic.

#![allow(clippy::unwrap_used, reason = "tests")]

use misrule_engine::{Budget, Campaign, Options, Outcome, campaign, check};
use misrule_raft::{BUGS, raft};
use misrule_world::{ChoiceKind, FaultProfile, Settings, Setup};

const LENSES: [&str; 5] = ["pairs@impl", "waiting@impl", "delivery@impl", "message@impl", "detailed@impl"];

fn setup(given: &[(&str, &str)], contract: &str, lenses: &[&str]) -> Setup {
    let target = raft();
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Setup {
        settings: Settings::resolve(&target.settings, &given).unwrap(),
        contract: target.contract.overridden(contract).unwrap(),
        lenses: lenses.iter().map(|lens| (*lens).to_owned()).collect(),
    }
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

#[test]
fn nothing_is_found_without_a_bug() {
    for nodes in ["3", "5", "7"] {
        for contract in ["fifo", "reorder", "reorder+loss+dup", "reorder,ordered", "fsyncgate"] {
            for guidance in ["random", "frontier"] {
                let setup = setup(&[("nodes", nodes)], contract, &LENSES[..2]);
                let outcome = run(&setup, &options(guidance, 60_000));
                let found = outcome.findings.first().map(|finding| &finding.failure);
                assert_eq!(found, None, "{nodes} {contract} {guidance}");
                let met = |kind: ChoiceKind| outcome.summary.choices[kind as usize].applied;
                assert!(met(ChoiceKind::Crash) > 100, "{nodes} {contract} {guidance}");
                for (name, executions) in &outcome.summary.tally.sometimes {
                    assert!(*executions > 0, "{nodes} {contract} {guidance}: {name}");
                }
            }
        }
    }
}

/// For each bug what it breaks, and in how many steps that is found at most.
const FOUND: [(&str, u64, &str); 7] = [
    ("vote-not-durable", 200_000, "term-monotone"),
    ("vote-forgotten", 200_000, "one-vote-per-term"),
    ("commit-forgotten", 200_000, "commit-monotone"),
    ("ack-before-sync", 500_000, "leader-completeness"),
    ("apply-before-commit", 500_000, "state-machine-safety"),
    ("reject-lost", 500_000, "election-safety"),
    ("tail-kept", 500_000, "log-matching"),
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
        for contract in ["reorder", "reorder+loss+dup", "fsyncgate"] {
            let setup = setup(&[("nodes", nodes)], contract, &LENSES);
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
    assert!(opened(&[("nodes", "5"), ("election-ticks", "2")]).is_none());
}

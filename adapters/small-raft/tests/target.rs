//! The target as a whole: silent without a bug, loud with each, deterministic, and without allocations.

#![allow(clippy::unwrap_used, reason = "tests")]

use misrule_engine::{Budget, Campaign, Drawer, Options, Outcome, campaign};
use misrule_small_raft::{BUGS, small_raft};
use misrule_world::{ChoiceKind, FaultProfile, Report, Rng, Run, Setup, Watch};

const LENSES: [&str; 2] = ["pairs@impl", "waiting@impl"];

fn setup(given: &[(&str, &str)], contract: &str, lenses: &[&str]) -> Setup {
    small_raft().setup(given, contract, lenses).unwrap()
}

fn run(setup: &Setup, options: &Options) -> Outcome {
    campaign(&Campaign { target: &small_raft(), setup, options, corpus: &[] }, &mut ()).unwrap()
}

fn options(guidance: &str, faults: FaultProfile, steps: u64) -> Options {
    Options {
        guidance: guidance.to_owned(),
        faults,
        stop_after_steps: Some(steps),
        minimise: Budget::NONE,
        ..Options::default()
    }
}

#[test]
fn nothing_is_found_without_a_bug() {
    for nodes in ["3", "4", "5", "7"] {
        for membership in ["off", "on"] {
            for contract in ["reorder", "reorder+loss+dup", "fifo", "reorder,ordered"] {
                let given = [("nodes", nodes), ("membership", membership)];
                let outcome =
                    run(&setup(&given, contract, &LENSES), &options("random", FaultProfile::Heavy, 100_000));
                let found = outcome.findings.first().map(|finding| &finding.failure);
                assert_eq!(found, None, "{given:?} {contract}");
                let met = |kind: ChoiceKind| outcome.summary.choices[kind as usize].applied;
                assert!(met(ChoiceKind::Crash) > 100, "{given:?} {contract}");
            }
        }
    }
}

/// The bug with the settings that it needs.
fn planted(name: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut given = vec![("bug", name)];
    given.extend(misrule_small_raft::Bug::named(name).settings());
    given
}

/// Bugs that random finds within a million steps, with the oracle that finds them first.
const FOUND: [(&str, &str); 6] = [
    ("vote-before-sync", "durability"),
    ("vote-twice-after-term-bump", "election-safety"),
    ("vote-ignores-log", "leader-completeness"),
    ("quorum-off-by-one", "leader-completeness"),
    ("truncate-on-old-append", "state-machine-safety"),
    ("commit-beyond-match", "state-machine-safety"),
];

#[test]
fn shallow_bugs_are_found() {
    for (bug, oracle) in FOUND {
        let outcome =
            run(&setup(&planted(bug), "", &[]), &options("random", FaultProfile::Default, 1_000_000));
        let found = outcome.findings.first().map(|finding| finding.failure.oracle);
        assert_eq!(found, Some(oracle), "{bug}");
    }
}

#[test]
fn every_bug_can_be_named_and_each_is_another() {
    let names: std::collections::BTreeSet<_> = BUGS.iter().map(|(_, name, _)| *name).collect();
    assert_eq!(names.len(), BUGS.len());
    for (bug, name, _) in BUGS {
        assert_eq!(misrule_small_raft::Bug::named(name), bug);
    }
}

#[test]
fn steady_state_allocates_nothing() {
    let lenses = small_raft().lenses;
    let mut run = small_raft().open(&setup(&[("membership", "on")], "", &lenses)).unwrap();
    let mut drawer = Drawer::new(FaultProfile::Default);
    let drive = |run: &mut dyn Run, drawer: &mut Drawer, report: &mut Report| {
        let mut rng = Rng::new(3);
        for step in 0..100_000_u64 {
            if step % 1_000 == 0 {
                run.reset(step, Watch { keys: true, ..Watch::default() }, report);
                drawer.reset(run.menu(), &mut rng);
            }
            run.step(drawer.pick(run.menu(), &mut rng).unwrap(), report);
            assert_eq!(report.failure, None);
        }
    };
    // The same executions again: the first times grow what they need, and two buffers may change places.
    let mut report = Report::default();
    report.keys.reserve(1_000);
    for _ in 0..3 {
        drive(&mut *run, &mut drawer, &mut report);
    }
    let found = allocation_counter::measure(|| drive(&mut *run, &mut drawer, &mut report));
    assert_eq!(found.count_total, 0);
}

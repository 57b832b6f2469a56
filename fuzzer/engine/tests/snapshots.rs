//! Snapshots: what goes on from one does what the execution did from which it was taken.

mod common;

use common::{run, setup, two_phase_commit};
use misrule_engine::{Class, Drawer, Options, open};
use misrule_world::{Choice, FaultProfile, Key, Menu, Report, Rng, Run, Setup, Snapshot, Target, Watch};

const KEYS: Watch = Watch { keys: true, model: false, conformance: false, trace: false };
const ALL: Watch = Watch { keys: true, model: true, conformance: true, trace: false };
const LENSES: [&str; 4] = ["pairs@impl", "waiting@impl", "delivery@impl", "detailed@model"];

/// What a step showed.
#[derive(Debug, PartialEq)]
struct Shown {
    choice: Choice,
    keys: Vec<Key>,
    failure: Option<String>,
    menu: Menu,
}

/// Executes the choices until an oracle fails.
fn walk(run: &mut dyn Run, choices: &[Choice]) -> Vec<Shown> {
    let mut report = Report::default();
    let mut shown = Vec::new();
    for choice in choices {
        run.step(*choice, &mut report);
        let failure = report.failure.as_ref().map(|failure| failure.message.clone());
        let failed = failure.is_some();
        shown.push(Shown {
            choice: report.choice,
            keys: report.keys.clone(),
            failure,
            menu: run.menu().clone(),
        });
        if failed {
            break;
        }
    }
    shown
}

/// Draws `steps` choices from here on, or fewer where an oracle fails.
fn draw(run: &mut dyn Run, rng: &mut Rng, steps: usize) -> Vec<Choice> {
    let mut drawer = Drawer::new(FaultProfile::Heavy);
    drawer.reset(run.menu(), rng);
    let mut report = Report::default();
    let mut choices = Vec::new();
    while choices.len() < steps && report.failure.is_none() {
        let Some(choice) = drawer.pick(run.menu(), rng) else { break };
        run.step(choice, &mut report);
        choices.push(report.choice);
    }
    choices
}

fn opened(target: &Target, setup: &Setup, watch: Watch) -> Box<dyn Run> {
    let mut run = open(target, setup).expect("a target that opens");
    run.reset(1, watch, &mut Report::default());
    run
}

#[test]
fn two_phase_commit_goes_on_from_snapshots() {
    let target = two_phase_commit();
    for bug in ["none", "reordered-abort-after-restart", "forget-vote-on-restart", "ignore-no-vote"] {
        goes_on(&target, &setup(&target, &[("bug", bug)], &LENSES));
    }
}

#[test]
fn small_raft_goes_on_from_snapshots() {
    let target = misrule_small_raft::small_raft();
    for (bug, nodes, membership) in [
        ("none", "3", "on"),
        ("none", "5", "off"),
        ("vote-before-sync", "3", "on"),
        ("stale-read", "4", "off"),
    ] {
        let settings = [("bug", bug), ("nodes", nodes), ("membership", membership)];
        goes_on(&target, &setup(&target, &settings, &target.lenses));
    }
}

/// What goes on from a snapshot does the same again, also in another world, as a replay from the start does.
fn goes_on(target: &Target, setup: &Setup) {
    for (seed, watch) in (0..30).zip([KEYS, ALL].into_iter().cycle()) {
        let mut rng = Rng::new(seed);
        let mut run = opened(target, setup, watch);
        let before = rng.below(400) as usize;
        if draw(&mut *run, &mut rng, before).len() < before {
            continue;
        }
        let snapshot = run.save().expect("the target forks");
        let after = draw(&mut *run, &mut rng, 200);
        let mut again = Vec::new();
        for _ in 0..2 {
            assert!(run.restore(&snapshot, watch));
            again.push(walk(&mut *run, &after));
            draw(&mut *run, &mut rng, 50);
        }
        assert!(again[0] == again[1], "seed {seed}: the snapshot has changed");
        assert_eq!(again[0].len(), after.len(), "seed {seed}: another step fails");
        let mut other = opened(target, setup, watch);
        assert!(other.restore(&snapshot, watch));
        assert!(walk(&mut *other, &after) == again[0], "seed {seed}: another world differs");
        replays_alike(target, setup, watch, seed, before, &again[0]);
    }
}

/// The same choices from the start show, after as many steps, what they showed from the snapshot.
fn replays_alike(target: &Target, setup: &Setup, watch: Watch, seed: u64, before: usize, shown: &[Shown]) {
    let mut rng = Rng::new(seed);
    let mut run = opened(target, setup, watch);
    assert_eq!(rng.below(400) as usize, before);
    draw(&mut *run, &mut rng, before);
    let choices: Vec<_> = shown.iter().map(|step| step.choice).collect();
    assert!(walk(&mut *run, &choices) == shown, "seed {seed}: a replay from the start differs");
}

#[test]
fn a_snapshot_that_lacks_what_is_watched_changes_nothing() {
    let target = two_phase_commit();
    let setup = setup(&target, &[], &LENSES);
    let mut run = opened(&target, &setup, KEYS);
    draw(&mut *run, &mut Rng::new(3), 100);
    let snapshot = run.save().expect("two-phase-commit forks");
    draw(&mut *run, &mut Rng::new(4), 100);
    let menu = run.menu().clone();
    for watch in [ALL, Watch { trace: true, ..KEYS }] {
        assert!(!run.restore(&snapshot, watch));
    }
    assert!(!run.restore(&Snapshot::new(7), KEYS), "of no run at all");
    assert_eq!(*run.menu(), menu);
    assert!(run.restore(&snapshot, Watch::default()), "less may be watched");
    let mut told = opened(&target, &setup, Watch { trace: true, ..KEYS });
    assert!(told.save().is_none(), "while steps are told");
    told.reset(1, KEYS, &mut Report::default());
    assert!(told.save().is_some());
}

#[test]
fn campaigns_return_by_snapshots_and_what_they_find_there_replays() {
    let target = two_phase_commit();
    let options = |guidance: &str| Options {
        seed: 5,
        guidance: guidance.to_owned(),
        stop_after_executions: Some(3_000),
        stop_after_findings: 0,
        steps_max: 300,
        ..Options::default()
    };
    for (bug, lens) in
        [("none", "pairs@impl"), ("none", "pairs@model"), ("forget-vote-on-restart", "pairs@impl")]
    {
        let setup = setup(&target, &[("bug", bug)], &[lens]);
        let forked = run(&target, &setup, &options("frontier"));
        assert_eq!(forked.summary.steps_returning, 0, "{lens}: nothing is replayed");
        let replayed = run(&target, &setup, &options("frontier-without-snapshots"));
        assert!(replayed.summary.steps_returning > 0, "{lens}");
        assert_eq!(forked.findings.is_empty(), bug == "none");
        for finding in &forked.findings {
            assert!(finding.class == Class::Implementation && finding.minimal, "{}", finding.evidence);
        }
    }
}

//! Random schedules: silent without a bug, loud with one.

mod driver;

use driver::{ALL, MODEL, ORACLES, onward, open, pick, random};
use misrule_models::Outcome;
use misrule_world::{Choice, Report, Rng};

const LENSES: [&str; 9] = [
    "pairs@model",
    "pairs@impl",
    "waiting@model",
    "waiting@impl",
    "delivery@impl",
    "message@model",
    "message@impl",
    "detailed@model",
    "detailed@impl",
];

/// Two million steps over contracts and sizes, with the model and conformance always on.
#[test]
fn without_a_bug_the_model_follows_every_step() {
    let contracts = [
        "",
        "reorder+loss+dup,explicit-sync",
        "reorder+loss+dup,immediate",
        "reorder,ordered,capacity=3",
        "fifo,ordered",
        "fifo+loss+dup,explicit-sync",
        "fifo+dup,immediate,capacity=1",
    ];
    for (seed, contract) in (1..).zip(contracts) {
        for (managers, transactions) in [("2", "1"), ("3", "2"), ("6", "4")] {
            let given = [("managers", managers), ("transactions", transactions)];
            let mut run = open(&given, contract, &LENSES);
            let (_, failure) = random(run.as_mut(), seed, 100_000, ALL);
            assert_eq!(failure, None, "{contract} {given:?}");
            let tally = run.about().tally;
            assert_eq!(tally.steps_walked, tally.steps_followed, "{contract} {given:?}");
            assert_eq!(tally.deviations, []);
            for outcome in [Outcome::Unmapped, Outcome::Refused, Outcome::Ambiguous, Outcome::OutOfBounds] {
                assert_eq!(tally.events.count(outcome), 0, "{outcome:?}");
            }
            for (property, executions) in &tally.sometimes {
                assert!(*executions > 0, "{property} with {contract} {given:?}");
            }
        }
    }
}

/// Steps in which random finds each bug with the model on; several times what the seeds tried took.
const FOUND_WITHIN: [(&str, u64); 12] = [
    ("commit-on-first-yes", 500),
    ("ignore-no-vote", 2_000),
    ("vote-before-sync", 500),
    ("decision-before-sync", 5_000),
    ("forget-vote-on-restart", 10_000),
    ("duplicate-vote-counts-twice", 10_000),
    ("group-commit-mixes-outcomes", 50_000),
    ("presume-commit-in-doubt", 50_000),
    ("timeout-after-commit", 50_000),
    ("stale-vote-counted", 100_000),
    ("stale-ack-counted", 50_000),
    ("heuristic-abort-in-doubt", 3_000_000),
];

#[test]
fn random_finds_planted_bugs() {
    for (bug, steps_max) in FOUND_WITHIN {
        for seed in 11..14 {
            let mut run = open(&[("bug", bug)], "", &[]);
            let (_, failure) = random(run.as_mut(), seed, steps_max, MODEL);
            assert!(failure.is_some(), "{bug} is not found in {steps_max} steps from seed {seed}");
        }
    }
}

/// The oracles of the target find without the model what is an error of the implementation. Those of the
/// deep bugs are scripted.
#[test]
fn random_finds_planted_bugs_without_the_model() {
    for (bug, property) in [
        ("commit-on-first-yes", "commit-needs-every-yes"),
        ("ignore-no-vote", "one-outcome"),
        ("duplicate-vote-counts-twice", "one-outcome"),
        ("timeout-after-commit", "outcome-kept"),
        ("stale-ack-counted", "prepared-kept"),
    ] {
        let mut seen = Vec::new();
        for seed in 1..10 {
            let mut run = open(&[("bug", bug)], "", &[]);
            let (_, failure) = random(run.as_mut(), seed, 200_000, ORACLES);
            let failure = failure.unwrap();
            assert!(["atomicity", "vote-respected", "durability"].contains(&failure.oracle), "{failure:?}");
            seen.push(failure.property);
        }
        assert!(seen.iter().any(|found| found == property), "{bug}: {seen:?}");
    }
}

/// Whatever happened before: once nodes run and links deliver, every transaction ends. Timers are set as long as
/// one is open, so that nothing left to choose means that all have ended.
#[test]
fn everything_ends() {
    for seed in 0..300 {
        let mut run = open(&[("transactions", "3")], "", &[]);
        let (mut rng, mut report) = (Rng::new(seed), Report::default());
        run.reset(seed, MODEL, &mut report);
        for _ in 0..500 {
            let choice = pick(run.menu(), &mut rng);
            run.step(choice, &mut report);
        }
        let nodes = run.menu().nodes;
        for node in 0..nodes {
            run.step(Choice::Restart { node }, &mut report);
            (0..nodes).for_each(|to| run.step(Choice::Heal { from: node, to }, &mut report));
        }
        let mut steps = 0;
        while let Some(choice) = onward(run.menu(), &mut rng) {
            run.step(choice, &mut report);
            assert_eq!(report.failure, None);
            steps += 1;
            assert!(steps < 20_000, "seed {seed} does not end");
        }
    }
}

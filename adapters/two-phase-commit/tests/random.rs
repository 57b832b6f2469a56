//! Random schedules: silent without a bug, loud with one.

mod driver;

use driver::{ALL, open, random};
use misrule_models::Outcome;

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

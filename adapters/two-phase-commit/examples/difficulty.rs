//! How many random steps each planted bug takes to show, over some seeds, with the model and without.
//!
//! `cargo run --release -p misrule-two-phase-commit --example difficulty [STEPS_MAX [BUG]]`

#![allow(clippy::print_stdout, reason = "prints a table")]

#[path = "../tests/driver/mod.rs"]
mod driver;

use driver::{MODEL, ORACLES, open, random};
use misrule_two_phase_commit::BUGS;

const SEEDS: u64 = 5;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let steps_max = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let only = arguments.next();
    println!("{:<32} {:<8} {:>12} {:>12} {:>12}  shown by", "bug", "oracles", "least", "median", "most");
    for (_, bug, _) in BUGS.iter().filter(|(_, bug, _)| only.as_deref().is_none_or(|only| only == *bug)) {
        for (watched, watch) in [("model", MODEL), ("own", ORACLES)] {
            let mut properties = Vec::new();
            let mut steps: Vec<u64> = (1..=SEEDS)
                .map(|seed| {
                    let mut run = open(&[("bug", bug)], "", &[]);
                    let (steps, failure) = random(run.as_mut(), seed, steps_max, watch);
                    let Some(failure) = failure else { return u64::MAX };
                    properties.push(failure.property);
                    steps
                })
                .collect();
            steps.sort_unstable();
            properties.sort_unstable();
            properties.dedup();
            let told = |steps: u64| if steps == u64::MAX { "-".to_owned() } else { steps.to_string() };
            println!(
                "{bug:<32} {watched:<8} {:>12} {:>12} {:>12}  {}",
                told(steps[0]),
                told(steps[steps.len() / 2]),
                told(steps[steps.len() - 1]),
                properties.join(", ")
            );
        }
    }
}

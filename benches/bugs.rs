//! `cargo bench --bench bugs`: steps and executions that `random` and `frontier` need for each planted bug of
//! `two-phase-commit`.
//!
//! The constants below were committed before the first run. A run that has found nothing within the budget is
//! censored and shown as such. An argument names the bugs to run: `cargo bench --bench bugs -- stale`.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use misrule_benches::{Campaign, a12, grouped, median, place};
use misrule_engine::Conformance;
use misrule_two_phase_commit::{BUGS, two_phase_commit};
use std::process::ExitCode;

/// The seeds of the campaigns of each cell.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=20;

/// Steps after which a campaign that has found nothing ends.
const BUDGET: u64 = 5_000_000;

/// How a bug is looked for.
struct Arm {
    name: &'static str,
    guidance: &'static str,
    lenses: &'static [&'static str],
    conformance: Conformance,
}

/// Settings and contract are the target's defaults. `oracles`: no model, so that only the target's own oracles
/// find; lenses read the implementation. `usual`: what `misrule fuzz` does when asked for nothing else; there
/// `frontier` follows the model in each execution, since its lens reads it, and `random` in one of 16.
/// `always`: `random` with the model in each execution, so that both have the same oracles.
const ARMS: [Arm; 5] = [
    Arm { name: "random oracles", guidance: "random", lenses: &[], conformance: Conformance::Off },
    Arm {
        name: "frontier oracles",
        guidance: "frontier",
        lenses: &["pairs@impl", "waiting@impl"],
        conformance: Conformance::Off,
    },
    Arm { name: "random usual", guidance: "random", lenses: &[], conformance: Conformance::Sampled },
    Arm { name: "random always", guidance: "random", lenses: &[], conformance: Conformance::Always },
    Arm {
        name: "frontier usual",
        guidance: "frontier",
        lenses: &["pairs@model", "waiting@impl"],
        conformance: Conformance::Sampled,
    },
];

/// What is compared with A12, by position in [`ARMS`]: the second against the first.
const COMPARED: [(usize, usize); 3] = [(0, 1), (2, 4), (3, 4)];

/// Steps and executions of each run of a cell.
struct Cell {
    steps: Vec<Option<u64>>,
    executions: Vec<Option<u64>>,
    steps_all: u64,
}

fn main() -> ExitCode {
    let filters: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("{}", place("cargo bench --bench bugs"));
    println!(
        "two-phase-commit, defaults; {} seeds a cell, {} steps a run; `>` is censored: not found within the \
         budget in at least half of the runs",
        SEEDS.count(),
        grouped(BUDGET)
    );
    println!("per bug: all steps of the cell, censored runs included, divided by the bugs found\n");
    println!(
        "{:<30} {:<17} {:>5} {:>12} {:>12} {:>12}",
        "bug", "arm", "found", "steps", "executions", "per bug"
    );
    for (_, bug, _) in BUGS {
        if !filters.is_empty() && !filters.iter().any(|word| bug.contains(word.as_str())) {
            continue;
        }
        if let Err(error) = row(bug) {
            println!("{bug}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn row(bug: &str) -> Result<(), String> {
    let mut cells = Vec::new();
    for arm in &ARMS {
        let cell = measure(bug, arm)?;
        let found = cell.steps.iter().flatten().count();
        let shown =
            |values: &[Option<u64>], beyond: &str| median(values).map_or_else(|| beyond.to_owned(), grouped);
        let per_bug = if found > 0 {
            grouped(cell.steps_all / found as u64)
        } else {
            format!(">{}", grouped(cell.steps_all))
        };
        println!(
            "{bug:<30} {:<17} {:>5} {:>12} {:>12} {per_bug:>12}",
            arm.name,
            format!("{found}/{}", cell.steps.len()),
            shown(&cell.steps, &format!(">{}", grouped(BUDGET))),
            shown(&cell.executions, ">"),
        );
        cells.push(cell);
    }
    let compared = COMPARED.map(|(first, second)| {
        let chance = a12(&cells[second].steps, &cells[first].steps);
        format!("{} before {} {chance:.2}", ARMS[second].name, ARMS[first].name)
    });
    println!("{:<30} A12: {}\n", "", compared.join("; "));
    Ok(())
}

fn measure(bug: &str, arm: &Arm) -> Result<Cell, String> {
    let target = two_phase_commit();
    let campaign = Campaign::new(&target, &[("bug", bug)], "", arm.lenses)?.conformance(arm.conformance);
    let mut cell = Cell { steps: Vec::new(), executions: Vec::new(), steps_all: 0 };
    for seed in SEEDS {
        let ran = campaign.run(arm.guidance, seed, BUDGET).map_err(|error| error.to_string())?;
        // The last execution may go beyond the budget; what it finds there is not counted.
        let found = ran.found.filter(|(steps, ..)| *steps <= BUDGET);
        cell.steps_all += ran.summary.steps.min(BUDGET);
        cell.steps.push(found.as_ref().map(|(steps, ..)| *steps));
        cell.executions.push(found.map(|(_, executions, _)| executions));
    }
    Ok(cell)
}

//! `cargo bench --bench bugs`: steps and executions that `random` and `frontier` need for each planted bug of
//! `two-phase-commit` and of `small-raft`.
//!
//! The constants below were committed before the first run. A run that has found nothing within the budget is
//! censored and shown as such. An argument names the target or the bugs to run: `cargo bench --bench bugs -- stale`.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use misrule_benches::{Campaign, a12, grouped, median, place};
use misrule_engine::Conformance;
use misrule_world::Target;
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

/// A target whose bugs are looked for.
struct Subject {
    target: Target,
    /// Names, each with the settings that the bug needs.
    bugs: Vec<(&'static str, &'static [(&'static str, &'static str)])>,
    arms: &'static [Arm],
    /// What is compared with A12, by position in the arms: the second against the first.
    compared: &'static [(usize, usize)],
}

fn subjects() -> [Subject; 2] {
    [
        Subject {
            target: misrule_two_phase_commit::two_phase_commit(),
            bugs: misrule_two_phase_commit::BUGS.map(|(_, name, _)| (name, &[] as &[_])).to_vec(),
            arms: &ARMS,
            compared: &[(0, 1), (2, 4), (3, 4)],
        },
        // It has no model.
        Subject {
            target: misrule_small_raft::small_raft(),
            bugs: misrule_small_raft::BUGS.map(|(bug, name, _)| (name, bug.settings())).to_vec(),
            arms: &ARMS[..2],
            compared: &[(0, 1)],
        },
    ]
}

/// Steps and executions of each run of a cell, and what found the bug.
struct Cell {
    steps: Vec<Option<u64>>,
    executions: Vec<Option<u64>>,
    steps_all: u64,
    properties: Vec<String>,
}

fn main() -> ExitCode {
    let filters: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!("{}", place("cargo bench --bench bugs"));
    println!(
        "defaults, and for small-raft the settings that each bug needs; {} seeds a cell, {} steps a run; `>` is \
         censored: not found within the budget in at least half of the runs",
        SEEDS.count(),
        grouped(BUDGET)
    );
    println!("per bug: all steps of the cell, censored runs included, divided by the bugs found");
    for subject in subjects() {
        println!(
            "\n{:<31} {:<16} {:>5} {:>12} {:>12} {:>12}  found by",
            subject.target.name, "arm", "found", "steps", "executions", "per bug"
        );
        let name = subject.target.name;
        let asked = |bug: &str| {
            filters.is_empty() || filters.iter().any(|word| name == word || bug.contains(word.as_str()))
        };
        for (bug, settings) in subject.bugs.iter().filter(|(bug, _)| asked(bug)) {
            if let Err(error) = row(&subject, bug, settings) {
                println!("{bug}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn row(subject: &Subject, bug: &str, settings: &[(&str, &str)]) -> Result<(), String> {
    let mut cells = Vec::new();
    for arm in subject.arms {
        let cell = measure(&subject.target, bug, settings, arm)?;
        let found = cell.steps.iter().flatten().count();
        let shown =
            |values: &[Option<u64>], beyond: &str| median(values).map_or_else(|| beyond.to_owned(), grouped);
        let per_bug = if found > 0 {
            grouped(cell.steps_all / found as u64)
        } else {
            format!(">{}", grouped(cell.steps_all))
        };
        println!(
            "{bug:<31} {:<16} {:>5} {:>12} {:>12} {per_bug:>12}  {}",
            arm.name,
            format!("{found}/{}", cell.steps.len()),
            shown(&cell.steps, &format!(">{}", grouped(BUDGET))),
            shown(&cell.executions, ">"),
            cell.properties.join(", "),
        );
        cells.push(cell);
    }
    let arms = subject.arms;
    for (first, second) in subject.compared {
        let chance = a12(&cells[*second].steps, &cells[*first].steps);
        println!("{:<31} A12: {} before {} {chance:.2}", "", arms[*second].name, arms[*first].name);
    }
    println!();
    Ok(())
}

fn measure(target: &Target, bug: &str, settings: &[(&str, &str)], arm: &Arm) -> Result<Cell, String> {
    let given = [&[("bug", bug)], settings].concat();
    let campaign = Campaign::new(target, &given, "", arm.lenses)?.conformance(arm.conformance);
    let mut cell = Cell { steps: Vec::new(), executions: Vec::new(), steps_all: 0, properties: Vec::new() };
    for seed in SEEDS {
        let ran = campaign.run(arm.guidance, seed, BUDGET).map_err(|error| error.to_string())?;
        // The last execution may go beyond the budget; what it finds there is not counted.
        let found = ran.found.filter(|(steps, ..)| *steps <= BUDGET);
        cell.steps_all += ran.summary.steps.min(BUDGET);
        cell.steps.push(found.as_ref().map(|(steps, ..)| *steps));
        cell.executions.push(found.as_ref().map(|(_, executions, _)| *executions));
        cell.properties.extend(found.map(|(.., property)| property));
    }
    cell.properties.sort();
    cell.properties.dedup();
    Ok(cell)
}

//! `cargo bench --bench throughput`: steps per second of campaigns against the bare driver of omnipaxos.
//!
//! Each campaign is paired with the bare driver over the very same lengths of executions, one right after the
//! other, and all pairs take turns (A B C, A B C, ...), so that a slow moment of the machine hits both sides. A
//! campaign is measured whole, from an empty archive on. Nothing is found: `fifo`, trimming off.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use misrule_benches::bare::omnipaxos as bare_omnipaxos;
use misrule_benches::{Campaign, Stopwatch, busy_seconds, grouped, place, quantiles, rate};
use misrule_engine::Conformance;
use misrule_omnipaxos::omnipaxos;
use misrule_world::Target;
use std::process::ExitCode;

/// Steps of each measurement.
const STEPS: u64 = 2_000_000;
/// How often each pair is measured.
const ROUNDS: u64 = 9;

/// A kind of campaign.
struct Arm {
    name: &'static str,
    guidance: &'static str,
    lenses: &'static [&'static str],
    conformance: Conformance,
}

const fn arm(
    name: &'static str,
    guidance: &'static str,
    lenses: &'static [&'static str],
    conformance: Conformance,
) -> Arm {
    Arm { name, guidance, lenses, conformance }
}

const ARMS: [Arm; 8] = [
    arm("random", "random", &[], Conformance::Off),
    arm("random, conformance always", "random", &[], Conformance::Always),
    arm("frontier pairs@impl", "frontier", &["pairs@impl"], Conformance::Off),
    arm("frontier pairs@impl, conformance sampled", "frontier", &["pairs@impl"], Conformance::Sampled),
    arm("frontier pairs@impl + waiting@impl", "frontier", &["pairs@impl", "waiting@impl"], Conformance::Off),
    arm("frontier pairs@model", "frontier", &["pairs@model"], Conformance::Off),
    arm("frontier pairs@model, conformance sampled", "frontier", &["pairs@model"], Conformance::Sampled),
    arm("frontier pairs@model, conformance always", "frontier", &["pairs@model"], Conformance::Always),
];

/// The measurements of one arm.
#[derive(Default)]
struct Row {
    rates: Vec<f64>,
    bare: Vec<f64>,
    /// Processor time of the bare driver over that of the campaign.
    busy: Vec<f64>,
    cells: Vec<usize>,
}

fn main() -> ExitCode {
    let target = omnipaxos();
    let has_model = target.lenses.contains(&"pairs@model");
    let needs_model = |arm: &Arm| arm.conformance != Conformance::Off || arm.lenses.contains(&"pairs@model");
    // Cargo adds `--bench`; what else is given selects.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let arms: Vec<&Arm> =
        ARMS.iter().filter(|arm| arm.name.contains(&wanted) && (has_model || !needs_model(arm))).collect();
    println!("{}", place("cargo bench --bench throughput"));
    println!(
        "omnipaxos {}, fifo,explicit-sync, trim=off; {} steps a measurement, {ROUNDS} rounds; thousand steps a \
         second of wall time; ratios = campaign / bare driver over the same lengths, pair by pair, of wall time and \
         of processor time, which other work on the machine disturbs less\n",
        target.version,
        grouped(STEPS)
    );
    let mut rows: Vec<Row> = arms.iter().map(|_| Row::default()).collect();
    for round in 0..ROUNDS {
        for (arm, row) in arms.iter().zip(&mut rows) {
            if let Err(error) = measure(&target, arm, round, row) {
                println!("{}: {error}", arm.name);
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{:<42} {:>20} {:>9} {:>17} {:>17} {:>7}",
        "", "campaign min/med/max", "bare med", "ratio (wall)", "ratio (processor)", "cells"
    );
    for (arm, row) in arms.iter().zip(&rows) {
        let ratios: Vec<f64> = row.rates.iter().zip(&row.bare).map(|(rate, bare)| rate / bare).collect();
        let shown = |(low, middle, high): (f64, f64, f64)| format!("{low:.2} {middle:.2} {high:.2}");
        let (rate, bare) = (quantiles(&row.rates), quantiles(&row.bare));
        println!(
            "{:<42} {:>6.0} {:>6.0} {:>6.0} {:>9.0} {:>17} {:>17} {:>7}",
            arm.name,
            rate.0,
            rate.1,
            rate.2,
            bare.1,
            shown(quantiles(&ratios)),
            shown(quantiles(&row.busy)),
            row.cells.iter().max().copied().unwrap_or(0)
        );
    }
    ExitCode::SUCCESS
}

fn measure(target: &Target, arm: &Arm, round: u64, row: &mut Row) -> Result<(), String> {
    let campaign =
        Campaign::new(target, &[("trim", "off")], "fifo", arm.lenses)?.conformance(arm.conformance);
    let ran = campaign.run(arm.guidance, round + 1, STEPS).map_err(|error| error.to_string())?;
    if let Some((_, _, property)) = &ran.found {
        return Err(format!("found {property}, which ends the measurement"));
    }
    row.rates.push(rate(ran.summary.steps, ran.seconds));
    row.cells.push(ran.summary.cells.iter().sum());
    let mut bare = bare_omnipaxos(round + 1);
    let (watch, busy) = (Stopwatch::start(), busy_seconds());
    let steps: u64 = ran.lengths.iter().map(|length| u64::from(bare.execute(*length))).sum();
    row.bare.push(rate(steps, watch.seconds()));
    row.busy.push((busy_seconds() - busy) / ran.busy_seconds);
    Ok(())
}

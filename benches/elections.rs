//! `cargo bench --bench elections`: executions per second of raft with five nodes and 100 choices, against its bare driver.
//!
//! Each campaign is paired with the bare driver over the very same lengths of executions, one right after the other, and
//! the pairs take turns, as in `throughput`. The published loop does 21.6 executions of 100 choices a second of the same
//! protocol with three nodes (Gulcan et al. 2025; measured in `notes/modelfuzz.md` of the design).
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use misrule_benches::{Campaign, Stopwatch, bare, grouped, place, quantiles};
use misrule_engine::Conformance;
use misrule_raft::raft;
use misrule_world::Target;
use std::process::ExitCode;

/// Choices of the longest execution.
const CHOICES: u32 = 100;
/// Steps of each measurement.
const STEPS: u64 = 2_000_000;
/// How often each pair is measured.
const ROUNDS: u64 = 9;
/// What the bare driver has as well: it never writes a snapshot and hands no leadership over.
const SETTINGS: [(&str, &str); 3] = [("nodes", "5"), ("snapshots", "off"), ("transfer", "off")];

/// Kinds of campaigns: name, guidance, lenses, when the model is compared.
const ARMS: [(&str, &str, &[&str], Conformance); 4] = [
    ("random", "random", &[], Conformance::Off),
    ("frontier pairs@impl", "frontier", &["pairs@impl"], Conformance::Off),
    ("frontier pairs@model", "frontier", &["pairs@model"], Conformance::Sampled),
    ("frontier pairs@model, conformance always", "frontier", &["pairs@model"], Conformance::Always),
];

/// The measurements of one arm.
#[derive(Default)]
struct Row {
    rates: Vec<f64>,
    bare: Vec<f64>,
    /// Parts of the executions in which an entry was committed, so that a leader was elected before; by the model, where it
    /// follows all of them, and by the bare driver.
    committed: (Vec<f64>, Vec<f64>),
}

fn main() -> ExitCode {
    let target = raft();
    println!("{}", place("cargo bench --bench elections"));
    println!(
        "raft {}, 5 nodes, at most {CHOICES} choices, fifo, no snapshots and transfers; {} steps a measurement, \
         {ROUNDS} rounds; executions a second of wall time; ratio = campaign / bare driver over the same lengths, pair \
         by pair\n",
        target.version,
        grouped(STEPS)
    );
    let mut rows: Vec<Row> = ARMS.iter().map(|_| Row::default()).collect();
    for round in 0..ROUNDS {
        for (arm, row) in ARMS.iter().zip(&mut rows) {
            if let Err(error) = measure(&target, arm, round, row) {
                println!("{}: {error}", arm.0);
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{:<42} {:>22} {:>9} {:>15} {:>17}",
        "", "campaign min/med/max", "bare med", "ratio", "committed (bare)"
    );
    for ((name, ..), row) in ARMS.iter().zip(&rows) {
        let ratios: Vec<f64> = row.rates.iter().zip(&row.bare).map(|(rate, bare)| rate / bare).collect();
        let (rate, bare, ratio) = (quantiles(&row.rates), quantiles(&row.bare), quantiles(&ratios));
        let committed = match row.committed.0.as_slice() {
            [] => "-".to_owned(),
            parts => format!("{:.2}", quantiles(parts).1),
        };
        println!(
            "{name:<42} {:>6.0} {:>7.0} {:>7.0} {:>9.0} {:>5.2} {:.2} {:.2} {committed:>7} ({:.2})",
            rate.0,
            rate.1,
            rate.2,
            bare.1,
            ratio.0,
            ratio.1,
            ratio.2,
            quantiles(&row.committed.1).1
        );
    }
    ExitCode::SUCCESS
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 executions")]
fn measure(
    target: &Target,
    (_, guidance, lenses, conformance): &(&str, &str, &[&str], Conformance),
    round: u64,
    row: &mut Row,
) -> Result<(), String> {
    let campaign = Campaign::new(target, &SETTINGS, "fifo", lenses)?;
    let campaign = campaign.conformance(*conformance).steps_max(CHOICES);
    let ran = campaign.run(guidance, round + 1, STEPS).map_err(|error| error.to_string())?;
    if let Some((_, _, property)) = &ran.found {
        return Err(format!("found {property}, which ends the measurement"));
    }
    let executions = ran.lengths.len() as f64;
    row.rates.push(executions / ran.seconds);
    let tally = &ran.summary.tally;
    let committed = tally.sometimes.iter().find(|(name, _)| *name == "entry-committed");
    if let (Some((_, seen)), Conformance::Always) = (committed, conformance) {
        row.committed.0.push(*seen as f64 / executions);
    }
    let mut bare = bare::raft(round + 1);
    let watch = Stopwatch::start();
    for length in &ran.lengths {
        bare.execute(*length);
    }
    row.bare.push(executions / watch.seconds());
    row.committed.1.push(bare.deciding as f64 / executions);
    Ok(())
}

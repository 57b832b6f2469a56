//! `cargo bench --bench same`: how often a comparison calls two equal strategies different.
//!
//! `random` against `random` on a bug that it finds within some 50 ms: a thousand comparisons of 20 campaigns a side, each with a
//! seed of its own, the sides taking turns. Times are wall time. Where the statistics are right, about 5 % have a p-value
//! below 0.05, without correction for many comparisons. The constants below were committed before the run. A run of 200
//! comparisons, with the seeds before these, gave 7.5 % [4.6, 12.0]: too few to tell 5 % from 7.5 %.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use misrule_benches::{Campaign, place, quantiles};
use misrule_engine::Conformance;
use misrule_statistics::{Time, log_rank, wilson};
use std::process::ExitCode;

const COMPARISONS: u32 = 1_000;
/// Seeds that the first run used.
const USED: u32 = 8_000;
/// Campaigns a side.
const CAMPAIGNS: u32 = 20;
/// Steps after which a campaign that has found nothing is censored.
const BUDGET: u64 = 2_000_000;
/// Settings and contract are the defaults of omnipaxos, but for these; what is found is `decided-logs-agree`.
const SETTINGS: [(&str, &str); 1] = [("trim", "off")];

fn main() -> ExitCode {
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare() -> Result<(), String> {
    let target = misrule_omnipaxos::omnipaxos();
    let campaign = Campaign::new(&target, &SETTINGS, "", &[])?.conformance(Conformance::Off);
    let (mut values, mut found, mut censored) = (Vec::new(), Vec::new(), 0);
    for comparison in 0..COMPARISONS {
        let mut sides = [Vec::new(), Vec::new()];
        for at in 0..CAMPAIGNS * 2 {
            let seed = u64::from(USED + comparison * CAMPAIGNS * 2 + at + 1);
            let ran = campaign.run("random", seed, BUDGET).map_err(|error| error.to_string())?;
            let time = if ran.found.is_some() {
                found.push(ran.seconds * 1_000.0);
                Time::found(ran.seconds)
            } else {
                censored += 1;
                Time::censored(ran.seconds)
            };
            sides[(at % 2) as usize].push(time);
        }
        values.push(log_rank(&sides[0], &sides[1]).p);
    }
    let below = values.iter().filter(|p| **p < 0.05).count() as u32;
    let interval = wilson(u64::from(below), u64::from(COMPARISONS));
    println!("{}", place("cargo bench --bench same"));
    println!("random against random, omnipaxos {}, trim=off: decided-logs-agree", target.version);
    println!("campaigns   {} found, {censored} censored", found.len());
    println!("found after {:.1?} ms (least, median, most)", quantiles(&found));
    println!(
        "log-rank    p < 0.05 in {below} of {COMPARISONS}: {:.1} % [{:.1}, {:.1}]",
        100.0 * f64::from(below) / f64::from(COMPARISONS),
        100.0 * interval.low,
        100.0 * interval.high
    );
    println!("p-values    {:.3?} (least, median, most)", quantiles(&values));
    Ok(())
}

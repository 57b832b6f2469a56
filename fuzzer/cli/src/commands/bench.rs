//! `bench`: where the time of a campaign goes.

use super::{word, write_json};
use crate::clock;
use crate::exit::{Error, OK};
use crate::numbers;
use crate::resolve;
use crate::session::Session;
use clap::Args;
use misrule_engine::{Conformance, Options, Split, SplitOptions, split};
use misrule_world::{Setup, Target};
use serde_json::{Value, json};

/// Measures where the time of a campaign goes: nanoseconds a step for each part, next to the whole
///
/// The whole is a campaign timed from outside. The parts are measured apart from it, by replaying the executions of
/// the same campaign with one part more each time; `difference` says how far their sum is from the whole. The fastest
/// of some rounds counts. Findings are not minimised and do not end the measurement.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule bench --split omnipaxos --contract fifo --set trim=off\n  \
                  misrule bench --split two-phase-commit --lens pairs@impl --conformance always --json")]
pub(super) struct Arguments {
    /// The target
    #[arg(long, value_name = "TARGET")]
    split: String,
    /// What decides what runs next
    #[arg(long, value_name = "NAME")]
    guidance: Option<String>,
    /// Lenses and signals that guide, with commas between; `none` for none
    #[arg(long, value_name = "NAMES")]
    lens: Option<String>,
    /// What links and disks promise; overrides what it names
    #[arg(long, value_name = "WORDS")]
    contract: Option<String>,
    /// A setting of the target; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = numbers::setting)]
    set: Vec<(String, String)>,
    /// When the model's state is compared with the implementation's
    #[arg(long, value_name = "WHEN", default_value = "sampled", value_parser = ["always", "sampled", "off"])]
    conformance: String,
    /// Steps of the campaign
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "500000")]
    steps: u32,
    /// How often everything is measured
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "5")]
    rounds: u32,
    /// Seed of the campaign: a number, or the 40 hex digits of a commit
    #[arg(long, value_parser = numbers::seed, default_value = "1")]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let target = session.target(&arguments.split)?;
    let settings = resolve::settings(target, &arguments.set)?;
    let contract = resolve::contract(target, arguments.contract.as_deref())?;
    let guidance = resolve::guidance(target, arguments.guidance.as_deref())?;
    let lenses = resolve::lenses(target, &settings, arguments.lens.as_deref(), guidance, contract)?;
    let setup = Setup { settings, contract, lenses };
    let options = SplitOptions {
        campaign: Options {
            seed: arguments.seed,
            guidance: guidance.to_owned(),
            stop_after_steps: Some(u64::from(arguments.steps)),
            conformance: match arguments.conformance.as_str() {
                "always" => Conformance::Always,
                "off" => Conformance::Off,
                _ => Conformance::Sampled,
            },
            ..Options::default()
        },
        rounds: arguments.rounds,
    };
    let found = split(target, &setup, &options, clock::nanoseconds)?;
    if arguments.json {
        write_json(session, &as_json(arguments, target, &setup, guidance, &found))?;
    } else {
        in_words(arguments, session, target, &setup, guidance, &found)?;
    }
    Ok(OK)
}

/// To a tenth of a nanosecond: what is beyond is noise.
fn tenths(nanoseconds: f64) -> f64 {
    (nanoseconds * 10.0).round() / 10.0
}

fn as_json(arguments: &Arguments, target: &Target, setup: &Setup, guidance: &str, found: &Split) -> Value {
    let parts = found.parts.iter().map(|part| (part.name.to_owned(), json!(tenths(part.nanoseconds))));
    let settings = setup.settings.iter().map(|(name, value)| (name.to_owned(), value.into()));
    json!({
        "command": "bench",
        "target": target.name,
        "build": crate::build::COMMIT,
        "seed": arguments.seed,
        "guidance": guidance,
        "lens": setup.lenses,
        "contract": setup.contract.to_string(),
        "settings": settings.collect::<serde_json::Map<_, Value>>(),
        "conformance": arguments.conformance,
        "executions": found.executions,
        "steps": found.steps,
        "rounds": arguments.rounds,
        "parts": parts.collect::<serde_json::Map<_, _>>(),
        "sum": tenths(found.sum()),
        "whole": tenths(found.whole),
        "difference_percent": tenths(found.difference()),
    })
}

fn in_words(
    arguments: &Arguments,
    session: &mut Session<'_>,
    target: &Target,
    setup: &Setup,
    guidance: &str,
    found: &Split,
) -> Result<(), Error> {
    let lenses = if setup.lenses.is_empty() { "none".to_owned() } else { setup.lenses.join(",") };
    let out = &mut session.out;
    writeln!(out, "nanoseconds a step, fastest of {} rounds", arguments.rounds)?;
    for part in &found.parts {
        writeln!(out, "  {:<10} {:>8.1}   {}", part.name, part.nanoseconds, part.what)?;
    }
    writeln!(out, "  {:<10} {:>8.1}", "sum", found.sum())?;
    writeln!(out, "  {:<10} {:>8.1}   the same campaign, timed from outside", "whole", found.whole)?;
    writeln!(
        out,
        "target={} guidance={guidance} lens={} contract={} conformance={} executions={} steps={} \
         sum_ns={:.1} whole_ns={:.1} difference_percent={:.1}",
        word(target.name),
        word(&lenses),
        word(&setup.contract.to_string()),
        arguments.conformance,
        found.executions,
        found.steps,
        found.sum(),
        found.whole,
        found.difference()
    )?;
    Ok(())
}

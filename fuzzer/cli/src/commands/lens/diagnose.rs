//! `lens diagnose`: whether lenses point at a known bug before it fails.

use crate::commands::{word, write_json};
use crate::exit::{Error, INTERRUPTED, OK, UNKNOWN};
use crate::interrupt;
use crate::numbers;
use crate::resolve;
use crate::schedules;
use crate::session::Session;
use clap::Args;
use misrule_engine::{DiagnoseOptions, Diagnosis, Fingerprint, LensDiagnosis, Wanted, diagnose, open};
use misrule_report::terminal::{clean, grouped};
use misrule_world::{Failure, Schedule, Setup, Target};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Fewer executions of a bug do not tell.
const BUGS_MIN: usize = 5;
/// With fewer others than these, an execution of a bug is not compared: most executions have failed by then.
const OTHERS_MIN: usize = 20;
/// Below this median a lens points at the bug: lenses that guided had 0.00 to 0.01 in the trials, one that guided less
/// 0.13, and useless ones 0.43 to 0.50 (`notes/frontier.md`, section 5).
const POINTS: f64 = 0.1;
/// From this median on it says nothing of the bug.
const SILENT: f64 = 0.35;
/// How far it can be trusted.
const TRUST: &str = "\
How far to trust it: not far. In trials with a small Raft it told lenses that guide from useless ones on four bugs. On a
fifth, of omnipaxos, it told nothing: where executions are long, each has met a key that was never seen before, and all are
equally rare. On bugs of the samples and of omnipaxos it did not reliably predict with which lens guidance takes fewer steps
(docs/granularity.md). It looks at random executions, not at what guidance makes of a lens, and not at its cost.";

/// Says how rare the rarest key is that executions of a known bug meet until a few steps before they fail, as a
/// percentile among other executions at the same step
///
/// 0 is the rarest, 0.5 tells nothing. All executions are random; their first million steps say how rare each key is. The
/// bug is one that is planted (`--bug`), a property that fails (`--until`), or what schedules show (`--schedule`; found ones,
/// since minimised schedules are shorter than any random one).
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule lens diagnose two-phase-commit --bug timeout-after-commit\n  \
                  misrule lens diagnose omnipaxos --contract reorder --set trim=off --lens pairs,waiting --until decided-agree")]
pub(super) struct Arguments {
    /// The target
    target: String,
    /// A bug that can be planted in the target; any failure then counts, unless --until says more
    #[arg(long, value_name = "NAME")]
    bug: Option<String>,
    /// Only a failure of this property, or with this fingerprint, is the bug; may be given several times
    #[arg(long, value_name = "NAME")]
    until: Vec<String>,
    /// A schedule that shows the bug; may be given several times
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bug", "until", "set", "contract"])]
    schedule: Vec<PathBuf>,
    /// Lenses and signals to diagnose, separated by commas [default: all lenses of the target]
    #[arg(long, value_name = "NAMES")]
    lens: Option<String>,
    /// What links and disks promise; overrides what it names
    #[arg(long, value_name = "WORDS")]
    contract: Option<String>,
    /// Which faults are drawn, as `fuzz` takes them
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    faults: String,
    /// A setting of the target; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = numbers::setting)]
    set: Vec<(String, String)>,
    /// Seed of the executions: a number, or the 40 hex digits of a commit
    #[arg(long, value_parser = numbers::seed, default_value = "1")]
    seed: u64,
    /// Keys count until so many steps before the failure
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "5")]
    before: u32,
    /// Steps that say how rare each key is
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "1M")]
    learn: u64,
    /// Stop looking for the bug after so many steps
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "10M")]
    steps: u64,
    /// Stop looking for the bug after so many executions that show it
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "20")]
    bugs: u32,
    /// Other executions to compare with
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "300")]
    others: u32,
    /// Longest execution, in steps [default: the target's own, mostly 30,000]
    #[arg(long, value_name = "N", value_parser = numbers::steps)]
    steps_max: Option<u32>,
    /// Whether the model is compared with the implementation, and so may find the bug
    #[arg(long, value_name = "WHEN", default_value = "always", value_parser = ["always", "off"])]
    conformance: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let target = session.target(&arguments.target)?;
    let (setup, schedules) = asked(arguments, target, session)?;
    let mut run = open(target, &setup).map_err(|error| Error::Usage(error.to_string()))?;
    let options = DiagnoseOptions {
        seed: arguments.seed,
        faults: resolve::faults(session, &arguments.faults)?,
        conformance: arguments.conformance == "always",
        before: arguments.before,
        learn: arguments.learn,
        search: arguments.steps,
        bugs: arguments.bugs as usize,
        others: arguments.others as usize,
        steps_max: arguments.steps_max.unwrap_or(target.steps_max),
    };
    if session.program.is_some() {
        interrupt::install();
    }
    let until = &arguments.until;
    let like = |failure: &Failure| {
        until.is_empty()
            || until
                .iter()
                .any(|name| *name == failure.property || *name == Fingerprint::of(failure).to_string())
    };
    let wanted = if schedules.is_empty() { Wanted::Failing(&like) } else { Wanted::Schedules(&schedules) };
    let told = diagnose(&mut *run, setup.lenses.len(), options, &wanted, &mut || !interrupt::requested());
    if arguments.json {
        write_json(session, &as_json(target, &setup, options, &told))?;
    } else {
        in_words(target, &setup, &told, session)?;
    }
    Ok(match &told {
        told if told.interrupted => INTERRUPTED,
        told if compared(told) < BUGS_MIN => UNKNOWN,
        _ => OK,
    })
}

/// The setup, and the schedules that show the bug where there are any.
fn asked(
    arguments: &Arguments,
    target: &Target,
    session: &Session<'_>,
) -> Result<(Setup, Vec<(u64, Schedule)>), Error> {
    let mut set = arguments.set.clone();
    if let Some(bug) = &arguments.bug {
        let known = || target.bugs.iter().map(|(name, _)| *name);
        if !known().any(|name| name == bug) {
            return Err(Error::unknown("bug", bug, known()));
        }
        if set.iter().any(|(name, _)| name == "bug") {
            return Err(Error::Usage("the bug is named twice: with --bug and with --set".to_owned()));
        }
        set.push(("bug".to_owned(), bug.clone()));
    }
    let mut setup = Setup {
        settings: resolve::settings(target, &set)?,
        contract: resolve::contract(target, arguments.contract.as_deref())?,
        lenses: Vec::new(),
    };
    let mut schedules: Vec<(u64, Schedule)> = Vec::new();
    for path in &arguments.schedule {
        let loaded = schedules::load(session, path, Some(target))?;
        let same = loaded.setup.settings == setup.settings && loaded.setup.contract == setup.contract;
        if !schedules.is_empty() && !same {
            let text = "another contract or other settings than the schedules before it";
            return Err(Error::Input(format!("{}:1:1: {text}", loaded.path)));
        }
        schedules.push((loaded.file.header.seed, loaded.file.schedule));
        setup = loaded.setup;
    }
    if arguments.bug.is_none() && arguments.until.is_empty() && schedules.is_empty() {
        return Err(Error::Usage("which bug? Name it with --bug, --until or --schedule".to_owned()));
    }
    let lenses = arguments.lens.clone().unwrap_or_else(|| resolve::usable(target, &setup.settings).join(","));
    setup.lenses = resolve::lenses(target, &setup.settings, Some(&lenses), "random", setup.contract)?;
    if setup.lenses.is_empty() {
        return Err(Error::Usage(format!("target `{}` has no lens; name a signal with --lens", target.name)));
    }
    Ok((setup, schedules))
}

/// Executions of the bug that there were enough others to compare with.
fn compared(told: &Diagnosis) -> usize {
    told.others.iter().filter(|others| **others >= OTHERS_MIN).count()
}

/// The percentiles that say something, in order.
fn percentiles(lens: &LensDiagnosis, others: &[usize]) -> Vec<f64> {
    let told = lens.percentiles.iter().zip(others).filter(|(_, others)| **others >= OTHERS_MIN);
    let mut told: Vec<f64> = told.map(|(percentile, _)| *percentile).collect();
    told.sort_by(f64::total_cmp);
    told
}

/// Median, share below 0.1, and what that says; nothing where the bug was not seen.
fn median(percentiles: &[f64]) -> Option<f64> {
    let at = percentiles.len().checked_sub(1)?;
    Some(f64::midpoint(percentiles[at / 2], percentiles[at.div_ceil(2)]))
}

fn verdict(percentiles: &[f64]) -> &'static str {
    match median(percentiles) {
        Some(median) if percentiles.len() >= BUGS_MIN => match median {
            median if median < POINTS => "points",
            median if median < SILENT => "weak",
            _ => "silent",
        },
        _ => "unknown",
    }
}

fn below(percentiles: &[f64]) -> usize {
    percentiles.iter().filter(|percentile| **percentile < POINTS).count()
}

fn as_json(target: &Target, setup: &Setup, options: DiagnoseOptions, told: &Diagnosis) -> Value {
    let lens = |(name, lens): (&String, &LensDiagnosis)| {
        let sorted = percentiles(lens, &told.others);
        json!({
            "lens": name,
            "keys": lens.keys,
            "median": median(&sorted),
            "below": below(&sorted),
            "verdict": verdict(&sorted),
            "percentiles": lens.percentiles,
        })
    };
    let bugs = told.bugs.iter().enumerate().map(
        |(at, (step, property))| json!({ "step": step, "property": property, "others": told.others.get(at) }),
    );
    json!({
        "command": "lens diagnose",
        "target": target.name,
        "settings": setup.settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(),
        "contract": setup.contract.to_string(),
        "seed": options.seed,
        "before": options.before,
        "steps_learned": options.learn,
        "steps_searched": told.searched,
        "bugs": bugs.collect::<Vec<_>>(),
        "lenses": setup.lenses.iter().zip(&told.lenses).map(lens).collect::<Vec<_>>(),
        "trust": TRUST,
        "interrupted": told.interrupted,
    })
}

fn in_words(
    target: &Target,
    setup: &Setup,
    told: &Diagnosis,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    let mut steps: Vec<u32> = told.bugs.iter().map(|(step, _)| *step).collect();
    steps.sort_unstable();
    let mut properties: Vec<&str> = told.bugs.iter().map(|(_, property)| property.as_str()).collect();
    properties.sort_unstable();
    properties.dedup();
    writeln!(session.out, "target     {}, contract {}", target.name, setup.contract)?;
    writeln!(
        session.out,
        "bug        {} executions showed it in {} steps, {}",
        steps.len(),
        grouped(told.searched),
        match steps.get(steps.len() / 2) {
            Some(middle) => format!(
                "failing at step {} (median): {}",
                grouped(u64::from(*middle)),
                clean(&properties.join(", "))
            ),
            None => "so that nothing can be said".to_owned(),
        }
    )?;
    let fewest = told.others.iter().copied().min().unwrap_or(0);
    writeln!(session.out, "others     at least {fewest} executions at the same step\n")?;
    let wide = setup.lenses.iter().map(String::len).max().unwrap_or(0).max(4);
    writeln!(session.out, "{:<wide$}  {:>8}  median  below {POINTS}  verdict", "lens", "keys")?;
    for (name, lens) in setup.lenses.iter().zip(&told.lenses) {
        let sorted = percentiles(lens, &told.others);
        let middle = median(&sorted).map_or_else(|| "-".to_owned(), |median| format!("{median:.2}"));
        let shares = format!("{}/{}", below(&sorted), sorted.len());
        let (keys, verdict) = (grouped(lens.keys as u64), verdict(&sorted));
        writeln!(session.out, "{name:<wide$}  {keys:>8}  {middle:>6}  {shares:>9}  {verdict}")?;
    }
    writeln!(
        session.out,
        "\npoints: executions of the bug meet a rarer key than others do, before it fails; weak: somewhat rarer; silent: the\n\
         median is {SILENT} or more; unknown: fewer than {BUGS_MIN} executions of the bug that {OTHERS_MIN} others\n\
         can be compared with\n\n{TRUST}\n"
    )?;
    let count = |word: &str| {
        told.lenses.iter().filter(|lens| verdict(&percentiles(lens, &told.others)) == word).count()
    };
    writeln!(
        session.out,
        "target={} bugs={} lenses={} points={} weak={} silent={} unknown={}",
        word(target.name),
        told.bugs.len(),
        setup.lenses.len(),
        count("points"),
        count("weak"),
        count("silent"),
        count("unknown")
    )?;
    Ok(())
}

//! `crash-states`: recovers from every state that a crash may leave.

use super::{word, write_json};
use crate::clock::Stopwatch;
use crate::exit::{Error, FOUND, INTERRUPTED, OK, UNKNOWN};
use crate::findings::Saver;
use crate::folder::Folder;
use crate::interrupt;
use crate::numbers;
use crate::resolve;
use crate::schedules::{self, Loaded};
use crate::session::Session;
use clap::Args;
use misrule_engine::{Budget, CrashCounts, CrashOptions, CrashReport, Finding, crash_states};
use misrule_report::terminal::{self, grouped};
use misrule_world::Setup;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Between two progress lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Recovers from every state that a crash may leave, at every disk operation of a short workload
///
/// The workload is a schedule that passes. For each call of it the node is crashed after each of its disk
/// operations and after the call; from each state of its disk that the contract permits then it is started
/// again, the rest of the workload runs, and the target's oracles judge. Exit code 0 when every state was
/// recovered from, 1 when an oracle failed, 2 when nothing failed and not every state could be gone through.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  misrule crash-states kv --schedule put-put.schedule --contract posix-min\n  \
                  misrule crash-states kv --schedule put-put.schedule --set bug=no-dir-sync --json\n  \
                  misrule crash-states mine --schedule w.schedule --crashes 2   # again in each recovery"
)]
pub(super) struct Arguments {
    /// The target
    target: String,
    /// The workload: a schedule of the target that passes
    #[arg(long, value_name = "FILE")]
    schedule: PathBuf,
    /// What links and disks promise; overrides what it names of the schedule's contract
    #[arg(long, value_name = "WORDS")]
    contract: Option<String>,
    /// A setting of the target, over those of the schedule; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = numbers::setting)]
    set: Vec<(String, String)>,
    /// Crashes in a row: 2 crashes each recovery once more, at each of its disk operations
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=3))]
    crashes: u32,
    /// Sets of surviving units gone through at one crash point
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "4096")]
    sets_max: u32,
    /// Stop after so many executions
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "10M")]
    executions: u64,
    /// Folder for what fails; it must not exist [default: runs/TARGET/UTC-ID, made when something fails]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// No progress on standard error
    #[arg(long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let target = session.target(&arguments.target)?;
    let mut loaded = schedules::load(session, &arguments.schedule, Some(target))?;
    override_setup(&mut loaded, arguments)?;
    if session.program.is_some() {
        interrupt::install();
    }
    let options = CrashOptions {
        sets_max: arguments.sets_max as usize,
        crashes: arguments.crashes,
        executions_max: arguments.executions,
    };
    let explored = explore(arguments, session, &mut loaded, options)?;
    let folder = if explored.broken.is_empty() {
        None
    } else {
        Some(Folder::create(session, target.name, arguments.out.as_deref())?)
    };
    let findings = match &folder {
        Some(folder) => save(session, &mut loaded, folder, &explored)?,
        None => Vec::new(),
    };
    let (verdict, code) = if interrupt::requested() {
        ("interrupted", INTERRUPTED)
    } else if !findings.is_empty() {
        ("fail", FOUND)
    } else if explored.counts.complete {
        ("pass", OK)
    } else {
        ("unknown", UNKNOWN)
    };
    let told = Told { loaded: &loaded, counts: &explored.counts, findings: &findings, verdict };
    if arguments.json {
        write_json(session, &told.as_json(folder.as_ref(), arguments.crashes))?;
    } else {
        told.write(session)?;
    }
    Ok(code)
}

/// Puts settings and contract of the command line over those of the schedule.
fn override_setup(loaded: &mut Loaded<'_>, arguments: &Arguments) -> Result<(), Error> {
    if arguments.contract.is_none() && arguments.set.is_empty() {
        return Ok(());
    }
    let mut given = loaded.file.header.settings.clone();
    for (name, value) in &arguments.set {
        given.retain(|(known, _)| known != name);
        given.push((name.clone(), value.clone()));
    }
    let settings = resolve::settings(loaded.target, &given)?;
    let words = arguments.contract.as_deref().unwrap_or("");
    let contract =
        loaded.setup.contract.overridden(words).map_err(|error| Error::Usage(error.to_string()))?;
    loaded.setup = Setup { settings, contract, lenses: Vec::new() };
    loaded.run = loaded.target.open(&loaded.setup).map_err(|error| Error::Usage(error.to_string()))?;
    Ok(())
}

fn explore(
    arguments: &Arguments,
    session: &mut Session<'_>,
    loaded: &mut Loaded<'_>,
    options: CrashOptions,
) -> Result<CrashReport, Error> {
    let seed = loaded.file.header.seed;
    let stopwatch = Stopwatch::start();
    let (mut next, quiet) = (LINE_EVERY, arguments.quiet);
    let mut trouble = None;
    let workload = &loaded.file.schedule.choices;
    let result = crash_states(&mut *loaded.run, seed, workload, options, &mut |counts| {
        if !quiet && stopwatch.elapsed() >= next {
            next = stopwatch.elapsed() + LINE_EVERY;
            trouble = writeln!(session.err, "{}", progress(counts)).err();
        }
        trouble.is_none() && !interrupt::requested()
    });
    if let Some(error) = trouble {
        return Err(error.into());
    }
    result.map_err(|failure| {
        Error::Input(format!(
            "{}: the workload fails without any crash of ours ({}: {}); a workload must pass",
            loaded.path, failure.property, failure.message
        ))
    })
}

fn progress(counts: &CrashCounts) -> String {
    format!(
        "{} crash points, {} states, {} failing",
        grouped(counts.points),
        grouped(counts.states),
        grouped(counts.failing)
    )
}

/// Minimises what failed and writes a folder for each.
fn save(
    session: &Session<'_>,
    loaded: &mut Loaded<'_>,
    folder: &Folder,
    explored: &CrashReport,
) -> Result<Vec<Value>, Error> {
    let seed = loaded.file.header.seed;
    let saver = Saver {
        target: loaded.target,
        setup: &loaded.setup,
        seed,
        corpus: &[],
        folder,
        program: &session.name,
    };
    let mut findings = Vec::new();
    for (at, broken) in explored.broken.iter().enumerate() {
        let (failure, choices) = (broken.failure.clone(), broken.choices.clone());
        let finding = Finding::examine(&mut *loaded.run, seed, failure, choices, Budget::default());
        let saved = saver.save(&finding, at + 1)?;
        findings.push(saver.finish(&saved, broken.states)?);
    }
    Ok(findings)
}

/// The result, to be told.
struct Told<'a> {
    loaded: &'a Loaded<'a>,
    counts: &'a CrashCounts,
    findings: &'a [Value],
    verdict: &'static str,
}

impl Told<'_> {
    fn as_json(&self, folder: Option<&Folder>, crashes: u32) -> Value {
        let counts = self.counts;
        json!({
            "command": "crash-states",
            "target": self.loaded.target.name,
            "schedule": self.loaded.path,
            "contract": self.loaded.setup.contract.to_string(),
            "settings": self.loaded.setup.settings.iter().collect::<std::collections::BTreeMap<_, _>>(),
            "crashes": crashes,
            "points": counts.points,
            "sets": counts.sets,
            "states": counts.states,
            "images": counts.images,
            "failing": counts.failing,
            "executions": counts.executions,
            "complete": counts.complete,
            "findings": self.findings,
            "run": folder.map(|folder| folder.shown.display().to_string()),
            "verdict": self.verdict,
        })
    }

    fn write(&self, session: &mut Session<'_>) -> Result<(), Error> {
        let counts = self.counts;
        writeln!(session.out, "contract    {}", self.loaded.setup.contract)?;
        writeln!(session.out, "points      {} crash points", grouped(counts.points))?;
        writeln!(
            session.out,
            "states      {} recovered from, of {} permitted sets of units; {} different images{}",
            grouped(counts.states),
            grouped(counts.sets),
            grouped(counts.images),
            if counts.complete { "" } else { "; not every permitted state was gone through" }
        )?;
        for finding in self.findings {
            let text = |field: &str| terminal::clean(finding[field].as_str().unwrap_or_default());
            writeln!(session.out, "\nviolation   {}: {}", text("property"), text("message"))?;
            writeln!(session.out, "states      {}", finding["count"])?;
            writeln!(session.out, "replay      {} replay {}", session.name, text("path"))?;
        }
        writeln!(
            session.out,
            "\ntarget={} schedule={} verdict={} points={} sets={} states={} images={} failing={} complete={}",
            self.loaded.target.name,
            word(&self.loaded.path),
            self.verdict,
            counts.points,
            counts.sets,
            counts.states,
            counts.images,
            counts.failing,
            counts.complete
        )?;
        Ok(())
    }
}

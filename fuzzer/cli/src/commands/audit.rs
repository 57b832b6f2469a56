//! `audit`: which findings appear under which storage contract.

use super::{word, write_json};
use crate::clock::Stopwatch;
use crate::exit::{Error, FOUND, INTERRUPTED, OK};
use crate::findings::Saver;
use crate::folder::Folder;
use crate::interrupt;
use crate::numbers;
use crate::resolve;
use crate::session::Session;
use clap::Args;
use misrule_engine::{Audit, AuditOptions, Budget, Finding, audit};
use misrule_report::terminal::{self, grouped};
use misrule_statistics::wilson;
use misrule_world::{Contract, DiskPreset, Run, Setup, Target, mix};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Between two progress lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Executes the same operations and crash choices under storage contracts from the strongest to the weakest, and
/// says which findings appear under which
///
/// A finding that only the weaker ones show is what a test over a storage model that promises too much cannot find.
/// Schedules are drawn under the last contract; under the others the same choices are executed, and a crash keeps
/// what the contract makes it keep. Shares are of executions, with 95 % intervals (Wilson). Exit code 1 when
/// anything was found.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule audit kv --set bug=no-dir-sync\n  \
                  misrule audit kv --executions 20000 --steps 300 --faults heavy --json\n  \
                  misrule audit mine --contract block=page --disks explicit-sync,posix-min")]
pub(super) struct Arguments {
    /// The target
    target: String,
    /// Executions under each contract
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "2000")]
    executions: u64,
    /// Steps of each execution
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "300")]
    steps: u32,
    /// Disk presets to compare, separated by commas; schedules are drawn under the last
    #[arg(
        long,
        value_name = "WORDS",
        default_value = "immediate,explicit-sync,ordered,torn-prefix,reorder-writes,fsync-keeps,posix-min,fsyncgate"
    )]
    disks: String,
    /// What links promise, and words put over each disk preset (`block=page`)
    #[arg(long, value_name = "WORDS")]
    contract: Option<String>,
    /// Which faults are drawn: none, light, default, heavy, swarm, what differs from the default (drop=0,crash=80), or a
    /// file of profiles; the name of one of several comes behind a colon
    #[arg(long, value_name = "PROFILE", default_value = "heavy")]
    faults: String,
    /// A setting of the target; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = numbers::setting)]
    set: Vec<(String, String)>,
    /// Seed of the schedules: a number, or the 40 hex digits of a commit
    #[arg(long, value_parser = numbers::seed, default_value = "1")]
    seed: u64,
    /// Folder for what is found; it must not exist [default: runs/TARGET/UTC-ID, made when something is found]
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
    let setups = setups(arguments, target)?;
    let open = |setup| target.open(setup).map_err(|error| Error::Usage(error.to_string()));
    let mut runs = setups.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    if session.program.is_some() {
        interrupt::install();
    }
    let options = AuditOptions {
        seed: mix(arguments.seed),
        executions: arguments.executions,
        steps: arguments.steps,
        faults: resolve::faults(session, &arguments.faults)?,
    };
    let audited = execute(session, arguments.quiet, &mut runs, options)?;
    let folder = match audited.rows.as_slice() {
        [] => None,
        _ => Some(Folder::create(session, target.name, arguments.out.as_deref())?),
    };
    let mut findings = Vec::new();
    if let Some(folder) = &folder {
        findings = save(session, target, &setups, &mut runs, folder, &audited, options.seed)?;
    }
    let (verdict, code) = match (interrupt::requested(), findings.is_empty()) {
        (true, _) => ("interrupted", INTERRUPTED),
        (false, true) => ("pass", OK),
        (false, false) => ("fail", FOUND),
    };
    let told = Told { target, setups: &setups, audit: &audited, findings: &findings, verdict };
    if arguments.json {
        write_json(session, &told.as_json(options, arguments.seed, folder.as_ref()))?;
    } else {
        told.write(session)?;
    }
    Ok(code)
}

/// One setup for each disk preset.
fn setups(arguments: &Arguments, target: &Target) -> Result<Vec<Setup>, Error> {
    let settings = resolve::settings(target, &arguments.set)?;
    let words = arguments.contract.as_deref().unwrap_or("");
    let usage = |error: &dyn std::fmt::Display| Error::Usage(error.to_string());
    let mut setups: Vec<Setup> = Vec::new();
    for disk in arguments.disks.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let presets = DiskPreset::ALL.iter().map(|(_, word)| *word);
        if !presets.clone().any(|known| known == disk) {
            return Err(Error::unknown("disk preset", disk, presets));
        }
        let named: Contract = target.contract.overridden(disk).map_err(|error| usage(&error))?;
        let contract = named.overridden(words).map_err(|error| usage(&error))?;
        if contract.disk.preset != named.disk.preset {
            return Err(Error::Usage("--contract names a disk preset; name presets with --disks".to_owned()));
        }
        if setups.iter().any(|setup| setup.contract == contract) {
            return Err(Error::Usage(format!("--disks names `{disk}` twice")));
        }
        setups.push(Setup { settings: settings.clone(), contract, lenses: Vec::new() });
    }
    if setups.is_empty() {
        return Err(Error::Usage("--disks names no disk preset".to_owned()));
    }
    Ok(setups)
}

fn execute(
    session: &mut Session<'_>,
    quiet: bool,
    runs: &mut [Box<dyn Run>],
    options: AuditOptions,
) -> Result<Audit, Error> {
    let stopwatch = Stopwatch::start();
    let (mut next, mut trouble) = (LINE_EVERY, None);
    let audited = audit(runs, options, &mut |so_far| {
        if !quiet && stopwatch.elapsed() >= next {
            next = stopwatch.elapsed() + LINE_EVERY;
            let (done, all) = (grouped(so_far.executions), grouped(options.executions));
            let found = so_far.rows.len();
            trouble = writeln!(session.err, "{done} of {all} schedules, {found} findings").err();
        }
        trouble.is_none() && !interrupt::requested()
    });
    trouble.map_or(Ok(audited), |error| Err(error.into()))
}

/// Minimises what was found and writes a folder for each.
fn save(
    session: &Session<'_>,
    target: &Target,
    setups: &[Setup],
    runs: &mut [Box<dyn Run>],
    folder: &Folder,
    audited: &Audit,
    seed: u64,
) -> Result<Vec<Value>, Error> {
    let mut findings = Vec::new();
    for (at, row) in audited.rows.iter().enumerate() {
        let (failure, choices) = (row.failure.clone(), row.choices.clone());
        let run = &mut *runs[row.contract];
        let finding = Finding::examine(run, seed, failure, choices, Budget::default());
        let setup = &setups[row.contract];
        let saver = Saver { target, setup, seed, corpus: &[], folder, program: &session.name };
        let saved = saver.save(&finding, at + 1)?;
        findings.push(saver.finish(&saved, row.executions.iter().sum())?);
    }
    Ok(findings)
}

/// The result, to be told.
struct Told<'a> {
    target: &'a Target,
    setups: &'a [Setup],
    audit: &'a Audit,
    findings: &'a [Value],
    verdict: &'static str,
}

impl Told<'_> {
    fn as_json(&self, options: AuditOptions, seed: u64, folder: Option<&Folder>) -> Value {
        let of = self.audit.executions;
        let contracts: Vec<String> = self.setups.iter().map(|setup| setup.contract.to_string()).collect();
        let mut rows = Vec::new();
        for (row, finding) in self.audit.rows.iter().zip(self.findings) {
            let appears = (0..self.setups.len()).map(|at| {
                let interval = wilson(row.executions[at], of);
                json!({
                    "disk": self.setups[at].contract.disk.preset.word(),
                    "executions": row.executions[at],
                    "first": row.first[at],
                    "share": ratio(row.executions[at], of),
                    "low": interval.low,
                    "high": interval.high,
                })
            });
            rows.push(json!({ "finding": finding, "appears": appears.collect::<Vec<_>>() }));
        }
        let settings = self.setups[0].settings.iter().collect::<BTreeMap<_, _>>();
        json!({
            "command": "audit",
            "target": self.target.name,
            "seed": seed,
            "settings": settings,
            "contracts": contracts,
            "fault_profile": options.faults.to_string(),
            "steps_max": options.steps,
            "executions": of,
            "steps": self.audit.steps,
            "rows": rows,
            "run": folder.map(|folder| folder.shown.display().to_string()),
            "verdict": self.verdict,
        })
    }

    fn write(&self, session: &mut Session<'_>) -> Result<(), Error> {
        let of = self.audit.executions;
        writeln!(session.out, "{} schedules under each of {} contracts", grouped(of), self.setups.len())?;
        for (row, finding) in self.audit.rows.iter().zip(self.findings) {
            let text = |field: &str| terminal::clean(finding[field].as_str().unwrap_or_default());
            writeln!(session.out, "\n{} {}: {}", row.fingerprint, text("property"), text("message"))?;
            writeln!(session.out, "  {:<22} {:>9} {:>8}  share of executions", "disk", "found in", "first")?;
            for (at, setup) in self.setups.iter().enumerate() {
                let interval = wilson(row.executions[at], of);
                let first = row.first[at].map_or_else(|| "-".to_owned(), grouped);
                writeln!(
                    session.out,
                    "  {:<22} {:>9} {first:>8}  {:5.2} % [{:.2}, {:.2}]",
                    setup.contract.disk.preset.word(),
                    grouped(row.executions[at]),
                    100.0 * ratio(row.executions[at], of),
                    100.0 * interval.low,
                    100.0 * interval.high
                )?;
            }
            writeln!(session.out, "  {} replay {}", session.name, text("path"))?;
        }
        let steps: u64 = self.audit.steps.iter().sum();
        writeln!(
            session.out,
            "\ntarget={} verdict={} findings={} contracts={} executions={of} steps={steps}",
            word(self.target.name),
            self.verdict,
            self.findings.len(),
            self.setups.len()
        )?;
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

//! `experiment`: compares ways of looking for bugs over many campaigns.

mod told;

use super::write_json;
use crate::clock::Stopwatch;
use crate::exit::{Error, INTERRUPTED, OK, UNKNOWN};
use crate::experiment::file::{File, TIERS};
use crate::experiment::folder::{ExperimentFolder, contradiction};
use crate::experiment::machine::{self, Record};
use crate::experiment::pool::{self, Pool};
use crate::experiment::probe;
use crate::experiment::row::{End, Row};
use crate::experiment::{Bug, Cell};
use crate::findings::quoted;
use crate::interrupt;
use crate::session::Session;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use told::{Told, counts, shown_time};

/// Between two progress lines on a terminal, where the line is rewritten, and elsewhere.
const REWRITE_EVERY: Duration = Duration::from_millis(500);
const LINE_EVERY: Duration = Duration::from_secs(30);

/// Runs the campaigns of an experiment file, and appends one row for each to DIR/results.jsonl
///
/// Each campaign is a process of its own, bound to a core, with a seed that comes from the experiment's. The first
/// campaign of every cell comes first, then the second of every cell, and so on. What has a row is not run again: after
/// Ctrl-C the same command goes on, and with more campaigns, bugs or arms in the file it adds rows. Any other change of
/// the file needs another folder. Exit code 2 when campaigns were lost.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule experiment benches/experiments/first.toml --dry-run\n  \
                  misrule experiment benches/experiments/first.toml --out benches/results/first\n  \
                  misrule experiment benches/ladder.toml --tier seconds")]
pub(super) struct Arguments {
    /// The experiment
    file: PathBuf,
    /// Folder of the results, made when it does not exist [default: runs/experiment/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only bugs of this tier
    #[arg(long, value_name = "TIER", value_parser = TIERS)]
    tier: Option<String>,
    /// Campaigns at the same time, at most one for each core [default: one for each core]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Print cells, campaigns and the processor time that they may take, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object at the end and nothing else on standard output
    #[arg(long)]
    json: bool,
    /// No progress on standard error
    #[arg(long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let path = session.at(&arguments.file);
    let name = arguments.file.display().to_string();
    let text = fs::read_to_string(&path).map_err(|error| Error::Input(format!("{name}: {error}")))?;
    let file = File::read(&name, text)?;
    let folder = folder(arguments, session)?;
    let records = folder.records()?;
    if let Some(last) = records.last()
        && let Some(text) = contradiction(&last.experiment, &file.experiment)
    {
        let (shown, hash) = (folder.shown.display(), &last.registration);
        return Err(Error::Input(format!(
            "{name}: {text}; {shown} holds results of what was registered as {hash}, which may only be extended by \
             campaigns, bugs and arms: name another folder with --out"
        )));
    }
    let base = path.parent().unwrap_or(Path::new("")).to_owned();
    let cells = cells(arguments, &file, &base, session)?;
    let own = session.program.clone();
    let own = own.ok_or_else(|| Error::Internal("an experiment needs a program to run".to_owned()))?;
    let workers = workers(arguments)?;
    if session.program.is_some() {
        interrupt::install();
    }
    let scratch = Scratch::new()?;
    let resolved = probe::resolve(&file, &cells, &own, &base, &scratch.0)?;
    let record = Record::now(
        &file.experiment,
        &path,
        command(arguments, session),
        workers.len(),
        workers[0].is_some(),
    );
    let before = folder.rows()?;
    let mut told =
        Told { arguments, file: &file, cells: &resolved, record: &record, folder: &folder, rows: before };
    told.warn(session)?;
    let mut verdict = "planned";
    if !arguments.dry_run {
        folder.make()?;
        folder.add_record(&record)?;
        verdict = if execute(&mut told, session, &workers, &scratch.0)? { "complete" } else { "interrupted" };
    }
    if arguments.json {
        write_json(session, &told.as_json(verdict))?;
    } else {
        told.write(session, verdict)?;
    }
    let lost = told.rows.iter().any(|row| row.end == End::Lost);
    Ok(match verdict {
        "interrupted" => INTERRUPTED,
        "complete" if lost => UNKNOWN,
        _ => OK,
    })
}

/// A folder for what children write, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("misrule-experiment-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder(arguments: &Arguments, session: &Session<'_>) -> Result<ExperimentFolder, Error> {
    let shown = match (&arguments.out, arguments.file.file_stem()) {
        (Some(out), _) => out.clone(),
        (None, Some(stem)) => Path::new("runs").join("experiment").join(stem),
        (None, None) => return Err(Error::Usage(format!("{} is not a file", arguments.file.display()))),
    };
    Ok(ExperimentFolder { path: session.at(&shown), shown })
}

/// The cells that are asked for. Those whose program has not been built are left out: they are shown as missing.
fn cells<'a>(
    arguments: &Arguments,
    file: &'a File,
    base: &Path,
    session: &mut Session<'_>,
) -> Result<Vec<Cell<'a>>, Error> {
    let mut cells = file.experiment.cells();
    if let Some(tier) = &arguments.tier {
        cells.retain(|cell| cell.bug.tier.as_ref() == Some(tier));
    }
    if cells.is_empty() {
        return Err(Error::Usage("no bug of the file has that tier".to_owned()));
    }
    let absent = |bug: &Bug| bug.program.as_ref().filter(|program| !base.join(program).exists()).cloned();
    for bug in file.experiment.bugs.iter().filter(|bug| cells.iter().any(|cell| cell.bug.name == bug.name)) {
        if let Some(program) = absent(bug) {
            session.warn(&format!("bug `{}` is left out: there is no program {program}", bug.name))?;
        }
    }
    cells.retain(|cell| absent(cell.bug).is_none());
    if cells.is_empty() {
        return Err(Error::Usage("no program of any bug is there".to_owned()));
    }
    Ok(cells)
}

/// The core of each worker.
fn workers(arguments: &Arguments) -> Result<Vec<Option<usize>>, Error> {
    let cores = machine::cores();
    let count = arguments.workers.unwrap_or(cores.len());
    if count == 0 || count > cores.len() {
        return Err(Error::Usage(format!(
            "--workers {count}: from 1 to {}, the number of cores",
            cores.len()
        )));
    }
    let pin = machine::can_pin();
    Ok(cores.into_iter().take(count).map(|core| pin.then_some(core)).collect())
}

/// The command that goes on with it.
fn command(arguments: &Arguments, session: &Session<'_>) -> String {
    let mut words = vec![session.name.clone(), "experiment".to_owned()];
    words.push(arguments.file.display().to_string());
    let options = [
        ("--out", arguments.out.as_ref().map(|out| out.display().to_string())),
        ("--tier", arguments.tier.clone()),
        ("--workers", arguments.workers.map(|workers| workers.to_string())),
    ];
    for (option, value) in options {
        words.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Runs what has no row yet; returns whether all of it ran.
fn execute(
    told: &mut Told<'_>,
    session: &mut Session<'_>,
    cores: &[Option<usize>],
    scratch: &Path,
) -> Result<bool, Error> {
    let experiment = &told.file.experiment;
    let planned = pool::plan(told.cells, experiment.seed, experiment.campaigns, &told.rows);
    let total = planned.len();
    let pool = Pool { cores, scratch, folder: told.folder, registration: &told.record.registration };
    let (quiet, workers) = (told.arguments.quiet, cores.len() as u32);
    let every = if session.rewrite { REWRITE_EVERY } else { LINE_EVERY };
    let (stopwatch, mut next) = (Stopwatch::start(), every);
    let mut ended: Vec<Row> = Vec::new();
    let complete = pool.run(planned, &mut |row, left| {
        ended.extend(row.cloned());
        if quiet || stopwatch.elapsed() < next {
            return Ok(());
        }
        next = stopwatch.elapsed() + every;
        let time: Duration = left.iter().filter_map(|planned| planned.cell.cell.bug.budget.time()).sum();
        let line = format!(
            "{} of {total} campaigns: {}; at most {} to go",
            ended.len(),
            counts(|end| end.count(&ended)),
            shown_time(time / workers)
        );
        if session.rewrite {
            write!(session.err, "\r\u{1b}[K{line}")?;
        } else {
            writeln!(session.err, "{line}")?;
        }
        Ok(session.err.flush()?)
    })?;
    if session.rewrite && !quiet {
        write!(session.err, "\r\u{1b}[K")?;
    }
    told.rows.append(&mut ended);
    Ok(complete)
}

//! `fuzz`: a campaign.

mod monitor;
mod plan;
mod summary;

use super::write_json;
use crate::clock::Stopwatch;
use crate::exit::{Error, FOUND, INTERRUPTED, OK, UNKNOWN};
use crate::findings::Saver;
use crate::folder::Folder;
use crate::interrupt;
use crate::numbers;
use crate::schedules::{self, Loaded};
use crate::session::Session;
use clap::Args;
use misrule_engine::{Campaign, Entry, campaign};
use misrule_world::{FaultProfile, mix};
use monitor::Monitor;
use plan::Plan;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Looks for schedules that make a target fail, minimises and classifies what it finds
///
/// First the schedules in corpus/TARGET are replayed: one that behaves otherwise than it records is a finding,
/// and a finding that is recorded there is marked as known. Without any budget the campaign runs until a
/// finding or Ctrl-C. Counts may be written 1000000, 1e6 or 1M.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule fuzz omnipaxos\n  \
                  misrule fuzz omnipaxos --contract fifo --set trim=off --time 10m --stop-after 0\n  \
                  misrule fuzz two-phase-commit --guidance random --seed $(git rev-parse HEAD) --steps 1e8 --json")]
pub(super) struct Arguments {
    /// The target; may be left out where only one is registered
    target: Option<String>,
    /// What decides what runs next; `misrule list` names them all [default: frontier, or random without lenses]
    #[arg(long, value_name = "NAME")]
    guidance: Option<String>,
    /// Lenses and signals that guide, separated by commas; `none` for none. A name without @ is the model's, else
    /// the implementation's [default: pairs, and waiting where links reorder; a published strategy has its own]
    #[arg(long, value_name = "NAMES")]
    lens: Option<String>,
    /// What links and disks promise; overrides what it names
    #[arg(long, value_name = "WORDS")]
    contract: Option<String>,
    /// Which faults are drawn: none, light, default, heavy, swarm, what differs from the default (drop=0,crash=80), or a
    /// file of profiles; the name of one of several comes behind a colon
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    faults: String,
    /// A setting of the target; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = numbers::setting)]
    set: Vec<(String, String)>,
    /// Seed of everything random: a number, or the 40 hex digits of a commit [default: drawn, and printed]
    #[arg(long, value_parser = numbers::seed)]
    seed: Option<u64>,
    /// Stop after so many executions
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    executions: Option<u64>,
    /// Stop after so many steps, all executions together
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    steps: Option<u64>,
    /// Longest execution, in steps [default: the target's own, mostly 30,000]
    #[arg(long, value_name = "N", value_parser = numbers::steps)]
    steps_max: Option<u32>,
    /// Stop after so much time: 500ms, 30s, 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = numbers::time)]
    time: Option<Duration>,
    /// Stop after so many findings that are not known; 0 for never
    #[arg(long, value_name = "N", default_value_t = 1)]
    stop_after: usize,
    /// Only a finding of this property, or with this fingerprint, counts for --stop-after; may be given several times
    #[arg(long, value_name = "NAME")]
    until: Vec<String>,
    /// Whether findings are minimised, or kept as they were found
    #[arg(long, value_name = "WHETHER", default_value = "yes", value_parser = ["yes", "no"])]
    minimize: String,
    /// When the model's state is compared with the implementation's
    #[arg(long, value_name = "WHEN", default_value = "sampled", value_parser = ["always", "sampled", "off"])]
    conformance: String,
    /// When executions end in a recovery: faults stop, and the nodes that the target needs must make progress
    #[arg(long, value_name = "WHEN", default_value = "sampled", value_parser = ["never", "sampled", "always"])]
    recovery: String,
    /// Exit with 2 when, in a million steps, a `sometimes` property was never seen or a fault never had an effect
    #[arg(long)]
    strict: bool,
    /// Folder for what is found; it must not exist [default: runs/TARGET/UTC-ID]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON object at the end and nothing else on standard output
    #[arg(long)]
    json: bool,
    /// No progress on standard error
    #[arg(long)]
    quiet: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let plan = Plan::resolve(arguments, session)?;
    let corpus = load_corpus(session, &plan)?;
    let entries: Vec<Entry> = corpus.iter().map(entry).collect();
    // A world that cannot be opened is an error before any folder is made.
    misrule_engine::open(plan.target, &plan.setup).map_err(|error| Error::Usage(error.to_string()))?;
    let folder = Folder::create(session, plan.target.name, arguments.out.as_deref())?;
    plan.write_manifest(&folder, None)?;
    // Tests inside one process share its signals, so they have no handler.
    if session.program.is_some() {
        interrupt::install();
    }
    if !arguments.json {
        write!(session.out, "{}", plan.in_words(&folder, corpus.len()))?;
        session.out.flush()?;
    }
    let program = session.name.clone();
    let saver = Saver {
        target: plan.target,
        setup: &plan.setup,
        seed: mix(plan.options.seed),
        corpus: &corpus,
        folder: &folder,
        program: &program,
    };
    let work = Campaign { target: plan.target, setup: &plan.setup, options: &plan.options, corpus: &entries };
    let mut monitor = Monitor::new(session, &saver, arguments, Stopwatch::start());
    let outcome = campaign(&work, &mut monitor)?;
    let watched = monitor.finish()?;
    let (problems, verdict, code) = judge(&outcome, plan.options.faults, arguments.strict);
    for problem in &problems {
        session.warn(problem)?;
    }
    plan.write_lenses(&folder, &outcome.summary)?;
    plan.write_manifest(&folder, Some(verdict))?;
    let mut findings = Vec::new();
    for (saved, finding) in watched.saved.iter().zip(&outcome.findings) {
        findings.push(saver.finish(saved, finding.count)?);
    }
    let done = summary::Done { plan: &plan, folder: &folder, outcome: &outcome, watched: &watched, verdict };
    if arguments.json {
        write_json(session, &done.as_json(&findings, &problems))?;
    } else {
        write!(session.out, "{}", done.in_words())?;
    }
    Ok(code)
}

/// The regression corpus: `corpus/<target>/*.schedule` below the working directory, in the order of names.
fn load_corpus<'a>(session: &Session<'a>, plan: &Plan<'a>) -> Result<Vec<Loaded<'a>>, Error> {
    let folder = Path::new("corpus").join(plan.target.name);
    let entries = match std::fs::read_dir(session.at(&folder)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::Input(format!("{}: {error}", folder.display()))),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| Error::Input(format!("{}: {error}", folder.display())))?;
        names.push(PathBuf::from(entry.file_name()));
    }
    names.retain(|name| name.extension().is_some_and(|ending| ending == "schedule"));
    names.sort();
    names.iter().map(|name| schedules::load(session, &folder.join(name), Some(plan.target))).collect()
}

fn entry(loaded: &Loaded<'_>) -> Entry {
    Entry {
        name: loaded.path.clone(),
        setup: loaded.setup.clone(),
        seed: loaded.file.header.seed,
        schedule: loaded.file.schedule.clone(),
        expect: loaded.file.header.expect.clone(),
    }
}

/// What a campaign failed to show, its verdict, and its exit code.
fn judge(
    outcome: &misrule_engine::Outcome,
    faults: FaultProfile,
    strict: bool,
) -> (Vec<String>, &'static str, u8) {
    let problems = summary::problems(&outcome.summary, faults);
    if outcome.interrupted {
        (problems, "interrupted", INTERRUPTED)
    } else if !outcome.findings.is_empty() {
        (problems, "fail", FOUND)
    } else if strict && !problems.is_empty() {
        (problems, "unknown", UNKNOWN)
    } else {
        (problems, "pass", OK)
    }
}

#[cfg(test)]
mod tests {
    use misrule_engine::Outcome;
    use misrule_world::{ChoiceKind, FaultKind, FaultProfile, FaultWeights};

    fn judge(outcome: &Outcome, strict: bool) -> (Vec<String>, &'static str, u8) {
        super::judge(outcome, FaultProfile::Default, strict)
    }

    #[test]
    fn strict_wants_to_have_seen_everything() {
        let mut outcome = Outcome::default();
        outcome.summary.steps = 1_000_000;
        assert_eq!(judge(&outcome, true), (Vec::new(), "pass", 0));
        outcome.summary.choices[ChoiceKind::Crash as usize].drawn = 3;
        outcome.summary.tally.steps_followed = 5;
        outcome.summary.tally.sometimes = vec![("elects", 0), ("commits", 1)];
        let (problems, verdict, code) = judge(&outcome, true);
        assert!(problems[0].contains("`elects` was never seen"), "{problems:?}");
        assert!(problems[1].contains("`crash` was drawn 3 times"), "{problems:?}");
        assert_eq!((problems.len(), verdict, code), (2, "unknown", 2));
        let (problems, verdict, code) = judge(&outcome, false);
        assert_eq!((problems.len(), verdict, code), (2, "pass", 0), "a warning without --strict");
        outcome.interrupted = true;
        assert_eq!(judge(&outcome, true).2, 130);
        outcome.interrupted = false;
        outcome.summary.steps = 999_999;
        assert_eq!(judge(&outcome, true), (Vec::new(), "pass", 0), "too short to tell");
    }

    #[test]
    fn a_fault_that_was_asked_for_and_never_drawn_is_told() {
        let mut outcome = Outcome::default();
        outcome.summary.steps = 1_000_000;
        let asked = FaultWeights::default().with(FaultKind::Swizzle, 40).with(FaultKind::Drop, 0);
        let faults = FaultProfile::of(asked.with(FaultKind::Slow, 5_000));
        let (problems, verdict, _) = super::judge(&outcome, faults, true);
        assert_eq!(problems, ["the fault profile names `swizzle`, and `clog` was never drawn"]);
        assert_eq!(verdict, "unknown");
        outcome.summary.choices[ChoiceKind::Clog as usize].drawn = 3;
        let (problems, ..) = super::judge(&outcome, faults, true);
        assert_eq!(problems, ["the fault `clog` was drawn 3 times and never had an effect"]);
        outcome.summary.choices[ChoiceKind::Clog as usize].applied = 1;
        assert_eq!(super::judge(&outcome, faults, true), (Vec::new(), "pass", 0));
    }
}

//! `minimize`: makes a failing schedule small.

use super::{word, write_json};
use crate::exit::{DIVERGED, Error, OK};
use crate::folder;
use crate::resolve::changed;
use crate::schedules;
use crate::session::Session;
use crate::shown;
use clap::Args;
use misrule_engine::{Budget, Finding, replay_recorded};
use misrule_report::terminal::{self, Detail};
use misrule_world::{Header, Schedule};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Minimises a failing schedule: fewer and simpler choices, the same finding
///
/// The result goes to FILE with `.minimized.schedule` for its ending, or to `--out`; it must not exist. Exit
/// code 0 when the file was written, or when the schedule does not fail and there is nothing to write.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule minimize found.schedule\n  \
                  misrule minimize found.schedule --out corpus/omnipaxos/trim.schedule")]
pub(super) struct Arguments {
    /// The schedule
    file: PathBuf,
    /// Where to write the result
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let out = arguments.out.clone().unwrap_or_else(|| beside(&arguments.file));
    if session.at(&out).exists() {
        return Err(Error::Usage(format!("{} exists; name another file with --out", out.display())));
    }
    let mut loaded = schedules::load(session, &arguments.file, None)?;
    let judged = loaded.replay(false, &mut |_, _| {});
    for note in &judged.notes {
        session.warn(note)?;
    }
    let (target, seed) = (loaded.target, loaded.file.header.seed);
    let file = loaded.path.clone();
    let Some(failure) = judged.replay.failure else {
        return no_failure(arguments, session, &file, judged.replay.steps());
    };
    let run = &mut *loaded.run;
    let finding = Finding::examine(run, seed, failure, judged.replay.choices, Budget::default());
    let fingerprint = finding.fingerprint.to_string();
    let schedule = Schedule { choices: finding.minimised.clone(), tail: None };
    let replay = replay_recorded(run, seed, &schedule, Some(&fingerprint), true, &mut |_, _| {});
    let same = replay.fingerprint() == Some(finding.fingerprint);
    let header = Header {
        target: target.name.to_owned(),
        version: target.version.to_owned(),
        settings: changed(target, &loaded.setup.settings),
        contract: loaded.setup.contract.to_string(),
        seed,
        expect: schedules::expects(&finding.failure.property, finding.fingerprint),
        trace_hash: Some(replay.trace_hash.clone()),
    };
    folder::write(&session.at(&out), &schedules::print(run, header, schedule))?;
    let verdict = if same { "fail" } else { "diverged" };
    let (before, after) = (finding.found.len(), finding.minimised.len());
    if arguments.json {
        let object = json!({
            "file": file,
            "out": out.display().to_string(),
            "verdict": verdict,
            "property": finding.failure.property,
            "fingerprint": fingerprint,
            "class": finding.class.name(),
            "steps_before": before,
            "steps_minimized": after,
            "executions": finding.executions_minimise,
            "minimal": finding.minimal,
            "trace_hash": replay.trace_hash,
        });
        write_json(session, &object)?;
    } else {
        let steps = shown::steps(&replay.trace, run.about().vocabulary);
        let last = replay.failure.as_ref().and(steps.last()).map(|step| step.number);
        let title = format!("violation  {}: {}", finding.failure.property, finding.failure.message);
        writeln!(session.out, "{}\n", terminal::clean(&title))?;
        write!(session.out, "{}", terminal::steps(&steps, last, Detail::Short, session.style))?;
        writeln!(
            session.out,
            "\nclass      {}: {}",
            finding.class.name(),
            terminal::clean(&finding.evidence)
        )?;
        writeln!(
            session.out,
            "file={} out={} verdict={verdict} fingerprint={fingerprint} steps_before={before} \
             steps_minimized={after} executions={} minimal={}",
            word(&file),
            word(&out.display().to_string()),
            finding.executions_minimise,
            finding.minimal
        )?;
    }
    Ok(if same { OK } else { DIVERGED })
}

fn no_failure(arguments: &Arguments, session: &mut Session<'_>, file: &str, steps: u32) -> Result<u8, Error> {
    if arguments.json {
        write_json(session, &json!({ "file": file, "verdict": "pass", "steps_before": steps }))?;
    } else {
        writeln!(session.out, "the schedule does not fail: nothing to minimise, nothing written")?;
        writeln!(session.out, "file={} verdict=pass steps_before={steps}", word(file))?;
    }
    Ok(OK)
}

/// `found.schedule` becomes `found.minimized.schedule`.
fn beside(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}.minimized.schedule"))
}

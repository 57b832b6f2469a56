//! `replay`: executes schedules and says whether they behave as their headers expect.

use super::{word, write_json};
use crate::exit::{DIVERGED, Error, FOUND, OK, UNKNOWN};
use crate::findings::log_lines;
use crate::schedules::{self, Judged, Loaded};
use crate::session::Session;
use crate::shown;
use clap::Args;
use misrule_engine::Recovered;
use misrule_report::Step;
use misrule_report::terminal::{self, Detail};
use misrule_world::Core;
use misrule_world::text::choice_line;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Replays schedules: the same choices, the same trace
///
/// The verdict is `fail` (a finding is shown, exit 1), `other` (another finding than the header expects, exit
/// 1), `pass` (exit 0), `drift` (it passes, but choices did not fit any more, exit 3), `diverged` (the same
/// outcome by another trace in the same version, exit 3) or `unknown` (a recovery without progress, of a core to which
/// none is promised, exit 2). Of several files, 1 wins over 3, 3 over 2 and 2 over 0.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches of the command line, each read alone")]
#[command(after_help = "Examples:\n  misrule replay runs/omnipaxos/latest/findings/*/minimized.schedule\n  \
                  misrule replay found.schedule --log --until 40\n  \
                  gdb --args misrule replay found.schedule --break 17   # then: break misrule_break")]
pub(super) struct Arguments {
    /// The schedules
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print what the target itself logged, by step and node
    #[arg(long)]
    log: bool,
    /// Print up to this step and then the views
    #[arg(long, value_name = "STEP")]
    until: Option<usize>,
    /// Call the function `misrule_break` before this step, for a debugger
    #[arg(long, value_name = "STEP")]
    r#break: Option<u32>,
    /// Execute without printing steps
    #[arg(long)]
    no_trace: bool,
    /// Every step, with its input, sends and disk operations, and values in full
    #[arg(long)]
    full: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    // All files are read before any is executed: a bad one ends the command before it does anything.
    let mut all = Vec::new();
    for path in &arguments.files {
        all.push(schedules::load(session, path, None)?);
    }
    let several = all.len() > 1;
    let keep = !arguments.no_trace && !arguments.json && (!several || arguments.log || arguments.full);
    let mut results = Vec::new();
    let (mut failed, mut diverged, mut unknown) = (0, 0, 0);
    for mut loaded in all {
        let stop = arguments.r#break;
        // The callback comes after each step, so the break before a step comes after the one before.
        let judged = loaded.replay(keep, &mut |step, _| {
            if stop == Some(step + 1) {
                misrule_break();
            }
        });
        failed += u32::from(judged.code == FOUND);
        diverged += u32::from(judged.code == DIVERGED);
        unknown += u32::from(judged.code == UNKNOWN);
        for note in &judged.notes {
            session.warn(note)?;
        }
        if arguments.json {
            results.push(as_json(&loaded, &judged));
        } else {
            if keep {
                trace(arguments, &loaded, &judged, session)?;
            }
            writeln!(session.out, "{}", last_line(&loaded, &judged))?;
        }
    }
    if arguments.json {
        let object = match (several, results.pop()) {
            (false, Some(result)) => result,
            (_, last) => json!({ "files": results.into_iter().chain(last).collect::<Vec<_>>() }),
        };
        write_json(session, &object)?;
    }
    if several && !arguments.json {
        let files = arguments.files.len();
        writeln!(session.out, "files={files} failed={failed} diverged={diverged}")?;
    }
    Ok(match (failed, diverged, unknown) {
        (0, 0, 0) => OK,
        (0, 0, _) => UNKNOWN,
        (0, _, _) => DIVERGED,
        _ => FOUND,
    })
}

/// A place for a debugger to stop at; does nothing.
#[inline(never)]
fn misrule_break() {
    std::hint::black_box(());
}

fn trace(
    arguments: &Arguments,
    loaded: &Loaded<'_>,
    judged: &Judged,
    session: &mut Session<'_>,
) -> Result<(), Error> {
    let replay = &judged.replay;
    let all = shown::steps(&replay.trace, loaded.run.about().vocabulary);
    let until = arguments.until.unwrap_or(usize::MAX);
    let steps = &all[..all.len().min(until.saturating_add(1))];
    let violates = replay.failure.as_ref().and(all.last()).map(|step| step.number);
    if let Some(failure) = replay.failure.as_ref().filter(|_| steps.len() == all.len()) {
        let text = format!("violation  {}: {}", failure.property, failure.message);
        writeln!(session.out, "{}\n", terminal::clean(&text))?;
    }
    let detail = if arguments.full { Detail::Full } else { Detail::Short };
    if arguments.log {
        write!(session.out, "{}", log_lines(steps))?;
    } else {
        write!(session.out, "{}", terminal::steps(steps, violates, detail, session.style))?;
    }
    if let Some(last) = steps.last().filter(|_| arguments.until.is_some()) {
        writeln!(session.out, "\nviews after step {}", last.number)?;
        for (name, value) in views(steps) {
            writeln!(session.out, "  {name} = {}", terminal::clean(&value))?;
        }
    }
    writeln!(session.out)?;
    Ok(())
}

/// The last value of each field, in the order in which the fields appeared; the model's come last.
fn views(steps: &[Step]) -> Vec<(String, String)> {
    let mut views: Vec<(String, String)> = Vec::new();
    let mut models: Vec<(String, String)> = Vec::new();
    let put = |known: &mut Vec<(String, String)>, name: String, value: &str| match known
        .iter_mut()
        .find(|(field, _)| *field == name)
    {
        Some((_, known)) => value.clone_into(known),
        None => known.push((name, value.to_owned())),
    };
    for step in steps {
        for field in &step.changes {
            put(&mut views, field.name.clone(), &field.after);
        }
        for field in &step.model {
            put(&mut models, format!("model.{}", field.name), &field.after);
        }
    }
    views.into_iter().chain(models).collect()
}

fn last_line(loaded: &Loaded<'_>, judged: &Judged) -> String {
    let replay = &judged.replay;
    let fingerprint = replay.fingerprint().map_or_else(|| "none".to_owned(), |f| f.to_string());
    let recovery = replay.recovery.map_or_else(String::new, |recovered| {
        let Recovered { end, rounds, steps, .. } = recovered;
        format!(" recovery={} rounds={rounds} steps_recovery={steps}", end.word())
    });
    format!(
        "file={} verdict={} fingerprint={fingerprint} trace_hash={} steps={} skipped={} drift={}{recovery}",
        word(&loaded.path),
        judged.verdict,
        replay.trace_hash,
        replay.steps(),
        replay.skipped,
        replay.drift.len()
    )
}

fn recovery_json(recovered: Recovered) -> Value {
    let core: Vec<u32> = Core(recovered.core).nodes().map(|node| u32::from(node) + 1).collect();
    let (end, rounds, steps) = (recovered.end.word(), recovered.rounds, recovered.steps);
    json!({ "core": core, "end": end, "rounds": rounds, "steps": steps })
}

fn as_json(loaded: &Loaded<'_>, judged: &Judged) -> Value {
    let replay = &judged.replay;
    let vocabulary = loaded.run.about().vocabulary;
    let drift: Vec<Value> = replay
        .drift
        .iter()
        .filter_map(|(at, found)| {
            let choice = *loaded.file.schedule.choices.get(*at as usize)?;
            Some(json!({
                "line": loaded.file.lines.get(*at as usize),
                "choice": choice_line(vocabulary, choice),
                "found": vocabulary.kinds.get(usize::from(*found)),
            }))
        })
        .collect();
    json!({
        "file": loaded.path,
        "target": loaded.target.name,
        "version": loaded.target.version,
        "version_recorded": loaded.file.header.version,
        "verdict": judged.verdict,
        "fingerprint": replay.fingerprint().map(|fingerprint| fingerprint.to_string()),
        "oracle": replay.failure.as_ref().map(|failure| failure.oracle),
        "property": replay.failure.as_ref().map(|failure| failure.property.clone()),
        "message": replay.failure.as_ref().map(|failure| failure.message.clone()),
        "trace_hash": replay.trace_hash,
        "steps": replay.steps(),
        "skipped": replay.skipped,
        "recovery": replay.recovery.map(recovery_json),
        "drift": drift,
        "notes": judged.notes,
    })
}

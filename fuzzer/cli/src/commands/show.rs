//! `show`: a schedule as a table of steps.

use super::word;
use crate::exit::{Error, OK};
use crate::schedules;
use crate::session::Session;
use crate::shown;
use clap::Args;
use misrule_engine::causal_cone;
use misrule_report::terminal::{self, Detail};
use std::path::PathBuf;

/// Shows a schedule step by step: each choice and what it changed, or why a step happened
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule show corpus/omnipaxos/trim.schedule\n  \
                  misrule show found.schedule --why 17\n  misrule show found.schedule --full")]
pub(super) struct Arguments {
    /// The schedule
    file: PathBuf,
    /// Only the causal cone of this step: the steps without which it would not have happened as it did
    #[arg(long, value_name = "STEP")]
    why: Option<usize>,
    /// Every step, with its input, sends and disk operations, and values in full
    #[arg(long)]
    full: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let mut loaded = schedules::load(session, &arguments.file, None)?;
    let judged = loaded.replay(true, &mut |_, _| {});
    for note in &judged.notes {
        session.warn(note)?;
    }
    let replay = &judged.replay;
    let all = shown::steps(&replay.trace, loaded.run.about().vocabulary);
    let last = all.len().saturating_sub(1);
    let violates = replay.failure.as_ref().map(|_| last);
    let steps = match arguments.why {
        Some(step) if step > last => {
            return Err(Error::Usage(format!("--why {step}: the schedule has steps 0 to {last}")));
        }
        Some(step) => {
            let cone = causal_cone(&replay.trace, step);
            writeln!(session.out, "step {step} follows from {} of {last} steps\n", cone.len() - 1)?;
            cone.iter().map(|at| all[*at].clone()).collect()
        }
        None => all,
    };
    if let Some(failure) = &replay.failure {
        let text = format!("violation  {}: {}", failure.property, failure.message);
        writeln!(session.out, "{}\n", terminal::clean(&text))?;
    }
    let detail = if arguments.full { Detail::Full } else { Detail::Short };
    write!(session.out, "{}", terminal::steps(&steps, violates, detail, session.style))?;
    writeln!(
        session.out,
        "\nfile={} target={} steps={} shown={} verdict={}",
        word(&loaded.path),
        word(loaded.target.name),
        replay.steps(),
        steps.len().saturating_sub(1),
        judged.verdict
    )?;
    Ok(OK)
}

//! The commands, one file each.

mod audit;
mod bench;
mod check;
mod crash_states;
mod experiment;
mod fuzz;
mod history;
mod lens;
mod list;
mod minimize;
mod model;
mod replay;
mod report;
mod show;

use crate::exit::Error;
use crate::session::Session;
use clap::{Parser, Subcommand};
use serde_json::Value;

/// Finds the bugs of distributed protocols that appear only under one order of messages, timers and crashes.
#[derive(Debug, Parser)]
#[command(after_help = crate::exit::HELP, version = crate::build::LONG.as_str(), propagate_version = true)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Arguments),
    Fuzz(fuzz::Arguments),
    Replay(replay::Arguments),
    #[command(alias = "minimise")]
    Minimize(minimize::Arguments),
    Show(show::Arguments),
    Check(check::Arguments),
    CrashStates(crash_states::Arguments),
    Audit(audit::Arguments),
    Model(model::Arguments),
    Bench(bench::Arguments),
    Experiment(experiment::Arguments),
    Report(report::Arguments),
    History(history::Arguments),
    Lens(lens::Arguments),
}

impl Cli {
    /// Runs the command and returns its exit code.
    pub(crate) fn run(&self, session: &mut Session<'_>) -> Result<u8, Error> {
        match &self.command {
            Command::List(arguments) => list::run(arguments, session),
            Command::Fuzz(arguments) => fuzz::run(arguments, session),
            Command::Replay(arguments) => replay::run(arguments, session),
            Command::Minimize(arguments) => minimize::run(arguments, session),
            Command::Show(arguments) => show::run(arguments, session),
            Command::Check(arguments) => check::run(arguments, session),
            Command::CrashStates(arguments) => crash_states::run(arguments, session),
            Command::Audit(arguments) => audit::run(arguments, session),
            Command::Model(arguments) => model::run(arguments, session),
            Command::Bench(arguments) => bench::run(arguments, session),
            Command::Experiment(arguments) => experiment::run(arguments, session),
            Command::Report(arguments) => report::run(arguments, session),
            Command::History(arguments) => history::run(arguments, session),
            Command::Lens(arguments) => lens::run(arguments, session),
        }
    }
}

/// Writes the one object of `--json`.
fn write_json(session: &mut Session<'_>, value: &Value) -> Result<(), Error> {
    Ok(writeln!(session.out, "{value:#}")?)
}

/// A value of the last line: quoted where it would not be one word.
fn word(value: &str) -> String {
    if value.is_empty() || value.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"') {
        format!("{value:?}")
    } else {
        value.to_owned()
    }
}

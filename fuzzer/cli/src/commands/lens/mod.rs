//! `lens`: what lenses are worth.

mod diagnose;
mod report;

use crate::exit::Error;
use crate::session::Session;
use clap::{Args, Subcommand};

/// Says what lenses are worth: whether one is too coarse or too fine, and whether it points at a known bug
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule lens report runs/omnipaxos/latest\n  \
                  misrule lens diagnose two-phase-commit --bug timeout-after-commit")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Report(report::Arguments),
    Diagnose(Box<diagnose::Arguments>),
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    match &arguments.command {
        Command::Report(arguments) => report::run(arguments, session),
        Command::Diagnose(arguments) => diagnose::run(arguments, session),
    }
}

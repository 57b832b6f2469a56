//! `lens`: what lenses are worth.

mod report;

use crate::exit::Error;
use crate::session::Session;
use clap::{Args, Subcommand};

/// Says what lenses are worth: whether one is too coarse or too fine
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule lens report runs/omnipaxos/latest")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Report(report::Arguments),
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    match &arguments.command {
        Command::Report(arguments) => report::run(arguments, session),
    }
}

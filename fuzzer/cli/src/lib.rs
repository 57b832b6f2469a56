//! misrule finds the bugs of distributed protocols that appear only under one order of messages, timers, crashes
//! and disk outcomes. This crate is all that a project depends on: what an adapter implements ([`System`],
//! [`Judge`], [`target`], and for models [`Model`], [`Mapping`], [`Lens`]), and the whole program as a function
//! ([`main`]), so that a binary of three lines has every command.
//!
//! A complete target: two nodes pass a counter to and fro, and an oracle says how far it may count.
//!
//! ```
//! use misrule::{BootError, Context, Failure, Fields, Input, Judge, Report, Seen, System};
//! use misrule::{Target, Vocabulary, target};
//! use std::fmt::Display;
//! use std::process::ExitCode;
//!
//! /// The implementation under test, with all its options.
//! struct PingPong { vocabulary: Vocabulary }
//!
//! /// What oracles and pages see of a node.
//! #[derive(Clone, Default)]
//! struct View { count: u32 }
//!
//! impl Fields for View {
//!     fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
//!         visit("count", &self.count);
//!     }
//! }
//!
//! impl System for PingPong {
//!     type Node = u32;
//!     type Message = u32;
//!     type View = View;
//!
//!     fn vocabulary(&self) -> &Vocabulary {
//!         &self.vocabulary
//!     }
//!     fn boot(&self, cx: &mut Context<u32>) -> Result<u32, BootError> {
//!         if cx.me() == 0 {
//!             cx.send(1, 1);
//!         }
//!         Ok(0)
//!     }
//!     fn handle(&self, count: &mut u32, input: Input<u32>, cx: &mut Context<u32>) {
//!         if let Input::Message { from, message } = input {
//!             *count = message;
//!             cx.send(from, message + 1);
//!         }
//!     }
//!     fn view(&self, count: &u32, out: &mut View) {
//!         out.count = *count;
//!     }
//!     fn kind(&self, _: &u32) -> u8 {
//!         0
//!     }
//! }
//!
//! /// The oracle.
//! struct Bounded;
//!
//! impl Judge<PingPong> for Bounded {
//!     fn reset(&mut self, _: &Seen<'_, PingPong>, _: &mut Report) {}
//!     fn after(&mut self, seen: &Seen<'_, PingPong>, report: &mut Report) {
//!         if let Some(view) = seen.views.iter().find(|view| view.count > 4) {
//!             let text = format!("a node counts {}", view.count);
//!             report.failure.get_or_insert(Failure::new("count", "count-bounded", text));
//!         }
//!     }
//! }
//!
//! fn ping_pong() -> Target {
//!     target("ping-pong", |_setup| {
//!         let vocabulary = Vocabulary { nodes: 2, kinds: vec!["Count"], ..Vocabulary::default() };
//!         Ok((PingPong { vocabulary }, Bounded))
//!     })
//! }
//!
//! # mod program {
//! # use super::*;
//! fn main() -> ExitCode {
//!     misrule::main(vec![ping_pong()])
//! }
//! # }
//! #
//! # fn main() {
//! #     use misrule::{Choice, Settings, Setup, Slot, Watch};
//! #     let target = ping_pong();
//! #     let setup = Setup { settings: Settings::default(), contract: target.contract, lenses: Vec::new() };
//! #     let mut run = target.open(&setup).unwrap();
//! #     let mut report = Report::default();
//! #     run.reset(1, Watch::default(), &mut report);
//! #     for step in 0..5 {
//! #         assert_eq!(report.failure, None);
//! #         let (from, to) = if step % 2 == 0 { (0, 1) } else { (1, 0) };
//! #         run.step(Choice::Deliver(Slot { from, to, at: 1, kind: 0 }), &mut report);
//! #     }
//! #     assert_eq!(report.failure.unwrap().property, "count-bounded");
//! # }
//! ```
//!
//! `cargo run -- fuzz` then finds the violation, `cargo run -- --help` shows the rest. Settings, planted bugs,
//! contracts and lenses are added with the methods of [`Target`].

mod build;
mod clock;
mod commands;
pub mod exit;
mod experiment;
mod findings;
mod folder;
mod interrupt;
mod lens;
mod numbers;
mod resolve;
mod schedules;
mod session;
mod shown;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
#[cfg(test)]
mod toy_register;

pub use misrule_history as history;
pub use misrule_models as models;
pub use misrule_models::{
    Event, Fields, Key, KeyWriter, Kind, Lens, LensSet, LogRelation, Model, NodeId, Property, Refusal,
    Replica, Replicas, StableHasher, Step, presets, relation, stable_hash,
};
pub use misrule_world as world;
pub use misrule_world::{
    Answer, Argument, BootError, Call, Choice, ChoiceKind, ClientEvent, Context, Contract, Control,
    DiskError, DiskFile, DiskHandle, DiskOperation, DiskOutcome, DrawName, Failure, Follower, Input, Judge,
    Keep, Keyed, KeyedValues, Links, Mapping, Operation, Recovering, Recovers, Recovery, Report, Run, Seen,
    Setting, Settings, Setup, SetupError, Slot, System, Tally, Target, Vocabulary, Watch, log, target,
};

use clap::Parser;
use clap::error::ErrorKind;
use exit::Error;
use serde_json::json;
use session::{Quiet, Session};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The whole program over `targets`: reads the command line, runs the command, returns its exit code (see
/// [`exit`]).
#[expect(
    clippy::needless_pass_by_value,
    reason = "targets are made for this call, and the program ends with it"
)]
pub fn main(targets: Vec<Target>) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().and_then(|program| Path::new(program).file_stem());
    let name = name.map_or_else(|| "misrule".to_owned(), |name| name.to_string_lossy().into_owned());
    let (mut out, mut err) = (Quiet(io::stdout()), Quiet(io::stderr()));
    let mut session = Session {
        targets: &targets,
        out: &mut out,
        err: &mut err,
        folder: PathBuf::new(),
        style: session::style_here(),
        rewrite: io::stderr().is_terminal(),
        program: std::env::current_exe().ok(),
        name,
    };
    let code = catch_unwind(AssertUnwindSafe(|| run(&mut session, &arguments)));
    ExitCode::from(code.unwrap_or_else(|_| {
        let _ = writeln!(session.err, "error: internal error, please report it with the message above");
        exit::INTERNAL
    }))
}

/// Runs one command line and returns its exit code.
fn run(session: &mut Session<'_>, arguments: &[OsString]) -> u8 {
    let result = match commands::Cli::try_parse_from(arguments) {
        Ok(cli) => cli.run(session),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            write!(session.out, "{}", error.render()).map(|()| exit::OK).map_err(Error::from)
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(session.err, "{}", error.render());
            return exit::USAGE;
        }
        Err(error) => {
            let text = error.render().to_string();
            Err(Error::Usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()))
        }
    };
    let result = result.and_then(|code| Ok(session.out.flush().map(|()| code)?));
    result.unwrap_or_else(|error| {
        let _ = writeln!(session.err, "error: {error}");
        if arguments.iter().any(|argument| argument == "--json") {
            let object = json!({ "error": error.to_string(), "code": error.code() });
            let _ = writeln!(session.out, "{object:#}");
        }
        error.code()
    })
}

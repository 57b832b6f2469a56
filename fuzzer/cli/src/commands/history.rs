//! `history`: whether what clients saw is allowed.

use super::{word, write_json};
use crate::clock::Stopwatch;
use crate::exit::{Error, FOUND, OK, UNKNOWN};
use crate::numbers;
use crate::session::Session;
use clap::Args;
use misrule_history::specifications::Named;
use misrule_history::{
    Checked, Explanation, History, Limits, Operation, Order, Value, Verdict, column, read,
};
use misrule_report::terminal;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Checks a history of client operations: is it linearizable?
///
/// Exits with 0 if it is, with 1 if not, and with 2 if the steps or the time were over before that was decided.
/// A failure names the operation that cannot be placed and what it could have been answered.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule history run.jsonl --spec cas-register\n  \
                  misrule history run.jsonl --spec kv --sequential --steps 100M --time 5m --json")]
pub(super) struct Arguments {
    /// The history: one JSON object a line, as docs/formats.md describes it
    file: PathBuf,
    /// What the operations are of: register, cas-register, kv, queue or log
    #[arg(long, value_name = "NAME")]
    spec: String,
    /// Ask for sequential consistency: only the order of each client counts
    #[arg(long)]
    sequential: bool,
    /// Stop after this many looks at an operation
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "20M")]
    steps: u64,
    /// Stop after this time
    #[arg(long, value_parser = numbers::time, default_value = "10s")]
    time: Duration,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let known = Named::ALL.map(Named::name);
    let spec = Named::find(&arguments.spec)
        .ok_or_else(|| Error::unknown("specification", &arguments.spec, known))?;
    let order = if arguments.sequential { Order::PerClient } else { Order::RealTime };
    let shown = arguments.file.display().to_string();
    let text = text(session, &arguments.file, &shown)?;
    let history = read(&text).map_err(|error| input(&shown, error.line as u64, error.column, &error.text))?;
    let watch = Stopwatch::start();
    let mut expired = || watch.elapsed() >= arguments.time;
    let limits = Limits { stop_after_steps: arguments.steps, expired: &mut expired };
    let checked = spec.check(&history, order, limits).map_err(|misfit| {
        input(&shown, misfit.event, column(&text, misfit.event, misfit.field), &misfit.text)
    })?;
    let run = Ran { file: &shown, spec, history: &history, checked: &checked, seconds: watch.elapsed() };
    if arguments.json {
        write_json(session, &run.json())?;
    } else {
        run.write(session)?;
    }
    Ok(match checked.verdict {
        Verdict::Pass => OK,
        Verdict::Fail => FOUND,
        Verdict::Unknown => UNKNOWN,
    })
}

fn input(shown: &str, line: u64, column: usize, text: &str) -> Error {
    Error::Input(format!("{shown}:{line}:{column}: {}", terminal::clean(text)))
}

fn text(session: &Session<'_>, path: &Path, shown: &str) -> Result<String, Error> {
    let bytes = std::fs::read(session.at(path)).map_err(|error| Error::Input(format!("{shown}: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let (before, last) = valid.rsplit_once('\n').map_or(("", &*valid), |(before, last)| (before, last));
        let line = if last.len() == valid.len() { 1 } else { before.matches('\n').count() + 2 };
        input(shown, line as u64, last.chars().count() + 1, "expected UTF-8")
    })
}

/// A check with its result.
struct Ran<'a> {
    file: &'a str,
    spec: Named,
    history: &'a History,
    checked: &'a Checked,
    seconds: Duration,
}

impl Ran<'_> {
    fn operation(&self, at: usize) -> &Operation {
        &self.history.operations()[at]
    }

    fn json(&self) -> Json {
        let checked = self.checked;
        json!({
            "file": self.file,
            "spec": self.spec.name(),
            "verdict": checked.verdict.name(),
            "operations": self.history.operations().len(),
            "partitions": checked.partitions,
            "steps": checked.steps,
            "seconds": self.seconds.as_secs_f64(),
            "explanation": checked.explanation.as_ref().map(|explanation| self.explanation(explanation)),
        })
    }

    fn explanation(&self, explanation: &Explanation) -> Json {
        let one = |at: usize| {
            let operation = self.operation(at);
            json!({
                "invoked": operation.invoked,
                "returned": operation.returned,
                "operation": operation.to_string(),
            })
        };
        json!({
            "key": explanation.key.as_ref().map(Value::to_json),
            "misplaced": one(explanation.misplaced),
            "allowed": explanation.allowed,
            "order": explanation.order.iter().map(|at| one(*at)).collect::<Vec<_>>(),
        })
    }

    fn write(&self, session: &mut Session<'_>) -> Result<(), Error> {
        if let Some(explanation) = &self.checked.explanation {
            self.write_explanation(explanation, session)?;
        }
        writeln!(
            session.out,
            "file={} spec={} operations={} partitions={} steps={} verdict={}",
            word(self.file),
            self.spec.name(),
            self.history.operations().len(),
            self.checked.partitions,
            self.checked.steps,
            self.checked.verdict.name()
        )?;
        Ok(())
    }

    fn write_explanation(&self, explanation: &Explanation, session: &mut Session<'_>) -> Result<(), Error> {
        let misplaced = self.operation(explanation.misplaced);
        let (count, of) = (explanation.order.len(), self.history.operations().len());
        let key = explanation.key.as_ref().map_or_else(String::new, |key| format!(" of key {key}"));
        writeln!(session.out, "{count} of {of} operations{} can be explained:\n", terminal::clean(&key))?;
        let left_out = count.saturating_sub(SHOWN_MAX);
        if left_out > 0 {
            writeln!(session.out, "           the first {left_out} are left out; --json has them all")?;
        }
        for at in &explanation.order[left_out..] {
            write_operation("  ", self.operation(*at), session)?;
        }
        write_operation("> ", misplaced, session)?;
        let allowed = terminal::clean(&explanation.allowed.join(" or "));
        writeln!(session.out, "\n> cannot be placed; in this order it is answered {allowed}\n")?;
        Ok(())
    }
}

fn write_operation(mark: &str, operation: &Operation, session: &mut Session<'_>) -> Result<(), Error> {
    let lines = match operation.returned {
        Some(returned) => format!("{}-{returned}", operation.invoked),
        None => format!("{}-", operation.invoked),
    };
    let text = terminal::clean(&operation.to_string());
    Ok(writeln!(session.out, "{mark}line {lines:<11} {text}")?)
}

/// The most operations of an explained order that are shown: its end.
const SHOWN_MAX: usize = 20;

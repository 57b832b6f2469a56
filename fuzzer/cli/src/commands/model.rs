//! `model`: the models by themselves.

use super::{word, write_json};
use crate::exit::{Error, FOUND, OK, UNKNOWN};
use crate::folder;
use crate::numbers;
use crate::session::Session;
use clap::{Args, Subcommand};
use misrule_models::registry::{self, CheckReport, Entry, Symmetry};
use misrule_models::{Kind, Limits, ModelError, Verdict};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Lists, checks and draws the models
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  misrule model list\n  misrule model check two-phase-commit --size 5\n  \
                  misrule model graph two-phase-commit --size 1 --out states.dot"
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lists the models with their sizes
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Explores all states of a model, counts them and checks its properties
    Check(Check),
    /// Draws the state graph of a model in Graphviz's DOT language
    Graph(Graph),
}

#[derive(Debug, Args)]
struct Check {
    /// The model
    name: String,
    /// How large: what it counts stands in `model list`
    #[arg(long)]
    size: Option<u8>,
    /// Count states that differ only by the naming of like nodes once
    #[arg(long)]
    symmetry: bool,
    /// Stop when there are more states
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "4000000")]
    states_max: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Graph {
    /// The model
    name: String,
    /// How large: what it counts stands in `model list`
    #[arg(long)]
    size: Option<u8>,
    /// Refuse larger graphs
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "10000")]
    states_max: u32,
    /// Write to this file and not to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    match &arguments.command {
        Command::List { json } => list(*json, session),
        Command::Check(check) => run_check(check, session),
        Command::Graph(graph) => run_graph(graph, session),
    }
}

fn find(name: &str) -> Result<Box<dyn Entry>, Error> {
    let models = registry::models();
    let known = models.iter().map(|entry| entry.about().name);
    registry::find(name).map_err(|_| Error::unknown("model", name, known))
}

fn usage_or_bug(error: &ModelError) -> Error {
    match error {
        ModelError::EnabledRefused { .. } | ModelError::PathLost => Error::Internal(error.to_string()),
        _ => Error::Usage(error.to_string()),
    }
}

fn list(json: bool, session: &mut Session<'_>) -> Result<u8, Error> {
    let models = registry::models();
    if json {
        let one = |entry: &dyn Entry| {
            let about = entry.about();
            json!({
                "model": about.name,
                "description": about.description,
                "size": {
                    "meaning": about.sizes.meaning,
                    "min": about.sizes.min,
                    "max": about.sizes.max,
                    "default": about.sizes.default,
                },
                "symmetry": about.symmetry,
            })
        };
        write_json(
            session,
            &json!({ "models": models.iter().map(|entry| one(&**entry)).collect::<Vec<_>>() }),
        )?;
        return Ok(OK);
    }
    for entry in &models {
        let about = entry.about();
        writeln!(session.out, "{}\n  {}", about.name, about.description)?;
        let sizes = about.sizes;
        writeln!(
            session.out,
            "  sizes {} to {} (default {}): {}",
            sizes.min, sizes.max, sizes.default, sizes.meaning
        )?;
    }
    writeln!(session.out, "models={}", models.len())?;
    Ok(OK)
}

fn run_check(check: &Check, session: &mut Session<'_>) -> Result<u8, Error> {
    let entry = find(&check.name)?;
    let size = check.size.unwrap_or(entry.about().sizes.default);
    let symmetry = if check.symmetry { Symmetry::Reduce } else { Symmetry::Keep };
    let limits = Limits { stop_after_states: check.states_max, ..Limits::default() };
    let report = entry.check(size, symmetry, limits).map_err(|error| usage_or_bug(&error))?;
    let code = code(&report);
    if check.json {
        write_json(session, &as_json(&report))?;
    } else {
        in_words(&report, session)?;
    }
    Ok(code)
}

fn code(report: &CheckReport) -> u8 {
    let any = |verdict| report.found.properties.iter().any(|property| property.verdict == verdict);
    if any(Verdict::Violated) {
        FOUND
    } else if any(Verdict::NotSeen) || report.found.bound.is_some() {
        UNKNOWN
    } else {
        OK
    }
}

fn as_json(report: &CheckReport) -> Value {
    let properties: Vec<Value> = report
        .found
        .properties
        .iter()
        .map(|property| {
            json!({
                "name": property.name,
                "kind": property.kind.name(),
                "verdict": property.verdict.name(),
                "path": property.path,
            })
        })
        .collect();
    json!({
        "model": report.model,
        "size": report.size,
        "symmetry": report.symmetry == Symmetry::Reduce,
        "states": report.found.states,
        "transitions": report.found.transitions,
        "depth": report.found.depth,
        "bound": report.bound(),
        "properties": properties,
    })
}

fn in_words(report: &CheckReport, session: &mut Session<'_>) -> Result<(), Error> {
    for property in &report.found.properties {
        let (kind, verdict) = (property.kind.name(), property.verdict.name());
        writeln!(session.out, "{kind:<9} {:<32} {verdict}", property.name)?;
        if property.kind == Kind::Always && property.verdict == Verdict::Violated {
            for (at, action) in property.path.iter().enumerate() {
                writeln!(session.out, "  {:>4}  {action}", at + 1)?;
            }
        }
    }
    if let Some(bound) = report.bound() {
        session.warn(&format!("states beyond the limit of {bound} were left out"))?;
    }
    let verdict = match code(report) {
        FOUND => "fail",
        UNKNOWN => "unknown",
        _ => "pass",
    };
    writeln!(
        session.out,
        "model={} size={} states={} transitions={} depth={} verdict={verdict}",
        word(report.model),
        report.size,
        report.found.states,
        report.found.transitions,
        report.found.depth
    )?;
    Ok(())
}

fn run_graph(graph: &Graph, session: &mut Session<'_>) -> Result<u8, Error> {
    let entry = find(&graph.name)?;
    let size = graph.size.unwrap_or(entry.about().sizes.default);
    let dot = entry.graph(size, graph.states_max).map_err(|error| usage_or_bug(&error))?;
    let last = format!("model={} size={size} bytes={}", entry.about().name, dot.len());
    match &graph.out {
        Some(path) => {
            folder::write(&session.at(path), &dot)?;
            writeln!(session.out, "{last}")?;
        }
        // A comment, so that what is piped into Graphviz stays valid.
        None => writeln!(session.out, "{dot}// {last}")?,
    }
    Ok(OK)
}

//! `report`: what an experiment has found out, as a page.

use super::{word, write_json};
use crate::exit::{Error, OK};
use crate::experiment::csv;
use crate::experiment::folder::{ENVIRONMENT, ExperimentFolder};
use crate::experiment::page::{Results, with_results};
use crate::folder::write;
use crate::session::Session;
use clap::Args;
use misrule_report::experiment::{VerdictKind, experiment_page};
use misrule_report::terminal::clean;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the page of an experiment: report.html, and its figures as cells.csv and comparisons.csv
///
/// The page stands alone: no network, light and dark, it prints. It says what each comparison tells, or how many
/// campaigns would tell. Files named split*.json in the folder, as `bench --split --json` prints them, become a table of
/// where the time goes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule report runs/experiment/first\n  \
                  misrule bench --split omnipaxos --json > runs/experiment/first/split-omnipaxos.json")]
pub(super) struct Arguments {
    /// The folder of the experiment
    folder: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let folder = ExperimentFolder { path: session.at(&arguments.folder), shown: arguments.folder.clone() };
    let records = folder.records()?;
    let Some(last) = records.last() else {
        let place = folder.shown.join(ENVIRONMENT);
        return Err(Error::Input(format!(
            "{}: nothing was run: not the folder of an experiment",
            place.display()
        )));
    };
    let rows = folder.rows()?;
    let splits = splits(&folder)?;
    with_results(&records, last, &rows, &splits, |results| {
        let shown = folder.shown.display().to_string();
        let cells: Vec<csv::Named> = results.cells.iter().map(csv::cell).collect();
        let comparisons: Vec<csv::Named> = results.comparisons.iter().map(csv::comparison).collect();
        write(&folder.path.join("cells.csv"), &csv::csv(&cells))?;
        write(&folder.path.join("comparisons.csv"), &csv::csv(&comparisons))?;
        let page = experiment_page(&results.page(&session.name, &shown));
        write(&folder.path.join("report.html"), &page)?;
        let path = folder.shown.join("report.html").display().to_string();
        if arguments.json {
            let object = json!({
                "command": "report",
                "question": last.experiment.question,
                "registration": last.registration,
                "against": last.experiment.against,
                "cells": csv::objects(&cells),
                "comparisons": csv::objects(&comparisons),
                "page": path,
            });
            write_json(session, &object)?;
        } else {
            in_words(results, session, &path)?;
        }
        Ok(OK)
    })
}

/// What `split*.json` files say, in the order of their names.
fn splits(folder: &ExperimentFolder) -> Result<Vec<(String, Value)>, Error> {
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder.path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    let is_json = |name: &String| Path::new(name).extension().is_some_and(|ending| ending == "json");
    names.retain(|name| name.starts_with("split") && is_json(name));
    names.sort();
    let read = |name: String| {
        let shown = folder.shown.join(&name).display().to_string();
        let text = fs::read_to_string(folder.path.join(&name))
            .map_err(|error| Error::Input(format!("{shown}: {error}")))?;
        let value = serde_json::from_str(&text).map_err(|error| Error::Input(format!("{shown}: {error}")))?;
        Ok((name, value))
    };
    names.into_iter().map(read).collect()
}

fn in_words(results: &Results<'_>, session: &mut Session<'_>, path: &str) -> Result<(), Error> {
    writeln!(session.out, "{}\n", clean(&results.last.experiment.question))?;
    for verdict in results.comparisons.iter().map(line) {
        writeln!(session.out, "{verdict}")?;
    }
    let count = |kind: VerdictKind| results.comparisons.iter().filter(|c| c.kind() == kind).count();
    writeln!(
        session.out,
        "\ncomparisons={} sooner={} later={} unknown={} missing={} campaigns={} page={}",
        results.comparisons.len(),
        count(VerdictKind::Sooner),
        count(VerdictKind::Later),
        count(VerdictKind::Unknown),
        count(VerdictKind::Missing),
        results.rows.len(),
        word(path)
    )?;
    Ok(())
}

/// A verdict as one line.
fn line(comparison: &crate::experiment::figures::Comparison<'_>) -> String {
    let verdict = comparison.verdict();
    format!("{:<18}  {}: {}", verdict.kind.words(), clean(&verdict.about), clean(&verdict.text))
}

//! `lens report`: what runs tell of their lenses.

use crate::commands::write_json;
use crate::exit::{Error, OK};
use crate::lens::record::{Facet, Record};
use crate::lens::verdict::{self, Judged};
use crate::session::Session;
use clap::Args;
use misrule_report::terminal::{clean, grouped};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// Columns of the table of cells over time, in steps.
const COLUMNS: [(u64, &str); 5] =
    [(1_000, "1k"), (10_000, "10k"), (100_000, "100k"), (1_000_000, "1M"), (10_000_000, "10M")];

/// Says of each lens of a run how its cells grew, how many executions each stands for, and whether it is too coarse or
/// too fine; and which transitions of the model were never reached
///
/// A lens is too fine with more than 5,000 cells, or where cells still grow as good as linearly after a million steps. It
/// is too coarse where half of its keys were each seen by half of the executions that lenses looked at.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule lens report runs/omnipaxos/latest\n  \
                  misrule lens report --json runs/first runs/second")]
pub(super) struct Arguments {
    /// Folders of runs that have ended
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let read = |shown: &PathBuf| {
        let record = Record::read(&session.at(shown), shown)?;
        Ok(Told::of(shown.display().to_string(), record))
    };
    let runs = arguments.runs.iter().map(read).collect::<Result<Vec<Told>, Error>>()?;
    if arguments.json {
        let runs: Vec<Value> = runs.iter().map(Told::as_json).collect();
        write_json(session, &json!({ "command": "lens report", "runs": runs }))?;
        return Ok(OK);
    }
    for told in &runs {
        write!(session.out, "{}", told.in_words())?;
    }
    let lenses = runs.iter().flat_map(|run| &run.lenses);
    let count = |word: &str| lenses.clone().filter(|lens| lens.judged.verdict.word() == word).count();
    writeln!(
        session.out,
        "runs={} lenses={} fit={} too_fine={} too_coarse={} never={} unknown={}",
        runs.len(),
        lenses.clone().count(),
        count("fits"),
        count("too-fine"),
        count("too-coarse"),
        count("never"),
        count("unknown")
    )?;
    Ok(OK)
}

/// A lens of a run.
struct LensTold {
    name: String,
    keys_beyond: u64,
    judged: Judged,
    facets: Vec<(Facet, Judged)>,
}

/// A run.
struct Told {
    shown: String,
    record: Record,
    lenses: Vec<LensTold>,
}

impl Told {
    fn of(shown: String, record: Record) -> Self {
        let lens = |(position, name): (usize, &String)| {
            let own = record.facets.iter().filter(|facet| usize::from(facet.lens) == position);
            let facets: Vec<(Facet, Judged)> =
                own.map(|facet| (facet.clone(), verdict::facet(&record, facet))).collect();
            LensTold {
                name: name.clone(),
                keys_beyond: record.run.keys_beyond[position],
                judged: verdict::lens(&record, position),
                facets,
            }
        };
        let lenses = record.run.lens.iter().enumerate().map(lens).collect();
        Self { shown, record, lenses }
    }

    /// Transitions of the model that were never taken; none can be told where it followed no step.
    fn transitions_never(&self) -> Vec<&str> {
        let run = &self.record.run;
        let followed = run.steps_followed > 0;
        let never = run.transitions.iter().filter(|(_, taken)| followed && *taken == 0);
        never.map(|(name, _)| name.as_str()).collect()
    }

    fn as_json(&self) -> Value {
        let run = &self.record.run;
        let transitions: Map<String, Value> =
            run.transitions.iter().map(|(name, taken)| (name.clone(), (*taken).into())).collect();
        json!({
            "run": self.shown,
            "target": run.target,
            "guidance": run.guidance,
            "executions": run.executions,
            "executions_entering": run.executions_entering,
            "steps": run.steps,
            "lenses": self.lenses.iter().map(LensTold::as_json).collect::<Vec<_>>(),
            "steps_followed": run.steps_followed,
            "transitions": transitions,
            "transitions_never": self.transitions_never(),
        })
    }

    fn in_words(&self) -> String {
        let run = &self.record.run;
        let mut out = format!(
            "run        {}\ntarget     {}, guidance {}, {} executions, {} steps\n",
            clean(&self.shown),
            clean(&run.target),
            clean(&run.guidance),
            grouped(run.executions),
            grouped(run.steps)
        );
        if self.lenses.is_empty() {
            out.push_str("no lens was on\n");
        } else {
            self.table(&mut out);
        }
        for lens in &self.lenses {
            let verdict = lens.judged.verdict;
            let _ = writeln!(out, "{:<10} {}: {}", verdict.word(), clean(&lens.name), verdict.reason());
            if lens.keys_beyond > 0 {
                let beyond = grouped(lens.keys_beyond);
                let _ = writeln!(out, "{:<10} it was full: keys were left out {beyond} times", "");
            }
        }
        if !run.transitions.is_empty() {
            let _ = writeln!(out, "model      {}", clean(&self.transitions_in_words()));
        }
        out.push('\n');
        out
    }

    fn transitions_in_words(&self) -> String {
        let (run, never) = (&self.record.run, self.transitions_never());
        let all = run.transitions.len();
        match (run.steps_followed, never.len()) {
            (0, _) => "it followed no step, so that nothing is known of its transitions".to_owned(),
            (_, 0) => format!("each of its {all} transitions was taken"),
            (followed, count) => format!(
                "{} of {all} transitions were taken in the {} steps that it followed; never: {}",
                all - count,
                grouped(followed),
                never.join(", ")
            ),
        }
    }

    /// A row for each facet: cells over time, and executions for each cell.
    fn table(&self, out: &mut String) {
        let steps = self.record.run.steps;
        let columns: Vec<(u64, &str)> = COLUMNS.into_iter().filter(|(at, _)| *at < steps).collect();
        let mut rows = vec![vec!["lens".to_owned(), "facet".to_owned()]];
        rows[0].extend(columns.iter().map(|(_, name)| (*name).to_owned()));
        rows[0].extend(["cells", "90 % by", "growth", "once", "median", "max"].map(str::to_owned));
        for lens in &self.lenses {
            for (facet, judged) in &lens.facets {
                let mut row = vec![clean(&lens.name), facet.number.to_string()];
                row.extend(columns.iter().map(|(at, _)| grouped(judged.cells_at(*at))));
                row.push(grouped(judged.cells()));
                row.push(judged.steps_until(90).map_or_else(|| "-".to_owned(), grouped));
                row.push(judged.growth.map_or_else(|| "-".to_owned(), |power| format!("{power:.2}")));
                row.push(grouped(facet.executions.first().copied().unwrap_or(0)));
                row.extend([grouped(facet.median), grouped(facet.max)]);
                rows.push(row);
            }
        }
        out.push_str(
            "\ncells after so many steps, the steps by which 90 % were there, the power of the steps with which they\n\
             grow at the end; cells that one execution entered, and executions that entered a cell (median, most)\n\n",
        );
        for row in &rows {
            for (at, text) in row.iter().enumerate() {
                let wide = rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
                let _ = if at < 2 { write!(out, "{text:<wide$}  ") } else { write!(out, "{text:>wide$}  ") };
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        out.push('\n');
    }
}

impl LensTold {
    fn as_json(&self) -> Value {
        let facet = |(facet, judged): &(Facet, Judged)| {
            let mut value = as_json(judged);
            value["facet"] = facet.number.into();
            value["name"] = facet.number.to_string().into();
            value["once"] = facet.executions.first().copied().unwrap_or(0).into();
            value["median"] = facet.median.into();
            value["max"] = facet.max.into();
            value["executions"] = json!(facet.executions);
            value
        };
        let mut value = as_json(&self.judged);
        value["lens"] = self.name.as_str().into();
        value["keys_beyond"] = self.keys_beyond.into();
        value["facets"] = self.facets.iter().map(facet).collect();
        value
    }
}

/// What a lens and a facet have in common.
fn as_json(judged: &Judged) -> Value {
    json!({
        "cells": judged.cells(),
        "steps_half": judged.steps_until(50),
        "steps_most": judged.steps_until(90),
        "growth": judged.growth,
        "over_time": judged.over_time,
        "verdict": judged.verdict.word(),
        "reason": judged.verdict.reason(),
    })
}

//! What an experiment tells at its end.

use super::Arguments;
use crate::commands::word;
use crate::exit::Error;
use crate::experiment::file::File;
use crate::experiment::folder::ExperimentFolder;
use crate::experiment::machine::Record;
use crate::experiment::pool;
use crate::experiment::probe::Resolved;
use crate::experiment::row::{End, Row};
use crate::findings::quoted;
use crate::session::Session;
use serde_json::{Value, json};
use std::time::Duration;

/// `3 found, 1 censored, 0 lost`.
pub(super) fn counts(count: impl Fn(End) -> usize) -> String {
    format!("{} found, {} censored, {} lost", count(End::Found), count(End::Censored), count(End::Lost))
}

pub(super) fn shown_time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{:.1} h", hours(Duration::from_secs(seconds))),
    }
}

fn hours(time: Duration) -> f64 {
    time.as_secs_f64() / 3600.0
}

/// What there is to tell.
pub(super) struct Told<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) file: &'a File,
    pub(super) cells: &'a [Resolved<'a>],
    pub(super) record: &'a Record,
    pub(super) folder: &'a ExperimentFolder,
    pub(super) rows: Vec<Row>,
}

impl Told<'_> {
    /// What makes results worth less.
    pub(super) fn warn(&self, session: &mut Session<'_>) -> Result<(), Error> {
        if self.record.file_state != "committed" {
            let (name, state) = (&self.file.name, &self.record.file_state);
            session.warn(&format!(
                "{name} is {state}: commit it before the first run, so that nobody can doubt it"
            ))?;
        }
        if !self.record.pinned {
            session.warn("there is no `taskset`: campaigns are not bound to cores")?;
        }
        let of_other_build = |row: &Row| {
            let cell = self.cells.iter().find(|cell| cell.cell.has(row));
            cell.is_some_and(|cell| cell.build != row.build)
        };
        if let Some(row) = self.rows.iter().find(|row| of_other_build(row)) {
            session
                .warn(&format!("rows of another build are there ({}): builds will be mixed", row.build))?;
        }
        Ok(())
    }

    fn rows_of<'r>(&'r self, cell: &'r Resolved<'_>) -> impl Iterator<Item = &'r Row> {
        self.rows.iter().filter(|row| cell.cell.has(row))
    }

    /// Campaigns that have no row, with the most time that they take; whether all have a budget of time.
    fn left(&self) -> (usize, Duration, bool) {
        let experiment = &self.file.experiment;
        let planned = pool::plan(self.cells, experiment.seed, experiment.campaigns, &self.rows);
        let times = planned.iter().map(|planned| planned.cell.cell.bug.budget.time());
        let known = times.clone().all(|time| time.is_some());
        (planned.len(), times.flatten().sum(), known)
    }

    pub(super) fn as_json(&self, verdict: &str) -> Value {
        let cells = self.cells.iter().map(|cell| {
            let count = |end: End| end.count(self.rows_of(cell));
            json!({
                "bug": cell.cell.bug.name,
                "arm": cell.cell.arm.name,
                "tier": cell.cell.bug.tier,
                "target": cell.cell.bug.target,
                "target_version": cell.target_version,
                "contract": cell.contract,
                "lens": cell.lens,
                "budget": cell.cell.bug.budget,
                "found": count(End::Found),
                "censored": count(End::Censored),
                "lost": count(End::Lost),
            })
        });
        let (left, time, known) = self.left();
        json!({
            "command": "experiment",
            "file": self.file.name,
            "file_state": self.record.file_state,
            "file_commit": self.record.file_commit,
            "question": self.file.experiment.question,
            "registration": self.record.registration,
            "campaigns": self.file.experiment.campaigns,
            "cells": cells.collect::<Vec<_>>(),
            "campaigns_left": left,
            "cpu_hours_left": known.then(|| hours(time)),
            "workers": self.record.workers,
            "pinned": self.record.pinned,
            "out": self.folder.shown.display().to_string(),
            "verdict": verdict,
        })
    }

    pub(super) fn write(&self, session: &mut Session<'_>, verdict: &str) -> Result<(), Error> {
        let (experiment, record) = (&self.file.experiment, self.record);
        let commit = record.file_commit.as_deref().map_or_else(String::new, |commit| format!(" ({commit})"));
        writeln!(session.out, "question      {}", experiment.question)?;
        writeln!(session.out, "file          {}, {}{commit}", self.file.name, record.file_state)?;
        writeln!(session.out, "registration  {}", record.registration)?;
        let pinned = if record.pinned { "each bound to a core" } else { "not bound to cores" };
        writeln!(session.out, "workers       {}, {pinned}\n", record.workers)?;
        let width = |of: &dyn Fn(&Resolved<'_>) -> usize| self.cells.iter().map(of).max().unwrap_or(0).max(3);
        let bugs = width(&|cell| cell.cell.bug.name.chars().count());
        let arms = width(&|cell| cell.cell.arm.name.chars().count());
        writeln!(
            session.out,
            "{:<bugs$}  {:<arms$}  {:<7}  {:>12}  campaigns",
            "bug", "arm", "tier", "budget"
        )?;
        for cell in self.cells {
            let (bug, arm) = (cell.cell.bug, &cell.cell.arm.name);
            let (tier, budget) = (bug.tier.as_deref().unwrap_or("-"), bug.budget.shown());
            let done = format!(
                "{} of {}: {}",
                self.rows_of(cell).count(),
                experiment.campaigns,
                counts(|end| end.count(self.rows_of(cell)))
            );
            writeln!(session.out, "{:<bugs$}  {arm:<arms$}  {tier:<7}  {budget:>12}  {done}", bug.name)?;
        }
        let (left, time, known) = self.left();
        if left > 0 {
            let more = if known { "at most" } else { "without the cells whose budget is in executions" };
            let (cpu, wall) = (hours(time), hours(time / record.workers as u32));
            writeln!(
                session.out,
                "\n{left} campaigns to go: {more} {cpu:.2} CPU hours, {wall:.2} hours on this machine"
            )?;
        }
        for row in self.rows.iter().filter(|row| row.end == End::Lost) {
            let reason = misrule_report::terminal::clean(row.reason.as_deref().unwrap_or_default());
            writeln!(session.out, "lost: {} {} campaign {}: {reason}", row.bug, row.arm, row.campaign)?;
        }
        if verdict == "interrupted" {
            writeln!(session.out, "\ninterrupted; goes on with\n  {}", record.command)?;
        } else if verdict == "complete" {
            writeln!(
                session.out,
                "\n{} report {}",
                session.name,
                quoted(&self.folder.shown.display().to_string())
            )?;
        }
        let count = |end: End| end.count(&self.rows);
        writeln!(
            session.out,
            "\nexperiment={} verdict={verdict} cells={} campaigns={} left={left} found={} censored={} lost={} \
             registration={} out={}",
            word(&self.file.name),
            self.cells.len(),
            self.rows.len(),
            count(End::Found),
            count(End::Censored),
            count(End::Lost),
            record.registration,
            word(&self.folder.shown.display().to_string())
        )?;
        Ok(())
    }
}

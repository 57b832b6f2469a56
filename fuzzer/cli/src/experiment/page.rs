//! The page of an experiment, filled from its folder.

use super::figures::{CellFigures, Comparison, cells, comparisons};
use super::machine::Record;
use super::row::{End, Row};
use super::verdict::{median, probability, short};
use crate::findings::quoted;
use misrule_report::experiment::{Chart, Curve, CurvePoint, Experiment as Page, MISSING, Table, Vertical};
use misrule_report::terminal::grouped;
use misrule_statistics::{Interval, survival};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What a folder holds, and what it adds up to.
pub(crate) struct Results<'a> {
    pub(crate) records: &'a [Record],
    pub(crate) last: &'a Record,
    pub(crate) rows: &'a [Row],
    pub(crate) cells: &'a [CellFigures<'a>],
    pub(crate) comparisons: &'a [Comparison<'a>],
    /// What `bench --split --json` said, by the name of the file.
    pub(crate) splits: &'a [(String, Value)],
}

/// The cells and comparisons of a folder, given to `then`, since they borrow from each other.
pub(crate) fn with_results<T>(
    records: &[Record],
    last: &Record,
    rows: &[Row],
    splits: &[(String, Value)],
    then: impl FnOnce(&Results<'_>) -> T,
) -> T {
    let cells = cells(&last.experiment, rows);
    let comparisons = comparisons(&last.experiment, &cells);
    then(&Results { records, last, rows, cells: &cells, comparisons: &comparisons, splits })
}

impl Results<'_> {
    /// The page.
    pub(crate) fn page(&self, program: &str, folder: &str) -> Page {
        let mut tables = vec![self.bug_table()];
        if !self.comparisons.is_empty() {
            tables.push(self.comparison_table());
        }
        tables.push(self.effort_table());
        tables.extend(self.split_table());
        Page {
            question: self.last.experiment.question.clone(),
            notices: self.notices(),
            verdicts: self.comparisons.iter().map(Comparison::verdict).collect(),
            survival: self.survival(),
            tables,
            coverage: super::coverage::charts(&self.last.experiment, self.cells),
            environment: self.environment(),
            commands: vec![
                ("goes on, or repeats it with another --out".to_owned(), self.last.command.clone()),
                ("writes this page".to_owned(), format!("{program} report {}", quoted(folder))),
            ],
        }
    }

    /// What makes the results worth less.
    fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        if let Some(first) = self.records.first().filter(|first| first.file_state != "committed") {
            notices.push(format!("Before the first run the experiment's file was {}.", first.file_state));
        }
        let registrations: BTreeSet<&str> = self.rows.iter().map(|row| row.registration.as_str()).collect();
        if registrations.len() > 1 {
            notices.push(
                "The experiment was extended after its first results: its rows have several registrations."
                    .to_owned(),
            );
        }
        let builds: BTreeSet<(&str, &str)> =
            self.rows.iter().map(|row| (row.bug.as_str(), row.build.as_str())).collect();
        let bugs: BTreeSet<&str> = self.rows.iter().map(|row| row.bug.as_str()).collect();
        if builds.len() > bugs.len() {
            notices.push("Rows of several builds are mixed.".to_owned());
        }
        if self.records.iter().any(|record| !record.pinned) {
            notices.push("Campaigns were not bound to cores.".to_owned());
        }
        let lost = End::Lost.count(self.rows);
        if lost > 0 {
            notices.push(format!(
                "{lost} campaigns were lost: they died, and count neither as found nor as not found."
            ));
        }
        let missing: usize = self.cells.iter().map(|cell| cell.planned.saturating_sub(cell.rows.len())).sum();
        if missing > 0 {
            notices.push(format!("{missing} campaigns are missing: they have not been run."));
        }
        notices
    }

    fn survival(&self) -> Vec<Chart> {
        let bugs = self.last.experiment.bugs.iter();
        let chart = |bug: &super::Bug| {
            let of_bug =
                self.cells.iter().filter(|cell| cell.cell.bug.name == bug.name && !cell.times.is_empty());
            let curves: Vec<Curve> =
                of_bug.map(|cell| curve(cell, self.last.experiment.look(cell.cell.arm))).collect();
            (!curves.is_empty()).then(|| Chart {
                title: bug.name.clone(),
                caption: String::new(),
                horizontal: match bug.budget.unit() {
                    "s" => "seconds of wall time".to_owned(),
                    unit => unit.to_owned(),
                },
                horizontal_end: bug.budget.horizon(),
                vertical: Vertical::Share,
                curves,
            })
        };
        bugs.filter_map(chart).collect()
    }

    fn bug_table(&self) -> Table {
        let heads = ["bug", "arm", "tier", "budget", "found", "lost", "share", "median", "mean in budget"];
        let row = |cell: &CellFigures<'_>| {
            let (bug, arm) = (cell.cell.bug, &cell.cell.arm.name);
            let mut row =
                vec![bug.name.clone(), arm.clone(), bug.tier.clone().unwrap_or_default(), bug.budget.shown()];
            let lost = cell.count(End::Lost).to_string();
            if cell.times.is_empty() {
                row.extend([MISSING.to_owned(), lost]);
                row.resize(heads.len(), String::new());
                return row;
            }
            let mean = cell.mean();
            row.extend([found(cell), lost, format!("[{}]", percents(cell.share()))]);
            row.push(median_with_interval(cell));
            row.push(format!("{} ± {}", short(mean.mean), short(mean.standard_error)));
            row
        };
        Table {
            title: "Bugs".to_owned(),
            caption: "Times are in the unit of the budget. Intervals are for 95 %; of the share Wilson's, of the median \
                      Brookmeyer and Crowley's; the mean is that of the smaller of time and budget, with its standard error."
                .to_owned(),
            columns: heads.map(str::to_owned).to_vec(),
            rows: self.cells.iter().map(row).collect(),
            words: 4,
        }
    }

    fn comparison_table(&self) -> Table {
        let heads =
            ["bug", "arm", "campaigns", "median", "against", "times sooner", "A12", "p", "p corrected"];
        let row = |comparison: &Comparison<'_>| {
            let (first, second) = (comparison.first, comparison.second);
            let mut row = vec![first.cell.bug.name.clone(), first.cell.arm.name.clone()];
            if first.times.is_empty() || second.times.is_empty() {
                row.push(MISSING.to_owned());
                row.resize(heads.len(), String::new());
                return row;
            }
            let interval = comparison.sooner_interval;
            let interval = interval.map_or_else(String::new, |interval| format!(" [{}]", ends(interval)));
            let (effect, tested) = (comparison.effect, comparison.corrected);
            row.extend([
                format!("{} and {}", first.times.len(), second.times.len()),
                median(first),
                median(second),
                format!("{}{interval}", short(comparison.sooner)),
                format!("{:.2} [{:.2}, {:.2}]", effect.value, effect.interval.low, effect.interval.high),
                tested.map_or_else(|| "too few".to_owned(), |_| probability(comparison.test.p)),
                tested.map_or_else(String::new, probability),
            ]);
            row
        };
        Table {
            title: "Comparisons".to_owned(),
            caption: format!(
                "Every arm against `{}`. Times sooner: ratio of the means in the budget, with its bootstrap interval. A12: \
                 chance that a campaign of the arm is faster. p: log-rank test; corrected after Holm over all rows.",
                self.last.experiment.against
            ),
            columns: heads.map(str::to_owned).to_vec(),
            rows: self.comparisons.iter().map(row).collect(),
            words: 2,
        }
    }

    fn effort_table(&self) -> Table {
        let heads = [
            "bug",
            "arm",
            "lens",
            "steps",
            "executions",
            "CPU s",
            "steps/s",
            "returning",
            "cells at the end",
            "others",
        ];
        let row = |cell: &CellFigures<'_>| {
            let mut row = vec![cell.cell.bug.name.clone(), cell.cell.arm.name.clone()];
            let Some(any) = cell.rows.first() else {
                row.push(MISSING.to_owned());
                row.resize(heads.len(), String::new());
                return row;
            };
            let effort = Effort::of(cell);
            row.push(if any.lens.is_empty() { "none".to_owned() } else { any.lens.join(", ") });
            row.push(effort.steps.map_or_else(|| "-".to_owned(), whole));
            row.push(effort.executions.map_or_else(|| "-".to_owned(), whole));
            row.push(effort.cpu_seconds.map_or_else(|| "-".to_owned(), processor_time));
            row.push(effort.steps_per_second.map_or_else(|| "-".to_owned(), whole));
            row.push(
                effort.returning.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
            );
            let cells = effort.cells.iter().map(|(lens, count)| format!("{lens} {}", grouped(*count)));
            row.push(cells.collect::<Vec<_>>().join(", "));
            row.push(effort.others.to_string());
            row
        };
        Table {
            title: "Effort and coverage".to_owned(),
            caption: "Medians until the bug was found: a dash where fewer than half of the campaigns found it. Returning: share \
                      of the steps that were spent on returning to cells. Others: campaigns that met findings which are \
                      not the bug."
                .to_owned(),
            columns: heads.map(str::to_owned).to_vec(),
            rows: self.cells.iter().map(row).collect(),
            words: 3,
        }
    }

    /// Where the time of a step goes, when somebody has measured it into the folder.
    fn split_table(&self) -> Option<Table> {
        let (_, first) = self.splits.first()?;
        let parts: Vec<&String> = first["parts"].as_object()?.keys().collect();
        let mut columns = vec!["file".to_owned(), "target".to_owned(), "guidance".to_owned()];
        columns.extend(parts.iter().map(|part| (*part).clone()));
        columns.push("whole".to_owned());
        let number =
            |value: &Value| value.as_f64().map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        let row = |(name, split): &(String, Value)| {
            let word = |field: &str| split[field].as_str().unwrap_or("-").to_owned();
            let mut row = vec![name.clone(), word("target"), word("guidance")];
            row.extend(parts.iter().map(|part| number(&split["parts"][part.as_str()])));
            row.push(number(&split["whole"]));
            row
        };
        Some(Table {
            title: "Nanoseconds a step".to_owned(),
            caption: "What `misrule bench --split` measured apart from the campaigns.".to_owned(),
            columns,
            rows: self.splits.iter().map(row).collect(),
            words: 3,
        })
    }

    fn environment(&self) -> Vec<(String, String)> {
        let last = self.last;
        let list = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(", ");
        let registered =
            self.records.iter().map(|record| format!("{} at {}", record.registration, record.start));
        let registered: Vec<String> = registered.collect();
        let targets = self.rows.iter().map(|row| format!("{} {}", row.target, row.target_version)).collect();
        let contracts = self.rows.iter().map(|row| row.contract.clone()).collect();
        let builds = self.rows.iter().map(|row| row.build.clone()).collect();
        let loads: Vec<f64> = self.rows.iter().filter_map(|row| row.load).collect();
        let highest = loads.iter().copied().fold(0.0, f64::max);
        let mean = loads.iter().sum::<f64>() / f64::from(loads.len().max(1) as u32);
        let commit = last.file_commit.as_deref().unwrap_or("no commit");
        let first_state = self.records.first().map_or("", |first| first.file_state.as_str());
        [
            ("file", format!("{} ({commit}); before the first run: {first_state}", last.file)),
            ("registered", registered.join("; ")),
            (
                "campaigns",
                format!(
                    "{} of {} have been run",
                    self.rows.len(),
                    self.cells.len() * last.experiment.campaigns as usize
                ),
            ),
            ("seed", last.experiment.seed.to_string()),
            ("targets", list(targets)),
            ("contracts", list(contracts)),
            ("builds", list(builds)),
            ("machine", format!("{}, {} cores, kernel {}", last.machine, last.cores, last.kernel)),
            (
                "workers",
                format!(
                    "{}, {}",
                    last.workers,
                    if last.pinned { "each bound to a core" } else { "not bound to cores" }
                ),
            ),
            ("load", format!("{mean:.1} in the mean, {highest:.1} at the most, when campaigns began")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

/// What campaigns of a cell took and saw.
pub(crate) struct Effort {
    pub(crate) steps: Option<f64>,
    pub(crate) executions: Option<f64>,
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) steps_per_second: Option<f64>,
    /// Share of the steps that were spent on returning to cells.
    pub(crate) returning: Option<f64>,
    /// The median of each lens; the upper one of two.
    pub(crate) cells: BTreeMap<String, u64>,
    /// Campaigns that met something else.
    pub(crate) others: usize,
}

impl Effort {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 steps")]
    pub(crate) fn of(cell: &CellFigures<'_>) -> Self {
        let told = || cell.rows.iter().filter(|row| row.end != End::Lost);
        let steps: u64 = told().map(|row| row.steps).sum();
        let seconds: f64 = told().map(|row| row.seconds).sum();
        let returning: u64 = told().map(|row| row.steps_returning).sum();
        let mut lenses: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for (lens, count) in told().flat_map(|row| &row.cells) {
            lenses.entry(lens.clone()).or_default().push(*count);
        }
        let middle = |mut counts: Vec<u64>| {
            counts.sort_unstable();
            counts.get(counts.len() / 2).copied().unwrap_or_default()
        };
        Self {
            steps: cell.median_of(|row| Some(row.steps as f64)),
            executions: cell.median_of(|row| Some(row.executions as f64)),
            cpu_seconds: cell.median_of(|row| row.cpu_seconds),
            steps_per_second: (seconds > 0.0).then(|| steps as f64 / seconds),
            returning: (steps > 0).then(|| (returning as f64 / steps as f64).min(1.0)),
            cells: lenses.into_iter().map(|(lens, counts)| (lens, middle(counts))).collect(),
            others: told().filter(|row| row.others > 0).count(),
        }
    }
}

fn curve(cell: &CellFigures<'_>, look: usize) -> Curve {
    let point = |point: &misrule_statistics::Point| CurvePoint {
        x: point.time,
        y: point.survival,
        low: point.band.low,
        high: point.band.high,
    };
    let censored = cell.times.iter().any(|time| !time.found);
    Curve {
        name: format!("{} ({})", cell.cell.arm.name, found(cell)),
        look,
        points: survival(&cell.times).iter().map(point).collect(),
        marks: if censored { vec![cell.cell.bug.budget.horizon()] } else { Vec::new() },
    }
}

/// `18 of 20`, with how many there should be where some are missing.
fn found(cell: &CellFigures<'_>) -> String {
    let all = format!("{} of {}", cell.count(End::Found), cell.times.len());
    if cell.rows.len() < cell.planned { format!("{all}, {} planned", cell.planned) } else { all }
}

/// Processor time is told by the clock tick of the kernel.
fn processor_time(seconds: f64) -> String {
    if seconds < 0.01 { "under 0.01".to_owned() } else { short(seconds) }
}

/// The median with its interval, an end of which may be beyond the budget.
fn median_with_interval(cell: &CellFigures<'_>) -> String {
    let Interval { low, high } = cell.median_interval();
    let horizon = short(cell.cell.bug.budget.horizon());
    let end = |value: f64| if value.is_finite() { short(value) } else { format!("over {horizon}") };
    if low.is_finite() { format!("{} [{}, {}]", median(cell), end(low), end(high)) } else { median(cell) }
}

fn ends(interval: Interval) -> String {
    format!("{}, {}", short(interval.low), short(interval.high))
}

fn percents(interval: Interval) -> String {
    format!("{:.0}, {:.0} %", interval.low * 100.0, interval.high * 100.0)
}

#[expect(clippy::cast_sign_loss, reason = "counts are not negative")]
fn whole(value: f64) -> String {
    grouped(value.round() as u64)
}

//! What rows add up to: figures of each cell, and of each comparison.

use super::row::{End, Row};
use super::{Budget, Cell, Experiment};
use misrule_statistics::{
    Effect, Interval, LogRank, RestrictedMean, SIGNIFICANT, Time, a12, bootstrap_two, campaigns_needed, holm,
    log_rank, median, median_interval, restricted_mean, wilson,
};

/// Groups of fewer campaigns are not tested: the distribution of the test holds for many.
pub(crate) const CAMPAIGNS_TO_TEST: usize = 10;

/// Resamples behind an interval, and their seed.
const RESAMPLES: usize = 2_000;
const RESAMPLE_SEED: u64 = 1;

/// A cell with its rows.
pub(crate) struct CellFigures<'a> {
    pub(crate) cell: Cell<'a>,
    /// How many campaigns it should have.
    pub(crate) planned: usize,
    pub(crate) rows: Vec<&'a Row>,
    /// Times until the bug, lost campaigns left out: in seconds, or in executions where that is the budget.
    pub(crate) times: Vec<Time>,
}

/// One arm against the one that all are compared with, on one bug.
pub(crate) struct Comparison<'a> {
    pub(crate) first: &'a CellFigures<'a>,
    pub(crate) second: &'a CellFigures<'a>,
    pub(crate) effect: Effect,
    pub(crate) test: LogRank,
    /// `test.p`, corrected over all comparisons that can be tested; none for this one.
    pub(crate) corrected: Option<f64>,
    /// How many times sooner the first one is, by restricted means.
    pub(crate) sooner: f64,
    pub(crate) sooner_interval: Option<Interval>,
    /// How many campaigns a side would show the difference that was seen.
    pub(crate) needed: Option<u64>,
}

impl Budget {
    /// The figure of a row that the budget is about.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 executions")]
    fn measured(self, row: &Row) -> f64 {
        match self {
            Self::Milliseconds(_) => row.seconds,
            Self::Executions(_) => row.executions as f64,
        }
    }

    /// Where campaigns that found nothing are censored.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 executions")]
    pub(crate) fn horizon(self) -> f64 {
        match self {
            Self::Milliseconds(time) => time as f64 / 1e3,
            Self::Executions(count) => count as f64,
        }
    }

    /// The unit of these figures.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Milliseconds(_) => "s",
            Self::Executions(_) => "executions",
        }
    }
}

impl CellFigures<'_> {
    pub(crate) fn count(&self, end: End) -> usize {
        end.count(self.rows.iter().copied())
    }

    /// The share of campaigns that found the bug, with its interval; lost ones are left out.
    pub(crate) fn share(&self) -> Interval {
        wilson(self.count(End::Found) as u64, self.times.len() as u64)
    }

    pub(crate) fn median(&self) -> Option<f64> {
        median(&self.times)
    }

    pub(crate) fn median_interval(&self) -> Interval {
        median_interval(&self.times)
    }

    pub(crate) fn mean(&self) -> RestrictedMean {
        restricted_mean(&self.times, self.cell.bug.budget.horizon())
    }

    /// The median of another figure of the same campaigns; censored where they are.
    pub(crate) fn median_of(&self, figure: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
        let times: Vec<Time> = self.rows.iter().filter_map(|row| time(row, figure(row)?)).collect();
        median(&times)
    }
}

/// What a row says of the time until the bug is found; none where it was lost.
fn time(row: &Row, value: f64) -> Option<Time> {
    match row.end {
        End::Found => Some(Time::found(value)),
        End::Censored => Some(Time::censored(value)),
        End::Lost => None,
    }
}

/// All cells of the experiment, those without rows too.
pub(crate) fn cells<'a>(experiment: &'a Experiment, rows: &'a [Row]) -> Vec<CellFigures<'a>> {
    let figures = |cell: Cell<'a>| {
        let rows: Vec<&Row> = rows.iter().filter(|row| cell.has(row)).collect();
        let times = rows.iter().filter_map(|row| time(row, cell.bug.budget.measured(row))).collect();
        CellFigures { cell, planned: experiment.campaigns as usize, rows, times }
    };
    experiment.cells().into_iter().map(figures).collect()
}

/// Every arm against the one that all are compared with, bug by bug.
pub(crate) fn comparisons<'a>(experiment: &Experiment, cells: &'a [CellFigures<'a>]) -> Vec<Comparison<'a>> {
    let mut pairs = Vec::new();
    for second in cells.iter().filter(|cell| cell.cell.arm.name == experiment.against) {
        let others = cells.iter().filter(|cell| cell.cell.bug.name == second.cell.bug.name);
        pairs.extend(
            others.filter(|cell| cell.cell.arm.name != experiment.against).map(|first| (first, second)),
        );
    }
    let tests: Vec<LogRank> =
        pairs.iter().map(|(first, second)| log_rank(&first.times, &second.times)).collect();
    let tested: Vec<usize> = (0..pairs.len()).filter(|at| can_test(pairs[*at].0, pairs[*at].1)).collect();
    let corrected = holm(&tested.iter().map(|at| tests[*at].p).collect::<Vec<_>>());
    let level = SIGNIFICANT / f64::from(tested.len().max(1) as u32);
    let one = |(at, (first, second)): (usize, &(&'a CellFigures<'a>, &'a CellFigures<'a>))| {
        let corrected = tested.iter().position(|tested| *tested == at).map(|place| corrected[place]);
        compare(first, second, tests[at], corrected, level)
    };
    pairs.iter().enumerate().map(one).collect()
}

/// Whether there are enough campaigns for a test, and any that found something.
fn can_test(first: &CellFigures<'_>, second: &CellFigures<'_>) -> bool {
    let enough = |cell: &CellFigures<'_>| cell.times.len() >= CAMPAIGNS_TO_TEST;
    enough(first) && enough(second) && first.times.iter().chain(&second.times).any(|time| time.found)
}

fn compare<'a>(
    first: &'a CellFigures<'a>,
    second: &'a CellFigures<'a>,
    test: LogRank,
    corrected: Option<f64>,
    level: f64,
) -> Comparison<'a> {
    let horizon = first.cell.bug.budget.horizon();
    let sooner = |one: &[Time], other: &[Time]| {
        restricted_mean(other, horizon).mean / restricted_mean(one, horizon).mean
    };
    let some = !first.times.is_empty() && !second.times.is_empty();
    let found = |cell: &CellFigures<'_>| {
        f64::from(cell.count(End::Found) as u32) / f64::from(cell.times.len().max(1) as u32)
    };
    let needed = campaigns_needed(test.hazard_ratio, found(first), found(second), level);
    Comparison {
        effect: a12(&first.times, &second.times),
        test,
        corrected,
        sooner: if some { sooner(&first.times, &second.times) } else { f64::NAN },
        sooner_interval: some
            .then(|| bootstrap_two(&first.times, &second.times, RESAMPLES, RESAMPLE_SEED, sooner))
            .flatten(),
        // As many as there are did not show it, whatever the formula says.
        needed: needed.map(|needed| needed.max(first.times.len().max(second.times.len()) as u64 + 1)),
        first,
        second,
    }
}

//! Whether a lens is too coarse or too fine.

use super::record::{Facet, Record};

/// A lens of more cells guides nothing: about 5,000 was the limit in the trials that `frontier` comes from.
pub(crate) const CELLS_FINE: u64 = 5_000;
/// Shorter runs do not tell whether a lens saturates.
pub(crate) const STEPS_TO_TELL: u64 = 1_000_000;
/// Cells that grow with the steps to this power or a higher one grow as good as linearly. Ours, not measured.
pub(crate) const GROWTH_LINEAR: f64 = 0.75;
/// Growth is taken over the last steps of a run: from this part of all steps to the end.
const GROWTH_FROM: f64 = 0.25;

/// What is said of a lens, or of a facet of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It made no key.
    Never,
    /// It has more than [`CELLS_FINE`] cells: so many.
    Many(u64),
    /// Its cells still grow as good as linearly: the power.
    Growing(f64),
    /// Half of its keys were each seen by half of the executions that lenses looked at, so that they tell few executions apart: the median.
    Coarse(u64),
    /// The run is shorter than [`STEPS_TO_TELL`], or has too few executions.
    NotEnough,
    /// Neither too coarse nor too fine.
    Fits,
}

impl Verdict {
    /// One word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Many(_) | Self::Growing(_) => "too-fine",
            Self::Coarse(_) => "too-coarse",
            Self::NotEnough => "unknown",
            Self::Fits => "fits",
        }
    }

    /// The reason, for people.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Never => "it made no key".to_owned(),
            Self::Many(cells) => format!("{cells} cells, more than {CELLS_FINE}"),
            Self::Growing(power) => {
                format!("still growing: its cells go with the steps to the power of {power:.2}")
            }
            Self::Coarse(median) => {
                format!(
                    "half of its keys were each seen by {median} executions or more: at least half of all"
                )
            }
            Self::NotEnough => {
                format!("not enough to tell: it takes {STEPS_TO_TELL} steps in several executions")
            }
            Self::Fits => "it saturates, and its keys tell executions apart".to_owned(),
        }
    }
}

/// What a run tells of a facet, or of all facets of a lens together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    /// Steps and cells over time.
    pub(crate) over_time: Vec<(u64, u64)>,
    /// The power of the steps with which cells grow at the end; none where it cannot be told.
    pub(crate) growth: Option<f64>,
    pub(crate) verdict: Verdict,
}

impl Judged {
    /// Cells at the end.
    pub(crate) fn cells(&self) -> u64 {
        self.over_time.last().map_or(0, |(_, cells)| *cells)
    }

    /// Cells after so many steps.
    pub(crate) fn cells_at(&self, steps: u64) -> u64 {
        self.over_time.iter().rev().find(|(at, _)| *at <= steps).map_or(0, |(_, cells)| *cells)
    }

    /// The steps by which so many percent of the cells were there.
    pub(crate) fn steps_until(&self, percent: u64) -> Option<u64> {
        let cells = self.cells();
        let reached = |(_, now): &&(u64, u64)| *now > 0 && *now * 100 >= cells * percent;
        self.over_time.iter().find(reached).map(|(steps, _)| *steps)
    }
}

/// Judges one facet.
pub(crate) fn facet(record: &Record, facet: &Facet) -> Judged {
    judge(record, &|lens, number| (lens, number) == (facet.lens, facet.number), &[facet])
}

/// Judges the facets of a lens together. It is too coarse where each facet is.
pub(crate) fn lens(record: &Record, lens: usize) -> Judged {
    let facets: Vec<&Facet> = record.facets.iter().filter(|facet| usize::from(facet.lens) == lens).collect();
    judge(record, &|position, _| usize::from(position) == lens, &facets)
}

fn judge(record: &Record, counts: &dyn Fn(u8, u8) -> bool, facets: &[&Facet]) -> Judged {
    let over_time: Vec<(u64, u64)> = record
        .samples
        .iter()
        .map(|sample| {
            let cells = sample.cells.iter().filter(|(lens, facet, _)| counts(*lens, *facet));
            (sample.steps, cells.map(|(.., cells)| *cells).sum())
        })
        .collect();
    let growth = growth(&over_time);
    let (steps, cells) = over_time.last().copied().unwrap_or_default();
    let coarse = |facet: &&Facet| facet.median.saturating_mul(2) >= record.run.executions_entering;
    let verdict = match growth {
        _ if cells == 0 => Verdict::Never,
        _ if cells > CELLS_FINE => Verdict::Many(cells),
        _ if steps < STEPS_TO_TELL => Verdict::NotEnough,
        None => Verdict::NotEnough,
        Some(power) if power >= GROWTH_LINEAR => Verdict::Growing(power),
        Some(_) if facets.iter().all(coarse) => {
            Verdict::Coarse(facets.iter().map(|facet| facet.median).min().unwrap_or(0))
        }
        Some(_) => Verdict::Fits,
    };
    Judged { over_time, growth, verdict }
}

/// The power of the steps with which cells grow at the end: 0 where there are no new ones, 1 where they are linear.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52 steps and cells")]
fn growth(over_time: &[(u64, u64)]) -> Option<f64> {
    let (steps, cells) = *over_time.last()?;
    let from =
        over_time.iter().rev().find(|(at, cells)| *at as f64 <= steps as f64 * GROWTH_FROM && *cells > 0);
    let (steps_from, cells_from) = *from?;
    (steps_from > 0)
        .then(|| (cells as f64 / cells_from as f64).ln() / (steps as f64 / steps_from as f64).ln())
}

#[cfg(test)]
mod tests {
    use super::{Verdict, lens};
    use crate::lens::record::{Facet, Record, Run, Sample};

    /// A run of which each sample has these steps and cells, and whose median key was seen by so many of 100 executions.
    fn run(over_time: &[(u64, u64)], median: u64) -> Record {
        let sample = |(steps, cells): &(u64, u64)| Sample {
            steps: *steps,
            cells: if *cells == 0 { Vec::new() } else { vec![(0, 0, *cells)] },
            ..Sample::default()
        };
        Record {
            run: Run { executions_entering: 100, lens: vec!["l".to_owned()], ..Run::default() },
            samples: over_time.iter().map(sample).collect(),
            facets: vec![Facet { median, ..Facet::default() }],
        }
    }

    #[test]
    fn verdicts_follow_from_cells_growth_and_shares() {
        let saturated = [(1_000, 90), (250_000, 99), (2_000_000, 100)];
        for (over_time, median, word) in [
            (&[(1_000, 0), (2_000_000, 0)][..], 0, "never"),
            (&[(1_000, 10), (2_000, 5_001)][..], 1, "too-fine"),
            (&[(1_000, 10), (999_999, 11)][..], 1, "unknown"),
            (&[(2_000_000, 11)][..], 1, "unknown"),
            (&saturated[..], 49, "fits"),
            (&saturated[..], 50, "too-coarse"),
            (&[(1_000, 1), (500_000, 500), (2_000_000, 2_000)][..], 1, "too-fine"),
            // With the square root of the steps.
            (&[(1_000, 1), (500_000, 500), (2_000_000, 1_000)][..], 1, "fits"),
        ] {
            let judged = lens(&run(over_time, median), 0);
            assert_eq!(judged.verdict.word(), word, "{over_time:?} {median}");
            assert!(!judged.verdict.reason().is_empty());
        }
    }

    #[test]
    fn growth_is_the_power_of_the_steps() {
        let judged = lens(&run(&[(1_000, 1), (500_000, 500), (2_000_000, 2_000)], 1), 0);
        assert_eq!(judged.verdict, Verdict::Growing(judged.growth.unwrap()));
        assert!((judged.growth.unwrap() - 1.0).abs() < 1e-9);
        assert_eq!((judged.steps_until(25), judged.steps_until(26)), (Some(500_000), Some(2_000_000)));
        assert_eq!((judged.cells_at(999), judged.cells_at(499_999), judged.cells()), (0, 1, 2_000));
    }
}

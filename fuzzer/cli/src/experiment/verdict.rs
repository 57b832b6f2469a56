//! Comparisons in a sentence each.

use super::figures::{CAMPAIGNS_TO_TEST, CellFigures, Comparison};
use super::row::End;
use misrule_report::experiment::{Verdict, VerdictKind};
use misrule_report::terminal::grouped;
use misrule_statistics::SIGNIFICANT;

/// More campaigns than this are not worth asking for.
const NEEDED_MAX: u64 = 10_000;

impl Comparison<'_> {
    /// What it says.
    pub(crate) fn kind(&self) -> VerdictKind {
        if self.first.times.len() < 2 || self.second.times.len() < 2 {
            return VerdictKind::Missing;
        }
        match self.corrected {
            Some(p) if p < SIGNIFICANT && self.test.hazard_ratio > 1.0 => VerdictKind::Sooner,
            Some(p) if p < SIGNIFICANT => VerdictKind::Later,
            _ => VerdictKind::Unknown,
        }
    }

    /// What it says, in a sentence.
    pub(crate) fn verdict(&self) -> Verdict {
        let (kind, first, second) = (self.kind(), self.first, self.second);
        let (arm, against) = (&first.cell.arm.name, &second.cell.arm.name);
        let text = match kind {
            VerdictKind::Missing => format!(
                "`{arm}` against `{against}`: {} and {} of {} campaigns have been run.",
                first.times.len(),
                second.times.len(),
                first.planned
            ),
            VerdictKind::Sooner | VerdictKind::Later => format!(
                "`{arm}` finds it {} than `{against}`: {}{}; {}.",
                kind.words(),
                self.medians(),
                self.times(),
                self.test_words()
            ),
            VerdictKind::Unknown => format!("`{arm}` against `{against}`: {}.", self.unknown()),
        };
        Verdict { kind, about: first.cell.bug.name.clone(), text }
    }

    /// Why it does not tell, and what would.
    fn unknown(&self) -> String {
        let (first, second) = (self.first, self.second);
        let sizes = format!("{} and {} campaigns", first.times.len(), second.times.len());
        if first.count(End::Found) + second.count(End::Found) == 0 {
            let budget = first.cell.bug.budget.shown();
            return format!("none of {sizes} found it within {budget}; a larger budget is needed to tell");
        }
        let needed = match self.needed {
            Some(needed) if needed <= NEEDED_MAX => {
                let least = needed.max(CAMPAIGNS_TO_TEST as u64);
                format!(
                    "to tell a difference like the one seen, about {} campaigns a side would be needed",
                    grouped(least)
                )
            }
            Some(needed) => format!(
                "they look alike: to tell a difference as small as the one seen, about {} campaigns a side would be needed",
                grouped(needed)
            ),
            None => "no difference was seen, so that no number of campaigns would show one".to_owned(),
        };
        if self.corrected.is_none() {
            let medians = self.medians();
            return format!(
                "{sizes} are too few for a test ({medians}); at least {CAMPAIGNS_TO_TEST} a side, and {needed}"
            );
        }
        format!("{}; {}; {needed}", self.medians(), self.test_words())
    }

    fn medians(&self) -> String {
        let unit = self.first.cell.bug.budget.unit();
        format!("median {} {unit} against {} {unit}", median(self.first), median(self.second))
    }

    /// `, 5.1 times sooner`: the ratio of the medians.
    fn times(&self) -> String {
        let horizon = self.first.cell.bug.budget.horizon();
        let (one, other) = (self.first.median(), self.second.median());
        let at_least = if one.is_none() || other.is_none() { "at least " } else { "" };
        let (one, other) = (one.unwrap_or(horizon), other.unwrap_or(horizon));
        if one < other {
            format!(", {at_least}{} times sooner", short(other / one))
        } else if one > other {
            format!(", {at_least}{} times later", short(one / other))
        } else {
            String::new()
        }
    }

    fn test_words(&self) -> String {
        let corrected =
            self.corrected.map_or_else(String::new, |p| format!(", corrected {}", probability(p)));
        format!(
            "A12 {:.2} [{:.2}, {:.2}], log-rank p {}{corrected}, {} and {} campaigns",
            self.effect.value,
            self.effect.interval.low,
            self.effect.interval.high,
            probability(self.test.p),
            self.first.times.len(),
            self.second.times.len()
        )
    }
}

/// The median, or that it is beyond the budget.
pub(crate) fn median(cell: &CellFigures<'_>) -> String {
    cell.median().map_or_else(|| format!("over {}", short(cell.cell.bug.budget.horizon())), short)
}

/// Three digits.
pub(crate) fn short(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let digits = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    #[expect(clippy::cast_sign_loss, reason = "not below 0")]
    let behind = (2.0 - digits).clamp(0.0, 6.0) as usize;
    format!("{value:.behind$}")
}

/// A probability: two digits that count.
pub(crate) fn probability(p: f64) -> String {
    if p < 1e-3 { format!("{p:.0e}") } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::{probability, short};
    use crate::experiment::figures::{cells, comparisons};
    use crate::experiment::file::File;
    use crate::experiment::row::tests::row;
    use crate::experiment::row::{End, Row};
    use misrule_report::experiment::VerdictKind;

    const FILE: &str = "question = \"q\"\nseed = 1\ncampaigns = 20\nbudget = \"20s\"\n[[bug]]\ntarget = \"b\"\n\
        [[arm]]\nguidance = \"random\"\n[[arm]]\nguidance = \"frontier\"\n";

    /// Campaigns of both arms: `None` is censored.
    fn verdict(random: &[Option<f64>], frontier: &[Option<f64>]) -> (VerdictKind, String) {
        let experiment = File::read("x", FILE.to_owned()).unwrap().experiment;
        let of = |arm: &str, times: &[Option<f64>]| -> Vec<Row> {
            let one = |(at, time): (usize, &Option<f64>)| {
                let end = if time.is_some() { End::Found } else { End::Censored };
                Row { seconds: time.unwrap_or(20.0), ..row("b", arm, at as u32 + 1, end) }
            };
            times.iter().enumerate().map(one).collect()
        };
        let mut rows = of("random", random);
        rows.extend(of("frontier", frontier));
        let cells = cells(&experiment, &rows);
        let comparisons = comparisons(&experiment, &cells);
        assert_eq!(comparisons.len(), 1);
        let verdict = comparisons[0].verdict();
        (verdict.kind, verdict.text)
    }

    fn around(time: f64) -> Vec<Option<f64>> {
        (0..20).map(|at| Some(time * (0.5 + f64::from(at) / 20.0))).collect()
    }

    #[test]
    fn a_clear_difference_is_told() {
        let (kind, text) = verdict(&around(8.0), &around(1.0));
        assert_eq!(kind, VerdictKind::Sooner);
        assert!(text.starts_with("`frontier` finds it sooner than `random`: median 0.950 s against 7.60 s, 8.00 times sooner; A12 1.00 ["), "{text}");
        let (kind, text) = verdict(&around(1.0), &[None; 20]);
        assert_eq!(kind, VerdictKind::Later);
        assert!(text.contains("median over 20.0 s against 0.950 s, at least 21.1 times later"), "{text}");
    }

    #[test]
    fn too_little_is_said_to_be_too_little() {
        let (kind, text) = verdict(&around(8.0)[..4], &around(7.0)[..4]);
        assert_eq!(kind, VerdictKind::Unknown);
        assert!(
            text.contains("4 and 4 campaigns are too few for a test")
                && text.contains("campaigns a side would be needed"),
            "{text}"
        );
        let (kind, text) = verdict(&around(8.0), &around(7.0));
        assert_eq!(kind, VerdictKind::Unknown);
        assert!(text.contains("to tell a difference like the one seen, about"), "{text}");
        let (kind, text) = verdict(&[None; 20], &[None; 20]);
        assert_eq!(kind, VerdictKind::Unknown);
        assert!(text.contains("none of 20 and 20 campaigns found it within 20 s; a larger budget"), "{text}");
        let (kind, text) = verdict(&around(1.0), &[]);
        assert_eq!(kind, VerdictKind::Missing);
        assert!(text.contains("0 and 20 of 20 campaigns have been run"), "{text}");
    }

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in
            [(0.001_234_5, "0.00123"), (1.2345, "1.23"), (45.67, "45.7"), (1234.5, "1234"), (0.0, "0.00")]
        {
            assert_eq!(short(value), text);
        }
        assert_eq!((probability(0.0345), probability(3.4e-7)), ("0.035".into(), "3e-7".into()));
    }
}

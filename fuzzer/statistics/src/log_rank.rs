//! Whether two groups differ.

use crate::normal::chi_square_above;
use crate::time::{Time, real};

/// The result of a log-rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRank {
    /// The statistic: chi-square with one degree of freedom where the groups do not differ.
    pub statistic: f64,
    /// The probability of such a difference or a larger one between groups that do not differ; both directions.
    pub p: f64,
    /// How often the first group finds for each time that the second one does: the ratio of found to expected finds. Above
    /// 1 the first one is faster. Not a number where one group expects none, infinite where the second one found none.
    pub hazard_ratio: f64,
}

/// The log-rank test with the hypergeometric variance: Mantel, "Evaluation of survival data and two new rank order
/// statistics", Cancer Chemotherapy Reports 50 (1966). Where nothing can be told, statistic 0 and p 1. The chi-square
/// distribution holds for many; with less than some ten in a group p is a rough figure.
pub fn log_rank(first: &[Time], second: &[Time]) -> LogRank {
    let mut all: Vec<(Time, bool)> = Vec::with_capacity(first.len() + second.len());
    all.extend(first.iter().map(|time| (*time, true)));
    all.extend(second.iter().map(|time| (*time, false)));
    all.sort_by(|(a, _), (b, _)| a.value.total_cmp(&b.value));
    let (mut risk, mut risk_first) = (all.len(), first.len());
    let (mut observed, mut expected, mut variance, mut found_all) = (0.0, 0.0, 0.0, 0.0);
    for group in all.chunk_by(|(a, _), (b, _)| a.value.total_cmp(&b.value).is_eq()) {
        let found = real(group.iter().filter(|(time, _)| time.found).count());
        let (n, share) = (real(risk), real(risk_first) / real(risk));
        observed += real(group.iter().filter(|(time, of_first)| time.found && *of_first).count());
        found_all += found;
        expected += found * share;
        if risk > 1 {
            variance += found * share * (1.0 - share) * (n - found) / (n - 1.0);
        }
        risk -= group.len();
        risk_first -= group.iter().filter(|(_, of_first)| *of_first).count();
    }
    let difference: f64 = observed - expected;
    let statistic = if variance > 0.0 { difference * difference / variance } else { 0.0 };
    let hazard_ratio = (observed / expected) / ((found_all - observed) / (found_all - expected));
    LogRank { statistic, p: chi_square_above(statistic), hazard_ratio }
}

#[cfg(test)]
mod tests {
    use super::log_rank;
    use crate::time::Time;

    #[test]
    fn nothing_found_tells_nothing() {
        let censored = [Time::censored(5.0); 4];
        let test = log_rank(&censored, &censored);
        assert!((test.p - 1.0).abs() < 1e-12 && test.statistic.abs() < 1e-12);
        assert!(log_rank(&[], &[]).hazard_ratio.is_nan());
    }

    #[test]
    fn sides_can_be_exchanged() {
        let fast = [Time::found(1.0), Time::found(2.0), Time::found(2.0), Time::found(4.0)];
        let slow = [Time::found(2.0), Time::found(9.0), Time::censored(10.0)];
        let (one, other) = (log_rank(&fast, &slow), log_rank(&slow, &fast));
        assert!((one.p - other.p).abs() < 1e-12 && one.p < 0.2);
        assert!(one.hazard_ratio > 1.0 && (one.hazard_ratio * other.hazard_ratio - 1.0).abs() < 1e-12);
        let never = [Time::censored(10.0); 3];
        assert!(log_rank(&fast, &never).hazard_ratio.is_infinite());
    }
}

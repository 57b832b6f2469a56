//! The mean time within a horizon.

use crate::kaplan_meier::survival;
use crate::normal::Z;
use crate::time::{Interval, Time, real, rows};

/// A mean time within a horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RestrictedMean {
    /// The mean of the smaller of time and horizon.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl RestrictedMean {
    /// Its 95 % interval after the normal distribution, not below 0.
    pub fn interval(self) -> Interval {
        let half = Z * self.standard_error;
        Interval { low: (self.mean - half).max(0.0), high: self.mean + half }
    }
}

/// The restricted mean time: the area below the survival curve until `horizon`, with the standard error of Greenwood.
/// Royston and Parmar, "Restricted mean survival time", BMC Medical Research Methodology 13:152 (2013). A horizon at or
/// below the shortest budget lets no censored campaign be guessed at.
pub fn restricted_mean(times: &[Time], horizon: f64) -> RestrictedMean {
    let curve = survival(times);
    let steps: Vec<_> = curve.iter().zip(rows(times)).filter(|(point, _)| point.time < horizon).collect();
    let (mut area, mut variance, mut until) = (0.0, 0.0, horizon);
    // From the end: the error of a step is on the whole area behind it.
    for (point, row) in steps.iter().rev() {
        area += point.survival * (until - point.time);
        until = point.time;
        let (at_risk, found) = (real(row.at_risk), real(row.found));
        if row.at_risk > row.found {
            variance += area * area * found / (at_risk * (at_risk - found));
        }
    }
    RestrictedMean { mean: area + until, standard_error: variance.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::restricted_mean;
    use crate::time::Time;

    #[test]
    fn without_finds_the_mean_is_the_horizon() {
        let mean = restricted_mean(&[Time::censored(5.0); 3], 5.0);
        assert!((mean.mean - 5.0).abs() < 1e-12 && mean.standard_error.abs() < 1e-12);
    }

    #[test]
    fn without_censoring_it_is_the_mean() {
        let times = [Time::found(1.0), Time::found(2.0), Time::found(6.0)];
        let mean = restricted_mean(&times, 10.0);
        assert!((mean.mean - 3.0).abs() < 1e-12, "{mean:?}");
        assert!(mean.interval().low < 3.0 && mean.interval().high > 3.0);
    }
}

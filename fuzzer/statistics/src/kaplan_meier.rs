//! The share that has not yet been found, over time.

use crate::normal::Z;
use crate::time::{Interval, Time, real, rows};

/// The survival curve from one time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The time at which the curve steps down.
    pub time: f64,
    /// The estimated share that takes longer.
    pub survival: f64,
    /// Its pointwise 95 % interval.
    pub band: Interval,
    /// How many had found nothing just before.
    pub at_risk: usize,
}

/// The survival curve: Kaplan and Meier, "Nonparametric estimation from incomplete observations", JASA 53 (1958). One
/// point for each time at which something was found; before the first one it is 1.
///
/// The band is pointwise, on the scale of log(-log): Greenwood's variance transformed as by Kalbfleisch and Prentice,
/// "The statistical analysis of failure time data" (1980), section 1.4; what lifelines calls exponential Greenwood. Where
/// nothing survives that scale ends: there the band is from 0 to the upper end of the step before (1 at the first).
pub fn survival(times: &[Time]) -> Vec<Point> {
    let (mut survival, mut greenwood, mut high) = (1.0, 0.0, 1.0);
    rows(times)
        .iter()
        .map(|row| {
            let (at_risk, found) = (real(row.at_risk), real(row.found));
            survival *= 1.0 - found / at_risk;
            greenwood += found / (at_risk * (at_risk - found));
            let band = if row.at_risk == row.found {
                survival = 0.0;
                Interval { low: 0.0, high }
            } else {
                let log = survival.ln();
                let shifted = |by: f64| (-((-log).ln() + by * greenwood.sqrt() / log).exp()).exp();
                Interval { low: shifted(-Z), high: shifted(Z) }
            };
            high = band.high;
            Point { time: row.time, survival, band, at_risk: row.at_risk }
        })
        .collect()
}

/// The first time by which at least half was found, as the survival curve has it; none where the curve stays above.
pub fn median(times: &[Time]) -> Option<f64> {
    first_below_half(&survival(times), |point| point.survival)
}

/// The 95 % interval of the median: Brookmeyer and Crowley, "A confidence interval for the median survival time",
/// Biometrics 38 (1982), by the band of [`survival`]. An end is infinite where the band stays above one half.
pub fn median_interval(times: &[Time]) -> Interval {
    let curve = survival(times);
    let end = |of: fn(&Point) -> f64| first_below_half(&curve, of).unwrap_or(f64::INFINITY);
    Interval { low: end(|point| point.band.low), high: end(|point| point.band.high) }
}

fn first_below_half(curve: &[Point], of: impl Fn(&Point) -> f64) -> Option<f64> {
    // Products of fractions that are one half in exact numbers may end a little above it.
    curve.iter().find(|point| of(point) <= 0.5 + 1e-12).map(|point| point.time)
}

#[cfg(test)]
mod tests {
    use super::{median, median_interval, survival};
    use crate::time::Time;

    #[test]
    fn nothing_found_leaves_the_curve_at_one() {
        let times = [Time::censored(5.0); 4];
        assert!(survival(&times).is_empty());
        assert_eq!(median(&times), None);
        assert!(median_interval(&times).low.is_infinite());
        assert!(survival(&[]).is_empty());
    }

    #[test]
    fn all_found_ends_at_zero() {
        let times = [Time::found(1.0), Time::found(2.0), Time::found(3.0)];
        let curve = survival(&times);
        let last = curve[2];
        assert!(last.survival.to_bits() == 0 && last.band.low.to_bits() == 0);
        assert!((last.band.high - curve[1].band.high).abs() < f64::EPSILON);
        assert_eq!(median(&times), Some(2.0));
        let one = survival(&[Time::found(1.0)]);
        assert!((one[0].band.high - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn half_is_half() {
        // 6/7 5/6 4/5 3/4 ... multiplied is exactly one half only on paper.
        let times: Vec<Time> = (1..=14).map(|at| Time::found(f64::from(at))).collect();
        assert_eq!(median(&times), Some(7.0));
    }
}

//! How often one is faster than the other.

use crate::normal::Z;
use crate::time::{Interval, Time, real};
use std::cmp::Ordering;

/// The chance that one of the first group is faster than one of the second, ties counted half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// The share of pairs.
    pub value: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// Vargha and Delaney's A: "A critique and improvement of the CL common language effect size statistics", Journal of
/// Educational and Behavioral Statistics 25 (2000); here above one half where the *first* group is faster, which is
/// smaller times. Not a number, with the interval from 0 to 1, where a group is empty.
///
/// A censored time is above each time at which something was found, and two censored ones tie. That is exact where all
/// were censored at one budget, which is how campaigns are compared here. With several budgets it would not be.
///
/// The interval is Newcombe's fifth: "Confidence intervals for an effect size measure based on the Mann-Whitney statistic",
/// Statistics in Medicine 25 (2006), part 2. It solves for the values whose own standard error just reaches what was
/// seen, as Wilson's does, so that it is sensible at 0 and 1 too.
pub fn a12(first: &[Time], second: &[Time]) -> Effect {
    let pairs = first.len() * second.len();
    if pairs == 0 {
        return Effect { value: f64::NAN, interval: Interval { low: 0.0, high: 1.0 } };
    }
    let mut halves = 0;
    for one in first {
        halves += second.iter().map(|other| points(one, other)).sum::<usize>();
    }
    let value = real(halves) / 2.0 / real(pairs);
    let low = if halves == 0 { 0.0 } else { solve(value, 0.0, first.len(), second.len()) };
    let high = if halves == 2 * pairs { 1.0 } else { solve(value, 1.0, first.len(), second.len()) };
    Effect { value, interval: Interval { low, high } }
}

/// Two where the first is faster, one where they tie.
fn points(one: &Time, other: &Time) -> usize {
    let order = match (one.found, other.found) {
        (true, true) => one.value.total_cmp(&other.value),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => Ordering::Equal,
    };
    match order {
        Ordering::Less => 2,
        Ordering::Equal => 1,
        Ordering::Greater => 0,
    }
}

/// The value between `seen` and `end` that is [`Z`] of its own standard errors away from `seen`.
fn solve(seen: f64, end: f64, first: usize, second: usize) -> f64 {
    let (mut near, mut far) = (seen, end);
    for _ in 0..64 {
        let middle = f64::midpoint(near, far);
        if (middle - seen).abs() < Z * variance(middle, real(first), real(second)).sqrt() {
            near = middle;
        } else {
            far = middle;
        }
    }
    f64::midpoint(near, far)
}

/// The variance of the measure where it is `a`: that of Hanley and `McNeil` (1982), both groups replaced by their mean size
/// where that is not their product.
fn variance(a: f64, m: f64, n: f64) -> f64 {
    let mean = f64::midpoint(m, n) - 1.0;
    a * (1.0 - a) * (1.0 + mean * ((1.0 - a) / (2.0 - a) + a / (1.0 + a))) / (m * n)
}

#[cfg(test)]
mod tests {
    use super::a12;
    use crate::time::Time;

    #[test]
    fn ties_count_half_and_censored_ties_with_censored() {
        let found = |value| Time::found(value);
        let censored = Time::censored(9.0);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(a12(&[found(1.0), found(2.0)], &[found(3.0), censored]).value, 1.0));
        assert!(close(a12(&[censored], &[censored]).value, 0.5));
        assert!(close(a12(&[found(1.0), censored], &[found(1.0), found(2.0)]).value, 0.375));
        assert!(close(a12(&[found(9.0)], &[censored]).value, 1.0), "found at the last moment is found");
        assert!(a12(&[], &[censored]).value.is_nan());
    }

    #[test]
    fn certain_values_still_have_an_interval() {
        let fast = [Time::found(1.0); 20];
        let slow = [Time::found(2.0); 20];
        let effect = a12(&fast, &slow);
        assert!((effect.interval.high - 1.0).abs() < f64::EPSILON);
        assert!(effect.interval.low > 0.8 && effect.interval.low < 1.0, "{effect:?}");
        let other = a12(&slow, &fast);
        assert!((other.interval.high + effect.interval.low - 1.0).abs() < 1e-9, "{other:?}");
    }
}

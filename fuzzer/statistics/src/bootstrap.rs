//! Intervals of anything, by drawing again from what was seen.

use crate::generator::Generator;
use crate::time::{Interval, real};

/// The 95 % percentile interval of `statistic`, from `resamples` draws with replacement: Efron and Tibshirani, "An
/// introduction to the bootstrap" (1993), chapter 13. The same seed gives the same interval. Draws for which the
/// statistic is not a number are left out; none where nothing is left.
pub fn bootstrap<T: Copy>(
    values: &[T],
    resamples: usize,
    seed: u64,
    statistic: impl Fn(&[T]) -> f64,
) -> Option<Interval> {
    bootstrap_two(values, &[], resamples, seed, |drawn, _| statistic(drawn))
}

/// The same for a statistic of two groups, each drawn from by itself. Each round draws the first group, then the second.
pub fn bootstrap_two<T: Copy>(
    first: &[T],
    second: &[T],
    resamples: usize,
    seed: u64,
    statistic: impl Fn(&[T], &[T]) -> f64,
) -> Option<Interval> {
    let mut generator = Generator::new(seed);
    let (mut one, mut other) = (first.to_vec(), second.to_vec());
    let mut seen = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        redraw(first, &mut one, &mut generator);
        redraw(second, &mut other, &mut generator);
        let value = statistic(&one, &other);
        if !value.is_nan() {
            seen.push(value);
        }
    }
    seen.sort_by(f64::total_cmp);
    Some(Interval { low: quantile(&seen, 0.025)?, high: quantile(&seen, 0.975)? })
}

fn redraw<T: Copy>(from: &[T], into: &mut [T], generator: &mut Generator) {
    for value in into {
        *value = from[generator.below(from.len())];
    }
}

/// The quantile of sorted values, linear between neighbours: type 7 of Hyndman and Fan (1996), what numpy does.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * real(sorted.len().checked_sub(1)?);
    #[expect(clippy::cast_sign_loss, reason = "shares are not negative")]
    let at = place as usize;
    let (low, high) = (sorted[at], sorted[(at + 1).min(sorted.len() - 1)]);
    // Infinite neighbours have no distance.
    Some(if low.total_cmp(&high).is_eq() { low } else { low + (high - low) * (place - place.floor()) })
}

#[cfg(test)]
mod tests {
    use super::bootstrap;

    #[test]
    fn nothing_drawn_is_no_interval() {
        assert_eq!(bootstrap(&[1.0], 100, 1, |_| f64::NAN), None);
        assert_eq!(bootstrap(&[1.0], 0, 1, |values: &[f64]| values[0]), None);
        let same = bootstrap(&[4.0; 5], 100, 1, |values: &[f64]| values.iter().sum()).unwrap();
        assert!((same.low - 20.0).abs() < 1e-12 && (same.high - 20.0).abs() < 1e-12);
    }

    #[test]
    fn infinite_values_are_values() {
        let interval = bootstrap(&[1.0], 10, 1, |_| f64::INFINITY).unwrap();
        assert!(interval.low.is_infinite() && interval.high.is_infinite());
    }
}

//! The normal distribution.

/// What a normal value exceeds with a probability of 2.5 %.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// Below this the series of the error function is used, above it the continued fraction.
const SERIES_BELOW: f64 = 2.0;

/// The complementary error function, for `x` of 0 or more. Abramowitz and Stegun, 7.1.6 (a series whose terms are all
/// positive) and 7.1.14 (a continued fraction, here evaluated from its end).
pub(crate) fn erfc(x: f64) -> f64 {
    let scale = (-x * x).exp() / std::f64::consts::PI.sqrt();
    if x < SERIES_BELOW {
        let (mut term, mut sum, mut n) = (2.0 * x, 2.0 * x, 1.0);
        while term > sum * 1e-17 {
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        return 1.0 - scale * sum;
    }
    // 120 levels are exact to the last digit at 2, where the fraction is slowest.
    let below = (1..=120).rev().fold(0.0, |below, n| f64::from(n) / 2.0 / (x + below));
    scale / (x + below)
}

/// The probability that a normal value is above `z`.
pub(crate) fn above(z: f64) -> f64 {
    let tail = erfc(z.abs() / std::f64::consts::SQRT_2) / 2.0;
    if z < 0.0 { 1.0 - tail } else { tail }
}

/// What a normal value exceeds with probability `p`, which is above 0 and at most one half.
pub(crate) fn exceeded_with(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    // Halving 40 gets below the distance of two numbers.
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if above(middle) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The probability that a chi-square value with one degree of freedom is above `x`.
pub(crate) fn chi_square_above(x: f64) -> f64 {
    erfc((x / 2.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{chi_square_above, erfc, exceeded_with};
    use serde_json::Value;

    #[test]
    fn tails_are_scipys() {
        let golden: Value = serde_json::from_str(include_str!("../tests/golden/golden.json")).unwrap();
        for (name, function) in [("erfc", erfc as fn(f64) -> f64), ("chi_square", chi_square_above)] {
            let rows = golden[name].as_array().unwrap();
            assert!(rows.len() >= 8);
            for row in rows {
                let (x, expected) = (row[0].as_f64().unwrap(), row[1].as_f64().unwrap());
                let error = (function(x) - expected).abs() / expected;
                assert!(error < 1e-12, "{name}({x}) is {}, expected {expected}", function(x));
            }
        }
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, z) in [(0.025, super::Z), (0.2, 0.841_621_233_572_914_3), (0.5, 0.0)] {
            assert!((exceeded_with(p) - z).abs() < 1e-12, "{p}: {}", exceeded_with(p));
        }
    }
}

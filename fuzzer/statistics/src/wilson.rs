//! The interval of a share.

use crate::normal::Z;
use crate::time::Interval;

/// The 95 % interval of the share `part` / `whole`: Wilson, "Probable inference", JASA 22 (1927), without correction for
/// continuity. From 0 to 1 where there is nothing to share. `part` is at most `whole`.
#[expect(clippy::cast_precision_loss, reason = "a share needs no 53 bits")]
pub fn wilson(part: u64, whole: u64) -> Interval {
    if whole == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let n = whole as f64;
    let share = part as f64 / n;
    let (centre, scale) = (share + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    // The ends are exact there; rounding would leave a trace.
    let low = if part == 0 { 0.0 } else { (centre - half) / scale };
    let high = if part == whole { 1.0 } else { (centre + half) / scale };
    Interval { low, high }
}

#[cfg(test)]
mod tests {
    use super::wilson;
    use crate::time::Interval;

    #[test]
    fn the_ends_are_ends() {
        assert_eq!(wilson(0, 0), Interval { low: 0.0, high: 1.0 });
        let none = wilson(0, 10);
        assert!(none.low.to_bits() == 0 && (none.high - 0.2775).abs() < 5e-4, "{none:?}");
        let all = wilson(10, 10);
        assert!((all.low - 0.7225).abs() < 5e-4 && (all.high - 1.0).abs() < f64::EPSILON, "{all:?}");
    }
}

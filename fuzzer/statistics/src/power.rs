//! How many would be needed.

use crate::normal::exceeded_with;

/// A difference is called significant when p is below this.
pub const SIGNIFICANT: f64 = 0.05;

/// The chance with which a difference that exists should be seen.
pub const POWER: f64 = 0.8;

/// How many are needed in each of two groups of one size, so that a log-rank test at `level` (two-sided) sees a
/// difference of this hazard ratio with the chance [`POWER`], when these shares of the groups find something: Freedman,
/// "Tables of the number of patients required in clinical trials using the logrank test", Statistics in Medicine 1
/// (1982). None where no number is enough: a ratio of 1, nothing found, or no number at all. An infinite ratio is one
/// where the second group finds nothing.
pub fn campaigns_needed(hazard_ratio: f64, found_first: f64, found_second: f64, level: f64) -> Option<u64> {
    let ratio = if hazard_ratio < 1.0 { 1.0 / hazard_ratio } else { hazard_ratio };
    let found = found_first + found_second;
    if ratio.is_nan() || found <= 0.0 {
        return None;
    }
    // (ratio + 1) / (ratio - 1), which is 1 for an infinite ratio.
    let contrast = if ratio.is_infinite() { 1.0 } else { (ratio + 1.0) / (ratio - 1.0) };
    let z = exceeded_with(level / 2.0) + exceeded_with(1.0 - POWER);
    let needed = (contrast * contrast * z * z / found).ceil();
    #[expect(clippy::cast_sign_loss, reason = "a square")]
    (needed < 1e15).then_some(needed as u64)
}

#[cfg(test)]
mod tests {
    use super::campaigns_needed;

    #[test]
    fn some_differences_no_number_tells() {
        assert_eq!(campaigns_needed(1.0, 1.0, 1.0, 0.05), None);
        assert_eq!(campaigns_needed(2.0, 0.0, 0.0, 0.05), None);
        assert_eq!(campaigns_needed(f64::NAN, 1.0, 1.0, 0.05), None);
        assert_eq!(campaigns_needed(f64::INFINITY, 1.0, 0.0, 0.05), Some(8));
        assert_eq!(campaigns_needed(3.0, 1.0, 1.0, 0.05), campaigns_needed(1.0 / 3.0, 1.0, 1.0, 0.05));
    }
}

//! Numbers for tables.

/// Lowest, median and highest value; zeros for no values.
pub fn quantiles(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return (0.0, 0.0, 0.0) };
    let middle = usize::midpoint(sorted.len() - 1, sorted.len()) / 2;
    let median = if sorted.len() % 2 == 1 {
        sorted[sorted.len() / 2]
    } else {
        f64::midpoint(sorted[middle], sorted[middle + 1])
    };
    (*first, median, *last)
}

/// The median of numbers of steps, where `None` is beyond every number; the upper of two middle ones.
pub fn median(values: &[Option<u64>]) -> Option<u64> {
    let mut sorted: Vec<u64> = values.iter().map(|value| value.unwrap_or(u64::MAX)).collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().filter(|value| *value < u64::MAX)
}

/// Vargha and Delaney's A12: the chance that a run of `first` needs fewer steps than one of `second`, ties
/// counted half; two runs that found nothing are a tie.
pub fn a12(first: &[Option<u64>], second: &[Option<u64>]) -> f64 {
    let beyond = |value: &Option<u64>| value.unwrap_or(u64::MAX);
    let halves: u32 = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| beyond(a).cmp(&beyond(b))))
        .map(|order| match order {
            std::cmp::Ordering::Less => 2,
            std::cmp::Ordering::Equal => 1,
            std::cmp::Ordering::Greater => 0,
        })
        .sum();
    f64::from(halves) / 2.0 / f64::from((first.len() * second.len()).max(1) as u32)
}

/// Thousand steps a second.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52 steps")]
pub fn rate(steps: u64, seconds: f64) -> f64 {
    steps as f64 / seconds / 1e3
}

/// A number with a comma after each three digits.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{a12, grouped, median, quantiles};

    #[test]
    fn middles() {
        assert_eq!(quantiles(&[3.0, 1.0, 2.0]), (1.0, 2.0, 3.0));
        assert_eq!(quantiles(&[4.0, 1.0, 2.0, 3.0]), (1.0, 2.5, 4.0));
        assert_eq!(quantiles(&[]), (0.0, 0.0, 0.0));
        assert_eq!(median(&[Some(5), None, Some(7)]), Some(7));
        assert_eq!(median(&[None, None, Some(7)]), None);
    }

    #[test]
    fn a12_counts_ties_half() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(a12(&[Some(1), Some(2)], &[Some(3), None]), 1.0));
        assert!(close(a12(&[None], &[None]), 0.5));
        assert!(close(a12(&[Some(1), None], &[Some(1), Some(2)]), 0.375));
    }

    #[test]
    fn thousands_are_marked() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1234), "1,234");
        assert_eq!(grouped(123_456), "123,456");
    }
}

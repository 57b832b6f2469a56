//! Several tests at once.

use crate::time::real;

/// The values adjusted so that, at any level, the chance of one false alarm among all is at most that level: Holm, "A
/// simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979). In the order
/// given.
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut adjusted = vec![0.0; values.len()];
    let mut largest: f64 = 0.0;
    for (rank, at) in order.iter().enumerate() {
        largest = largest.max(values[*at] * real(values.len() - rank)).min(1.0);
        adjusted[*at] = largest;
    }
    adjusted
}

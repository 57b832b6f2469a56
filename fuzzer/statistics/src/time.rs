//! Times and intervals.

/// How long something took, or how long it was waited for in vain. In any unit, the same for all that is compared;
/// finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// The time.
    pub value: f64,
    /// Whether it ended with a find; otherwise it is censored there.
    pub found: bool,
}

impl Time {
    /// A find after that time.
    pub fn found(value: f64) -> Self {
        Self { value, found: true }
    }

    /// Nothing was found until then.
    pub fn censored(value: f64) -> Self {
        Self { value, found: false }
    }
}

/// An interval, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// What happened at one time, in a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) time: f64,
    /// How many had found nothing just before.
    pub(crate) at_risk: usize,
    pub(crate) found: usize,
}

/// One row for each different time at which something was found. Who is censored at a time is still at risk then.
pub(crate) fn rows(times: &[Time]) -> Vec<Row> {
    let mut sorted = times.to_vec();
    sorted.sort_by(|a, b| a.value.total_cmp(&b.value));
    let mut rows: Vec<Row> = Vec::new();
    let mut at = 0;
    for group in sorted.chunk_by(|a, b| a.value.total_cmp(&b.value).is_eq()) {
        let found = group.iter().filter(|time| time.found).count();
        if found > 0 {
            rows.push(Row { time: group[0].value, at_risk: sorted.len() - at, found });
        }
        at += group.len();
    }
    rows
}

/// A number of things as a real number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

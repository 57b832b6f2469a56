//! Equal shares of steps or of cost for each of several alternatives.

/// Shares steps, or what they cost, equally between arms: the arm that has used the fewest comes next.
#[derive(Clone, Debug)]
pub(super) struct EqualShares {
    used: Vec<u64>,
}

impl EqualShares {
    pub(super) fn new(arms: usize) -> Self {
        Self { used: vec![0; arms] }
    }

    /// The arm that has used the fewest; the first of several.
    pub(super) fn next(&self) -> usize {
        let fewest = self.used.iter().enumerate().min_by_key(|(_, used)| **used);
        fewest.map_or(0, |(arm, _)| arm)
    }

    pub(super) fn charge(&mut self, arm: usize, used: u64) {
        self.used[arm] += used.max(1);
    }
}

/// Lengths of random executions: the best length differs a thousandfold between targets, and no length fits
/// all (`notes/frontier.md`).
const LENGTHS: [u32; 7] = [30, 100, 300, 1_000, 3_000, 10_000, 30_000];

/// The lengths of the ladder that are no longer than `steps_max`; at least one.
pub(super) fn lengths(steps_max: u32) -> Vec<u32> {
    let mut lengths: Vec<u32> = LENGTHS.iter().copied().filter(|length| *length <= steps_max).collect();
    if lengths.is_empty() {
        lengths.push(steps_max);
    }
    lengths
}

/// The ladder for executions that no strategy plans.
#[derive(Clone, Debug)]
pub(crate) struct Ladder {
    lengths: Vec<u32>,
    shares: EqualShares,
    /// The length that came last, by position.
    last: usize,
}

impl Ladder {
    pub(crate) fn new(steps_max: u32) -> Self {
        let lengths = lengths(steps_max);
        Self { shares: EqualShares::new(lengths.len()), lengths, last: 0 }
    }

    /// The next length.
    pub(crate) fn next(&mut self) -> u32 {
        self.last = self.shares.next();
        self.lengths[self.last]
    }

    /// Charges the steps of the execution that had the length.
    pub(crate) fn charge(&mut self, steps: u64) {
        self.shares.charge(self.last, steps);
    }
}

#[cfg(test)]
mod tests {
    use super::EqualShares;

    #[test]
    fn steps_are_shared_equally() {
        let mut arms = EqualShares::new(3);
        let mut used = [0_u64; 3];
        for _ in 0..10_000 {
            let arm = arms.next();
            let steps = [10, 100, 1000][arm];
            arms.charge(arm, steps);
            used[arm] += steps;
        }
        assert!(used.iter().max().unwrap() - used.iter().min().unwrap() <= 1000, "{used:?}");
    }
}

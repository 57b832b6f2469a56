//! Acknowledged writes survive: what clients were promised is there at the end.
//!
//! ```
//! use misrule_history::survival::check_survival;
//!
//! // 3 was acknowledged and is gone; 4 got no answer and may be there or not.
//! let survival = check_survival(&[1, 2, 3], &[1, 2], &[4]);
//! assert_eq!(survival.lost, [&3]);
//! assert!(!survival.holds());
//! ```

use std::collections::BTreeMap;

/// What is wrong with final contents; nothing, where all lists are empty. Each list is sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survival<'a, T> {
    /// Acknowledged, and not there (as often as it was acknowledged).
    pub lost: Vec<&'a T>,
    /// There, although nobody wrote it.
    pub invented: Vec<&'a T>,
    /// There more often than it was written.
    pub repeated: Vec<&'a T>,
}

impl<T> Survival<'_, T> {
    /// Whether every acknowledged write survived, and nothing else is there.
    pub fn holds(&self) -> bool {
        self.lost.is_empty() && self.invented.is_empty() && self.repeated.is_empty()
    }
}

/// Checks final contents against what clients wrote: every `acknowledged` write must be there, every write of
/// `unknown` outcome may be, nothing else is. A write that is known to have failed belongs to neither. Order is not
/// looked at; what was written twice may be there twice.
pub fn check_survival<'a, T: Ord>(
    acknowledged: &'a [T],
    contents: &'a [T],
    unknown: &'a [T],
) -> Survival<'a, T> {
    // How often each was acknowledged, of unknown outcome, and there.
    let mut counts: BTreeMap<&T, [usize; 3]> = BTreeMap::new();
    for (at, list) in [acknowledged, unknown, contents].into_iter().enumerate() {
        for value in list {
            counts.entry(value).or_default()[at] += 1;
        }
    }
    let mut survival = Survival { lost: Vec::new(), invented: Vec::new(), repeated: Vec::new() };
    for (value, [acknowledged, unknown, there]) in counts {
        if there < acknowledged {
            survival.lost.push(value);
        } else if acknowledged + unknown == 0 {
            survival.invented.push(value);
        } else if there > acknowledged + unknown {
            survival.repeated.push(value);
        }
    }
    survival
}

#[cfg(test)]
mod tests {
    use super::check_survival;

    #[test]
    fn unknown_writes_may_be_there_or_not() {
        assert!(check_survival(&["a", "b"], &["b", "a"], &["c"]).holds());
        assert!(check_survival(&["a", "b"], &["c", "b", "a"], &["c"]).holds());
        assert!(check_survival::<u8>(&[], &[], &[]).holds());
    }

    #[test]
    fn lost_invented_and_repeated_writes_are_told() {
        let survival = check_survival(&[1, 2, 3, 3], &[5, 2, 2, 3, 4], &[4, 6]);
        assert_eq!((survival.lost, survival.invented, survival.repeated), (vec![&1, &3], vec![&5], vec![&2]));
    }

    #[test]
    fn a_retried_write_may_be_there_twice() {
        assert!(check_survival(&[1], &[1, 1], &[1]).holds());
        assert!(!check_survival(&[1], &[1, 1, 1], &[1]).holds());
    }
}

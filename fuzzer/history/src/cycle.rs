//! The cycle workload: a ring of pairs that concurrent transactions rearrange.
//!
//! After the workload `Cycle` of FoundationDB (Zhou et al., "FoundationDB: a distributed unbundled transactional
//! key value store", 2021, section 4). Every element names the next one, and each transaction takes an element out
//! of its place and puts it back one further. Under serializable isolation whoever reads the whole ring sees one
//! cycle of all elements. Where two transactions see each other's work in part, the ring falls apart, and it never
//! heals.
//!
//! ```
//! use misrule_history::cycle::{check_ring, rearranged, ring};
//!
//! let mut pairs = ring(5);
//! for (element, next) in rearranged(|element| pairs.get(&element).copied(), 2).unwrap() {
//!     pairs.insert(element, next);
//! }
//! assert!(check_ring(5, pairs.iter().map(|(element, next)| (*element, *next))).is_ok());
//! ```

use std::collections::BTreeMap;
use thiserror::Error;

/// How a snapshot of the ring is broken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Broken {
    /// An element is not in the snapshot.
    #[error("element {0} is missing")]
    Missing(u64),
    /// An element is there more than once, or was never in the ring.
    #[error("element {0} does not belong there")]
    Surplus(u64),
    /// An element's next is no element.
    #[error("element {element} is followed by {next}, which is no element")]
    Stray {
        /// The element.
        element: u64,
        /// What it names as its next.
        next: u64,
    },
    /// Two elements have the same next: one transaction's write was lost.
    #[error("elements {first} and {second} are both followed by {next}")]
    Joined {
        /// The one.
        first: u64,
        /// The other.
        second: u64,
        /// Their next.
        next: u64,
    },
    /// There is more than one cycle.
    #[error("the ring has {elements} elements, the cycle through element 0 only {}", cycle.len())]
    Short {
        /// How many elements there are.
        elements: u64,
        /// The cycle through element 0, in order.
        cycle: Vec<u64>,
    },
}

/// A ring at first: elements `0..elements`, each followed by the next number.
pub fn ring(elements: u64) -> BTreeMap<u64, u64> {
    (0..elements).map(|element| (element, (element + 1) % elements)).collect()
}

/// What one transaction writes: the element behind `from` changes its place with the one behind it. `next` is what
/// the transaction reads: the element behind one; it is asked for `from` and the two elements behind it. None where
/// something that was read is missing, or the ring has fewer than three elements.
pub fn rearranged(next: impl Fn(u64) -> Option<u64>, from: u64) -> Option<[(u64, u64); 3]> {
    let second = next(from)?;
    let third = next(second)?;
    let fourth = next(third)?;
    (second != from && third != from && second != third).then_some([
        (from, third),
        (third, second),
        (second, fourth),
    ])
}

/// Checks one snapshot of a ring with the elements `0..elements`. As an oracle, on what a transaction that read all
/// elements was told:
///
/// ```
/// use misrule_history::cycle::{Broken, check_ring, rearranged, ring};
///
/// // Two transactions read the same ring, and both write: the second did not see the first.
/// let read = ring(5);
/// let mut pairs = read.clone();
/// pairs.extend(rearranged(|element| read.get(&element).copied(), 0).unwrap());
/// pairs.extend(rearranged(|element| read.get(&element).copied(), 1).unwrap());
/// let broken = check_ring(5, pairs).unwrap_err();
/// assert_eq!(broken.to_string(), "elements 0 and 3 are both followed by 2");
///
/// assert_eq!(check_ring(3, [(0, 1), (2, 0)]), Err(Broken::Missing(1)));
/// ```
///
/// # Errors
/// The first thing that is broken.
pub fn check_ring(elements: u64, pairs: impl IntoIterator<Item = (u64, u64)>) -> Result<(), Broken> {
    let mut after = BTreeMap::new();
    let mut before = BTreeMap::new();
    for (element, next) in pairs {
        if element >= elements || after.insert(element, next).is_some() {
            return Err(Broken::Surplus(element));
        }
        if next >= elements {
            return Err(Broken::Stray { element, next });
        }
        if let Some(first) = before.insert(next, element) {
            return Err(Broken::Joined { first, second: element, next });
        }
    }
    if let Some(missing) = (0..elements).find(|element| !after.contains_key(element)) {
        return Err(Broken::Missing(missing));
    }
    // Every element has one next and is one's next: these are cycles.
    let mut cycle = Vec::new();
    let mut at = 0;
    while let Some(next) = after.remove(&at) {
        cycle.push(at);
        at = next;
    }
    if after.is_empty() { Ok(()) } else { Err(Broken::Short { elements, cycle }) }
}

/// Checks all snapshots that were observed, in any order.
///
/// # Errors
/// The position of the first one that is broken, and how.
pub fn check_snapshots<'a>(
    elements: u64,
    snapshots: impl IntoIterator<Item = &'a [(u64, u64)]>,
) -> Result<(), (usize, Broken)> {
    for (at, pairs) in snapshots.into_iter().enumerate() {
        check_ring(elements, pairs.iter().copied()).map_err(|broken| (at, broken))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Broken, check_ring, check_snapshots, rearranged, ring};
    use std::collections::BTreeMap;

    fn turned(pairs: &BTreeMap<u64, u64>, from: u64) -> Option<[(u64, u64); 3]> {
        rearranged(|element| pairs.get(&element).copied(), from)
    }

    fn check(pairs: &[(u64, u64)]) -> Result<(), Broken> {
        check_ring(4, pairs.iter().copied())
    }

    #[test]
    fn one_cycle_of_all_elements_is_whole() {
        assert_eq!(check(&[(0, 2), (2, 1), (1, 3), (3, 0)]), Ok(()));
        assert_eq!(check_ring(1, [(0, 0)]), Ok(()));
        assert_eq!(check_ring(0, []), Ok(()));
    }

    #[test]
    fn each_way_to_be_broken_is_told() {
        assert_eq!(check(&[(0, 1), (1, 2), (3, 0)]), Err(Broken::Missing(2)));
        assert_eq!(check(&[(0, 1), (0, 2)]), Err(Broken::Surplus(0)));
        assert_eq!(check(&[(4, 0)]), Err(Broken::Surplus(4)));
        assert_eq!(check(&[(0, 7)]), Err(Broken::Stray { element: 0, next: 7 }));
        assert_eq!(check(&[(0, 1), (1, 1)]), Err(Broken::Joined { first: 0, second: 1, next: 1 }));
        let short = check(&[(0, 1), (1, 0), (2, 3), (3, 2)]).unwrap_err();
        assert_eq!(short, Broken::Short { elements: 4, cycle: vec![0, 1] });
        assert_eq!(short.to_string(), "the ring has 4 elements, the cycle through element 0 only 2");
    }

    #[test]
    fn transactions_one_after_another_keep_the_ring() {
        let mut pairs = ring(7);
        let mut seen = Vec::new();
        for from in [0, 3, 3, 6, 1, 5, 2, 0, 4, 4, 1] {
            pairs.extend(turned(&pairs, from).unwrap());
            seen.push(pairs.iter().map(|(element, next)| (*element, *next)).collect::<Vec<_>>());
        }
        assert_eq!(check_snapshots(7, seen.iter().map(Vec::as_slice)), Ok(()));
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(turned(&ring(2), 0), None);
        assert_eq!(turned(&BTreeMap::new(), 0), None);
        let mut three = ring(3);
        three.extend(turned(&three, 1).unwrap());
        assert_eq!(check_ring(3, three), Ok(()));
    }

    #[test]
    fn two_transactions_on_one_snapshot_break_the_ring() {
        let before = ring(6);
        let (one, other) = (turned(&before, 0).unwrap(), turned(&before, 1).unwrap());
        let mut after = before;
        after.extend(one);
        after.extend(other);
        let pairs: Vec<_> = after.into_iter().collect();
        assert!(check_snapshots(6, [pairs.as_slice()]).is_err_and(|(at, _)| at == 0));
    }
}

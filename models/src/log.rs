//! A log with running prefix hashes, so that equal, prefix and conflict cost one comparison. Models of replicated logs
//! share it.

use crate::LogRelation;
use std::hash::{Hash, Hasher};

/// Entries, each told by a number, and the hash of every prefix.
#[derive(Debug)]
pub struct Log<E = u32> {
    entries: Vec<E>,
    hashes: Vec<u64>,
}

impl<E> Default for Log<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), hashes: Vec::new() }
    }
}

impl<E: Copy + Eq + Into<u64>> Log<E> {
    /// The hash of a prefix followed by `entry`; the hash of the empty log is 0. The finalizer of splitmix64
    /// (Steele, Lea, Flood 2014) over the sum.
    pub fn chain(prefix: u64, entry: E) -> u64 {
        let mut z = prefix.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(entry.into().wrapping_add(1));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The number of entries.
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries.
    pub fn entries(&self) -> &[E] {
        &self.entries
    }

    /// The entries from `index` on; none where the log ends before.
    pub fn suffix(&self, index: u32) -> &[E] {
        self.entries.get(index as usize..).unwrap_or(&[])
    }

    /// The hash of the first `len` entries, or of all where there are fewer.
    pub fn prefix_hash(&self, len: u32) -> u64 {
        match len.min(self.len()) {
            0 => 0,
            len => self.hashes[len as usize - 1],
        }
    }

    /// The hash of the whole log.
    pub fn digest(&self) -> u64 {
        self.prefix_hash(self.len())
    }

    /// Appends entries.
    pub fn extend(&mut self, entries: &[E]) {
        let mut hash = self.digest();
        self.entries.extend_from_slice(entries);
        self.hashes.extend(entries.iter().map(|&entry| {
            hash = Self::chain(hash, entry);
            hash
        }));
    }

    /// Drops everything from `index` on.
    pub fn truncate(&mut self, index: u32) {
        self.entries.truncate(index as usize);
        self.hashes.truncate(index as usize);
    }

    /// Makes the log equal to `entries`; only what differs is written.
    pub fn assign(&mut self, entries: &[E]) {
        let same = self.entries.iter().zip(entries).take_while(|(a, b)| a == b).count();
        self.truncate(same as u32);
        self.extend(&entries[same..]);
    }

    /// The number of entries with which both logs begin.
    pub fn common(&self, other: &Self) -> u32 {
        let (mut low, mut high) = (0, self.len().min(other.len()));
        if self.prefix_hash(high) == other.prefix_hash(high) {
            return high;
        }
        // The first `low` entries are the same, and the first `high` are not.
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.prefix_hash(middle) == other.prefix_hash(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Whether both logs have the same first `len` entries, and no fewer.
    pub fn shares(&self, other: &Self, len: u32) -> bool {
        self.len() >= len && other.len() >= len && self.prefix_hash(len) == other.prefix_hash(len)
    }

    /// Makes the log equal to `other`; only what differs is written.
    pub fn follow(&mut self, other: &Self) {
        let common = self.common(other);
        self.truncate(common);
        self.entries.extend_from_slice(other.suffix(common));
        self.hashes.extend_from_slice(&other.hashes[common as usize..]);
    }

    /// Whether putting `entries` at `at` would change one of the first `len` entries, or leave fewer.
    pub(crate) fn changed_below(&self, len: u32, at: u32, entries: &[E]) -> bool {
        let kept = &self.entries[at.min(len) as usize..len.min(self.len()) as usize];
        !entries.starts_with(kept)
    }

    /// How two logs relate whose first `decided` entries, of one or the other, are decided.
    pub fn relation(&self, other: &Self, decided: u32) -> LogRelation {
        let common = self.len().min(other.len());
        if self.prefix_hash(common) == other.prefix_hash(common) {
            return if self.len() == other.len() { LogRelation::Equal } else { LogRelation::Prefix };
        }
        let decided = decided.min(common);
        if self.prefix_hash(decided) == other.prefix_hash(decided) {
            LogRelation::Conflict
        } else {
            LogRelation::DecidedConflict
        }
    }
}

impl<E: Copy> Clone for Log<E> {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone(), hashes: self.hashes.clone() }
    }
    fn clone_from(&mut self, source: &Self) {
        self.entries.clone_from(&source.entries);
        self.hashes.clone_from(&source.hashes);
    }
}

impl<E: PartialEq> PartialEq for Log<E> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<E: Eq> Eq for Log<E> {}

impl<E: Copy + Eq + Into<u64>> Hash for Log<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.len());
        state.write_u64(self.digest());
    }
}

#[cfg(test)]
mod tests {
    use super::Log;
    use crate::LogRelation;

    fn log(entries: &[u32]) -> Log {
        let mut log = Log::default();
        log.extend(entries);
        log
    }

    #[test]
    fn relations_are_those_of_the_entries() {
        let cases = [
            (&[1, 2][..], &[1, 2][..], 0, LogRelation::Equal),
            (&[1, 2], &[1], 0, LogRelation::Prefix),
            (&[], &[1], 0, LogRelation::Prefix),
            (&[1, 2], &[1, 3, 4], 1, LogRelation::Conflict),
            (&[1, 2], &[1, 3, 4], 2, LogRelation::DecidedConflict),
            (&[1, 2], &[1, 3, 4], 9, LogRelation::DecidedConflict),
        ];
        for (a, b, decided, expected) in cases {
            assert_eq!(log(a).relation(&log(b), decided), expected, "{a:?} {b:?} {decided}");
            assert_eq!(log(b).relation(&log(a), decided), expected, "{b:?} {a:?} {decided}");
        }
    }

    #[test]
    fn hashes_do_not_depend_on_the_way_to_a_log() {
        let mut roundabout = log(&[1, 5, 6]);
        roundabout.truncate(1);
        roundabout.extend(&[2]);
        roundabout.assign(&[1, 2, 3]);
        assert_eq!(roundabout, log(&[1, 2, 3]));
        assert_eq!(roundabout.digest(), [1_u32, 2, 3].iter().fold(0, |hash, &entry| Log::chain(hash, entry)));
        assert_eq!(roundabout.prefix_hash(0), 0);
        assert_ne!(log(&[0]).digest(), log(&[0, 0]).digest());
    }

    #[test]
    fn a_follower_has_the_other_log() {
        for (a, b, common) in [
            (&[1, 2, 3][..], &[1, 2, 4, 5][..], 2),
            (&[1, 2, 3], &[1, 2], 2),
            (&[], &[1], 0),
            (&[7, 1, 1, 1, 1], &[8, 1, 1, 1, 1], 0),
            (&[1, 2, 3, 4, 5], &[1, 2, 3, 4, 6], 4),
        ] {
            let (mut a, b) = (log(a), log(b));
            assert_eq!((a.common(&b), b.common(&a)), (common, common));
            assert!(a.shares(&b, common) && !a.shares(&b, common + 1));
            a.follow(&b);
            assert_eq!((a.digest(), &a), (b.digest(), &b));
        }
    }

    #[test]
    fn a_change_below_is_a_lost_or_different_entry() {
        let log = log(&[1, 2, 3]);
        assert!(!log.changed_below(2, 1, &[2]), "the same again");
        assert!(!log.changed_below(2, 2, &[]), "the prefix stays");
        assert!(log.changed_below(2, 1, &[]), "a decided entry is lost");
        assert!(log.changed_below(2, 1, &[9]), "a decided entry differs");
        assert!(!log.changed_below(2, 0, &[1, 2, 9]), "what is not decided may change");
    }
}

//! A log with running prefix hashes, so that equal, prefix and conflict cost one comparison.

use crate::LogRelation;
use std::hash::{Hash, Hasher};

/// Entries by id, and the hash of every prefix.
#[derive(Debug, Default)]
pub struct Log {
    entries: Vec<u32>,
    hashes: Vec<u64>,
}

impl Log {
    /// The hash of a prefix followed by `entry`; the hash of the empty log is 0. The finalizer of splitmix64
    /// (Steele, Lea, Flood 2014) over the sum.
    pub fn chain(prefix: u64, entry: u32) -> u64 {
        let mut z = prefix.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(entry) + 1);
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
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// The entries from `index` on; none where the log ends before.
    pub fn suffix(&self, index: u32) -> &[u32] {
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
    pub fn extend(&mut self, entries: &[u32]) {
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
    pub fn assign(&mut self, entries: &[u32]) {
        let same = self.entries.iter().zip(entries).take_while(|(a, b)| a == b).count();
        self.truncate(same as u32);
        self.extend(&entries[same..]);
    }

    /// Whether putting `entries` at `at` would change one of the first `len` entries, or leave fewer.
    pub(super) fn changed_below(&self, len: u32, at: u32, entries: &[u32]) -> bool {
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

impl Clone for Log {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone(), hashes: self.hashes.clone() }
    }
    fn clone_from(&mut self, source: &Self) {
        self.entries.clone_from(&source.entries);
        self.hashes.clone_from(&source.hashes);
    }
}

impl PartialEq for Log {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Log {}

impl Hash for Log {
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
        assert_eq!(roundabout.digest(), [1, 2, 3].iter().fold(0, |hash, &entry| Log::chain(hash, entry)));
        assert_eq!(roundabout.prefix_hash(0), 0);
        assert_ne!(log(&[0]).digest(), log(&[0, 0]).digest());
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

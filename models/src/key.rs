//! Keys: what a lens makes of an abstract state.

use std::hash::Hash;

/// One key. `lens` is the position of the lens in its [`LensSet`](crate::LensSet), `facet` the kind of key
/// within that lens, `code` the value. Keys are equal across processes, builds and machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Position of the lens among the lenses of the campaign.
    pub lens: u8,
    /// Kind of key within the lens.
    pub facet: u8,
    /// The value, built from integers by a [`KeyWriter`] or a [`StableHasher`].
    pub code: u64,
}

/// Names a facet of a campaign: the position of its lens, and its own within that lens.
pub type FacetId = (u8, u8);

/// Builds a key's code from small integers, most significant first.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyWriter {
    code: u64,
    bits: u32,
}

impl KeyWriter {
    /// Appends the lowest `bits` bits of `value`; larger values are cut to the largest that fits, so that a
    /// count beyond the range shares one key.
    ///
    /// # Panics
    /// When more than 64 bits are written in all: an error of the lens.
    pub fn put(&mut self, value: u64, bits: u32) -> &mut Self {
        assert!(self.bits + bits <= 64, "a key has 64 bits");
        let max = (1_u64 << bits) - 1;
        self.code = (self.code << bits) | value.min(max);
        self.bits += bits;
        self
    }

    /// Appends how `a` relates to `b`: 0 for less, 1 for equal, 2 for greater (two bits).
    pub fn relation<T: Ord>(&mut self, a: &T, b: &T) -> &mut Self {
        self.put(relation(a, b), 2)
    }

    /// The code written so far.
    pub fn code(self) -> u64 {
        self.code
    }
}

/// 0, 1 or 2 for `a` less than, equal to or greater than `b`.
pub fn relation<T: Ord>(a: &T, b: &T) -> u64 {
    match a.cmp(b) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Greater => 2,
    }
}

/// A hasher for whole states: xxh3 of the little-endian bytes, the same on every machine of the same
/// pointer width. Integers are written with their own width, never as `usize`.
#[derive(Clone)]
pub struct StableHasher(xxhash_rust::xxh3::Xxh3);

impl Default for StableHasher {
    fn default() -> Self {
        Self(xxhash_rust::xxh3::Xxh3::new())
    }
}

impl std::fmt::Debug for StableHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StableHasher")
    }
}

impl std::hash::Hasher for StableHasher {
    fn finish(&self) -> u64 {
        self.0.digest()
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    fn write_u16(&mut self, value: u16) {
        self.write(&value.to_le_bytes());
    }
    fn write_u32(&mut self, value: u32) {
        self.write(&value.to_le_bytes());
    }
    fn write_u64(&mut self, value: u64) {
        self.write(&value.to_le_bytes());
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// The stable 64-bit hash of a value.
pub fn stable_hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = StableHasher::default();
    value.hash(&mut hasher);
    std::hash::Hasher::finish(&hasher)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Two;
    use crate::presets::{Detail, Pairs, Whole};
    use crate::{LensSet, Replica};
    use std::hash::Hasher;

    /// A change of these values makes the archives of older builds useless, and pages disagree.
    #[test]
    fn hashes_are_fixed() {
        assert_eq!(stable_hash(&(1_u8, 2_u16, 3_u32, 4_u64)), 0x0cf7_f35a_4c0f_1b77);
        assert_eq!(stable_hash("ballot"), 0xc52d_efc6_ee59_e462);
        assert_eq!(stable_hash(&[1_u16, 2, 3]), 0xe781_ca61_b60f_9bb8);
        assert_eq!(stable_hash(&Some(7_i32)), 0x31df_63e0_8f0f_adea);
    }

    #[test]
    fn integers_have_their_own_width() {
        assert_eq!(stable_hash(&5_usize), stable_hash(&5_u64));
        assert_ne!(stable_hash(&5_u32), stable_hash(&5_u64));
    }

    #[test]
    fn a_code_is_read_from_the_left() {
        let mut key = KeyWriter::default();
        key.put(1, 1).put(5, 3).relation(&1, &2).relation(&2, &2).relation(&2, &1);
        // 1, 101, then 00, 01 and 10.
        assert_eq!(key.code(), 0b11_0100_0110);
        // Cut to the largest value that fits.
        assert_eq!(KeyWriter::default().put(200, 4).code(), 15);
    }

    #[test]
    fn pairs_are_fixed_and_have_no_order() {
        let leader = Replica { up: true, role: 2, term: 9, log_term: 9, length: 4, commit: 3 };
        let follower = Replica { up: true, role: 0, term: 9, log_term: 8, length: 4, commit: 4 };
        let keys = |nodes| {
            let mut lenses = LensSet::default();
            lenses.push(3, Box::new(Pairs));
            let mut keys = Vec::new();
            lenses.keys(&Two(nodes), 0b11, &mut keys);
            keys
        };
        // The follower first: up, role 0 (1000); up, role 2 (1010); term equal (01), log term less (00),
        // length equal (01), commit greater (10); prefix (01).
        let expected = Key { lens: 3, facet: 0, code: 0b10_0010_1001_0001_1001 };
        assert_eq!(keys([leader, follower]), [expected]);
        assert_eq!(keys([follower, leader]), [expected]);
    }

    struct Bytes(&'static [u8]);

    impl Whole for Bytes {
        fn digest(&self, detail: Detail, hasher: &mut StableHasher) {
            hasher.write(self.0);
            hasher.write_u8(u8::from(detail == Detail::Detailed));
        }
    }

    #[test]
    fn whole_states_are_hashed_at_their_detail() {
        let code = |detail: Detail| {
            let mut keys = Vec::new();
            crate::Lens::keys(&detail, &Bytes(b"state"), 0, &mut keys);
            keys.iter().map(|key| key.code).collect::<Vec<_>>()
        };
        assert_eq!(code(Detail::Message), [0xb6da_a951_514b_b582]);
        assert_eq!(code(Detail::Detailed), [0xe5b0_67c0_0d05_8fc3]);
    }
}

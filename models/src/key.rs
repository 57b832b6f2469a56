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

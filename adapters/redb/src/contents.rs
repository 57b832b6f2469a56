//! What a database holds, as the client and the judge compare it: which number stands at which place, and which
//! persistent savepoints there are.

use misrule_world::mix;

/// How many tables clients use.
pub const TABLES: usize = 3;
/// How many keys a table has at most: enough for several pages.
pub const KEYS: usize = 24;
/// How many places there are, in all tables together.
pub(crate) const PLACES: usize = TABLES * KEYS;
/// How many persistent savepoints clients keep at once.
pub const SAVED: usize = 2;

/// The number at each place; 0 where there is none. Numbers are arguments of requests, so each is written once.
pub type Contents = [[u32; KEYS]; TABLES];

/// What stands for bytes that no request wrote.
pub(crate) const GARBAGE: u32 = u32::MAX;

/// What a commit leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The tables.
    pub contents: Contents,
    /// The persistent savepoints in order, each as redb's identifier plus 1; 0 where there is none.
    pub saved: [u64; SAVED],
}

impl State {
    /// How many entries a table has.
    pub fn entries(&self, table: usize) -> usize {
        self.contents[table].iter().filter(|number| **number != 0).count()
    }
}

/// The place that a number is written to.
pub(crate) fn place(number: u32) -> (usize, usize) {
    split(mix(u64::from(number)) as usize % PLACES)
}

/// Table and key of a place below [`PLACES`].
pub(crate) fn split(place: usize) -> (usize, usize) {
    (place / KEYS % TABLES, place % KEYS)
}

/// The bytes that stand for a number: mostly a few, sometimes a good part of a page, rarely more than one.
pub(crate) fn encode(number: u32, out: &mut Vec<u8>) {
    let hash = mix(!u64::from(number));
    let length = match hash % 16 {
        0 => 5_000,
        1..4 => 700,
        _ => 12,
    };
    out.clear();
    out.extend_from_slice(&number.to_le_bytes());
    out.resize(length, hash as u8 | 1);
}

/// The number that bytes stand for, [`GARBAGE`] if none.
pub(crate) fn decode(bytes: &[u8], scratch: &mut Vec<u8>) -> u32 {
    let Some(head) = bytes.first_chunk() else { return GARBAGE };
    let number = u32::from_le_bytes(*head);
    encode(number, scratch);
    if number != 0 && scratch == bytes { number } else { GARBAGE }
}

#[cfg(test)]
mod tests {
    use super::{GARBAGE, KEYS, TABLES, decode, encode, place};

    #[test]
    fn values_read_back_and_damage_is_seen() {
        let (mut bytes, mut scratch, mut lengths) = (Vec::new(), Vec::new(), [0; 3]);
        for number in 1..2_000 {
            encode(number, &mut bytes);
            lengths[[12, 700, 5_000].iter().position(|length| *length == bytes.len()).unwrap()] += 1;
            assert_eq!(decode(&bytes, &mut scratch), number);
            let last = bytes.len() - 1;
            bytes[last] ^= 4;
            assert_eq!(decode(&bytes, &mut scratch), GARBAGE);
            assert_eq!(decode(&bytes[..last], &mut scratch), GARBAGE);
        }
        assert!(lengths.iter().all(|count| *count > 50), "{lengths:?}");
        assert_eq!(decode(&[0; 12], &mut scratch), GARBAGE);
    }

    #[test]
    fn every_place_is_used() {
        let mut used = [[false; KEYS]; TABLES];
        for number in 1..2_000 {
            let (table, key) = place(number);
            used[table][key] = true;
        }
        assert!(used.iter().flatten().all(|used| *used));
    }
}

//! The log in memory: entries with running hashes, so that two logs are compared in constant time.

use crate::message::{Entry, Payload};
use misrule_world::mix;

/// An entry with the hash of the log up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The entry.
    pub entry: Entry,
    /// Hash of all entries up to this one.
    pub hash: u64,
}

/// A log. Indexes count from 1.
#[derive(Clone, Debug, Default)]
pub struct Log(Vec<Slot>);

impl Log {
    /// How many entries there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The term of the entry at `index`: 0 at index 0, `None` behind the end.
    #[inline]
    pub fn term(&self, index: u32) -> Option<u32> {
        match index {
            0 => Some(0),
            _ => self.get(index).map(|entry| entry.term),
        }
    }

    /// The term of the last entry; 0 where there is none.
    #[inline]
    pub fn last_term(&self) -> u32 {
        self.0.last().map_or(0, |slot| slot.entry.term)
    }

    /// The entry at `index`.
    #[inline]
    pub fn get(&self, index: u32) -> Option<Entry> {
        self.0.get((index as usize).checked_sub(1)?).map(|slot| slot.entry)
    }

    /// Appends an entry.
    pub(crate) fn push(&mut self, entry: Entry) {
        let hash = hash(self.0.last().map_or(0, |slot| slot.hash), entry);
        self.0.push(Slot { entry, hash });
    }

    /// Keeps the first `len` entries.
    pub(crate) fn truncate(&mut self, len: u32) {
        self.0.truncate(len as usize);
    }

    /// Puts an entry in the place of another, and keeps what stands behind it.
    pub(crate) fn replace(&mut self, index: u32, entry: Entry) {
        let Some(at) = (index as usize).checked_sub(1).filter(|at| *at < self.0.len()) else { return };
        self.0[at].entry = entry;
        let mut before = if at == 0 { 0 } else { self.0[at - 1].hash };
        for slot in &mut self.0[at..] {
            slot.hash = hash(before, slot.entry);
            before = slot.hash;
        }
    }

    /// The last configuration, with its index.
    pub(crate) fn last_members(&self) -> Option<(u8, u32)> {
        self.0.iter().enumerate().rev().find_map(|(at, slot)| match slot.entry.payload {
            Payload::Members(members) => Some((members, at as u32 + 1)),
            _ => None,
        })
    }

    /// Makes `out` the same log; only its end is copied where its beginning is equal.
    #[inline]
    pub(crate) fn mirror(&self, out: &mut Vec<Slot>) {
        let mut same = out.len().min(self.0.len());
        while same > 0 && out[same - 1].hash != self.0[same - 1].hash {
            same -= 1;
        }
        if same < out.len() || same < self.0.len() {
            out.truncate(same);
            out.extend_from_slice(&self.0[same..]);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Copies another log into the memory of this one.
    pub(crate) fn copy(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

fn hash(before: u64, entry: Entry) -> u64 {
    let payload = match entry.payload {
        Payload::Nothing => 0,
        Payload::Command(call) => 1 << 32 | u64::from(call),
        Payload::Members(members) => 2 << 32 | u64::from(members),
    };
    mix(before ^ mix(payload << 28 ^ u64::from(entry.term)))
}

//! Values, operations, and entries of the log.

use crate::bytes::{Reader, Writer};
use misrule_world::{Call, NodeId, mix};
use std::fmt::{self, Debug};
use xxhash_rust::xxh3::xxh3_64;

/// The most keys.
pub const KEYS_MAX: usize = 8;
/// The most sessions of clients.
pub const SESSIONS_MAX: usize = 64;

/// A value of at least four bytes, usually some hundred, which repeat one word. In memory only the word is kept. Bytes that repeat no
/// word, as storage may invent them, are some other value: the hash of them, with the highest bit set.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Value(pub u32);

impl Value {
    const MANGLED: u32 = 1 << 31;

    /// The value that the bytes are.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let word = bytes.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        let expected = word.to_le_bytes();
        let repeats = bytes.chunks(expected.len()).all(|chunk| *chunk == expected[..chunk.len()]);
        if repeats { Self(word) } else { Self(xxh3_64(bytes) as u32 | Self::MANGLED) }
    }
}

impl Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 & Self::MANGLED == 0 {
            write!(f, "{}", self.0)
        } else {
            write!(f, "mangled-{:08x}", self.0)
        }
    }
}

/// What an entry does to the keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Nothing: what a new leader appends, to learn what is committed.
    Noop,
    /// Reads a key.
    Get(u8),
    /// Puts a value.
    Put(u8, Value),
    /// Puts the second value where the first one stands; `Value(0)` stands for none.
    Cas(u8, Value, Value),
    /// Reads the whole ring: what follows each element.
    Ring,
    /// A transaction on the ring: the element behind the first one changes its place with the one behind it, if the
    /// three elements behind the first one are still those that whoever proposed it has read.
    Rotate(u8, [u8; 3]),
}

impl Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Noop => f.write_str("noop"),
            Self::Get(key) => write!(f, "get k{key}"),
            Self::Put(key, value) => write!(f, "put k{key}={value:?}"),
            Self::Cas(key, from, to) => write!(f, "cas k{key}={from:?}->{to:?}"),
            Self::Ring => f.write_str("ring"),
            Self::Rotate(element, behind) => write!(f, "rotate {element}, read {behind:?}"),
        }
    }
}

/// An entry of the log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The term of the leader that appended it.
    pub term: u32,
    /// The call that asked for it, if one did.
    pub call: Option<Call>,
    /// What it does.
    pub op: Op,
}

impl Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{} {:?}", self.term, self.op)?;
        self.call.map_or(Ok(()), |call| write!(f, " {call}"))
    }
}

impl Default for Entry {
    fn default() -> Self {
        Self { term: 0, call: None, op: Op::Noop }
    }
}

/// Session and number of a call; the number 0 where there is none.
fn parts(call: Option<Call>) -> (u8, u32) {
    call.map_or((0, 0), |call| (call.session(), call.number()))
}

const NOOP: u8 = 1;
const GET: u8 = 2;
const PUT: u8 = 3;
const CAS: u8 = 4;
const RING: u8 = 5;
const ROTATE: u8 = 6;

impl Entry {
    /// The digest of a log that ends with this entry, given the digest of what is before it.
    pub(crate) fn chain(&self, before: u64) -> u64 {
        let (kind, key, from, to) = match self.op {
            Op::Noop => (NOOP, 0, 0, 0),
            Op::Get(key) => (GET, key, 0, 0),
            Op::Put(key, value) => (PUT, key, 0, value.0),
            Op::Cas(key, from, to) => (CAS, key, from.0, to.0),
            Op::Ring => (RING, 0, 0, 0),
            Op::Rotate(element, [one, two, three]) => {
                (ROTATE, element, u32::from_le_bytes([one, two, three, 0]), 0)
            }
        };
        let (session, number) = parts(self.call);
        let small = u64::from(kind) << 48 | u64::from(key) << 40 | u64::from(session) << 32;
        let first = mix(before ^ mix(small | u64::from(self.term)));
        let second = mix(first ^ (u64::from(from) << 32 | u64::from(to)));
        mix(second ^ u64::from(number))
    }

    /// Appends the entry, whose values have `size` bytes.
    pub(crate) fn write(&self, out: &mut Writer<'_>, size: usize) {
        let (kind, key) = match self.op {
            Op::Noop => (NOOP, 0),
            Op::Get(key) => (GET, key),
            Op::Put(key, _) => (PUT, key),
            Op::Cas(key, ..) => (CAS, key),
            Op::Ring => (RING, 0),
            Op::Rotate(element, _) => (ROTATE, element),
        };
        let (session, number) = parts(self.call);
        out.u32(self.term).u8(session).u32(number).u8(kind).u8(key);
        match self.op {
            Op::Noop | Op::Get(_) | Op::Ring => {}
            Op::Put(_, value) => {
                out.value(value, size);
            }
            Op::Cas(_, from, to) => {
                out.u32(from.0).value(to, size);
            }
            Op::Rotate(_, behind) => {
                for element in behind {
                    out.u8(element);
                }
            }
        }
    }

    /// Reads an entry; nothing where there is none.
    pub(crate) fn read(bytes: &mut Reader<'_>, size: usize) -> Option<Self> {
        let (term, session, number) = (bytes.u32()?, bytes.u8()?, bytes.u32()?);
        let (kind, key) = (bytes.u8()?, bytes.u8()?);
        let op = match kind {
            NOOP => Op::Noop,
            GET => Op::Get(key),
            PUT => Op::Put(key, bytes.value(size)?),
            CAS => Op::Cas(key, Value(bytes.u32()?), bytes.value(size)?),
            RING => Op::Ring,
            ROTATE => Op::Rotate(key, [bytes.u8()?, bytes.u8()?, bytes.u8()?]),
            _ => return None,
        };
        let known = usize::from(key) < KEYS_MAX && usize::from(session) < SESSIONS_MAX;
        known.then_some(Self { term, call: Call::new(session, number), op })
    }
}

/// What a node has promised: it is on the disk before anybody is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// The newest term that it knows of.
    pub term: u32,
    /// Whom it votes for in that term.
    pub vote: Option<NodeId>,
}

impl Promise {
    pub(crate) fn write(self, out: &mut Writer<'_>) {
        out.u32(self.term).u8(self.vote.map_or(0, |node| node + 1));
    }

    pub(crate) fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        Some(Self { term: bytes.u32()?, vote: bytes.u8()?.checked_sub(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Op, Value};
    use crate::bytes::{Reader, Writer};
    use misrule_world::Call;

    fn entries() -> Vec<Entry> {
        let ops = [
            Op::Noop,
            Op::Get(1),
            Op::Put(7, Value(9)),
            Op::Cas(0, Value(0), Value(4)),
            Op::Put(1, Value(0)),
            Op::Ring,
            Op::Rotate(0, [1, 2, 3]),
            Op::Rotate(0, [1, 3, 2]),
        ];
        let call = |at: usize| Call::new(at as u8, at as u32 * 1000);
        ops.into_iter().enumerate().map(|(at, op)| Entry { term: 3, call: call(at), op }).collect()
    }

    #[test]
    fn entries_read_back() {
        for size in [4, 10, 600] {
            let mut bytes = Vec::new();
            for entry in entries() {
                entry.write(&mut Writer(&mut bytes), size);
            }
            let mut reader = Reader(&bytes);
            for entry in entries() {
                assert_eq!(Entry::read(&mut reader, size), Some(entry));
            }
            assert!(reader.0.is_empty());
            let mut short = Reader(&bytes[..bytes.len() - 1]);
            let count = entries().len();
            assert_eq!((0..count).filter_map(|_| Entry::read(&mut short, size)).count(), count - 1);
        }
        assert_eq!(Entry::read(&mut Reader(&[0; 700]), 600), None, "zeros are no entry");
    }

    #[test]
    fn bytes_that_repeat_no_word_are_another_value() {
        let mut bytes = Vec::new();
        Writer(&mut bytes).value(Value(77), 600);
        assert_eq!(Value::of(&bytes), Value(77));
        bytes[512..].fill(0);
        let mangled = Value::of(&bytes);
        assert_ne!(mangled, Value(77));
        assert_eq!(format!("{:?}", Value(77)), "77");
        assert!(format!("{mangled:?}").starts_with("mangled-"));
        let mut again = Vec::new();
        Writer(&mut again).value(mangled, 600);
        assert_eq!(Value::of(&again), mangled, "it stays the same from then on");
    }

    #[test]
    fn digests_tell_entries_and_orders_apart() {
        let mut digests: Vec<u64> = entries().iter().map(|entry| entry.chain(5)).collect();
        digests.push(entries()[0].chain(6));
        digests.push(Entry { term: 4, ..entries()[0] }.chain(5));
        digests.push(Entry { call: Call::new(0, 1), ..entries()[0] }.chain(5));
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), entries().len() + 3);
    }
}

//! The log as it stands in memory: entries behind a base, each with the digest of the log up to it.

use crate::bytes::{Reader, Writer};
use crate::entry::Entry;

/// Where a log begins: the last entry that is not in it any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// Its index; 0 for a log that has all its entries.
    pub index: u64,
    /// Its term.
    pub term: u32,
    /// The digest of the log up to it.
    pub digest: u64,
}

impl Base {
    pub(crate) fn write(&self, out: &mut Writer<'_>) {
        out.u64(self.index).u32(self.term).u64(self.digest);
    }

    pub(crate) fn read(bytes: &mut Reader<'_>) -> Option<Self> {
        Some(Self { index: bytes.u64()?, term: bytes.u32()?, digest: bytes.u64()? })
    }
}

/// A log. Indices count from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    base: Base,
    entries: Vec<Entry>,
    /// For each entry the digest of the log up to and with it.
    digests: Vec<u64>,
}

impl Log {
    /// A log without entries behind a base.
    pub fn new(base: Base) -> Self {
        Self { base, ..Self::default() }
    }

    /// Where it begins.
    pub fn base(&self) -> Base {
        self.base
    }

    /// The index of the last entry.
    pub fn last(&self) -> u64 {
        self.base.index + self.entries.len() as u64
    }

    /// The term of the last entry.
    pub fn last_term(&self) -> u32 {
        self.entries.last().map_or(self.base.term, |entry| entry.term)
    }

    /// The entries behind the base.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The digests behind the base, one an entry.
    pub(crate) fn digests(&self) -> &[u64] {
        &self.digests
    }

    fn position(&self, index: u64) -> Option<usize> {
        let position = index.checked_sub(self.base.index + 1)? as usize;
        (position < self.entries.len()).then_some(position)
    }

    /// The entry at the index, if it is there.
    pub fn entry(&self, index: u64) -> Option<Entry> {
        self.position(index).map(|position| self.entries[position])
    }

    /// The entries from the index on.
    pub fn from(&self, index: u64) -> &[Entry] {
        let position = index.saturating_sub(self.base.index + 1) as usize;
        self.entries.get(position..).unwrap_or_default()
    }

    /// The term of the entry at the index; of the base too.
    pub fn term(&self, index: u64) -> Option<u32> {
        if index == self.base.index {
            Some(self.base.term)
        } else {
            self.entry(index).map(|entry| entry.term)
        }
    }

    /// The digest of the log up to the index; of the base too.
    pub fn digest(&self, index: u64) -> Option<u64> {
        if index == self.base.index {
            return Some(self.base.digest);
        }
        self.position(index).map(|position| self.digests[position])
    }

    /// Appends an entry.
    pub fn push(&mut self, entry: Entry) {
        let before = self.digests.last().copied().unwrap_or(self.base.digest);
        self.digests.push(entry.chain(before));
        self.entries.push(entry);
    }

    /// Takes the entries from the index on away.
    pub fn truncate(&mut self, index: u64) {
        let length = index.saturating_sub(self.base.index + 1) as usize;
        self.entries.truncate(length);
        self.digests.truncate(length);
    }

    /// Lets the log begin at a later base: what is behind it stays where the log had the base's entry, and goes
    /// where it had another one or none.
    pub fn rebase(&mut self, base: Base) {
        if self.term(base.index) == Some(base.term) {
            let before = (base.index - self.base.index) as usize;
            self.entries.drain(..before);
            self.digests.drain(..before);
        } else {
            self.entries.clear();
            self.digests.clear();
        }
        self.base = base;
    }
}

#[cfg(test)]
mod tests {
    use super::{Base, Log};
    use crate::entry::{Entry, Op};

    fn log(terms: &[u32]) -> Log {
        let mut log = Log::default();
        for term in terms {
            log.push(Entry { term: *term, op: Op::Get(1), ..Entry::default() });
        }
        log
    }

    #[test]
    fn a_log_begins_anew_behind_a_base() {
        let mut cut = log(&[1, 1, 2, 3]);
        let whole = cut.clone();
        cut.rebase(Base { index: 2, term: 1, digest: whole.digest(2).unwrap() });
        assert_eq!((cut.last(), cut.last_term(), cut.entries().len()), (4, 3, 2));
        assert_eq!((cut.digest(2), cut.digest(4)), (whole.digest(2), whole.digest(4)));
        assert_eq!((cut.term(1), cut.term(2), cut.term(3), cut.term(5)), (None, Some(1), Some(2), None));
        assert_eq!((cut.from(4).len(), cut.from(5).len(), cut.from(1).len()), (1, 0, 2));
        cut.truncate(4);
        cut.push(Entry { term: 3, op: Op::Get(1), ..Entry::default() });
        assert_eq!(cut.digest(4), whole.digest(4));
        // Another entry there, or none at all: nothing is left.
        for base in [Base { index: 4, term: 9, digest: 1 }, Base { index: 9, term: 3, digest: 1 }] {
            let mut other = cut.clone();
            other.rebase(base);
            assert_eq!((other.last(), other.entries().len(), other.base()), (base.index, 0, base));
        }
        cut.truncate(1);
        assert_eq!((cut.last(), cut.last_term()), (2, 1));
    }
}

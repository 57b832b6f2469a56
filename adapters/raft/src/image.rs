//! What a node keeps on its disk, as it stands in memory: hard state and log with running prefix hashes, and the
//! operations that change it, with their form on the disk.

use crate::bugs::Bug;
use crate::record::{Reader, Writer};
use misrule_world::mix;
use raft::eraftpb::{Entry, EntryType};
use std::cell::RefCell;
use std::rc::Rc;

/// An image that a node, its storage and its view share, so that nothing is copied to look at it.
pub type SharedImage = Rc<RefCell<Image>>;

/// The hard state of a node: what Raft must not forget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hard {
    /// The current term; 0 before the first election.
    pub term: u64,
    /// The crate's number of the node that has the vote of the term; 0 for none.
    pub vote: u64,
    /// Index of the last entry known to be committed.
    pub commit: u64,
}

/// One change of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation<'a> {
    /// These entries, which replace what stands at their indices and behind.
    Entries(&'a [Entry]),
    /// Term, vote and commit.
    Hard(Hard),
}

/// What a node keeps on its disk.
#[derive(Debug, Default)]
pub struct Image {
    hard: Hard,
    durable: Hard,
    entries: Vec<Entry>,
    /// For each entry the hash of the log up to and with it.
    hashes: Vec<u64>,
    changes: u64,
    /// Entries before this index are those that were looked at last.
    same_before: u64,
    /// Times that entries gave way to others since the start.
    truncations: u32,
    bug: Bug,
}

impl Image {
    /// The hard state as it was written last.
    pub fn hard(&self) -> Hard {
        self.hard
    }

    /// The hard state that the node has synced, or believes to have.
    pub fn durable(&self) -> Hard {
        self.durable
    }

    /// Index of the last entry; the first one has index 1.
    pub fn last_index(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry at `index`.
    pub fn entry(&self, index: u64) -> Option<&Entry> {
        self.entries.get((index as usize).checked_sub(1)?)
    }

    /// The term of the entry at `index`, 0 at index 0; `None` beyond the log.
    pub fn term(&self, index: u64) -> Option<u64> {
        if index == 0 { Some(0) } else { self.entry(index).map(|entry| entry.term) }
    }

    /// The term of the last entry.
    pub fn last_term(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.term)
    }

    /// The hash of the entries up to and with `index`; the whole log's where it is shorter.
    pub fn prefix_hash(&self, index: u64) -> u64 {
        match (index as usize).min(self.hashes.len()) {
            0 => 0,
            length => self.hashes[length - 1],
        }
    }

    /// A number that moves with every change, across restarts and executions.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// How often entries gave way to others since the node started.
    pub fn truncations(&self) -> u32 {
        self.truncations
    }

    /// The first index whose entry may be another one than at the last call, which this call ends.
    pub(crate) fn take_changed(&mut self) -> u64 {
        let from = self.same_before;
        self.same_before = self.last_index() + 1;
        from
    }

    /// An empty image, buffers kept.
    pub(crate) fn clear(&mut self, bug: Bug) {
        self.hard = Hard::default();
        self.durable = Hard::default();
        self.entries.clear();
        self.hashes.clear();
        self.changes += 1;
        self.same_before = 1;
        self.truncations = 0;
        self.bug = bug;
    }

    /// A start: what was read is durable, and nothing was replaced yet.
    pub(crate) fn begin(&mut self) {
        self.durable = self.hard;
        self.truncations = 0;
    }

    /// What was written is durable, as far as the node knows.
    pub(crate) fn mark_durable(&mut self) {
        if self.durable != self.hard {
            self.durable = self.hard;
            self.changes += 1;
        }
    }

    pub(crate) fn apply(&mut self, operation: Operation<'_>) {
        self.changes += 1;
        match operation {
            Operation::Entries(entries) => self.write(entries),
            Operation::Hard(hard) => self.hard = hard,
        }
    }

    fn write(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        let from = (first.index.max(1) - 1) as usize;
        self.same_before = self.same_before.min(from as u64 + 1);
        if from < self.entries.len() {
            self.truncations += 1;
        }
        let behind = from + entries.len();
        let kept = if self.bug == Bug::TailKept && behind < self.entries.len() {
            self.entries.split_off(behind)
        } else {
            Vec::new()
        };
        self.entries.truncate(from);
        self.hashes.truncate(from);
        for entry in entries.iter().chain(&kept) {
            self.push(entry);
        }
    }

    fn push(&mut self, entry: &Entry) {
        let hash = chain(self.hashes.last().copied().unwrap_or_default(), entry);
        self.hashes.push(hash);
        self.entries.push(entry.clone());
    }

    /// Applies the operations of one record. `None` when the record cannot be read.
    pub(crate) fn replay(&mut self, record: &[u8]) -> Option<()> {
        let mut reader = Reader::new(record);
        match reader.byte()? {
            ENTRIES => {
                let count = reader.number()?;
                let entries: Option<Vec<Entry>> = (0..count).map(|_| read_entry(&mut reader)).collect();
                self.apply(Operation::Entries(&entries?));
            }
            HARD => {
                let (term, vote, commit) = (reader.number()?, reader.number()?, reader.number()?);
                let (vote, commit) = match self.bug {
                    Bug::VoteForgotten => (0, commit),
                    Bug::CommitForgotten => (vote, 0),
                    _ => (vote, commit),
                };
                self.apply(Operation::Hard(Hard { term, vote, commit }));
            }
            _ => return None,
        }
        Some(())
    }
}

/// The hash of a log that ends with `entry`, from that of the log before it.
pub(crate) fn chain(before: u64, entry: &Entry) -> u64 {
    let hash = mix(before.rotate_left(7) ^ entry.term);
    entry.data.iter().fold(mix(hash ^ entry.entry_type as u64), |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

const ENTRIES: u8 = 1;
const HARD: u8 = 2;

/// Entry types in the order of their numbers.
const TYPES: [EntryType; 3] =
    [EntryType::EntryNormal, EntryType::EntryConfChange, EntryType::EntryConfChangeV2];

fn read_entry(reader: &mut Reader<'_>) -> Option<Entry> {
    let entry_type = *TYPES.get(usize::from(reader.byte()?))?;
    let (term, index) = (reader.number()?, reader.number()?);
    let data = reader.slice()?.to_vec().into();
    Some(Entry { entry_type, term, index, data, ..Entry::default() })
}

impl Operation<'_> {
    /// Appends the operation to a record.
    pub(crate) fn write(self, record: &mut Writer) {
        match self {
            Self::Entries(entries) => {
                record.byte(ENTRIES).number(entries.len() as u64);
                for entry in entries {
                    record.byte(entry.entry_type as u8).number(entry.term).number(entry.index);
                    record.slice(&entry.data);
                }
            }
            Self::Hard(hard) => {
                record.byte(HARD).number(hard.term).number(hard.vote).number(hard.commit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Hard, Image, Operation};
    use crate::bugs::Bug;
    use crate::record::Writer;
    use raft::eraftpb::Entry;

    pub(super) fn entries(first: u64, terms: &[u64]) -> Vec<Entry> {
        let entry = |(at, term): (usize, &u64)| {
            let index = first + at as u64;
            Entry { index, term: *term, data: vec![index as u8].into(), ..Entry::default() }
        };
        terms.iter().enumerate().map(entry).collect()
    }

    #[test]
    fn records_read_back_to_the_same_image() {
        let (mut image, mut copy, mut record) = (Image::default(), Image::default(), Writer::default());
        let hard = Hard { term: 3, vote: 2, commit: 1 };
        let (old, new) = (entries(1, &[1, 1, 1]), entries(2, &[3]));
        for operation in [Operation::Entries(&old), Operation::Hard(hard), Operation::Entries(&new)] {
            image.apply(operation);
            record.clear();
            operation.write(&mut record);
            assert_eq!(copy.replay(record.bytes()), Some(()));
        }
        assert_eq!(copy.entries(), image.entries());
        assert_eq!((copy.last_index(), copy.last_term(), copy.hard()), (2, 3, hard));
        assert_eq!(copy.hashes, image.hashes);
        assert_eq!(copy.truncations(), 1);
        assert_eq!(copy.replay(&record.bytes()[..12]), None);
        assert_eq!(copy.replay(&[99]), None);
    }

    #[test]
    fn prefix_hashes_tell_logs_apart() {
        let (mut a, mut b) = (Image::default(), Image::default());
        a.apply(Operation::Entries(&entries(1, &[1, 1, 2])));
        b.apply(Operation::Entries(&entries(1, &[1, 1, 3])));
        assert_eq!(a.prefix_hash(2), b.prefix_hash(2));
        assert_ne!(a.prefix_hash(3), b.prefix_hash(3));
        b.apply(Operation::Entries(&entries(3, &[2])));
        assert_eq!(a.prefix_hash(3), b.prefix_hash(3));
    }

    #[test]
    fn what_changed_is_told_once() {
        let mut image = Image::default();
        image.clear(Bug::None);
        image.apply(Operation::Entries(&entries(1, &[1, 1, 1])));
        assert_eq!((image.take_changed(), image.take_changed()), (1, 4));
        image.apply(Operation::Entries(&entries(2, &[2])));
        assert_eq!((image.take_changed(), image.take_changed()), (2, 3));
    }
}

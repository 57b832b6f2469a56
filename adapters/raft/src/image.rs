//! What a node keeps on its disk, as it stands in memory: hard state, configuration, snapshot and log with running
//! prefix hashes, and the operations that change it, with their form on the disk.

use crate::bugs::Bug;
use crate::compat;
use crate::conf::Conf;
use crate::reads::ReadLog;
use crate::record::{Reader, Writer};
use misrule_world::mix;
use raft::eraftpb::{Entry, Message};
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
    /// The configuration that entries up to an index have made.
    Conf(u64, Conf),
    /// What entries up to an index have made; it replaces them.
    Snapshot(&'a Base),
}

/// Where a log begins: a snapshot of what is before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// Index of the last entry that it replaces, and the term of that; 0 where there is no snapshot.
    pub index: u64,
    /// The term of that entry.
    pub term: u64,
    /// The hash of the log up to that entry.
    pub hash: u64,
    /// The configuration there.
    pub conf: Conf,
    /// The state machine.
    pub data: Vec<u8>,
}

/// What a node keeps on its disk.
#[derive(Debug, Default)]
pub struct Image {
    hard: Hard,
    durable: Hard,
    base: Base,
    conf: Conf,
    conf_index: u64,
    entries: Vec<Entry>,
    /// For each index from 1 on the hash of the log up to and with it; 0 where it is not known, since a snapshot came.
    hashes: Vec<u64>,
    changes: u64,
    /// Entries before this index are those that were looked at last.
    same_before: u64,
    /// Times that entries gave way to others since the start.
    truncations: u32,
    bug: Bug,
    /// Messages that wait for a sync, and how many ever have.
    held: Vec<Message>,
    held_ever: u64,
    /// Changes of the configuration that were applied since the start, and how many ever were.
    turns: Vec<Turn>,
    turns_ever: u64,
    syncs: u64,
    /// What the node does with reads while it leads.
    pub(crate) reads: ReadLog,
}

/// How far a node was when it applied a change of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Index of the change.
    pub(crate) index: u64,
    /// Index of the last entry of the log.
    pub(crate) last: u64,
    /// What was known to be committed before it took effect, and right after.
    pub(crate) commit: (u64, u64),
    /// How often the disk had been synced, ever.
    pub(crate) syncs: u64,
}

impl Image {
    /// The changes of the configuration that were applied since the start, oldest first, and how many ever were: a number
    /// that only grows.
    pub(crate) fn turns(&self) -> (&[Turn], u64) {
        (&self.turns, self.turns_ever)
    }

    /// A change of the configuration is applied.
    pub(crate) fn turn(&mut self, turn: Turn) {
        self.turns.push(turn);
        self.turns_ever += 1;
    }

    /// The messages that wait for a sync, oldest first, and how many ever have: a number that only grows.
    pub(crate) fn held(&self) -> (&[Message], u64) {
        (&self.held, self.held_ever)
    }

    /// Keeps messages until the next sync.
    pub(crate) fn hold(&mut self, messages: Vec<Message>) {
        self.held_ever += messages.len() as u64;
        self.held.extend(messages);
    }

    /// The messages that wait, which have been synced.
    pub(crate) fn take_held(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.held)
    }

    /// The hard state as it was written last.
    pub fn hard(&self) -> Hard {
        self.hard
    }

    /// The hard state that the node has synced, or believes to have.
    pub fn durable(&self) -> Hard {
        self.durable
    }

    /// Where the log begins.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The configuration, as it was written last, and the index of the entry that made it.
    pub fn conf(&self) -> (Conf, u64) {
        (self.conf, self.conf_index)
    }

    /// Index of the last entry, whether it is in a snapshot or not; the first one ever has index 1.
    pub fn last_index(&self) -> u64 {
        self.base.index + self.entries.len() as u64
    }

    /// The entries behind the snapshot, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The term of the entry at `index`; `None` for those before the snapshot's last, and beyond the log.
    pub fn term(&self, index: u64) -> Option<u64> {
        match index.checked_sub(self.base.index)? {
            0 => Some(self.base.term),
            behind => self.entries.get(behind as usize - 1).map(|entry| entry.term),
        }
    }

    /// The term of the last entry.
    pub fn last_term(&self) -> u64 {
        self.entries.last().map_or(self.base.term, |entry| entry.term)
    }

    /// The hash of the log up to and with `index`; `None` where it is not known, and beyond the log.
    pub fn prefix_hash(&self, index: u64) -> Option<u64> {
        let Some(at) = (index as usize).checked_sub(1) else { return Some(0) };
        self.hashes.get(at).copied().filter(|hash| *hash != 0)
    }

    /// The hash of the whole log.
    pub fn log_hash(&self) -> u64 {
        self.hashes.last().copied().unwrap_or_default()
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
        from.max(self.base.index)
    }

    /// An empty image of a cluster with this configuration, buffers kept.
    pub(crate) fn clear(&mut self, conf: Conf, bug: Bug) {
        self.hard = Hard::default();
        self.base = Base { conf, ..Base::default() };
        (self.conf, self.conf_index) = (conf, 0);
        self.entries.clear();
        self.hashes.clear();
        self.held.clear();
        self.turns.clear();
        self.reads.clear();
        self.same_before = 1;
        self.bug = bug;
        self.begin();
    }

    /// A start: what was read is durable, and nothing was replaced yet.
    pub(crate) fn begin(&mut self) {
        self.durable = self.hard;
        self.truncations = 0;
        self.changes += 1;
    }

    /// The disk is synced.
    pub(crate) fn synced(&mut self) {
        self.syncs += 1;
        self.mark_durable();
    }

    /// How often the disk was synced, ever.
    pub(crate) fn syncs(&self) -> u64 {
        self.syncs
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
            Operation::Conf(index, conf) => (self.conf, self.conf_index) = (conf, index),
            Operation::Snapshot(base) => self.rebase(base),
        }
    }

    fn write(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        let from = first.index.saturating_sub(self.base.index + 1) as usize;
        self.same_before = self.same_before.min(first.index);
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
        self.hashes.truncate(self.base.index as usize + from);
        for entry in entries.iter().chain(&kept) {
            self.hashes.push(chain(self.log_hash(), entry));
            self.entries.push(entry.clone());
        }
    }

    /// Entries behind the snapshot stay where it is one of this very log.
    fn rebase(&mut self, base: &Base) {
        if self.term(base.index) == Some(base.term) {
            self.entries.drain(..(base.index - self.base.index) as usize);
        } else {
            self.entries.clear();
            self.hashes.clear();
            self.hashes.resize(base.index as usize, 0);
            self.same_before = self.same_before.min(base.index);
        }
        if let Some(hash) = self.hashes.get_mut((base.index as usize).saturating_sub(1)) {
            *hash = base.hash;
        }
        self.base.clone_from(base);
        self.hard.commit = self.hard.commit.max(base.index);
        if self.hard.term < base.term {
            (self.hard.term, self.hard.vote) = (base.term, 0);
        }
        if self.conf_index < base.index {
            (self.conf, self.conf_index) = (base.conf, base.index);
        }
    }

    /// Applies the operation of one record. `None` when the record cannot be read.
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
                    Bug::CommitForgotten => (vote, self.base.index),
                    _ => (vote, commit),
                };
                self.apply(Operation::Hard(Hard { term, vote, commit }));
            }
            CONF => {
                let (index, conf) = (reader.number()?, Conf::unpacked(reader.number()?));
                self.apply(Operation::Conf(index, conf));
            }
            SNAPSHOT => {
                let (index, term, hash) = (reader.number()?, reader.number()?, reader.number()?);
                let conf = Conf::unpacked(reader.number()?);
                let base = Base { index, term, hash, conf, data: reader.slice()?.to_vec() };
                self.apply(Operation::Snapshot(&base));
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
const CONF: u8 = 3;
const SNAPSHOT: u8 = 4;

fn read_entry(reader: &mut Reader<'_>) -> Option<Entry> {
    let entry_type = *compat::ENTRY_TYPES.get(usize::from(reader.byte()?))?;
    let (term, index) = (reader.number()?, reader.number()?);
    let mut entry = Entry::default();
    (entry.entry_type, entry.term, entry.index) = (entry_type, term, index);
    entry.data = reader.slice()?.to_vec().into();
    Some(entry)
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
            Self::Conf(index, conf) => {
                record.byte(CONF).number(index).number(conf.packed());
            }
            Self::Snapshot(base) => {
                record.byte(SNAPSHOT).number(base.index).number(base.term).number(base.hash);
                record.number(base.conf.packed()).slice(&base.data);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Base, Hard, Image, Operation};
    use crate::bugs::Bug;
    use crate::conf::Conf;
    use crate::record::Writer;
    use raft::eraftpb::Entry;

    fn entries(first: u64, terms: &[u64]) -> Vec<Entry> {
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
        let (old, new) = (entries(1, &[1, 1, 1, 1]), entries(3, &[3]));
        let base = Base { index: 2, term: 1, hash: 9, conf: Conf::of_voters(3), data: vec![1, 2] };
        let ahead = Base { index: 9, term: 4, ..base.clone() };
        for operation in [
            Operation::Entries(&old),
            Operation::Hard(hard),
            Operation::Conf(1, Conf::of_voters(5)),
            Operation::Entries(&new),
            Operation::Snapshot(&base),
            Operation::Snapshot(&ahead),
        ] {
            image.apply(operation);
            record.clear();
            operation.write(&mut record);
            assert_eq!(copy.replay(record.bytes()), Some(()));
            assert_eq!((copy.entries(), &copy.hashes), (image.entries(), &image.hashes));
            assert_eq!((copy.conf(), copy.base(), copy.hard()), (image.conf(), image.base(), image.hard()));
            assert_eq!(copy.hashes.len() as u64, copy.last_index());
        }
        assert_eq!((copy.last_index(), copy.last_term(), copy.term(8)), (9, 4, None));
        assert_eq!((copy.prefix_hash(8), copy.prefix_hash(9), copy.truncations()), (None, Some(9), 1));
        assert_eq!(copy.replay(&record.bytes()[..12]), None);
        assert_eq!(copy.replay(&[99]), None);
    }

    #[test]
    fn a_snapshot_of_the_log_keeps_what_is_behind_it() {
        let mut image = Image::default();
        image.apply(Operation::Entries(&entries(1, &[1, 1, 2])));
        let (hash, whole) = (image.prefix_hash(2).unwrap(), image.log_hash());
        image.apply(Operation::Snapshot(&Base { index: 2, term: 1, hash, ..Base::default() }));
        assert_eq!((image.entries().len(), image.term(1), image.term(2)), (1, None, Some(1)));
        assert_eq!((image.log_hash(), image.last_index(), image.prefix_hash(2)), (whole, 3, Some(hash)));
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
        image.clear(Conf::of_voters(3), Bug::None);
        image.apply(Operation::Entries(&entries(1, &[1, 1, 1])));
        assert_eq!((image.take_changed(), image.take_changed()), (1, 4));
        image.apply(Operation::Entries(&entries(2, &[2])));
        assert_eq!((image.take_changed(), image.take_changed()), (2, 3));
    }
}

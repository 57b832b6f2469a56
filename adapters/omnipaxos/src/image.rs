//! What a node keeps on its disk, as it stands in memory: ballots, indices and the log with running prefix
//! hashes, and the operations that change it, with their form on the disk.

use crate::record::{Reader, Writer};
use misrule_models::Log;
use omnipaxos::ballot_leader_election::Ballot;
use std::cell::RefCell;
use std::rc::Rc;

/// An image that a node, its storage and its view share, so that nothing is copied to look at it.
pub type SharedImage = Rc<RefCell<Image>>;

/// One change of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation<'a> {
    /// Keep the first entries, so many, and append these values.
    Write { from: usize, values: &'a [u32] },
    /// The ballot that is promised.
    Promise(Ballot),
    /// The ballot in which the log was accepted.
    AcceptedRound(Ballot),
    /// The length of the decided prefix.
    Decided(usize),
    /// Entries below the index can no longer be read.
    Trim(usize),
    /// The index up to which omnipaxos holds the log for compacted.
    Compacted(usize),
}

/// Which of the two ballots an image took in last; tells the phase of a node apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BallotWrite {
    Promise,
    AcceptedRound,
}

/// What a node keeps on its disk.
#[derive(Debug, Default)]
pub struct Image {
    promise: Option<Ballot>,
    accepted_round: Option<Ballot>,
    decided: usize,
    trimmed: usize,
    compacted: usize,
    values: Vec<u32>,
    /// For each entry the hash of the log up to and with it, the model's; kept for trimmed entries too.
    hashes: Vec<u64>,
    changes: u64,
    ballot_write: Option<BallotWrite>,
}

impl Image {
    /// The promised ballot.
    pub fn promise(&self) -> Option<Ballot> {
        self.promise
    }

    /// The ballot in which the log was accepted.
    pub fn accepted_round(&self) -> Option<Ballot> {
        self.accepted_round
    }

    /// The decided index: the length of the decided prefix. It may be beyond the log when something is wrong.
    pub fn decided(&self) -> usize {
        self.decided
    }

    /// How many entries can no longer be read.
    pub fn trimmed(&self) -> usize {
        self.trimmed
    }

    /// The index up to which omnipaxos holds the log for compacted.
    pub fn compacted(&self) -> usize {
        self.compacted
    }

    /// The length of the log, trimmed entries included.
    pub fn length(&self) -> usize {
        self.values.len()
    }

    /// All entries, trimmed ones included: the world remembers what the node gave away.
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// The hash of the first entries, so many; the whole log's where there are fewer.
    pub fn prefix_hash(&self, length: usize) -> u64 {
        match length.min(self.hashes.len()) {
            0 => 0,
            length => self.hashes[length - 1],
        }
    }

    /// A number that moves with every change, across restarts and executions.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    pub(crate) fn take_ballot_write(&mut self) -> Option<BallotWrite> {
        self.ballot_write.take()
    }

    /// An empty image, buffers kept.
    pub(crate) fn clear(&mut self) {
        self.promise = None;
        self.accepted_round = None;
        self.decided = 0;
        self.trimmed = 0;
        self.compacted = 0;
        self.values.clear();
        self.hashes.clear();
        self.changes += 1;
        self.ballot_write = None;
    }

    pub(crate) fn apply(&mut self, operation: Operation<'_>) {
        self.changes += 1;
        match operation {
            Operation::Write { from, values } => {
                self.truncate(from);
                for value in values {
                    self.push(*value);
                }
            }
            Operation::Promise(ballot) => {
                self.promise = Some(ballot);
                self.ballot_write = Some(BallotWrite::Promise);
            }
            Operation::AcceptedRound(ballot) => {
                self.accepted_round = Some(ballot);
                self.ballot_write = Some(BallotWrite::AcceptedRound);
            }
            Operation::Decided(index) => self.decided = index,
            Operation::Trim(index) => self.trimmed = self.trimmed.max(index),
            Operation::Compacted(index) => self.compacted = index,
        }
    }

    fn truncate(&mut self, length: usize) {
        self.values.truncate(length);
        self.hashes.truncate(length);
    }

    fn push(&mut self, value: u32) {
        let hash = Log::chain(self.prefix_hash(self.hashes.len()), value);
        self.values.push(value);
        self.hashes.push(hash);
    }

    /// Applies the operations of one record. `None` when the record cannot be read.
    pub(crate) fn replay(&mut self, record: &[u8]) -> Option<()> {
        let mut reader = Reader::new(record);
        self.changes += 1;
        while let Some(tag) = reader.tag() {
            match tag {
                WRITE => {
                    self.truncate(reader.index()?);
                    for _ in 0..reader.index()? {
                        self.push(reader.value()?);
                    }
                }
                PROMISE => self.promise = Some(reader.ballot()?),
                ACCEPTED_ROUND => self.accepted_round = Some(reader.ballot()?),
                DECIDED => self.decided = reader.index()?,
                TRIM => self.trimmed = self.trimmed.max(reader.index()?),
                COMPACTED => self.compacted = reader.index()?,
                _ => return None,
            }
        }
        Some(())
    }
}

const WRITE: u8 = 1;
const PROMISE: u8 = 2;
const ACCEPTED_ROUND: u8 = 3;
const DECIDED: u8 = 4;
const TRIM: u8 = 5;
const COMPACTED: u8 = 6;

impl Operation<'_> {
    /// Appends the operation to a record.
    pub(crate) fn write(self, record: &mut Writer) {
        match self {
            Self::Write { from, values } => {
                record.tag(WRITE).index(from).index(values.len());
                for value in values {
                    record.value(*value);
                }
            }
            Self::Promise(ballot) => {
                record.tag(PROMISE).ballot(ballot);
            }
            Self::AcceptedRound(ballot) => {
                record.tag(ACCEPTED_ROUND).ballot(ballot);
            }
            Self::Decided(index) => {
                record.tag(DECIDED).index(index);
            }
            Self::Trim(index) => {
                record.tag(TRIM).index(index);
            }
            Self::Compacted(index) => {
                record.tag(COMPACTED).index(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Image, Operation};
    use crate::record::Writer;
    use omnipaxos::ballot_leader_election::Ballot;

    fn operations() -> Vec<Operation<'static>> {
        vec![
            Operation::Promise(Ballot::with(1, 2, 0, 3)),
            Operation::Write { from: 0, values: &[5, 6, 7] },
            Operation::AcceptedRound(Ballot::with(1, 2, 0, 3)),
            Operation::Write { from: 2, values: &[8, 9] },
            Operation::Decided(3),
            Operation::Trim(2),
            Operation::Compacted(2),
        ]
    }

    #[test]
    fn records_read_back_to_the_same_image() {
        let (mut image, mut copy, mut record) = (Image::default(), Image::default(), Writer::default());
        for operation in operations() {
            image.apply(operation);
            operation.write(&mut record);
        }
        assert_eq!(copy.replay(record.bytes()), Some(()));
        assert_eq!(copy.values(), [5, 6, 8, 9]);
        assert_eq!(copy.hashes, image.hashes);
        assert_eq!(copy.promise(), image.promise());
        assert_eq!((copy.decided(), copy.trimmed(), copy.compacted()), (3, 2, 2));
        assert_eq!(copy.replay(&record.bytes()[..5]), None);
        assert_eq!(copy.replay(&[99]), None);
    }

    #[test]
    fn prefix_hashes_tell_logs_apart() {
        let (mut a, mut b) = (Image::default(), Image::default());
        a.apply(Operation::Write { from: 0, values: &[1, 2, 3] });
        b.apply(Operation::Write { from: 0, values: &[1, 2, 4, 3] });
        assert_eq!(a.prefix_hash(2), b.prefix_hash(2));
        assert_ne!(a.prefix_hash(3), b.prefix_hash(3));
        b.apply(Operation::Write { from: 2, values: &[3] });
        assert_eq!(a.prefix_hash(3), b.prefix_hash(3));
    }
}

//! The storage of a node: an [`Image`](crate::Image) in memory that the crate reads, every change of it appended to the
//! disk as a record.

use crate::image::{Operation, SharedImage};
use crate::record::Writer;
use misrule_world::{DiskError, DiskHandle};
use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::util::limit_size;
use raft::{Error, GetEntriesContext, RaftState, Storage, StorageError};

/// A node's storage.
#[derive(Debug)]
pub(crate) struct Store {
    image: SharedImage,
    disk: DiskHandle,
    record: Writer,
    /// The configuration of the cluster at the start of the world.
    voters: u64,
}

impl Store {
    /// A store over `image`, which holds what is on the disk, of a cluster of so many nodes.
    pub(crate) fn new(image: SharedImage, disk: DiskHandle, voters: u64) -> Self {
        Self { image, disk, record: Writer::default(), voters }
    }

    /// Writes one operation as a record of its own.
    pub(crate) fn write(&mut self, operation: Operation<'_>) -> Result<(), DiskError> {
        self.record.clear();
        operation.write(&mut self.record);
        self.disk.append(self.record.bytes())?;
        self.image.borrow_mut().apply(operation);
        Ok(())
    }

    /// Syncs what was written.
    pub(crate) fn sync(&mut self) -> Result<(), DiskError> {
        self.disk.sync()?;
        self.image.borrow_mut().mark_durable();
        Ok(())
    }

    /// A planted bug: what was written counts as synced.
    pub(crate) fn pretend_sync(&mut self) {
        self.image.borrow_mut().mark_durable();
    }
}

impl Storage for Store {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let hard = self.image.borrow().hard();
        let hard_state =
            HardState { term: hard.term, vote: hard.vote, commit: hard.commit, ..HardState::default() };
        let conf_state = ConfState { voters: (1..=self.voters).collect(), ..ConfState::default() };
        Ok(RaftState { hard_state, conf_state })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        let image = self.image.borrow();
        let (from, to) = ((low.max(1) - 1) as usize, (high.max(1) - 1) as usize);
        let found = image.entries().get(from..to).ok_or(Error::Store(StorageError::Unavailable))?;
        let mut entries = found.to_vec();
        limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        self.image.borrow().term(index).ok_or(Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.image.borrow().last_index())
    }

    fn snapshot(&self, _request_index: u64, _to: u64) -> raft::Result<Snapshot> {
        Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
    }
}

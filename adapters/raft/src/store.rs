//! The storage of a node: an [`Image`](crate::Image) in memory that the crate reads, every change of it appended to the
//! disk as a record.

use crate::image::{Hard, Operation, SharedImage};
use crate::record::Writer;
use misrule_world::{DiskError, DiskHandle};
use raft::eraftpb::{Entry, HardState, Snapshot};
use raft::util::limit_size;
use raft::{Error, GetEntriesContext, RaftState, Storage, StorageError};

/// A node's storage.
#[derive(Debug)]
pub(crate) struct Store {
    image: SharedImage,
    disk: DiskHandle,
    record: Writer,
}

impl Store {
    /// A store over `image`, which holds what is on the disk.
    pub(crate) fn new(image: SharedImage, disk: DiskHandle) -> Self {
        Self { image, disk, record: Writer::default() }
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
        let image = self.image.borrow();
        let Hard { term, vote, commit } = image.hard();
        let hard_state = HardState { term, vote, commit, ..HardState::default() };
        Ok(RaftState { hard_state, conf_state: image.conf().0.state() })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        let image = self.image.borrow();
        let first = image.base().index + 1;
        let from = low.checked_sub(first).ok_or(Error::Store(StorageError::Compacted))? as usize;
        let to = high.saturating_sub(first) as usize;
        let found = image.entries().get(from..to).ok_or(Error::Store(StorageError::Unavailable))?;
        let mut entries = found.to_vec();
        limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let image = self.image.borrow();
        let error =
            if index < image.base().index { StorageError::Compacted } else { StorageError::Unavailable };
        image.term(index).ok_or(Error::Store(error))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.image.borrow().base().index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.image.borrow().last_index())
    }

    fn snapshot(&self, request_index: u64, _to: u64) -> raft::Result<Snapshot> {
        let image = self.image.borrow();
        let base = image.base();
        if base.index == 0 || base.index < request_index {
            return Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        let mut snapshot = Snapshot { data: base.data.clone().into(), ..Snapshot::default() };
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (base.index, base.term);
        metadata.set_conf_state(base.conf.state());
        Ok(snapshot)
    }
}

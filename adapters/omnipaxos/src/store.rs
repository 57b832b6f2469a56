//! The storage of a node: an [`Image`] in memory, every change of it appended to the disk and synced before
//! the call returns. The crate's `Storage` trait is implemented in [`compat`](crate::compat).

use crate::image::{Operation, SharedImage};
use crate::record::Writer;
use crate::system::Value;
use misrule_world::DiskHandle;
use omnipaxos::storage::StorageResult;

/// A node's storage.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) image: SharedImage,
    disk: DiskHandle,
    record: Writer,
    values: Vec<u32>,
}

impl Store {
    /// A store over `image`, which holds what is on the disk.
    pub(crate) fn new(image: SharedImage, disk: DiskHandle) -> Self {
        Self { image, disk, record: Writer::default(), values: Vec::new() }
    }

    /// Adds an operation to the record that [`commit`](Self::commit) writes.
    pub(crate) fn stage(&mut self, operation: Operation<'_>) {
        operation.write(&mut self.record);
        self.image.borrow_mut().apply(operation);
    }

    /// The same for entries that follow the first `from` ones.
    pub(crate) fn stage_write(&mut self, from: usize, entries: &[Value]) -> StorageResult<()> {
        let trimmed = self.image.borrow().trimmed();
        if from < trimmed {
            return Err(format!("entries from {from} on cannot be replaced: trimmed up to {trimmed}").into());
        }
        if entries.is_empty() && from >= self.image.borrow().length() {
            return Ok(());
        }
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        values.extend(entries.iter().map(|entry| entry.0));
        self.stage(Operation::Write { from, values: &values });
        self.values = values;
        Ok(())
    }

    /// The same for entries at the end of the log.
    pub(crate) fn stage_append(&mut self, entries: &[Value]) -> StorageResult<()> {
        let length = self.image.borrow().length();
        self.stage_write(length, entries)
    }

    /// Writes what was staged as one record and syncs the disk; nothing where nothing was staged.
    pub(crate) fn commit(&mut self) -> StorageResult<()> {
        if self.record.bytes().is_empty() {
            return Ok(());
        }
        self.disk.append(self.record.bytes())?;
        self.disk.sync()?;
        self.record.clear();
        Ok(())
    }

    /// Stages and commits one operation.
    pub(crate) fn write(&mut self, operation: Operation<'_>) -> StorageResult<()> {
        self.stage(operation);
        self.commit()
    }

    /// The entries `from..to`, none where the log does not hold them all, an error below the trimmed index.
    pub(crate) fn entries(&self, from: usize, to: usize) -> StorageResult<Vec<Value>> {
        let image = self.image.borrow();
        if from < image.trimmed() {
            return Err(format!("entry {from} is trimmed; the log begins at {}", image.trimmed()).into());
        }
        Ok(image.values().get(from..to).unwrap_or_default().iter().map(|value| Value(*value)).collect())
    }

    /// The entries from `from` on; otherwise as [`entries`](Self::entries).
    pub(crate) fn suffix(&self, from: usize) -> StorageResult<Vec<Value>> {
        let length = self.image.borrow().length();
        self.entries(from, length.max(from))
    }

    /// How many entries can be read.
    pub(crate) fn readable(&self) -> usize {
        let image = self.image.borrow();
        image.length().saturating_sub(image.trimmed())
    }
}

/// Why a stop sign or a snapshot is not stored: the workload asks for neither, and nothing is lost silently.
pub(crate) fn beyond_workload(what: &str) -> StorageResult<()> {
    Err(format!("{what} are not part of the workload and cannot be stored").into())
}

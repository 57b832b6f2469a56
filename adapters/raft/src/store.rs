//! The storage of a node: an [`Image`](crate::Image) in memory that the crate reads, every change of it appended to the
//! disk as a record. The crate's `Storage` trait is implemented in [`compat`](crate::compat).

use crate::image::{Operation, SharedImage};
use crate::record::Writer;
use misrule_world::{DiskError, DiskHandle};

/// A node's storage.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) image: SharedImage,
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
        self.image.borrow_mut().synced();
        Ok(())
    }

    /// A planted bug: what was written counts as synced.
    pub(crate) fn pretend_sync(&mut self) {
        self.image.borrow_mut().mark_durable();
    }
}

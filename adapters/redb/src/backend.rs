//! redb's storage on a file of the world's disk.
//!
//! redb's "assumptions about underlying media" (its `docs/design.md`): single bytes are written wholly or not at
//! all, what `fsync` covered is durable, bytes outside a write never change. It assumes nothing of the order of
//! writes between two syncs, nor of sectors.

use misrule_world::{DiskError, DiskFile};
use redb::StorageBackend;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What the client knows of its storage, shared with the backend that redb owns. redb wants `Send + Sync`; all of it
/// runs on one thread.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failed: AtomicBool,
    repaired: AtomicBool,
    writes: AtomicU32,
}

impl Health {
    /// Whether the disk has reported an error to redb since the node started.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// redb said that it repairs the file.
    pub(crate) fn note_repair(&self) {
        self.repaired.store(true, Ordering::Relaxed);
    }

    /// Whether redb has repaired the file since the last call of this.
    pub(crate) fn take_repaired(&self) -> bool {
        self.repaired.swap(false, Ordering::Relaxed)
    }

    /// Writes and changes of length since the last sync.
    pub(crate) fn writes(&self) -> u32 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Passes a result on, and remembers an error.
    pub(crate) fn checked<T>(&self, result: Result<T, DiskError>) -> Result<T, DiskError> {
        result.inspect_err(|_| self.failed.store(true, Ordering::Relaxed))
    }

    fn wrote(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }
}

/// A file of the world's disk as redb's storage.
#[derive(Debug)]
pub(crate) struct Backend {
    pub(crate) file: DiskFile,
    pub(crate) health: Arc<Health>,
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.health.checked(self.file.len())?)
    }

    /// As `read_exact_at`: a short read is continued, the end of the file is an error.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < out.len() {
            let read = self.health.checked(self.file.read_at(offset + done as u64, &mut out[done..]))?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            done += read;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.health.wrote();
        Ok(self.health.checked(self.file.set_len(len))?)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.health.checked(self.file.sync_data())?;
        self.health.writes.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// As `write_all_at`: a short write is continued.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.health.wrote();
        let mut done = 0;
        loop {
            match self.file.write_at(offset + done as u64, &data[done..]) {
                Err(DiskError::Short { done: more }) if more > 0 => done += more,
                other => return Ok(self.health.checked(other)?),
            }
        }
    }
}

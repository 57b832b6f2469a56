//! The storage engine of a node: a write-ahead log in segments, and a snapshot.
//!
//! Files: `snapshot` holds the state machine up to some index, `wal-N` everything behind it: base, promise and
//! entries. There is one segment but for the moment at which the next one takes its place. Nothing counts as durable
//! before a sync has returned, and no error of the disk is survived: whether a failed write is on the disk is not
//! known before the next start, and a second sync may claim what the first one lost.

use crate::bugs::Bug;
use crate::entry::{Entry, Promise};
use crate::log::Log;
use crate::machine::Machine;
use crate::recovery::{self, Recovered};
use crate::snapshot;
use crate::wal::{ENTRIES, PROMISE, Wal, begin, segment_name, write_entries};
use misrule_world::{DiskError, DiskFile, DiskHandle};
use std::fmt;

/// How a store writes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The size of a block of the disk in bytes, at least 1: what no two writes may share.
    pub block: usize,
    /// The size of a value in bytes, at least 4.
    pub value: usize,
    /// The bug that is planted.
    pub bug: Bug,
}

impl Options {
    /// The length, filled up to whole blocks.
    pub(crate) fn padded(&self, length: usize) -> usize {
        length.next_multiple_of(self.block)
    }

    /// Makes names durable.
    pub(crate) fn sync_names(&self, disk: DiskHandle) -> Result<(), DiskError> {
        if self.bug == Bug::NoDirSync {
            return Ok(());
        }
        let result = disk.sync_dir();
        if self.bug == Bug::SyncErrorIgnored { Ok(()) } else { result }
    }
}

/// Why a store cannot be used until the node starts again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The disk reported an error.
    Disk(DiskError),
    /// What stands on the disk cannot be what was written and synced: a disk that keeps its promises never shows
    /// it. Going on might lose what others rely on.
    Contradiction(&'static str),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(error) => error.fmt(f),
            Self::Contradiction(what) => f.write_str(what),
        }
    }
}

impl From<DiskError> for Trouble {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

/// A node's storage engine.
#[derive(Debug)]
pub struct Store {
    disk: DiskHandle,
    options: Options,
    wal: Wal,
    buffer: Vec<u8>,
}

impl Store {
    /// Opens what is on the disk, or begins where nothing is. Whatever it returns is durable.
    ///
    /// # Errors
    /// The disk failed, or its content contradicts itself. Nothing that was durable is lost by trying again.
    pub fn open(disk: DiskHandle, options: Options) -> Result<(Self, Recovered), Trouble> {
        let mut buffer = Vec::new();
        let (wal, recovered) = recovery::open(disk, &mut buffer, &options)?;
        let mut store = Self { disk, options, wal, buffer };
        // A crash came between the snapshot and the segment that begins at it.
        if recovered.is_unfinished {
            store.roll(recovered.promise, &recovered.log)?;
        }
        Ok((store, recovered))
    }

    /// Makes a promise durable, and every entry that was written before.
    ///
    /// # Errors
    /// The disk failed; the store is not to be used any more.
    pub fn promise(&mut self, promise: Promise) -> Result<(), Trouble> {
        let mut out = begin(&mut self.buffer);
        out.u8(PROMISE);
        promise.write(&mut out);
        self.wal.append(&mut self.buffer, &self.options)?;
        if self.options.bug == Bug::VoteNotDurable { Ok(()) } else { self.sync() }
    }

    /// Writes entries in place of all from the index `from` on. They are durable after the next sync.
    ///
    /// # Errors
    /// As for [`promise`](Self::promise).
    pub fn write(&mut self, from: u64, entries: &[Entry]) -> Result<(), Trouble> {
        let mut out = begin(&mut self.buffer);
        out.u8(ENTRIES);
        write_entries(&mut out, from, entries, &self.options);
        Ok(self.wal.append(&mut self.buffer, &self.options)?)
    }

    /// Makes everything that was written durable.
    ///
    /// # Errors
    /// As for [`promise`](Self::promise).
    pub fn sync(&mut self) -> Result<(), Trouble> {
        Ok(self.wal.sync(&self.options)?)
    }

    /// Whether everything that was written is durable.
    pub fn is_synced(&self) -> bool {
        self.wal.is_synced()
    }

    /// Makes a snapshot durable and begins a segment at it; `log` has the machine's index as its base. Everything is
    /// durable then.
    ///
    /// # Errors
    /// As for [`promise`](Self::promise).
    pub fn compact(&mut self, machine: &Machine, promise: Promise, log: &Log) -> Result<(), Trouble> {
        snapshot::write(self.disk, machine, &mut self.buffer, &self.options)?;
        self.roll(promise, log)
    }

    /// Begins the next segment and removes the one before. Until the new one has a durable name, the old one stays.
    fn roll(&mut self, promise: Promise, log: &Log) -> Result<(), Trouble> {
        let old = self.wal.segment;
        let content = (log.base(), promise, log.entries());
        self.wal = Wal::create(self.disk, old + 1, content, &mut self.buffer, &self.options)?;
        if self.options.bug != Bug::PrefixOrder {
            self.options.sync_names(self.disk)?;
        }
        self.disk.remove(&segment_name(old))?;
        Ok(self.options.sync_names(self.disk)?)
    }
}

/// Reads a file from its start to its end into `out`.
pub(crate) fn read_all(file: DiskFile, out: &mut Vec<u8>) -> Result<(), DiskError> {
    let length = file.len()? as usize;
    out.clear();
    out.resize(length, 0);
    let mut at = 0;
    while at < length {
        // A read may return less than there is.
        match file.read_at(at as u64, &mut out[at..])? {
            0 => return Err(DiskError::Other),
            read => at += read,
        }
    }
    Ok(())
}

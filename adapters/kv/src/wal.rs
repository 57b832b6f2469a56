//! The write-ahead log: segments of records, each of which begins at a block of the disk.
//!
//! A record is a head of 40 bytes and a body; what follows up to the next block is zeros. So no two writes share a
//! block, and a write that a crash spoils spoils nothing else.
//!
//! | bytes | head |
//! | --- | --- |
//! | 0 to 3 | magic |
//! | 4 to 7 | length of the body |
//! | 8 to 15 | number of the record in its segment, from 1 |
//! | 16 to 23 | number of the last record that was durable when this one was written |
//! | 24 to 31 | xxh3-64 of the body, seeded with segment and number |
//! | 32 to 39 | xxh3-64 of the head up to here, seeded with the segment |
//!
//! A record that is not whole ends the log where nothing tells that it had been durable; see [`crate::scan`]. The first record
//! of a segment says everything that is needed of older ones, so that one segment is enough.

use crate::bugs::Bug;
use crate::bytes::{Reader, Writer};
use crate::entry::{Entry, Promise};
use crate::log::Base;
use crate::store::Options;
use misrule_world::{DiskError, DiskFile, DiskHandle};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a record's head.
pub(crate) const HEAD: usize = 40;
const MAGIC: u32 = 0x314c_564b;
/// Where the head's own checksum stands.
const HEAD_SUM: usize = 32;

/// The first record of a segment: base, promise and entries.
pub(crate) const OPENING: u8 = 1;
/// A promise.
pub(crate) const PROMISE: u8 = 2;
/// Entries that take the place of all from the first one's index on.
pub(crate) const ENTRIES: u8 = 3;

/// The head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) body: usize,
    pub(crate) number: u64,
    pub(crate) synced: u64,
    sum: u64,
}

impl Head {
    /// Reads the head of a record of that segment; nothing where there is none.
    pub(crate) fn read(bytes: &[u8], segment: u32) -> Option<Self> {
        let mut reader = Reader(bytes.get(..HEAD)?);
        let (magic, body) = (reader.u32()?, reader.u32()?);
        let (number, synced, sum) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let right = xxh3_64_with_seed(&bytes[..HEAD_SUM], u64::from(segment));
        let good = magic == MAGIC && reader.u64()? == right;
        good.then_some(Self { body: body as usize, number, synced, sum })
    }

    /// Whether the body is the one that was written.
    pub(crate) fn fits(&self, body: &[u8], segment: u32) -> bool {
        self.sum == body_sum(body, segment, self.number)
    }
}

fn body_sum(body: &[u8], segment: u32, number: u64) -> u64 {
    xxh3_64_with_seed(body, u64::from(segment) << 32 ^ number)
}

/// The name of a segment. Names sort as numbers do.
pub(crate) fn segment_name(segment: u32) -> String {
    format!("wal-{segment:08}")
}

/// The segment of that name, if it is one's.
pub(crate) fn segment_of(name: &str) -> Option<u32> {
    name.strip_prefix("wal-")?.parse().ok()
}

/// A record that is being made.
pub(crate) fn begin(buffer: &mut Vec<u8>) -> Writer<'_> {
    buffer.clear();
    buffer.resize(HEAD, 0);
    Writer(buffer)
}

/// Completes a record: writes its head.
pub(crate) fn seal(buffer: &mut [u8], segment: u32, number: u64, synced: u64) {
    let (head, body) = buffer.split_at_mut(HEAD);
    head[..4].copy_from_slice(&MAGIC.to_le_bytes());
    head[4..8].copy_from_slice(&(body.len() as u32).to_le_bytes());
    head[8..16].copy_from_slice(&number.to_le_bytes());
    head[16..24].copy_from_slice(&synced.to_le_bytes());
    head[24..32].copy_from_slice(&body_sum(body, segment, number).to_le_bytes());
    let sum = xxh3_64_with_seed(&head[..HEAD_SUM], u64::from(segment));
    head[HEAD_SUM..].copy_from_slice(&sum.to_le_bytes());
}

/// Writes entries, of which the first has the index `from`.
pub(crate) fn write_entries(out: &mut Writer<'_>, from: u64, entries: &[Entry], options: &Options) {
    out.u64(from).u32(entries.len() as u32);
    for entry in entries {
        entry.write(out, options.value);
    }
}

/// A segment that is written to.
#[derive(Debug)]
pub(crate) struct Wal {
    file: DiskFile,
    pub(crate) segment: u32,
    /// Where the next record goes, and its number.
    end: u64,
    next: u64,
    /// Number of the last record that is durable.
    synced: u64,
}

impl Wal {
    /// A segment that was read, with everything in it durable.
    pub(crate) fn recovered(file: DiskFile, segment: u32, end: u64, next: u64) -> Self {
        Self { file, segment, end, next, synced: next - 1 }
    }

    /// Begins a segment; its first record is durable then, its name is not.
    pub(crate) fn create(
        disk: DiskHandle,
        segment: u32,
        (base, promise, entries): (Base, Promise, &[Entry]),
        buffer: &mut Vec<u8>,
        options: &Options,
    ) -> Result<Self, DiskError> {
        let file = disk.create(&segment_name(segment))?;
        let mut wal = Self { file, segment, end: 0, next: 1, synced: 0 };
        let mut out = begin(buffer);
        out.u8(OPENING);
        base.write(&mut out);
        promise.write(&mut out);
        write_entries(&mut out, base.index + 1, entries, options);
        wal.append(buffer, options)?;
        wal.sync(options)?;
        Ok(wal)
    }

    /// Writes the record in the buffer; it is not durable yet.
    pub(crate) fn append(&mut self, buffer: &mut Vec<u8>, options: &Options) -> Result<(), DiskError> {
        seal(buffer, self.segment, self.next, self.synced);
        buffer.resize(options.padded(buffer.len()), 0);
        self.file.write_at(self.end, buffer)?;
        self.end += buffer.len() as u64;
        self.next += 1;
        Ok(())
    }

    /// Whether every record is durable.
    pub(crate) fn is_synced(&self) -> bool {
        self.synced + 1 == self.next
    }

    /// Makes every record durable.
    pub(crate) fn sync(&mut self, options: &Options) -> Result<(), DiskError> {
        let result = self.file.sync_data();
        if options.bug != Bug::SyncErrorIgnored {
            result?;
        }
        self.synced = self.next - 1;
        Ok(())
    }
}

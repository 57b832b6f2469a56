//! The snapshot file: one record, as in the write-ahead log, that holds the state machine.
//!
//! It is written under another name, synced, renamed into place, and the directory synced: before that last sync a
//! crash leaves the old snapshot or the new one, each whole.

use crate::bugs::Bug;
use crate::bytes::Reader;
use crate::machine::Machine;
use crate::store::{Options, Trouble, read_all};
use crate::wal::{HEAD, Head, begin, seal};
use misrule_world::{DiskError, DiskHandle};

/// The name of the snapshot.
pub(crate) const SNAPSHOT: &str = "snapshot";
/// Its name while it is written.
pub(crate) const UNFINISHED: &str = "snapshot.tmp";

/// What stands for the segment and the number in a snapshot's checksums.
const SEED: (u32, u64) = (u32::MAX, 1);

/// Writes a snapshot and makes it durable, its name included.
pub(crate) fn write(
    disk: DiskHandle,
    machine: &Machine,
    buffer: &mut Vec<u8>,
    options: &Options,
) -> Result<(), DiskError> {
    machine.write(&mut begin(buffer), options.value);
    seal(buffer, SEED.0, SEED.1, 0);
    let file = disk.create(UNFINISHED)?;
    file.write_at(0, buffer)?;
    if options.bug != Bug::RenameBeforeData {
        let result = file.sync_all();
        if options.bug != Bug::SyncErrorIgnored {
            result?;
        }
    }
    disk.rename(UNFINISHED, SNAPSHOT)?;
    options.sync_names(disk)
}

/// Reads the snapshot; the state before all entries where there is none.
pub(crate) fn read(disk: DiskHandle, buffer: &mut Vec<u8>, options: &Options) -> Result<Machine, Trouble> {
    let file = match disk.open(SNAPSHOT) {
        Err(DiskError::NotFound) => return Ok(Machine::default()),
        other => other?,
    };
    read_all(file, buffer)?;
    decode(buffer, options).ok_or(Trouble::Contradiction("the snapshot is not whole"))
}

fn decode(bytes: &[u8], options: &Options) -> Option<Machine> {
    let head = Head::read(bytes, SEED.0)?;
    let body = bytes.get(HEAD..HEAD + head.body)?;
    if head.number != SEED.1 || !head.fits(body, SEED.0) {
        return None;
    }
    Machine::read(&mut Reader(body), options.value)
}

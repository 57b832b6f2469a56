//! What a start does to the disk: reads snapshot and log, cuts what a crash has left half done, and finishes what it
//! interrupted. It may crash itself at any operation, and be run again.

use crate::bugs::Bug;
use crate::entry::Promise;
use crate::log::{Base, Log};
use crate::machine::Machine;
use crate::scan::{Scan, scan};
use crate::snapshot::{self, UNFINISHED};
use crate::store::{Options, Trouble, read_all};
use crate::wal::{Wal, segment_name, segment_of};
use misrule_world::{DiskError, DiskFile, DiskHandle};

/// What was on the disk. All of it is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The state machine, as the snapshot has it.
    pub machine: Machine,
    /// The log behind it.
    pub log: Log,
    /// What the node has promised.
    pub promise: Promise,
    /// Whether a segment that begins at the snapshot is still to be written.
    pub(crate) is_unfinished: bool,
}

/// Reads the disk. At the end there is one segment, whole, and nothing half written.
pub(crate) fn open(
    disk: DiskHandle,
    buffer: &mut Vec<u8>,
    options: &Options,
) -> Result<(Wal, Recovered), Trouble> {
    let (segments, has_unfinished) = list(disk)?;
    let machine = snapshot::read(disk, buffer, options)?;
    let mut found = None;
    let mut stale = Vec::new();
    for segment in segments.iter().rev() {
        // A segment that was begun holds all that older ones said.
        let read = if found.is_none() { read(disk, *segment, buffer, options)? } else { None };
        match read {
            Some(read) => found = Some((*segment, read)),
            None => stale.push(*segment),
        }
    }
    if found.is_none() && (machine.at.index > 0 || segments.iter().any(|segment| *segment > 1)) {
        return Err(Trouble::Contradiction("there is no log"));
    }
    if has_unfinished {
        disk.remove(UNFINISHED)?;
    }
    for segment in stale {
        disk.remove(&segment_name(segment))?;
    }
    let Some((segment, (file, scan))) = found else {
        let nothing = (Base::default(), Promise::default(), [].as_slice());
        let wal = Wal::create(disk, 1, nothing, buffer, options)?;
        options.sync_names(disk)?;
        let (log, promise) = (Log::default(), Promise::default());
        return Ok((wal, Recovered { machine, log, promise, is_unfinished: false }));
    };
    if file.len()? > scan.end as u64 {
        file.set_len(scan.end as u64)?;
    }
    // The process may have died and not the machine: what was read need not be durable.
    let wal = Wal::recovered(file, segment, scan.end as u64, scan.next);
    sync(file, options)?;
    options.sync_names(disk)?;
    let recovered = join(&machine, scan)?;
    Ok((wal, recovered))
}

fn sync(file: DiskFile, options: &Options) -> Result<(), DiskError> {
    let result = file.sync_data();
    if options.bug == Bug::SyncErrorIgnored { Ok(()) } else { result }
}

/// The segments, oldest first, and whether there is a snapshot that was not finished.
fn list(disk: DiskHandle) -> Result<(Vec<u32>, bool), DiskError> {
    let (mut segments, mut has_unfinished) = (Vec::new(), false);
    disk.list(|name| {
        segments.extend(segment_of(name));
        has_unfinished |= name == UNFINISHED;
    })?;
    Ok((segments, has_unfinished))
}

fn read(
    disk: DiskHandle,
    segment: u32,
    buffer: &mut Vec<u8>,
    options: &Options,
) -> Result<Option<(DiskFile, Scan)>, Trouble> {
    let file = disk.open(&segment_name(segment))?;
    read_all(file, buffer)?;
    Ok(scan(buffer, segment, options)?.map(|scan| (file, scan)))
}

/// Puts snapshot and log together. The snapshot may be ahead, where a crash came before the segment that begins at
/// it; the log may not.
fn join(machine: &Machine, scan: Scan) -> Result<Recovered, Trouble> {
    let (base, mut log) = (scan.log.base(), scan.log);
    if base.index > machine.at.index {
        return Err(Trouble::Contradiction("the log begins behind the snapshot"));
    }
    let is_unfinished = base.index < machine.at.index;
    if is_unfinished {
        log.rebase(machine.at);
    } else if base != machine.at {
        return Err(Trouble::Contradiction("the log begins at another entry than the snapshot ends with"));
    }
    Ok(Recovered { machine: *machine, log, promise: scan.promise, is_unfinished })
}

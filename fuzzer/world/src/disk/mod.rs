//! The simulated disk: byte files and a log of records, of which a crash keeps what the contract says.
//!
//! A node holds a [`DiskHandle`]: a `Copy` value without content. The world puts the node's disk into a
//! thread-local slot around each call, so that systems may keep the handle anywhere, even where they want
//! `Send + Sync + 'static`. What an operation has completed is visible at once and durable only once it was
//! synced; [`files`] and [`log`] keep what is pending, [`units`] says what a crash may do with it.

mod faults;
mod file;
mod files;
mod log;
mod outcome;
mod states;
mod units;

#[cfg(test)]
mod tests;

use crate::budget::{self, Budget};
use crate::keep::Keep;
use crate::storage::{Completion, StorageContract, Survive};
use faults::Faults;
use files::Files;
use log::Log;
use outcome::Class;
use std::cell::RefCell;
use std::panic::resume_unwind;
use units::{Group, Unit, What, survivors};

pub use file::DiskFile;
pub use files::DISK_BYTES_MAX;
pub use outcome::{DiskError, DiskOutcome};
pub use states::{CrashState, CrashStates};

/// Disk operations that one call into a node may do before the step budget is exceeded.
pub const OPERATIONS_MAX: u32 = 100_000;

/// One node's disk.
#[derive(Debug)]
pub(crate) struct Disk {
    contract: StorageContract,
    log: Log,
    files: Files,
    /// Number of the last operation.
    number: u64,
    faults: Faults,
    /// What the last crash keeps: records, and for each unit whether it survives where files are in use. The
    /// next start brings it about.
    crashed: Option<usize>,
    kept: Vec<bool>,
    operations: Vec<DiskOperation>,
    lines: Vec<String>,
    count: u32,
    /// Operations since the step began that are no reads.
    changes: u32,
    watch: DiskWatch,
}

crate::clone_in_place!(Disk {
    contract,
    log,
    files,
    number,
    faults,
    crashed,
    kept,
    operations,
    lines,
    count,
    changes,
    watch
});

/// What to record of disk operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DiskWatch {
    #[default]
    Nothing,
    /// Values, for judges.
    Operations,
    /// Values and lines, for traces.
    Lines,
}

/// A disk operation of a step, as step reports show it. Files go by number; a file keeps it until it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOperation {
    /// A record of so many bytes was appended to the log.
    Append(u32),
    /// All appended records were made durable.
    Sync,
    /// A file was created.
    Create(u32),
    /// A file was written: completed, not durable.
    Write {
        /// The file.
        file: u32,
        /// Where.
        offset: u64,
        /// How many bytes.
        bytes: u32,
    },
    /// A file's length was set: completed, not durable.
    SetLen {
        /// The file.
        file: u32,
        /// Its length now.
        bytes: u64,
    },
    /// A file was renamed: completed, not durable.
    Rename(u32),
    /// A file's name was removed: completed, not durable.
    Remove(u32),
    /// A file was synced.
    SyncFile {
        /// The file.
        file: u32,
        /// How many units became durable.
        durable: u32,
    },
    /// The directory was synced.
    SyncDir {
        /// How many units became durable.
        durable: u32,
    },
    /// A choice decided how an operation ended.
    Fault(DiskOutcome),
}

thread_local! {
    static CURRENT: RefCell<Option<Box<Disk>>> = const { RefCell::new(None) };
}

/// Runs `call` with `slot` as the current disk.
pub(crate) fn enter<R>(slot: &mut Option<Box<Disk>>, call: impl FnOnce() -> R) -> R {
    CURRENT.with(|current| std::mem::swap(&mut *current.borrow_mut(), slot));
    let result = call();
    CURRENT.with(|current| std::mem::swap(&mut *current.borrow_mut(), slot));
    result
}

/// Whether the node that runs has passed its crash point.
pub(crate) fn has_crashed() -> bool {
    CURRENT.with(|current| current.borrow().as_ref().is_some_and(|disk| disk.faults.has_crashed()))
}

/// A node's way to its disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskHandle(());

impl DiskHandle {
    pub(crate) const CURRENT: Self = Self(());

    /// Appends a record to the log. It survives a crash once [`sync`](Self::sync) returned, or earlier where the
    /// contract says so.
    ///
    /// # Errors
    /// Outside a step, after a crash point, or where a choice says so.
    pub fn append(self, record: &[u8]) -> Result<(), DiskError> {
        operate(Class::WriteLog, |disk, outcome| {
            match outcome {
                Some(DiskOutcome::NoSpace) => return Err(DiskError::NoSpace),
                Some(_) => return Err(DiskError::Other),
                None => {}
            }
            let number = disk.next_number();
            disk.log.append(record, number);
            disk.note(DiskOperation::Append(record.len() as u32));
            Ok(())
        })
    }

    /// Makes every appended record durable. Files have syncs of their own.
    ///
    /// # Errors
    /// Outside a step, after a crash point, or where a choice says so.
    pub fn sync(self) -> Result<(), DiskError> {
        operate(Class::Sync, |disk, outcome| {
            match outcome {
                Some(DiskOutcome::SyncFails) => {
                    if disk.drops_dirty() {
                        disk.log.drop_unsynced();
                    }
                    return Err(DiskError::Other);
                }
                Some(_) => return Ok(()),
                None => {}
            }
            disk.log.sync();
            disk.note(DiskOperation::Sync);
            Ok(())
        })
    }

    /// Calls `each` with every record, oldest first; records not yet synced included. `each` must not use the
    /// disk.
    ///
    /// # Errors
    /// Outside a step, after a crash point, or where a choice says so.
    pub fn read(self, each: impl FnMut(&[u8])) -> Result<(), DiskError> {
        operate(Class::ReadLog, |disk, outcome| {
            if outcome.is_some() {
                return Err(DiskError::Other);
            }
            disk.log.read(each);
            Ok(())
        })
    }
}

/// Does one operation on the current disk.
fn operate<R>(
    class: Class,
    act: impl FnOnce(&mut Disk, Option<DiskOutcome>) -> Result<R, DiskError>,
) -> Result<R, DiskError> {
    CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        let Some(disk) = current.as_mut() else {
            let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
            return Err(DiskError::OutsideStep(thread));
        };
        disk.count += 1;
        disk.changes += u32::from(!class.is_read());
        let spent = disk.count > OPERATIONS_MAX;
        if spent || disk.files.bytes() > DISK_BYTES_MAX {
            drop(current);
            budget::exceed(if spent { Budget::DiskOperations } else { Budget::DiskBytes });
        }
        if !disk.faults.is_armed() {
            return act(disk, None);
        }
        if disk.faults.has_crashed() {
            if disk.faults.refuse_again() {
                return Err(DiskError::Crashed);
            }
            drop(current);
            resume_unwind(Box::new(DiskError::Crashed));
        }
        let outcome = disk.faults.strike(class);
        if let Some(outcome) = outcome {
            disk.note(DiskOperation::Fault(outcome));
        }
        let result = act(disk, outcome);
        disk.faults.did(class);
        result
    })
}

impl Disk {
    /// An empty disk under a contract.
    pub(crate) fn new(contract: StorageContract) -> Self {
        Self {
            contract,
            log: Log::default(),
            files: Files::default(),
            number: 0,
            faults: Faults::default(),
            crashed: None,
            kept: Vec::new(),
            operations: Vec::new(),
            lines: Vec::new(),
            count: 0,
            changes: 0,
            watch: DiskWatch::Nothing,
        }
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    fn drops_dirty(&self) -> bool {
        self.contract.sync_fail == crate::storage::SyncFail::DropsDirty
    }

    fn keeps_all(&self) -> bool {
        self.contract.completion == Completion::Sync
    }

    /// Records an operation without files.
    fn note(&mut self, operation: DiskOperation) {
        self.note_with(operation, |_| match operation {
            DiskOperation::Fault(outcome) => format!("fault {}", outcome.word()),
            _ => format!("{operation:?}"),
        });
    }

    /// Records an operation; `line` tells it to people, who want names.
    fn note_with(&mut self, operation: DiskOperation, line: impl FnOnce(&Files) -> String) {
        if self.watch != DiskWatch::Nothing {
            self.operations.push(operation);
        }
        if self.watch == DiskWatch::Lines {
            let line = line(&self.files);
            self.lines.push(line);
        }
    }

    /// An empty disk, buffers kept.
    pub(crate) fn clear(&mut self) {
        self.log.clear();
        self.files.clear();
        self.number = 0;
        self.crashed = None;
        self.faults.clear();
        self.start_step(DiskWatch::Nothing);
    }

    /// Starts counting the operations of a new step, and recording them when watched.
    #[inline]
    pub(crate) fn start_step(&mut self, watch: DiskWatch) {
        self.watch = watch;
        // Nothing is recorded but of operations, and those are counted.
        if self.count > 0 {
            self.forget_operations();
        }
    }

    #[inline(never)]
    fn forget_operations(&mut self) {
        self.operations.clear();
        self.lines.clear();
        (self.count, self.changes) = (0, 0);
    }

    /// Whether the step has done nothing here, and no choice had decided about it.
    pub(crate) fn is_idle(&self) -> bool {
        self.count == 0 && !self.faults.is_armed()
    }

    /// The operations since the step began, if it was watched.
    pub(crate) fn operations(&self) -> &[DiskOperation] {
        &self.operations
    }

    /// The operations since the step began as lines, if they were asked for.
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// What choices have decided about the next call.
    pub(crate) fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    /// How much is on the disk, in bytes: records, files, and what of former content a crash could bring back.
    pub(crate) fn bytes(&self) -> usize {
        self.log.bytes() + self.files.bytes()
    }

    /// Operations since the step began that are no reads: as crash points count them.
    pub(crate) fn changes(&self) -> u32 {
        self.changes
    }

    /// Units that a crash now may lose.
    pub(crate) fn pending(&self) -> usize {
        self.log.pending() + self.files.units
    }

    /// Whether the node has files.
    pub(crate) fn has_files(&self) -> bool {
        self.files.is_used()
    }

    /// Decides what a crash keeps: of what `keep` names, what the contract permits. Returns the one form of it.
    /// The disk shows it from the next start on.
    pub(crate) fn crash(&mut self, keep: Keep) -> Keep {
        if self.files.ops().is_empty() {
            // Without files nothing is listed, since nothing may be allocated.
            let pending = self.log.pending();
            let last = (pending.saturating_sub(1), pending);
            let kept = match (self.contract.completion, self.contract.survive) {
                (Completion::Sync, _) => pending,
                (Completion::Async, Survive::None) => 0,
                _ => (0..pending).take_while(|at| keep.has(*at, last)).count(),
            };
            self.crashed = Some(kept);
            self.kept.clear();
            return if kept > usize::from(u16::MAX) { keep } else { Keep::prefix(kept as u16) };
        }
        let units = Unit::list(&self.log, &self.files, &self.contract);
        survivors(&units, keep, &self.contract, &mut self.kept);
        let records = units.iter().zip(&self.kept).filter(|(unit, kept)| unit.group == Group::Log && **kept);
        self.crashed = Some(records.count());
        Keep::canonical(&self.kept, keep)
    }

    /// Brings about what the last crash keeps; the next start of the node sees it.
    #[inline(never)]
    pub(crate) fn recover(&mut self) {
        let Some(records) = self.crashed.take() else { return };
        if self.files.is_used() {
            let units = Unit::list(&self.log, &self.files, &self.contract);
            self.files.recover(&units, &self.kept, &self.contract);
        }
        self.log.recover(records);
    }

    /// Tells what the last crash keeps, a line each.
    pub(crate) fn tell_crash(&self, mut line: impl FnMut(String)) {
        let Some(records) = self.crashed else { return };
        if self.files.ops().is_empty() {
            let pending = self.log.pending();
            if pending > 0 {
                line(format!("disk kept {records} of {pending} records not synced"));
            }
            return;
        }
        let units = Unit::list(&self.log, &self.files, &self.contract);
        let blocks = |(unit, _): &(&Unit, &bool)| !matches!(unit.what, What::Garbage { .. });
        let (all, kept) = (units.iter().zip(&self.kept), |(_, kept): &(&Unit, &bool)| **kept);
        let count = all.clone().filter(blocks).count();
        line(format!(
            "disk kept {} of {count} units not synced",
            all.clone().filter(blocks).filter(kept).count()
        ));
        for (at, (unit, kept)) in all.enumerate() {
            let fate = match (unit.what, *kept) {
                (What::Garbage { .. }, true) if !self.kept[at - 1] => "kept",
                (What::Garbage { .. }, _) => continue,
                (_, true) => "kept",
                (_, false) => "lost",
            };
            line(format!("disk {fate} {at} {}", self.files.tell(unit)));
        }
    }
}

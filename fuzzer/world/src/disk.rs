//! The simulated disk: a log of records, of which a crash keeps what the contract says.
//!
//! A node holds a [`DiskHandle`]: a `Copy` value without content. The world puts the node's disk into a
//! thread-local slot around each call, so that systems may keep the handle anywhere, even where they want
//! `Send + Sync + 'static`.

use crate::budget::{self, Budget};
use crate::contract::DiskPreset;
use std::cell::RefCell;

/// Disk operations that one call into a node may do before the step budget is exceeded.
pub const OPERATIONS_MAX: u32 = 100_000;

/// One node's disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    durable: usize,
    operations: Vec<DiskOperation>,
    count: u32,
    watched: bool,
}

/// A disk operation of a step, as step reports show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOperation {
    /// A record of so many bytes was appended.
    Append(u32),
    /// All appended records were made durable.
    Sync,
}

/// Why a disk operation was not done. The disk is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// The disk was used outside a call from the world. From another thread, the name says which: a thread
    /// that the world does not control.
    #[error("disk used outside a step, on thread `{0}`: threads of the target are not controlled")]
    OutsideStep(String),
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

/// A node's way to its disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskHandle(());

impl DiskHandle {
    pub(crate) const CURRENT: Self = Self(());

    /// Appends a record. It survives a crash once [`sync`](Self::sync) returned, or earlier where the contract
    /// says so.
    ///
    /// # Errors
    /// Outside a step.
    pub fn append(self, record: &[u8]) -> Result<(), DiskError> {
        operate(|disk| {
            disk.bytes.extend_from_slice(record);
            disk.ends.push(disk.bytes.len());
            disk.note(DiskOperation::Append(record.len() as u32));
        })
    }

    /// Makes every appended record durable.
    ///
    /// # Errors
    /// Outside a step.
    pub fn sync(self) -> Result<(), DiskError> {
        operate(|disk| {
            disk.durable = disk.ends.len();
            disk.note(DiskOperation::Sync);
        })
    }

    /// Calls `each` with every record, oldest first; records not yet synced included. `each` must not use the
    /// disk.
    ///
    /// # Errors
    /// Outside a step.
    pub fn read(self, mut each: impl FnMut(&[u8])) -> Result<(), DiskError> {
        operate(|disk| {
            let mut start = 0;
            for end in &disk.ends {
                each(&disk.bytes[start..*end]);
                start = *end;
            }
        })
    }
}

fn operate<R>(act: impl FnOnce(&mut Disk) -> R) -> Result<R, DiskError> {
    CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        let Some(disk) = current.as_mut() else {
            let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
            return Err(DiskError::OutsideStep(thread));
        };
        disk.count += 1;
        if disk.count > OPERATIONS_MAX {
            drop(current);
            budget::exceed(Budget::DiskOperations);
        }
        Ok(act(disk))
    })
}

impl Disk {
    fn note(&mut self, operation: DiskOperation) {
        if self.watched {
            self.operations.push(operation);
        }
    }

    /// An empty disk, buffers kept.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.durable = 0;
        self.start_step(false);
    }

    /// Starts counting the operations of a new step, and recording them when `watched`.
    pub(crate) fn start_step(&mut self, watched: bool) {
        self.operations.clear();
        self.count = 0;
        self.watched = watched;
    }

    /// The operations since the step began, if it was watched.
    pub(crate) fn operations(&self) -> &[DiskOperation] {
        &self.operations
    }

    /// Records that a crash now may lose.
    pub(crate) fn pending(&self) -> usize {
        self.ends.len() - self.durable
    }

    /// Loses what a crash loses under `preset`; `keep` says how much of what is open survives. Returns how
    /// many unsynced records survived.
    pub(crate) fn crash(&mut self, preset: DiskPreset, keep: usize) -> usize {
        let kept = match preset {
            DiskPreset::Immediate => self.pending(),
            DiskPreset::ExplicitSync => 0,
            DiskPreset::Ordered => keep.min(self.pending()),
        };
        self.ends.truncate(self.durable + kept);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        self.durable = self.ends.len();
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::{Disk, DiskError, DiskHandle, enter};
    use crate::contract::DiskPreset;

    fn after_crash(preset: DiskPreset, keep: usize) -> Vec<Vec<u8>> {
        let mut slot = Some(Box::<Disk>::default());
        enter(&mut slot, || {
            DiskHandle::CURRENT.append(b"a").unwrap();
            DiskHandle::CURRENT.sync().unwrap();
            DiskHandle::CURRENT.append(b"bb").unwrap();
            DiskHandle::CURRENT.append(b"ccc").unwrap();
        });
        slot.as_mut().unwrap().crash(preset, keep);
        let mut records = Vec::new();
        enter(&mut slot, || DiskHandle::CURRENT.read(|record| records.push(record.to_vec())).unwrap());
        records
    }

    #[test]
    fn a_crash_keeps_what_the_contract_says() {
        assert_eq!(after_crash(DiskPreset::Immediate, 0).len(), 3);
        assert_eq!(after_crash(DiskPreset::ExplicitSync, 2), [b"a".to_vec()]);
        assert_eq!(after_crash(DiskPreset::Ordered, 0).len(), 1);
        assert_eq!(after_crash(DiskPreset::Ordered, 1), [b"a".to_vec(), b"bb".to_vec()]);
        assert_eq!(after_crash(DiskPreset::Ordered, 9).len(), 3);
    }

    #[test]
    fn use_outside_a_step_names_the_thread() {
        let Err(DiskError::OutsideStep(thread)) = DiskHandle::CURRENT.sync() else { panic!("must fail") };
        assert!(!thread.is_empty());
    }
}

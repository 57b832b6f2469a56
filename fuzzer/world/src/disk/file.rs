//! Byte files as a target uses them.

use super::files::{Files, Landing, Op, OpKind, Place, block_off};
use super::outcome::{Class, DiskError, DiskOutcome};
use super::units::{Group, Unit, What};
use super::{DISK_BYTES_MAX, Disk, DiskHandle, DiskOperation, operate};
use crate::budget::{self, Budget};

/// A file on a node's disk: a `Copy` value without content, good until the file is gone or the node starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskFile {
    place: Place,
}

/// A name that files can have.
fn checked(name: &str) -> Result<&str, DiskError> {
    let bad = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    if matches!(name, "" | "." | "..") || name.len() > 255 || name.contains(bad) {
        return Err(DiskError::BadName(name.chars().take(40).collect()));
    }
    Ok(name)
}

fn failed(outcome: DiskOutcome) -> DiskError {
    if outcome == DiskOutcome::NoSpace { DiskError::NoSpace } else { DiskError::Other }
}

impl DiskHandle {
    /// Opens the file of that name.
    ///
    /// # Errors
    /// There is none; the name is bad; outside a step or after a crash point.
    pub fn open(self, name: &str) -> Result<DiskFile, DiskError> {
        checked(name)?;
        operate(Class::Look, |disk, _| disk.files.open(name)).map(|place| DiskFile { place })
    }

    /// Creates an empty file. Its name survives a crash for sure once [`sync_dir`](Self::sync_dir) returned.
    ///
    /// # Errors
    /// There is one of that name; the name is bad; outside a step, after a crash point, or where a choice says
    /// so.
    pub fn create(self, name: &str) -> Result<DiskFile, DiskError> {
        checked(name)?;
        let place = operate(Class::Grow, |disk, outcome| {
            if let Some(outcome) = outcome {
                return Err(failed(outcome));
            }
            let number = disk.next_number();
            let place = disk.files.create(name, number, &disk.contract)?;
            disk.note_with(DiskOperation::Create(place.0), |_| format!("create {name}"));
            Ok(place)
        })?;
        Ok(DiskFile { place })
    }

    /// Opens the file of that name, or creates it.
    ///
    /// # Errors
    /// As for [`open`](Self::open) and [`create`](Self::create), apart from whether there is one.
    pub fn open_or_create(self, name: &str) -> Result<DiskFile, DiskError> {
        match self.open(name) {
            Err(DiskError::NotFound) => self.create(name),
            other => other,
        }
    }

    /// Gives a file another name, in one; a file that had that name loses it. It survives a crash for sure once
    /// [`sync_dir`](Self::sync_dir) returned.
    ///
    /// # Errors
    /// There is no file `from`; a name is bad; outside a step, after a crash point, or where a choice says so.
    pub fn rename(self, from: &str, to: &str) -> Result<(), DiskError> {
        checked(from)?;
        checked(to)?;
        operate(Class::Names, |disk, outcome| {
            if let Some(outcome) = outcome {
                return Err(failed(outcome));
            }
            let number = disk.next_number();
            let inode = disk.files.rename(from, to, number, &disk.contract)?;
            disk.note_with(DiskOperation::Rename(inode), |_| format!("rename {from} to {to}"));
            Ok(())
        })
    }

    /// Removes a name. The file is gone, also for who has it open, once the removal is durable.
    ///
    /// # Errors
    /// As for [`rename`](Self::rename).
    pub fn remove(self, name: &str) -> Result<(), DiskError> {
        checked(name)?;
        operate(Class::Names, |disk, outcome| {
            if let Some(outcome) = outcome {
                return Err(failed(outcome));
            }
            let number = disk.next_number();
            let inode = disk.files.remove(name, number, &disk.contract)?;
            disk.note_with(DiskOperation::Remove(inode), |_| format!("remove {name}"));
            Ok(())
        })
    }

    /// Calls `each` with every name, in order. `each` must not use the disk.
    ///
    /// # Errors
    /// Outside a step or after a crash point.
    pub fn list(self, mut each: impl FnMut(&str)) -> Result<(), DiskError> {
        operate(Class::Look, |disk, _| {
            for (name, _) in disk.files.names() {
                each(name);
            }
            Ok(())
        })
    }

    /// Makes all names durable.
    ///
    /// # Errors
    /// Outside a step, after a crash point, or where a choice says so.
    pub fn sync_dir(self) -> Result<(), DiskError> {
        operate(Class::Sync, |disk, outcome| {
            let durable = disk.settle(outcome, |files, durable| files.settle(durable, Op::is_name))?;
            disk.note_with(DiskOperation::SyncDir { durable }, |_| {
                format!("sync directory: {durable} durable")
            });
            Ok(())
        })
    }
}

impl DiskFile {
    /// Writes at a place; a gap before it is filled with zeros.
    ///
    /// # Errors
    /// The file is gone; outside a step, after a crash point, or where a choice says so.
    pub fn write_at(self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.write(Some(offset), bytes).map(|_| ())
    }

    /// Writes at the end, and returns where that was.
    ///
    /// # Errors
    /// As for [`write_at`](Self::write_at).
    pub fn append(self, bytes: &[u8]) -> Result<u64, DiskError> {
        self.write(None, bytes)
    }

    fn write(self, offset: Option<u64>, bytes: &[u8]) -> Result<u64, DiskError> {
        operate(Class::Write, |disk, outcome| {
            let len = disk.files.content(self.place)?.len();
            let offset = match offset {
                None => len,
                Some(offset) => usize::try_from(offset).unwrap_or(usize::MAX),
            };
            within_quota(disk, offset.saturating_add(bytes.len()).saturating_sub(len));
            let (landing, bytes, result) = match outcome {
                None => (Landing::InPlace, bytes, Ok(offset as u64)),
                Some(DiskOutcome::PhantomWrite) => (Landing::Nowhere, bytes, Ok(offset as u64)),
                Some(DiskOutcome::MisdirectedWrite) => (Landing::BlockOff, bytes, Ok(offset as u64)),
                Some(DiskOutcome::ShortWrite) => {
                    let done = bytes.len() / 2;
                    (Landing::InPlace, &bytes[..done], Err(DiskError::Short { done }))
                }
                Some(other) => return Err(failed(other)),
            };
            let number = disk.next_number();
            disk.files.write(self.place, offset, bytes, number, landing, &disk.contract);
            let operation =
                DiskOperation::Write { file: self.place.0, offset: offset as u64, bytes: bytes.len() as u32 };
            disk.note_with(operation, |files| {
                format!("write {} {offset}+{}", files.name(self.place.0), bytes.len())
            });
            result
        })
    }

    /// Reads from a place on into `out`, and returns how many bytes there were: fewer at the end of the file.
    ///
    /// # Errors
    /// As for [`write_at`](Self::write_at).
    pub fn read_at(self, offset: u64, out: &mut [u8]) -> Result<usize, DiskError> {
        operate(Class::Read, |disk, outcome| {
            let content = disk.files.content(self.place)?;
            let offset = usize::try_from(offset).unwrap_or(usize::MAX);
            let read = copy(content, offset, out);
            let Some(outcome) = outcome else { return Ok(read) };
            let right = out[..read].to_vec();
            let read = match outcome {
                DiskOutcome::ReadError => return Err(DiskError::Other),
                DiskOutcome::ShortRead => read / 2,
                DiskOutcome::StaleRead => {
                    out[..read].fill(0);
                    copy(disk.files.durable(self.place)?, offset, out)
                }
                DiskOutcome::MisdirectedRead => {
                    out[..read].fill(0);
                    copy(content, block_off(offset, &disk.contract), &mut out[..read]);
                    read
                }
                _ => {
                    if let Some(byte) = out[..read].get_mut(read / 2) {
                        *byte ^= 1 << (offset % 8);
                    }
                    read
                }
            };
            if out[..read] == right[..] {
                disk.faults.missed();
            }
            Ok(read)
        })
    }

    /// How many bytes the file has.
    ///
    /// # Errors
    /// The file is gone; outside a step or after a crash point.
    pub fn len(self) -> Result<u64, DiskError> {
        operate(Class::Look, |disk, _| Ok(disk.files.content(self.place)?.len() as u64))
    }

    /// Whether the file has no bytes.
    ///
    /// # Errors
    /// As for [`len`](Self::len).
    pub fn is_empty(self) -> Result<bool, DiskError> {
        self.len().map(|len| len == 0)
    }

    /// Cuts the file, or extends it with zeros.
    ///
    /// # Errors
    /// As for [`write_at`](Self::write_at).
    pub fn set_len(self, len: u64) -> Result<(), DiskError> {
        operate(Class::Grow, |disk, outcome| {
            let before = disk.files.content(self.place)?.len();
            if let Some(outcome) = outcome {
                return Err(failed(outcome));
            }
            let bytes = usize::try_from(len).unwrap_or(usize::MAX);
            within_quota(disk, bytes.saturating_sub(before));
            let number = disk.next_number();
            disk.files.set_len(self.place, bytes, number, &disk.contract);
            disk.note_with(DiskOperation::SetLen { file: self.place.0, bytes: len }, |files| {
                format!("set-len {} {len}", files.name(self.place.0))
            });
            Ok(())
        })
    }

    /// Makes the content durable, and the length.
    ///
    /// # Errors
    /// As for [`write_at`](Self::write_at).
    pub fn sync_data(self) -> Result<(), DiskError> {
        self.sync(Metadata::Leave)
    }

    /// Makes the content durable, and what the contract takes along: with `names=with-file` the file's name, with
    /// `names=journalled` all names.
    ///
    /// # Errors
    /// As for [`write_at`](Self::write_at).
    pub fn sync_all(self) -> Result<(), DiskError> {
        self.sync(Metadata::Include)
    }

    fn sync(self, metadata: Metadata) -> Result<(), DiskError> {
        operate(Class::Sync, |disk, outcome| {
            disk.files.content(self.place)?;
            let (inode, all, contract) = (self.place.0, metadata == Metadata::Include, disk.contract);
            let durable =
                disk.settle(outcome, |files, durable| files.sync(inode, durable, all, &contract))?;
            disk.note_with(DiskOperation::SyncFile { file: inode, durable }, |files| {
                format!("sync {}: {durable} durable", files.name(inode))
            });
            Ok(())
        })
    }
}

/// What a sync of a file takes along.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Metadata {
    Leave,
    Include,
}

impl Disk {
    /// Makes durable what `settle` selects, as the outcome has it; returns how many units it were.
    fn settle(
        &mut self,
        outcome: Option<DiskOutcome>,
        settle: impl FnOnce(&mut Files, bool) -> usize,
    ) -> Result<u32, DiskError> {
        match outcome {
            None => Ok(settle(&mut self.files, true) as u32),
            Some(DiskOutcome::SyncFails) => {
                if self.drops_dirty() {
                    settle(&mut self.files, false);
                }
                Err(DiskError::Other)
            }
            Some(_) => Ok(0),
        }
    }
}

fn copy(content: &[u8], offset: usize, out: &mut [u8]) -> usize {
    let rest = content.get(offset..).unwrap_or_default();
    let read = rest.len().min(out.len());
    out[..read].copy_from_slice(&rest[..read]);
    read
}

/// Unwinds a node whose files would grow beyond what the disk holds.
fn within_quota(disk: &Disk, more: usize) {
    if disk.files.bytes().saturating_add(more) > DISK_BYTES_MAX {
        budget::exceed(Budget::DiskBytes);
    }
}

impl Files {
    /// A unit, for people.
    pub(super) fn tell(&self, unit: &Unit) -> String {
        let Some(op) = unit.index.and_then(|index| self.ops().get(index)) else { return "record".to_owned() };
        let bytes = |from: usize, to: usize| format!("{} {from}+{}", self.name(op.inode), to - from);
        match (unit.what, &op.kind) {
            (What::Block { from, to }, _) => format!("write {}", bytes(from, to)),
            (What::Garbage { from, to }, _) => format!("garbage {}", bytes(from, to)),
            (What::Whole, OpKind::SetLen(len)) => format!("set-len {} {len}", self.name(op.inode)),
            (What::Whole, OpKind::Create(name)) => format!("create {name}"),
            (What::Whole, OpKind::Rename(from, to)) => format!("rename {from} to {to}"),
            (What::Whole, OpKind::Remove(name)) => format!("remove {name}"),
            (What::Whole, OpKind::Write { .. }) => {
                debug_assert_ne!(unit.group, Group::Names);
                "write".to_owned()
            }
        }
    }
}

//! Byte files: contents keyed by inode, names apart from them, and the operations that are not durable yet.
//!
//! Each inode has two contents, as the node sees it and as it is durable; so have the names. An operation changes
//! what the node sees at once and waits in `ops` until a sync applies it to what is durable. There is one
//! directory. A file without a name, whose removal is durable, is gone, also for who holds a handle.

use super::outcome::DiskError;
use super::units::{Unit, What};
use crate::rng::mix;
use crate::storage::{Completion, Namespace, StorageContract, TearMode};

/// Bytes of files and of pending writes that one node may hold: 64 MiB. More is a finding.
pub const DISK_BYTES_MAX: usize = 64 << 20;

/// The buffer of pending bytes is packed when it is larger than this and more than half of it is not needed.
const PACK_FROM: usize = 1 << 16;

/// Names with their inodes, in the order of names.
pub(super) type Names = Vec<(String, u32)>;

/// All files of a node.
#[derive(Debug, Default)]
pub(super) struct Files {
    inodes: Vec<Inode>,
    free: Vec<u32>,
    generation: u32,
    names: Names,
    durable_names: Names,
    ops: Vec<Op>,
    /// Bytes of pending writes, and how many of them are still needed.
    data: Vec<u8>,
    data_needed: usize,
    /// Sum of the contents' lengths.
    bytes: usize,
    /// Units that are pending.
    pub(super) units: usize,
}

crate::clone_in_place!(Files {
    inodes,
    free,
    generation,
    names,
    durable_names,
    ops,
    data,
    data_needed,
    bytes,
    units
});

/// A file's content.
#[derive(Debug, Default)]
struct Inode {
    /// As the node sees it.
    cached: Vec<u8>,
    durable: Vec<u8>,
    /// Which file this is: handles of former ones do not fit.
    generation: u32,
}

crate::clone_in_place!(Inode { cached, durable, generation });

/// An operation that is not durable.
#[derive(Clone, Debug)]
pub(super) struct Op {
    /// Its number among the operations of the disk.
    pub(super) number: u64,
    pub(super) units: usize,
    pub(super) inode: u32,
    pub(super) kind: OpKind,
}

/// What a pending operation does.
#[derive(Clone, Debug)]
pub(super) enum OpKind {
    /// Writes at a place so many bytes, which stand in the buffer of pending bytes.
    Write { offset: usize, from: usize, len: usize },
    /// Cuts or extends with zeros.
    SetLen(usize),
    /// Enters a name.
    Create(String),
    /// Takes a name away and enters another in one.
    Rename(String, String),
    /// Takes a name away.
    Remove(String),
}

impl Op {
    pub(super) fn is_name(&self) -> bool {
        matches!(self.kind, OpKind::Create(_) | OpKind::Rename(..) | OpKind::Remove(_))
    }
}

/// Where a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landing {
    InPlace,
    BlockOff,
    Nowhere,
}

/// A handle's content.
pub(super) type Place = (u32, u32);

fn find(names: &Names, name: &str) -> Result<usize, usize> {
    names.binary_search_by(|(known, _)| known.as_str().cmp(name))
}

fn enter(names: &mut Names, name: &str, inode: u32) {
    match find(names, name) {
        Ok(at) => names[at].1 = inode,
        Err(at) => names.insert(at, (name.to_owned(), inode)),
    }
}

/// Takes the name away if it stands for the inode.
fn leave(names: &mut Names, name: &str, inode: u32) {
    if let Ok(at) = find(names, name)
        && names[at].1 == inode
    {
        names.remove(at);
    }
}

fn write(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

/// The place a block away.
pub(super) fn block_off(offset: usize, contract: &StorageContract) -> usize {
    let unit = contract.tear.unit as usize;
    if offset >= unit { offset - unit } else { offset + unit }
}

impl Files {
    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.durable_names.clear();
        self.ops.clear();
        self.data.clear();
        (self.data_needed, self.units) = (0, 0);
        self.reclaim();
        // Every execution numbers files alike.
        self.free.clear();
        self.free.extend((0..self.inodes.len() as u32).rev());
        self.generation = 0;
    }

    /// Whether anything was ever done here since the last clearing.
    pub(super) fn is_used(&self) -> bool {
        self.inodes.len() > self.free.len() || !self.ops.is_empty()
    }

    pub(super) fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Bytes of contents and pending writes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.data_needed
    }

    fn inode(&self, (inode, generation): Place) -> Result<&Inode, DiskError> {
        let found = self.inodes.get(inode as usize).filter(|found| found.generation == generation);
        found.ok_or(DiskError::NotFound)
    }

    pub(super) fn content(&self, file: Place) -> Result<&[u8], DiskError> {
        self.inode(file).map(|inode| inode.cached.as_slice())
    }

    pub(super) fn durable(&self, file: Place) -> Result<&[u8], DiskError> {
        self.inode(file).map(|inode| inode.durable.as_slice())
    }

    pub(super) fn open(&self, name: &str) -> Result<Place, DiskError> {
        let at = find(&self.names, name).map_err(|_| DiskError::NotFound)?;
        let inode = self.names[at].1;
        Ok((inode, self.inodes[inode as usize].generation))
    }

    /// The file's name, for people.
    pub(super) fn name(&self, inode: u32) -> &str {
        let found = self.names.iter().find(|(_, known)| *known == inode);
        found.map_or("(removed)", |(name, _)| name)
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    pub(super) fn create(
        &mut self,
        name: &str,
        number: u64,
        contract: &StorageContract,
    ) -> Result<Place, DiskError> {
        let Err(at) = find(&self.names, name) else { return Err(DiskError::Exists) };
        let inode = self.free.pop().unwrap_or_else(|| {
            self.inodes.push(Inode::default());
            self.inodes.len() as u32 - 1
        });
        self.generation += 1;
        self.inodes[inode as usize].generation = self.generation;
        self.names.insert(at, (name.to_owned(), inode));
        self.name_op(number, inode, OpKind::Create(name.to_owned()), contract);
        Ok((inode, self.generation))
    }

    pub(super) fn rename(
        &mut self,
        from: &str,
        to: &str,
        number: u64,
        contract: &StorageContract,
    ) -> Result<u32, DiskError> {
        let (inode, _) = self.open(from)?;
        if from != to {
            leave(&mut self.names, from, inode);
            enter(&mut self.names, to, inode);
            self.name_op(number, inode, OpKind::Rename(from.to_owned(), to.to_owned()), contract);
        }
        Ok(inode)
    }

    pub(super) fn remove(
        &mut self,
        name: &str,
        number: u64,
        contract: &StorageContract,
    ) -> Result<u32, DiskError> {
        let (inode, _) = self.open(name)?;
        leave(&mut self.names, name, inode);
        self.name_op(number, inode, OpKind::Remove(name.to_owned()), contract);
        Ok(inode)
    }

    fn name_op(&mut self, number: u64, inode: u32, kind: OpKind, contract: &StorageContract) {
        let op = Op { number, units: 1, inode, kind };
        if contract.completion == Completion::Sync {
            self.make_durable(&op);
            self.reclaim();
        } else {
            self.units += 1;
            self.ops.push(op);
        }
    }

    pub(super) fn write(
        &mut self,
        (inode, _): Place,
        offset: usize,
        bytes: &[u8],
        number: u64,
        landing: Landing,
        contract: &StorageContract,
    ) {
        let file = &mut self.inodes[inode as usize];
        let before = file.cached.len();
        write(&mut file.cached, offset, bytes);
        self.bytes += file.cached.len() - before;
        let offset = match landing {
            Landing::InPlace => offset,
            Landing::BlockOff => block_off(offset, contract),
            Landing::Nowhere => return,
        };
        if bytes.is_empty() {
        } else if contract.completion == Completion::Sync {
            write(&mut file.durable, offset, bytes);
        } else {
            let kind = OpKind::Write { offset, from: self.data.len(), len: bytes.len() };
            self.data.extend_from_slice(bytes);
            self.data_needed += bytes.len();
            let units = Unit::count(offset, bytes.len(), contract);
            self.units += units;
            self.ops.push(Op { number, units, inode, kind });
        }
    }

    pub(super) fn set_len(&mut self, (inode, _): Place, len: usize, number: u64, contract: &StorageContract) {
        let file = &mut self.inodes[inode as usize];
        self.bytes = self.bytes - file.cached.len() + len;
        file.cached.resize(len, 0);
        if contract.completion == Completion::Sync {
            file.durable.resize(len, 0);
        } else {
            self.units += 1;
            self.ops.push(Op { number, units: 1, inode, kind: OpKind::SetLen(len) });
        }
    }

    /// Makes durable what `concerns` selects, or forgets it, in order; returns how many units it were.
    pub(super) fn settle(&mut self, durable: bool, concerns: impl Fn(&Op) -> bool) -> usize {
        let before = self.units;
        let mut names = false;
        let mut ops = std::mem::take(&mut self.ops);
        ops.retain(|op| {
            if !concerns(op) {
                return true;
            }
            if durable {
                self.make_durable(op);
            }
            names |= op.is_name();
            self.forget(op);
            false
        });
        self.ops = ops;
        if names {
            self.reclaim();
        }
        self.pack();
        before - self.units
    }

    /// Makes the file durable, and what the contract takes along.
    pub(super) fn sync(
        &mut self,
        inode: u32,
        durable: bool,
        metadata: bool,
        contract: &StorageContract,
    ) -> usize {
        let names = contract.names;
        self.settle(durable, |op| match (op.is_name(), names) {
            (false, _) => op.inode == inode,
            (true, Namespace::WithFile) => metadata && op.inode == inode,
            (true, Namespace::Journalled) => metadata,
            (true, Namespace::DirSync) => false,
        })
    }

    fn forget(&mut self, op: &Op) {
        self.units -= op.units;
        if let OpKind::Write { len, .. } = op.kind {
            self.data_needed -= len;
        }
    }

    fn make_durable(&mut self, op: &Op) {
        let file = &mut self.inodes[op.inode as usize];
        match &op.kind {
            OpKind::Write { offset, from, len } => {
                write(&mut file.durable, *offset, &self.data[*from..*from + *len]);
            }
            OpKind::SetLen(len) => file.durable.resize(*len, 0),
            OpKind::Create(name) => enter(&mut self.durable_names, name, op.inode),
            OpKind::Rename(from, to) => {
                leave(&mut self.durable_names, from, op.inode);
                enter(&mut self.durable_names, to, op.inode);
            }
            OpKind::Remove(name) => leave(&mut self.durable_names, name, op.inode),
        }
    }

    /// Frees the inodes that no name stands for, now or in a pending operation.
    fn reclaim(&mut self) {
        for inode in 0..self.inodes.len() as u32 {
            let named = |names: &Names| names.iter().any(|(_, known)| *known == inode);
            let pending = || self.ops.iter().any(|op| op.is_name() && op.inode == inode);
            let free = self.inodes[inode as usize].generation == 0;
            if free || named(&self.names) || named(&self.durable_names) || pending() {
                continue;
            }
            let file = &mut self.inodes[inode as usize];
            self.bytes -= file.cached.len();
            file.cached.clear();
            file.durable.clear();
            file.generation = 0;
            self.free.push(inode);
            let mut ops = std::mem::take(&mut self.ops);
            ops.retain(|op| {
                let keep = op.inode != inode;
                if !keep {
                    self.forget(op);
                }
                keep
            });
            self.ops = ops;
        }
    }

    /// Drops pending bytes that are not needed.
    fn pack(&mut self) {
        if self.data_needed == 0 {
            self.data.clear();
        } else if self.data.len() > PACK_FROM && self.data.len() > 2 * self.data_needed {
            let mut packed = Vec::with_capacity(self.data_needed);
            for op in &mut self.ops {
                if let OpKind::Write { from, len, .. } = &mut op.kind {
                    let start = packed.len();
                    packed.extend_from_slice(&self.data[*from..*from + *len]);
                    *from = start;
                }
            }
            self.data = packed;
        }
    }

    /// Leaves what a crash leaves when those of `units` survive that `kept` says, and starts anew from it.
    pub(super) fn recover(&mut self, units: &[Unit], kept: &[bool], contract: &StorageContract) {
        let ops = std::mem::take(&mut self.ops);
        for (at, unit) in units.iter().enumerate() {
            let Some(op) = unit.index.and_then(|index| ops.get(index)) else { continue };
            match (unit.what, kept[at]) {
                (What::Whole, true) => self.make_durable(op),
                (What::Block { from, to }, true) => {
                    let OpKind::Write { offset, from: data, .. } = op.kind else { continue };
                    let piece = &self.data[data + from - offset..data + to - offset];
                    write(&mut self.inodes[op.inode as usize].durable, from, piece);
                }
                (What::Garbage { from, to }, true) if !kept[at - 1] => {
                    self.spoil(op.inode, from, to, contract);
                }
                _ => {}
            }
        }
        self.data.clear();
        (self.data_needed, self.units) = (0, 0);
        self.names.clone_from(&self.durable_names);
        self.reclaim();
        self.bytes = 0;
        for file in self.inodes.iter_mut().filter(|file| file.generation != 0) {
            self.generation += 1;
            file.generation = self.generation;
            file.cached.clone_from(&file.durable);
            self.bytes += file.cached.len();
        }
    }

    /// Puts garbage where a block was being written: other bytes than before, the same in every run.
    fn spoil(&mut self, inode: u32, from: usize, to: usize, contract: &StorageContract) {
        debug_assert_eq!(contract.tear.mode, TearMode::AnySubsetGarbage);
        let content = &mut self.inodes[inode as usize].durable;
        let (first, end) = contract.tear.spoilt(from, to, content.len());
        if content.len() < end {
            content.resize(end, 0);
        }
        for (at, byte) in content.iter_mut().enumerate().take(end).skip(first) {
            *byte ^= 1 + (mix(at as u64) % 255) as u8;
        }
    }

    /// The files as they are durable: names with contents.
    pub(super) fn durable_files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let content = |inode: u32| self.inodes[inode as usize].durable.as_slice();
        self.durable_names.iter().map(move |(name, inode)| (name.as_str(), content(*inode)))
    }
}

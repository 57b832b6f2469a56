//! Units: what a crash keeps or loses one by one, in issue order, and which sets of them the contract permits.

use super::files::{Files, Op, OpKind};
use super::log::Log;
use crate::keep::Keep;
use crate::storage::{
    Collateral, Completion, Grid, Namespace, StorageContract, Survive, Tear, TearMode, WriteOrder,
};

/// A unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The number of its operation among the operations of the disk.
    pub(super) number: u64,
    /// The position of its operation among the pending ones of files; none for a record of the log.
    pub(super) index: Option<usize>,
    pub(super) group: Group,
    pub(super) what: What,
}

/// What a unit belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Log,
    Names,
    File(u32),
}

/// What a unit is of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// All of it.
    Whole,
    /// Bytes of a write, by their place in the file.
    Block { from: usize, to: usize },
    /// That these bytes, where the block before does not survive, hold garbage. It survives with the block,
    /// and means nothing then.
    Garbage { from: usize, to: usize },
}

impl Tear {
    /// The bounds of the blocks of a write, as places in the file.
    fn blocks(self, offset: usize, len: usize) -> impl Iterator<Item = (usize, usize)> {
        let unit = self.unit as usize;
        let origin = match self.grid {
            Grid::Absolute => 0,
            Grid::Write => offset % unit,
        };
        let (end, mut at) = (offset + len, offset);
        std::iter::from_fn(move || {
            let from = at;
            let block = if from >= origin { (from - origin) / unit * unit + origin } else { 0 };
            at = (block + unit).min(end);
            (from < end).then_some((from, at))
        })
    }

    /// Which bytes hold garbage where a block of a write does, in a file of such a length.
    pub(super) fn spoilt(self, from: usize, to: usize, len: usize) -> (usize, usize) {
        let unit = self.unit as usize;
        match self.collateral {
            Collateral::None => (from, to),
            Collateral::WholeUnit => (from / unit * unit, to.max(len.min((from / unit + 1) * unit))),
        }
    }
}

impl Unit {
    /// How many units a write is.
    pub(super) fn count(offset: usize, len: usize, contract: &StorageContract) -> usize {
        match contract.tear.mode {
            TearMode::Never => 1,
            TearMode::Prefix | TearMode::AnySubset => contract.tear.blocks(offset, len).count(),
            TearMode::AnySubsetGarbage => 2 * contract.tear.blocks(offset, len).count(),
        }
    }

    /// The pending units of a disk.
    pub(super) fn list(log: &Log, files: &Files, contract: &StorageContract) -> Vec<Self> {
        let mut units = Vec::with_capacity(log.pending() + files.units);
        let mut records = log.numbers().peekable();
        let record = |number| Self { number, index: None, group: Group::Log, what: What::Whole };
        for (index, op) in files.ops().iter().enumerate() {
            while let Some(number) = records.next_if(|number| *number < op.number) {
                units.push(record(number));
            }
            Self::of(index, op, contract, &mut units);
        }
        units.extend(records.map(record));
        units
    }

    fn of(index: usize, op: &Op, contract: &StorageContract, units: &mut Vec<Self>) {
        let group = if op.is_name() { Group::Names } else { Group::File(op.inode) };
        let whole = Self { number: op.number, index: Some(index), group, what: What::Whole };
        let OpKind::Write { offset, len, .. } = op.kind else { return units.push(whole) };
        if contract.tear.mode == TearMode::Never {
            return units.push(Self { what: What::Block { from: offset, to: offset + len }, ..whole });
        }
        for (from, to) in contract.tear.blocks(offset, len) {
            units.push(Self { what: What::Block { from, to }, ..whole });
            if contract.tear.mode == TearMode::AnySubsetGarbage {
                units.push(Self { what: What::Garbage { from, to }, ..whole });
            }
        }
    }
}

/// What is lost so far, while units are gone through in order: decides which later ones may survive.
#[derive(Clone, Debug, Default)]
pub(super) struct Lost {
    any: bool,
    log: bool,
    names: bool,
    files: Vec<u32>,
    /// The operation that is gone through, and the group of it that is lost in part.
    operation: Option<u64>,
    torn: Option<Group>,
}

impl Lost {
    /// Whether the contract lets the unit survive.
    pub(super) fn permits(&mut self, unit: &Unit, contract: &StorageContract) -> bool {
        if self.operation != Some(unit.number) {
            self.operation = Some(unit.number);
            match self.torn.take() {
                None => {}
                Some(group) => {
                    self.any = true;
                    match group {
                        Group::Log => self.log = true,
                        Group::Names => self.names = true,
                        Group::File(file) => self.files.push(file),
                    }
                }
            }
        }
        if contract.survive == Survive::None {
            return contract.completion == Completion::Sync;
        }
        let per_file = contract.order == WriteOrder::PerFile;
        let broken = match unit.group {
            // The log checks its records and ends at the first that is not there.
            Group::Log => self.log,
            Group::Names => self.names && (per_file || contract.names == Namespace::Journalled),
            Group::File(file) => per_file && self.files.contains(&file),
        };
        let torn = self.torn.is_some() && contract.tear.mode == TearMode::Prefix;
        !(broken || torn || self.any && contract.order == WriteOrder::Total)
    }

    /// The unit does not survive.
    pub(super) fn lose(&mut self, unit: &Unit) {
        self.torn = Some(unit.group);
    }
}

/// Which of `units` survive when the schedule says `keep`: what the contract does not permit is lost.
pub(super) fn survivors(units: &[Unit], keep: Keep, contract: &StorageContract, kept: &mut Vec<bool>) {
    kept.clear();
    let mut lost = Lost::default();
    let last = units.last().map_or(0, |last| units.partition_point(|unit| unit.number < last.number));
    for (at, unit) in units.iter().enumerate() {
        let wanted = keep.has(at, (last, units.len())) || contract.completion == Completion::Sync;
        if let What::Garbage { .. } = unit.what {
            kept.push(kept[at - 1] || wanted);
            continue;
        }
        let survives = lost.permits(unit, contract) && wanted;
        kept.push(survives);
        if !survives {
            lost.lose(unit);
        }
    }
}

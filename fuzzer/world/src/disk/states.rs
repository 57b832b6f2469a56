//! All states that a crash may leave, for exhaustive runs over storage.

use super::Disk;
use super::units::{Lost, Unit, What};
use crate::keep::Keep;
use std::collections::BTreeSet;
use xxhash_rust::xxh3::Xxh3;

/// The states that a crash of one node may leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrashStates {
    /// Units that are not durable.
    pub units: usize,
    /// Sets of units that the contract permits, as far as they were gone through.
    pub sets: usize,
    /// One set for each image of the disk: sets that leave the same files and records are merged.
    pub states: Vec<CrashState>,
    /// Whether every permitted set was gone through. False where there are more than the limit, or more units
    /// than [`Keep`] can name freely; then the common shapes are among the states, and the rest is missing.
    pub complete: bool,
}

/// A state that a crash may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashState {
    /// What survives: the argument of a crash that leaves the state.
    pub keep: Keep,
    /// Hash of names, contents and records.
    pub image: u64,
}

/// What is collected on the way.
struct Search<'a> {
    disk: &'a Disk,
    units: &'a [Unit],
    limit: usize,
    found: CrashStates,
    kept: Vec<bool>,
    images: BTreeSet<u64>,
}

impl Disk {
    /// The states that a crash may leave now, or, on a crashed disk, could have left. At most `limit` sets of
    /// units are gone through.
    pub(crate) fn crash_states(&self, limit: usize) -> CrashStates {
        let units = Unit::list(&self.log, &self.files, &self.contract);
        let found = CrashStates { units: units.len(), complete: true, ..CrashStates::default() };
        let mut search =
            Search { disk: self, units: &units, limit, found, kept: Vec::new(), images: BTreeSet::new() };
        if units.len() <= usize::from(Keep::BITS) {
            search.descend(&Lost::default());
        } else {
            search.shapes();
        }
        search.found
    }
}

impl Search<'_> {
    /// Goes through every way to go on from the units decided so far, survivals first.
    fn descend(&mut self, lost: &Lost) {
        if self.found.sets >= self.limit {
            self.found.complete = false;
            return;
        }
        let at = self.kept.len();
        let Some(unit) = self.units.get(at) else { return self.note(Keep::ALL) };
        let mut lost = lost.clone();
        let is_garbage = matches!(unit.what, What::Garbage { .. });
        let (survive, die) = if is_garbage {
            (true, !self.kept[at - 1])
        } else {
            let survives = lost.permits(unit, &self.disk.contract);
            (survives, !(survives && self.disk.keeps_all()))
        };
        if survive {
            self.kept.push(true);
            self.descend(&lost);
            self.kept.pop();
        }
        if die {
            if !is_garbage {
                lost.lose(unit);
            }
            self.kept.push(false);
            self.descend(&lost);
            self.kept.pop();
        }
    }

    /// Goes through the shapes that name sets over many units.
    fn shapes(&mut self) {
        self.found.complete = false;
        let count = self.units.len().min(usize::from(u16::MAX)) as u16;
        let numbers = 0..count;
        let shapes = [Keep::ALL, Keep::TORN_LAST]
            .into_iter()
            .chain((1..64).map(Keep::all_but_last))
            .chain((0..=count).map(Keep::prefix))
            .chain(numbers.clone().map(Keep::all_but))
            .chain(numbers.map(Keep::only));
        for keep in shapes {
            if self.found.sets >= self.limit {
                return;
            }
            let mut kept = std::mem::take(&mut self.kept);
            super::units::survivors(self.units, keep, &self.disk.contract, &mut kept);
            self.kept = kept;
            self.note(keep);
        }
    }

    /// Enters the set at hand; `given` names it where no other form does.
    fn note(&mut self, given: Keep) {
        self.found.sets += 1;
        let image = self.disk.image(self.units, &self.kept);
        if self.images.insert(image) {
            let keep = Keep::canonical(&self.kept, given);
            self.found.states.push(CrashState { keep, image });
        }
    }
}

impl Disk {
    /// Hash of what a crash leaves when those of `units` survive that `kept` says.
    fn image(&self, units: &[Unit], kept: &[bool]) -> u64 {
        let mut files = self.files.clone();
        files.recover(units, kept, &self.contract);
        let records = units.iter().zip(kept).filter(|(unit, kept)| unit.index.is_none() && **kept).count();
        let mut hash = Xxh3::default();
        for (name, content) in files.durable_files() {
            hash.update(name.as_bytes());
            hash.update(&[0]);
            hash.update(&(content.len() as u64).to_le_bytes());
            hash.update(content);
        }
        let (bytes, ends) = self.log.image(records);
        hash.update(&[1]);
        for end in ends {
            hash.update(&(end as u64).to_le_bytes());
        }
        hash.update(bytes);
        hash.digest()
    }
}

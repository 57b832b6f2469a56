//! The archive: what has been seen, and the shortest known way to it.

use crate::way::Way;
use misrule_world::{FacetId, Key, Rng, Snapshot, mix};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Cells of one lens beyond which new keys are counted but no longer kept: past a few thousand cells a lens
/// guides nothing (`notes/frontier.md`).
pub const CELLS_MAX: usize = 10_000;

/// Snapshots held at once. Where more come, those of cells often visited are given up.
pub(crate) const SNAPSHOTS_MAX: usize = 4_096;

/// One key in the archive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Lens, facet and code of the key.
    pub key: (u8, u8, u64),
    /// The shortest way known, or `None` for a cell that only failing runs have seen.
    pub way: Option<Way>,
    /// How often runs entered it.
    pub visits: u64,
    /// The state at the end of the way, where it was saved and is still held.
    #[serde(skip)]
    pub snapshot: Option<Snapshot>,
    /// The kept schedule that the way belongs to.
    owner: usize,
    /// The last run that claimed a new or shorter way to it.
    claimed: u64,
    /// The last run that entered it.
    entered: u64,
    /// How many runs entered it.
    runs: u64,
}

impl Cell {
    /// How many choices lead to it.
    pub fn depth(&self) -> u32 {
        self.way.as_ref().map_or(u32::MAX, Way::len)
    }

    /// How many runs entered it; a run that enters it several times counts once.
    pub fn runs(&self) -> u64 {
        self.runs
    }
}

/// What a run met when it made a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// A key that nobody had seen.
    New(u32),
    /// A known cell, by a clearly shorter way.
    Shorter(u32),
    /// A known cell.
    Known,
    /// A key beyond the limit of its lens.
    Beyond,
}

/// All cells, one archive for each lens. It lives in LibAFL's state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Archive {
    index: FxHashMap<(u8, u8, u64), u32>,
    cells: Vec<Cell>,
    /// For each lens, the cells that have a way.
    reachable: Vec<Vec<u32>>,
    /// For each lens, how many cells it has.
    counts: Vec<usize>,
    /// For each facet that has any, how many cells it has.
    facets: BTreeMap<FacetId, u64>,
    /// For each kept schedule, how many cells it owns.
    owned: FxHashMap<usize, u32>,
    run: u64,
    /// The cells that hold a snapshot.
    #[serde(skip)]
    held: Vec<u32>,
    /// For each lens, how many keys were not kept because it was full.
    beyond: Vec<u64>,
}

impl Archive {
    /// An archive for so many lenses.
    pub fn new(lenses: usize) -> Self {
        Self {
            reachable: vec![Vec::new(); lenses],
            counts: vec![0; lenses],
            beyond: vec![0; lenses],
            ..Self::default()
        }
    }

    /// A new run begins.
    pub fn start_run(&mut self) {
        self.run += 1;
    }

    /// Counts an entry into the cell of `key` at `depth` and says what it is.
    pub fn meet(&mut self, key: Key, depth: u32) -> Met {
        let id = (key.lens, key.facet, key.code);
        if let Some(at) = self.index.get(&id) {
            let cell = &mut self.cells[*at as usize];
            cell.visits += 1;
            if cell.entered != self.run {
                cell.entered = self.run;
                cell.runs += 1;
            }
            let shorter = match &cell.way {
                Some(way) => depth.saturating_add(depth / 8 + 2) < way.len(),
                None => true,
            };
            if shorter && cell.claimed != self.run {
                cell.claimed = self.run;
                return Met::Shorter(*at);
            }
            return Met::Known;
        }
        let lens = usize::from(key.lens);
        if self.counts[lens] >= CELLS_MAX {
            self.beyond[lens] += 1;
            return Met::Beyond;
        }
        let at = self.cells.len() as u32;
        self.counts[lens] += 1;
        self.index.insert(id, at);
        *self.facets.entry((key.lens, key.facet)).or_default() += 1;
        let (claimed, entered) = (self.run, self.run);
        let (way, snapshot, owner) = (None, None, usize::MAX);
        self.cells.push(Cell { key: id, way, visits: 1, snapshot, owner, claimed, entered, runs: 1 });
        Met::New(at)
    }

    /// Gives a cell its way, which belongs to the kept schedule `owner`, and the state at its end. Returns the schedule
    /// that owned it before, if that owns no cell any more.
    pub fn settle(&mut self, cell: u32, way: Way, owner: usize, snapshot: Option<Snapshot>) -> Option<usize> {
        self.hold(cell, snapshot);
        let cell_at = &mut self.cells[cell as usize];
        *self.owned.entry(owner).or_default() += 1;
        let before = std::mem::replace(&mut cell_at.owner, owner);
        if cell_at.way.replace(way).is_none() {
            self.reachable[usize::from(cell_at.key.0)].push(cell);
            return None;
        }
        let left = self.owned.get_mut(&before)?;
        *left -= 1;
        if *left > 0 {
            return None;
        }
        self.owned.remove(&before);
        Some(before)
    }

    /// Puts the state into the cell in place of the one before.
    fn hold(&mut self, cell: u32, snapshot: Option<Snapshot>) {
        let slot = &mut self.cells[cell as usize].snapshot;
        let (held, holds) = (slot.is_some(), snapshot.is_some());
        *slot = snapshot;
        match (held, holds) {
            (true, false) => self.held.retain(|at| *at != cell),
            (false, true) => self.held.push(cell),
            _ => {}
        }
        if self.held.len() <= SNAPSHOTS_MAX {
            return;
        }
        // Of some of them, drawn by a number that is the same in every process, the one most visited.
        let mut rng = Rng::new(mix(self.run ^ u64::from(cell)));
        let drawn = (0..8).map(|_| rng.below(self.held.len() as u32) as usize);
        if let Some(at) = drawn.max_by_key(|at| self.cells[self.held[*at] as usize].visits) {
            let given_up = self.held.swap_remove(at);
            self.cells[given_up as usize].snapshot = None;
        }
    }

    /// The kept schedule that owns one of the least visited cells, if there is any.
    pub fn pick_owner(&self, rng: &mut Rng) -> Option<usize> {
        let lens = rng.below(self.reachable.len() as u32) as usize;
        self.pick(lens, 8, u32::MAX, rng).map(|cell| cell.owner)
    }

    /// All cells, in the order in which they were found.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// How many lenses the archive was made for.
    pub fn lenses(&self) -> usize {
        self.counts.len()
    }

    /// How many cells a lens has.
    pub fn count(&self, lens: usize) -> usize {
        self.counts.get(lens).copied().unwrap_or(0)
    }

    /// The facets that have cells, in order, and how many.
    pub fn facets(&self) -> impl Iterator<Item = (FacetId, u64)> {
        self.facets.iter().map(|(id, cells)| (*id, *cells))
    }

    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.run
    }

    /// For each lens, how many keys were not kept because it was full.
    pub fn beyond(&self) -> &[u64] {
        &self.beyond
    }

    /// Of some randomly drawn cells of a lens with a snapshot or a way of at most `depth_max` choices, the one least
    /// visited; `None` when the lens has no such cell among those drawn.
    pub fn pick(&self, lens: usize, tournament: u32, depth_max: u32, rng: &mut Rng) -> Option<&Cell> {
        let reachable = self.reachable.get(lens)?;
        let drawn = (0..tournament).filter_map(|_| {
            let at = *reachable.get(rng.below(reachable.len() as u32) as usize)?;
            Some(&self.cells[at as usize])
        });
        drawn
            .filter(|cell| cell.snapshot.is_some() || cell.depth() <= depth_max)
            .min_by_key(|cell| cell.visits)
    }

    /// A hash of all cells and their depths, the same for equal archives in every process.
    pub fn digest(&self) -> u64 {
        self.cells.iter().fold(0, |digest, cell| {
            let key = mix(u64::from(cell.key.0) << 8 | u64::from(cell.key.1)) ^ cell.key.2;
            mix(digest ^ mix(key) ^ mix(cell.visits) ^ u64::from(cell.depth()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Archive, Met};
    use crate::way::Way;
    use misrule_world::{Choice, Key, Rng};

    fn key(code: u64) -> Key {
        Key { lens: 0, facet: 0, code }
    }

    fn way(length: usize) -> Way {
        Way::new(&vec![Choice::Restart { node: 0 }; length])
    }

    #[test]
    fn a_clearly_shorter_way_replaces_and_orphans_its_owner() {
        let mut archive = Archive::new(1);
        archive.start_run();
        assert_eq!(archive.meet(key(1), 100), Met::New(0));
        assert_eq!(archive.meet(key(1), 50), Met::Known, "one run claims a cell once");
        assert_eq!(archive.settle(0, way(100), 7, None), None);
        archive.start_run();
        assert_eq!(archive.meet(key(1), 95), Met::Known, "not clearly shorter");
        assert_eq!(archive.meet(key(1), 80), Met::Shorter(0));
        assert_eq!(archive.settle(0, way(80), 8, None), Some(7), "nothing else belongs to schedule 7");
        assert_eq!(archive.cells()[0].depth(), 80);
    }

    #[test]
    fn rarely_visited_cells_within_reach_are_picked() {
        let mut archive = Archive::new(1);
        archive.start_run();
        for code in 0..4 {
            archive.meet(key(code), 1);
            archive.settle(code as u32, way(10 * (code as usize + 1)), code as usize, None);
        }
        for _ in 0..50 {
            archive.meet(key(0), 10);
        }
        let mut rng = Rng::new(3);
        for _ in 0..100 {
            let depth = archive.pick(0, 64, 25, &mut rng).map(super::Cell::depth);
            assert_eq!(depth, Some(20), "the other cell within reach has many visits");
        }
        assert!(archive.pick(0, 16, 5, &mut rng).is_none());
    }

    #[test]
    fn five_thousand_cells_fit_into_64_megabytes() {
        // Each run leaves a shared way in its middle and finds one cell after 1,000 new choices.
        let mut archive = Archive::new(1);
        let mut last = way(1_000);
        for code in 0..5_000_u64 {
            archive.start_run();
            archive.meet(key(code), 1);
            last = last.cut(last.len().min(20_000) / 2).then(&vec![Choice::Restart { node: 0 }; 1_000]);
            archive.settle(code as u32, last.clone(), code as usize, None);
        }
        let choice = std::mem::size_of::<Choice>();
        assert_eq!(choice, 8);
        assert!(5_000 * 1_000 * choice + 5_000 * 256 < 64 << 20);
    }
}

//! Storage contracts: what a disk promises, as seven orthogonal fields, and the presets that have a name.
//!
//! After `notes/simulation.md`, section C: Pillai et al., "All File Systems Are Not Created Equal" (2014), for
//! what a crash may leave; Rebello et al., "Can Applications Recover from fsync Failures?" (2020), for failed
//! syncs; `SQLite`'s documentation for powersafe overwrite.

use crate::disk::DiskOutcome;
use std::fmt;

/// What a disk promises. The preset is where the fields come from; words put over it change single fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageContract {
    /// The preset that the fields started from, for the text form.
    pub preset: DiskPreset,
    /// Whether completed operations are durable.
    pub completion: Completion,
    /// Whether anything survives a crash that was not synced.
    pub survive: Survive,
    /// What the survival of one operation says about earlier ones.
    pub order: WriteOrder,
    /// How a single write may survive in part.
    pub tear: Tear,
    /// When a name survives.
    pub names: Namespace,
    /// What a failed sync leaves.
    pub sync_fail: SyncFail,
    /// Whether a sync may report success and do nothing.
    pub lies: bool,
    /// Faults of single operations.
    pub media: Media,
}

/// Whether completed operations are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// What has returned is durable.
    Sync,
    /// What has returned is in a cache until it is synced.
    Async,
}

/// Whether anything survives a crash that was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survive {
    /// Nothing.
    None,
    /// A subset that the schedule picks.
    Subset,
}

/// Which operations must have survived where a later one did. Operations already synced are out of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// All earlier ones.
    Total,
    /// The earlier ones on the same file; names count as one file.
    PerFile,
    /// None: only a sync orders, by making durable what it covers.
    EpochAny,
}

/// How a single write may survive in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tear {
    /// Size of a block in bytes, at least 1: the unit that survives or not.
    pub unit: u32,
    /// Where blocks begin.
    pub grid: Grid,
    /// Which blocks of a write may survive.
    pub mode: TearMode,
    /// What else a torn block spoils.
    pub collateral: Collateral,
}

/// Where blocks begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// At multiples of the size in the file.
    Absolute,
    /// At the start of each write.
    Write,
}

/// Which blocks of a write may survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TearMode {
    /// All or none.
    Never,
    /// The first ones.
    Prefix,
    /// Any.
    AnySubset,
    /// Any, and one that does not survive may hold garbage.
    AnySubsetGarbage,
}

/// What else a block with garbage spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collateral {
    /// Nothing: bytes outside the write never change ("powersafe overwrite").
    None,
    /// The whole block.
    WholeUnit,
}

/// When a created, renamed or removed name survives for sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// Once the file it names was synced with its metadata, or the directory was.
    WithFile,
    /// Once the directory was synced.
    DirSync,
    /// Once anything was synced with its metadata; names survive in order.
    Journalled,
}

/// What a failed sync leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFail {
    /// Syncs do not fail.
    Never,
    /// What was to be synced stays so: a later sync may succeed.
    KeepsDirty,
    /// What was to be synced counts as clean: later syncs succeed, and a crash loses it.
    DropsDirty,
}

/// Faults of single operations that the contract allows, and how many of them in one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Media {
    outcomes: u16,
    /// At most so many in one execution, all nodes together.
    pub budget: u8,
}

impl Media {
    /// Whether the outcome is among them.
    pub fn has(self, outcome: DiskOutcome) -> bool {
        self.outcomes & (1 << outcome as u16) != 0
    }

    /// The outcomes, in the order of [`DiskOutcome::ALL`].
    pub fn outcomes(self) -> impl Iterator<Item = DiskOutcome> {
        DiskOutcome::ALL.into_iter().map(|(outcome, _)| outcome).filter(move |outcome| self.has(*outcome))
    }
}

/// Storage contracts that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskPreset {
    /// Every completed operation survives.
    Immediate,
    /// Exactly what was synced survives.
    ExplicitSync,
    /// What was synced survives, plus a prefix of the rest.
    Ordered,
    /// The same, and of the operation after that prefix a prefix of its blocks.
    TornPrefix,
    /// What was synced survives, plus any subset of whole writes.
    ReorderWrites,
    /// What was synced survives, plus any subset of blocks; a name survives for sure once its directory was
    /// synced.
    PosixMin,
    /// The same, and a block that was being written may hold garbage, bytes outside the write included.
    NoPowersafeOverwrite,
    /// As `PosixMin`, and a failed sync leaves everything to be synced again.
    FsyncKeeps,
    /// As `PosixMin`, and a failed sync forgets what it did not write; the retry succeeds.
    Fsyncgate,
    /// As `PosixMin`, and a sync may return before anything is durable.
    LyingDisk,
}

/// The size of a sector in bytes: `block=sector`, and the default.
pub const SECTOR: u32 = 512;
/// The size of a page in bytes: `block=page`.
pub const PAGE: u32 = 4096;
/// The largest block, in bytes.
pub(crate) const BLOCK_MAX: u32 = 65_536;
/// Media faults in one execution, where the contract has some and does not say how many.
const BUDGET: u8 = 4;

impl DiskPreset {
    /// All presets with their words.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Immediate, "immediate"),
        (Self::ExplicitSync, "explicit-sync"),
        (Self::Ordered, "ordered"),
        (Self::TornPrefix, "torn-prefix"),
        (Self::ReorderWrites, "reorder-writes"),
        (Self::PosixMin, "posix-min"),
        (Self::NoPowersafeOverwrite, "no-powersafe-overwrite"),
        (Self::FsyncKeeps, "fsync-keeps"),
        (Self::Fsyncgate, "fsyncgate"),
        (Self::LyingDisk, "lying-disk"),
    ];

    /// The preset's word.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The preset's fields.
    pub fn fields(self) -> StorageContract {
        let tear =
            Tear { unit: SECTOR, grid: Grid::Absolute, mode: TearMode::Never, collateral: Collateral::None };
        let strict = StorageContract {
            preset: self,
            completion: Completion::Async,
            survive: Survive::None,
            order: WriteOrder::Total,
            tear,
            names: Namespace::DirSync,
            sync_fail: SyncFail::Never,
            lies: false,
            media: Media::default(),
        };
        let ordered = StorageContract { survive: Survive::Subset, ..strict };
        let reorder = StorageContract { order: WriteOrder::EpochAny, ..ordered };
        let posix = StorageContract { tear: Tear { mode: TearMode::AnySubset, ..tear }, ..reorder };
        match self {
            Self::Immediate => StorageContract { completion: Completion::Sync, ..strict },
            Self::ExplicitSync => strict,
            Self::Ordered => ordered,
            Self::TornPrefix => StorageContract {
                tear: Tear { grid: Grid::Write, mode: TearMode::Prefix, ..tear },
                ..ordered
            },
            Self::ReorderWrites => reorder,
            Self::PosixMin => posix,
            Self::NoPowersafeOverwrite => {
                let mode = TearMode::AnySubsetGarbage;
                StorageContract { tear: Tear { mode, collateral: Collateral::WholeUnit, ..tear }, ..posix }
            }
            Self::FsyncKeeps => StorageContract { sync_fail: SyncFail::KeepsDirty, ..posix },
            Self::Fsyncgate => StorageContract { sync_fail: SyncFail::DropsDirty, ..posix },
            Self::LyingDisk => StorageContract { lies: true, ..posix },
        }
    }
}

/// Words of a field with what they stand for.
type Words<T> = &'static [(&'static str, T)];

const COMPLETION: Words<Completion> = &[("sync", Completion::Sync), ("async", Completion::Async)];
const SURVIVE: Words<Survive> = &[("none", Survive::None), ("subset", Survive::Subset)];
const ORDER: Words<WriteOrder> =
    &[("total", WriteOrder::Total), ("per-file", WriteOrder::PerFile), ("any", WriteOrder::EpochAny)];
const GRID: Words<Grid> = &[("absolute", Grid::Absolute), ("write", Grid::Write)];
const TEAR: Words<TearMode> = &[
    ("never", TearMode::Never),
    ("prefix", TearMode::Prefix),
    ("any", TearMode::AnySubset),
    ("garbage", TearMode::AnySubsetGarbage),
];
const COLLATERAL: Words<Collateral> = &[("none", Collateral::None), ("block", Collateral::WholeUnit)];
const NAMES: Words<Namespace> = &[
    ("with-file", Namespace::WithFile),
    ("dir-sync", Namespace::DirSync),
    ("journalled", Namespace::Journalled),
];
const SYNC_FAIL: Words<SyncFail> =
    &[("never", SyncFail::Never), ("keeps", SyncFail::KeepsDirty), ("drops", SyncFail::DropsDirty)];
const LIES: Words<bool> = &[("no", false), ("yes", true)];

fn named<T: Copy>(words: Words<T>, word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
}

fn word<T: PartialEq>(words: Words<T>, value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}

/// The words of storage contracts, for help and listings.
pub(crate) const WORDS: [&str; 12] = [
    "block=BYTES",
    "completion=sync|async",
    "survive=none|subset",
    "write-order=total|per-file|any",
    "tear=never|prefix|any|garbage",
    "grid=absolute|write",
    "collateral=none|block",
    "names=with-file|dir-sync|journalled",
    "sync-fail=never|keeps|drops",
    "lies=no|yes",
    "media=none|OUTCOME+OUTCOME",
    "media-budget=1..255",
];

impl StorageContract {
    /// Puts one word over the fields; `None` when it is not a word of storage contracts.
    pub(crate) fn put(&mut self, part: &str) -> Option<()> {
        if let Some((preset, _)) = DiskPreset::ALL.iter().find(|(_, known)| *known == part) {
            *self = preset.fields();
            return Some(());
        }
        let (field, value) = part.split_once('=')?;
        match field {
            "completion" => self.completion = named(COMPLETION, value)?,
            "survive" => self.survive = named(SURVIVE, value)?,
            "write-order" => self.order = named(ORDER, value)?,
            "block" => self.tear.unit = block(value)?,
            "grid" => self.tear.grid = named(GRID, value)?,
            "tear" => self.tear.mode = named(TEAR, value)?,
            "collateral" => self.tear.collateral = named(COLLATERAL, value)?,
            "names" => self.names = named(NAMES, value)?,
            "sync-fail" => self.sync_fail = named(SYNC_FAIL, value)?,
            "lies" => self.lies = named(LIES, value)?,
            "media" => self.media = media(value, self.media.budget)?,
            "media-budget" => {
                self.media.budget = value.parse().ok().filter(|budget| *budget > 0)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Why the fields cannot hold together, if they cannot.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let tears = self.tear.mode != TearMode::Never;
        if self.completion == Completion::Sync {
            if self.survive == Survive::Subset || tears {
                return Some("completed operations are durable, so a crash has nothing to lose or to tear");
            }
            if self.sync_fail != SyncFail::Never || self.lies {
                return Some("completed operations are durable, so a sync has nothing to do and cannot fail");
            }
        } else if self.survive == Survive::None && tears {
            return Some("nothing survives that was not synced, so no part of a write does");
        }
        if self.tear.collateral == Collateral::WholeUnit && self.tear.mode != TearMode::AnySubsetGarbage {
            return Some("collateral=block needs tear=garbage: without garbage nothing is spoilt");
        }
        if self.media.budget > 0 && self.media.outcomes == 0 {
            return Some("media-budget counts media faults, and there are none");
        }
        None
    }

    /// Whether the contract allows the outcome.
    pub fn allows(&self, outcome: DiskOutcome) -> bool {
        match outcome {
            DiskOutcome::SyncFails => self.sync_fail != SyncFail::Never,
            DiskOutcome::SyncLies => self.lies,
            other => self.media.has(other),
        }
    }
}

fn block(value: &str) -> Option<u32> {
    match value {
        "sector" => Some(SECTOR),
        "page" => Some(PAGE),
        _ => value.parse().ok().filter(|unit| (1..=BLOCK_MAX).contains(unit)),
    }
}

fn media(value: &str, budget: u8) -> Option<Media> {
    let mut outcomes = 0;
    if value != "none" {
        for part in value.split('+') {
            let outcome = DiskOutcome::named(part).filter(|outcome| outcome.is_media())?;
            outcomes |= 1 << outcome as u16;
        }
    }
    let budget = if outcomes == 0 {
        0
    } else if budget == 0 {
        BUDGET
    } else {
        budget
    };
    Some(Media { outcomes, budget })
}

impl fmt::Display for StorageContract {
    /// The preset, then the words of fields that differ from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.preset.word())?;
        let base = self.preset.fields();
        let mut put = |field: &str, same: bool, word: &str| {
            if same { Ok(()) } else { write!(f, ",{field}={word}") }
        };
        put("completion", self.completion == base.completion, word(COMPLETION, &self.completion))?;
        put("survive", self.survive == base.survive, word(SURVIVE, &self.survive))?;
        put("write-order", self.order == base.order, word(ORDER, &self.order))?;
        put("block", self.tear.unit == base.tear.unit, &self.tear.unit.to_string())?;
        put("grid", self.tear.grid == base.tear.grid, word(GRID, &self.tear.grid))?;
        put("tear", self.tear.mode == base.tear.mode, word(TEAR, &self.tear.mode))?;
        let collateral = word(COLLATERAL, &self.tear.collateral);
        put("collateral", self.tear.collateral == base.tear.collateral, collateral)?;
        put("names", self.names == base.names, word(NAMES, &self.names))?;
        put("sync-fail", self.sync_fail == base.sync_fail, word(SYNC_FAIL, &self.sync_fail))?;
        put("lies", self.lies == base.lies, word(LIES, &self.lies))?;
        let words: Vec<&str> = self.media.outcomes().map(DiskOutcome::word).collect();
        put("media", words.is_empty(), &words.join("+"))?;
        let usual = words.is_empty() || self.media.budget == BUDGET;
        put("media-budget", usual, &self.media.budget.to_string())
    }
}

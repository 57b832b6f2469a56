//! The storage engine alone, exhaustively: every crash state at every disk operation of a small workload recovers to
//! a legal state; and so does every crash of the start that follows.

mod common;

use common::{Counts, Exhaustive, Workload, small_blocks, workload};
use misrule_world::DiskPreset;

/// The disk presets under which a disk keeps its promises.
fn honest() -> impl Iterator<Item = &'static str> {
    let presets = DiskPreset::ALL.into_iter().filter(|(preset, _)| *preset != DiskPreset::LyingDisk);
    presets.map(|(_, word)| word)
}

/// The workloads, and the node that crashes.
const WORKLOADS: [(&str, u8); 3] = [("append", 0), ("snapshot", 0), ("follow", 1)];

#[test]
fn every_crash_recovers_to_a_legal_state() {
    for (name, node) in WORKLOADS {
        let workload = workload(name);
        for disk in honest() {
            let mut all = Exhaustive::new(&workload, node);
            all.config.contract = small_blocks(all.config.contract, disk);
            all.sync_outcomes = true;
            assert_eq!(all.run(), None, "{name} under {disk}");
            assert!(all.counts.points > 20, "{name} under {disk}: {:?}", all.counts);
        }
    }
}

/// A crash, then one at each operation of the start.
#[test]
fn every_crash_of_a_start_recovers_too() {
    for (name, node) in WORKLOADS {
        let workload = workload(name);
        for disk in ["explicit-sync", "reorder-writes", "posix-min"] {
            let mut all = Exhaustive::new(&workload, node);
            all.config.contract = small_blocks(all.config.contract, disk);
            all.twice = true;
            assert_eq!(all.run(), None, "{name} under {disk}");
            assert!(all.counts.points_again > 50, "{name} under {disk}: {:?}", all.counts);
        }
    }
}

/// Blocks of 64 bytes of a record or a snapshot with so many bytes in all.
fn blocks(bytes: usize) -> u32 {
    bytes.div_ceil(64) as u32
}

/// The head of a record, and what its body has before the entries.
const HEAD: usize = 40;
const PROMISE: usize = HEAD + 1 + 5;
const ENTRIES: usize = HEAD + 1 + 12;
const OPENING: usize = HEAD + 1 + 20 + 5 + 12;
/// An entry without its value.
const ENTRY: usize = 11;

/// Sums over the points of a step: before the first of its operations, between steps and in the step, and after each
/// operation.
fn sum(points: &[u32]) -> usize {
    points.iter().map(|count| *count as usize).sum()
}

fn counted(workload: &Workload) -> (Exhaustive<'_>, Counts) {
    let mut all = Exhaustive::new(workload, 0);
    assert_eq!(all.run(), None);
    let counts = all.counts;
    (all, counts)
}

/// A point where n blocks wait for a sync, below a durable name, leaves 2^n images: each block has bytes that are
/// not zero.
#[test]
fn states_of_appends_are_counted() {
    let workload = workload("append");
    let (all, counts) = counted(&workload);
    let put = blocks(ENTRIES + ENTRY + all.config.value);
    let (noop, promise) = (blocks(ENTRIES + ENTRY), blocks(PROMISE));
    assert_eq!((put, noop, promise), (2, 1, 1));
    let waiting = |blocks: u32| 1 << blocks;
    // Each step begins with two points: a crash between steps, and one before its first operation.
    let steps = [
        // Two election timers without any operation, and one that writes a promise, syncs it, and writes an entry.
        vec![1, 1],
        vec![1, 1],
        vec![1, 1, waiting(promise), 1, waiting(noop)],
        // A flush.
        vec![waiting(noop), waiting(noop), 1],
        // Two puts, and a flush.
        vec![1, 1, waiting(put)],
        vec![waiting(put), waiting(put), waiting(2 * put)],
        vec![waiting(2 * put), waiting(2 * put), 1],
        // A put, and a flush; the last crash comes behind it.
        vec![1, 1, waiting(put)],
        vec![waiting(put), waiting(put), 1],
        vec![1],
    ];
    assert_eq!(workload.choices.len(), steps.len() - 1);
    let expected: usize = steps.iter().map(|points| sum(points)).sum();
    let points: usize = steps.iter().map(Vec::len).sum();
    assert_eq!((counts.points, counts.sets, counts.images), (points, expected, expected));
}

/// The step that makes a snapshot while a put waits for its sync. Sets of units are 2^n for n units; images are
/// fewer, since content without a name is not seen.
#[test]
fn states_of_a_snapshot_are_counted() {
    let workload = workload("snapshot");
    let (all, _) = counted(&workload);
    let value = all.config.value;
    let put = blocks(ENTRIES + ENTRY + value);
    // Two keys have values and two sessions an outcome; the opening record has the entry that is not applied.
    let snapshot = blocks(HEAD + 20 + 1 + 2 * (1 + value) + 1 + 2 * 10);
    let opening = blocks(OPENING + ENTRY + value);
    assert_eq!((put, snapshot, opening), (2, 3, 3));
    let bits = |units: u32| 1_usize << units;
    // The put stays where it is while all this goes on: it counts in each point.
    let (old, one) = (bits(put), 1);
    let expected = [
        // Between steps, and before the first operation.
        (put, old),
        (put, old),
        // The snapshot's first name: not there, or there and empty.
        (put + 1, old * 2),
        // Its content: not there, or any set of blocks.
        (put + 1 + snapshot, old * (one + bits(snapshot))),
        // Synced: not there, or whole.
        (put + 1, old * 2),
        // Renamed: not there, below the first name, or below the second; the rename alone enters the second.
        (put + 2, old * 3),
        // The directory is synced.
        (put, old),
        // The next segment, the same way.
        (put + 1, old * 2),
        (put + 1 + opening, old * (one + bits(opening))),
        (put + 1, old * 2),
        (put, old),
        // The old segment is removed: gone, or there with what it had. Then it is gone.
        (put + 1, old + one),
        (0, one),
    ];
    let step = workload.choices.iter().position(|choice| is_snapshot(*choice)).unwrap_or_default();
    let first =
        all.each.iter().enumerate().filter(|(_, (point, ..))| *point == 0).map(|(at, _)| at).nth(step);
    let first = first.unwrap_or_default();
    let found = &all.each[first..first + expected.len()];
    for (at, ((_, sets, images), (units, wanted))) in found.iter().zip(expected).enumerate() {
        assert_eq!((*sets, *images), (bits(units), wanted), "point {at}: {found:?}");
    }
    // The next step begins behind the last point.
    assert_eq!(all.each[first + expected.len()].0, 0);
}

fn is_snapshot(choice: misrule_world::Choice) -> bool {
    matches!(choice, misrule_world::Choice::Local { step: 1, .. })
}

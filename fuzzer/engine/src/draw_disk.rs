//! Draws what happens to disks: crashes with what they keep, crash points, and outcomes of operations.
//!
//! Targets without files have logs, of which a crash keeps a prefix; there nothing else is drawn.

use crate::draw_links::Pending;
use misrule_world::{Choice, DiskOutcome, Keep, Menu, NodeId, Rng, nth_bit};

/// Units that are named where it is not known yet how many there will be: so many for a target that writes records,
/// up to 64 times as many for one that writes pages of small blocks.
const UNITS_GUESSED: u32 = 8;

/// A crash of the node: now, or at a point of its next call; now and then of all nodes.
pub(crate) fn crash(node: NodeId, menu: &Menu, rng: &mut Rng, pending: &mut Pending) -> Choice {
    let unsynced = |node: NodeId| u32::from(menu.unsynced[usize::from(node)]);
    if !has_files(node, menu) {
        return Choice::Crash { node, keep: Keep::prefix(rng.below(unsynced(node) + 1) as u16) };
    }
    match rng.below(16) {
        0 => {
            for other in (0..menu.nodes).filter(|other| *other != node && menu.is_up(*other)) {
                pending.push(Choice::Crash { node: other, keep: keep(unsynced(other), rng) });
            }
        }
        1..12 => return crash_point(node, menu, rng),
        _ => {}
    }
    Choice::Crash { node, keep: keep(unsynced(node), rng) }
}

/// A start of the node, often after one that crashes on the way: a repair keeps things too, and nothing else leads
/// into the middle of it.
pub(crate) fn restart(node: NodeId, menu: &Menu, rng: &mut Rng, pending: &mut Pending) -> Choice {
    if has_files(node, menu) && rng.chance(3, 8) {
        pending.push(Choice::Restart { node });
        return crash_point(node, menu, rng);
    }
    Choice::Restart { node }
}

/// An outcome that the contract allows, of an operation of any node that has files.
pub(crate) fn outcome(menu: &Menu, rng: &mut Rng) -> Option<Choice> {
    let node = nth_bit(menu.files, rng.below(menu.files.count_ones()))?;
    let allowed = || DiskOutcome::ALL.iter().map(|(outcome, _)| *outcome).filter(|o| is_open(*o, menu));
    let outcome = allowed().nth(rng.below(allowed().count() as u32) as usize)?;
    Some(Choice::Disk { node, outcome, at: 1 + early(rng) })
}

/// Whether there is a disk outcome to draw.
pub(crate) fn has_outcomes(menu: &Menu) -> bool {
    menu.files != 0 && DiskOutcome::ALL.iter().any(|(outcome, _)| is_open(*outcome, menu))
}

/// What a crash keeps of so many units: often a shape in which bugs are known to hide.
pub(crate) fn keep(count: u32, rng: &mut Rng) -> Keep {
    if count == 0 {
        return Keep::NONE;
    }
    match rng.below(10) {
        0 => Keep::NONE,
        1 => Keep::ALL,
        2 => Keep::prefix(rng.below(count + 1) as u16),
        3 => Keep::all_but(rng.below(count) as u16),
        4 => Keep::only(rng.below(count) as u16),
        5 => Keep::TORN_LAST,
        6 => all_but_last(rng),
        _ => Keep::bits(rng.next() as u32).within(count as u16),
    }
}

/// Every unit but some of the last: what a call writes last is often what makes the rest valid.
fn all_but_last(rng: &mut Rng) -> Keep {
    let count = 1 + rng.below(8);
    Keep::all_but_last(rng.next() as u16 & ((1 << count) - 1))
}

/// A crash point of the node's next call, mostly one that its last call had.
fn crash_point(node: NodeId, menu: &Menu, rng: &mut Rng) -> Choice {
    let changes = u32::from(menu.changes[usize::from(node)]);
    let at = if changes > 0 && rng.chance(3, 4) { rng.below(changes + 1) as u16 } else { early(rng) };
    let units = UNITS_GUESSED << (2 * rng.below(4));
    let keep = if rng.chance(1, 3) { all_but_last(rng) } else { keep(units, rng) };
    Choice::CrashAt { node, at, keep }
}

/// A number below 64, small ones more often.
fn early(rng: &mut Rng) -> u16 {
    let bound = 1 << rng.below(7);
    rng.below(bound) as u16
}

fn has_files(node: NodeId, menu: &Menu) -> bool {
    menu.files & (1 << node) != 0
}

fn is_open(outcome: DiskOutcome, menu: &Menu) -> bool {
    let disk = &menu.contract.disk;
    disk.allows(outcome) && (!outcome.is_media() || menu.media_faults < u32::from(disk.media.budget))
}

#[cfg(test)]
mod tests {
    use super::keep;
    use misrule_world::{Keep, KeepShape, Rng};

    #[test]
    fn sets_name_only_what_is_there() {
        let mut rng = Rng::new(1);
        assert_eq!(keep(0, &mut rng), Keep::NONE);
        for count in (1..60).cycle().take(5_000) {
            let keep = keep(count, &mut rng);
            assert!(!keep.names_beyond(count as u16), "{keep} of {count}");
        }
    }

    /// Each of the shapes in which bugs are known to hide, whatever form it has, is a twentieth of the sets at least:
    /// half of what is meant, since some of the sets meant are also of another shape.
    #[test]
    fn common_shapes_are_drawn_often() {
        let mut rng = Rng::new(2);
        for count in [8, 30, 31, 200] {
            let mut shapes = [0; 8];
            for _ in 0..5_000 {
                shapes[match keep(count, &mut rng).shape() {
                    KeepShape::Prefix(0) => 0,
                    KeepShape::All => 1,
                    KeepShape::Prefix(_) => 2,
                    KeepShape::AllBut(_) => 3,
                    KeepShape::Only(_) => 4,
                    KeepShape::Bits(bits) if bits.count_ones() == 1 => 4,
                    KeepShape::TornLast => 5,
                    KeepShape::AllButLast(_) => 6,
                    KeepShape::Bits(_) => 7,
                }] += 1;
            }
            assert!(shapes.iter().all(|drawn| *drawn > 250), "of {count}: {shapes:?}");
        }
    }
}

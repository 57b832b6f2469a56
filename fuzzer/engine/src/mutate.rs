//! Mutators, as plain functions over choices. Which of them pays is shown in every campaign's summary.

use crate::draw_disk;
use misrule_world::{Choice, Contract, Keep, NodeId, Rng, Slot, WriteOrder};

/// What a mutator may know of the world and of the other schedules.
pub struct Material<'a> {
    /// How many nodes.
    pub nodes: NodeId,
    /// How many sessions clients have.
    pub sessions: u8,
    /// The contract: faults outside it are never inserted.
    pub contract: Contract,
    /// Depths at which this schedule first reached cells.
    pub cells: &'a [u32],
    /// Another kept schedule, and the depths at which it first reached cells.
    pub other: (&'a [Choice], &'a [u32]),
}

/// A mutator: changes the choices and says whether it did.
pub type Mutate = fn(&mut Vec<Choice>, &Material<'_>, &mut Rng) -> bool;

/// All mutators with their names.
pub const MUTATORS: [(&str, Mutate); 5] = [
    ("splice-at-cell", splice_at_cell),
    ("delete-run", delete_run),
    ("deliver-later", deliver_later),
    ("insert-fault", insert_fault),
    ("extend", extend),
];

/// Longest run of choices that a mutator deletes, and farthest distance that it moves one.
const REACH: u32 = 32;

/// Goes to one of the schedule's cells, then on as another schedule went on from one of its cells.
fn splice_at_cell(choices: &mut Vec<Choice>, material: &Material<'_>, rng: &mut Rng) -> bool {
    let (other, other_cells) = material.other;
    let (Some(cut), Some(from)) = (any(material.cells, rng), any(other_cells, rng)) else { return false };
    let before = choices.split_off((cut as usize).min(choices.len()));
    let suffix = &other[(from as usize).min(other.len())..];
    choices.extend_from_slice(suffix);
    before != suffix
}

/// Deletes a run of choices.
fn delete_run(choices: &mut Vec<Choice>, _material: &Material<'_>, rng: &mut Rng) -> bool {
    if choices.is_empty() {
        return false;
    }
    let start = rng.below(choices.len() as u32) as usize;
    let length = rng.geometric(REACH / 8).min(REACH) as usize;
    choices.drain(start..(start + length).min(choices.len()));
    true
}

/// Moves the delivery of a message to a later place.
#[allow(clippy::ptr_arg, reason = "every mutator has the type `Mutate`")]
fn deliver_later(choices: &mut Vec<Choice>, _material: &Material<'_>, rng: &mut Rng) -> bool {
    if choices.len() < 2 {
        return false;
    }
    let start = rng.below(choices.len() as u32 - 1) as usize;
    let Some(at) = (start..choices.len() - 1).find(|at| matches!(choices[*at], Choice::Deliver(_))) else {
        return false;
    };
    let room = (choices.len() - 1 - at) as u32;
    let by = 1 + rng.below(room.min(REACH)) as usize;
    choices[at..=at + by].rotate_left(1);
    true
}

/// Inserts a crash with its restart, a cut or a clog with what undoes it, or a retry or the end of a session's patience;
/// or turns a delivery into a loss or a duplication where the contract has them.
fn insert_fault(choices: &mut Vec<Choice>, material: &Material<'_>, rng: &mut Rng) -> bool {
    let at = rng.below(choices.len() as u32 + 1) as usize;
    let node = rng.below(u32::from(material.nodes)) as NodeId;
    let other = rng.below(u32::from(material.nodes)) as NodeId;
    let later = (at + 1 + rng.below(REACH) as usize).min(choices.len() + 1);
    match rng.below(if material.sessions > 0 { 5 } else { 4 }) {
        0 if node != other => {
            let (from, to) = (node, other);
            let (fault, undo) = if rng.chance(1, 2) {
                (Choice::Cut { from, to }, Choice::Heal { from, to })
            } else {
                (Choice::Clog { from, to }, Choice::Unclog { from, to })
            };
            choices.insert(at, fault);
            choices.insert(later, undo);
            true
        }
        1 if material.contract.loss => replace_delivery(choices, at, Choice::Drop),
        2 if material.contract.duplication => insert_duplicate(choices, at),
        4 => {
            let session = rng.below(u32::from(material.sessions)) as u8;
            let gives_up = rng.chance(1, 4);
            choices.insert(
                at,
                if gives_up { Choice::Abandon { session } } else { Choice::Retry { node, session } },
            );
            true
        }
        _ => {
            if change_crash(choices, at, material, rng) {
                return true;
            }
            choices.insert(at, Choice::Crash { node, keep: Keep::prefix(rng.below(4) as u16) });
            choices.insert(later, Choice::Restart { node });
            true
        }
    }
}

/// Changes what the next crash keeps, where the contract lets it keep more than a prefix, or its crash point.
fn change_crash(choices: &mut [Choice], from: usize, material: &Material<'_>, rng: &mut Rng) -> bool {
    const UNITS: u32 = 12;
    if material.contract.disk.order == WriteOrder::Total || rng.chance(1, 2) {
        return false;
    }
    for choice in &mut choices[from..] {
        let before = *choice;
        match choice {
            Choice::CrashAt { at, .. } if rng.chance(1, 2) => *at = rng.below(UNITS) as u16,
            Choice::Crash { keep, .. } | Choice::CrashAt { keep, .. } => *keep = draw_disk::keep(UNITS, rng),
            _ => continue,
        }
        return *choice != before;
    }
    false
}

/// Changes nothing: the tail that follows every mutant makes the difference.
fn extend(_choices: &mut Vec<Choice>, _material: &Material<'_>, _rng: &mut Rng) -> bool {
    true
}

fn replace_delivery(choices: &mut [Choice], from: usize, with: fn(Slot) -> Choice) -> bool {
    for choice in choices.iter_mut().skip(from) {
        if let Choice::Deliver(slot) = *choice {
            *choice = with(slot);
            return true;
        }
    }
    false
}

fn insert_duplicate(choices: &mut Vec<Choice>, from: usize) -> bool {
    let Some(at) = (from..choices.len()).find(|at| matches!(choices[*at], Choice::Deliver(_))) else {
        return false;
    };
    let Choice::Deliver(slot) = choices[at] else { return false };
    choices.insert(at, Choice::Duplicate(slot));
    true
}

fn any(depths: &[u32], rng: &mut Rng) -> Option<u32> {
    depths.get(rng.below(depths.len() as u32) as usize).copied()
}

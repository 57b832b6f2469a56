//! Draws what happens to links: cuts, clogs, swizzles, and which links are slow.

use crate::draw_clients::peer;
use misrule_world::{Choice, FaultKind, FaultWeights, Menu, NodeId, Rng};

/// What is left of macro choices: the last one comes next, after so many other choices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    stack: Vec<(u32, Choice)>,
    /// What a swizzle stops and restores; kept for the space it holds.
    units: Vec<u16>,
}

impl Pending {
    pub(crate) fn clear(&mut self) {
        self.stack.clear();
    }

    /// Puts a choice in front of the others.
    pub(crate) fn push(&mut self, choice: Choice) {
        self.stack.push((0, choice));
    }

    /// The next choice, if its turn has come; one that does not apply any more is left out.
    pub(crate) fn next(&mut self, menu: &Menu) -> Option<Choice> {
        while let Some((wait, choice)) = self.stack.last_mut() {
            if *wait > 0 {
                *wait -= 1;
                return None;
            }
            let choice = *choice;
            self.stack.pop();
            if still_applies(menu, choice) {
                return Some(choice);
            }
        }
        None
    }
}

fn still_applies(menu: &Menu, choice: Choice) -> bool {
    match choice {
        Choice::Cut { from, to } => !menu.cut[menu.link(from, to)],
        Choice::Heal { from, to } => menu.cut[menu.link(from, to)],
        Choice::Clog { from, to } => !menu.clogged[menu.link(from, to)],
        Choice::Unclog { from, to } => menu.clogged[menu.link(from, to)],
        Choice::Crash { node, .. } => menu.is_up(node),
        Choice::Restart { node } => !menu.is_up(node),
        Choice::Local { node, step } => menu.locals[usize::from(node)] & (1 << step) != 0,
        _ => true,
    }
}

/// Cuts one direction of one link, or all links of one node.
pub(crate) fn cut(
    faults: &FaultWeights,
    menu: &Menu,
    rng: &mut Rng,
    pending: &mut Pending,
) -> Option<Choice> {
    let node = rng.below(u32::from(menu.nodes)) as NodeId;
    let (isolate, cut) = (faults.of(FaultKind::Isolate), faults.of(FaultKind::Cut));
    if rng.below(isolate + cut) < cut {
        let choice = Choice::Cut { from: node, to: peer(menu, node, rng) };
        return Some(choice).filter(|choice| still_applies(menu, *choice));
    }
    for other in (0..menu.nodes).filter(|other| *other != node) {
        pending.push(Choice::Cut { from: node, to: other });
        pending.push(Choice::Cut { from: other, to: node });
    }
    pending.next(menu)
}

/// Heals one cut, or all of them.
pub(crate) fn heal(menu: &Menu, rng: &mut Rng, pending: &mut Pending) -> Option<Choice> {
    restore(&menu.cut, menu.cuts, |from, to| Choice::Heal { from, to }, menu, rng, pending)
}

/// Clogs one direction of one link, or begins a swizzle where no other macro is under way.
pub(crate) fn clog(
    faults: &FaultWeights,
    menu: &Menu,
    rng: &mut Rng,
    pending: &mut Pending,
) -> Option<Choice> {
    let (swizzles, clog) = (faults.of(FaultKind::Swizzle), faults.of(FaultKind::Clog));
    if rng.below(swizzles + clog) < clog {
        let from = rng.below(u32::from(menu.nodes)) as NodeId;
        let choice = Choice::Clog { from, to: peer(menu, from, rng) };
        return Some(choice).filter(|choice| still_applies(menu, *choice));
    }
    if pending.stack.is_empty() {
        swizzle(menu, rng, pending);
    }
    pending.next(menu)
}

/// Undoes one clog, or all of them.
pub(crate) fn unclog(menu: &Menu, rng: &mut Rng, pending: &mut Pending) -> Option<Choice> {
    restore(&menu.clogged, menu.clogs, |from, to| Choice::Unclog { from, to }, menu, rng, pending)
}

/// Undoes one of `count` faults of links, or all of them.
fn restore(
    links: &[bool],
    count: u32,
    undo: fn(NodeId, NodeId) -> Choice,
    menu: &Menu,
    rng: &mut Rng,
    pending: &mut Pending,
) -> Option<Choice> {
    let undo = |at: usize| {
        let (from, to) = menu.ends(at);
        undo(from, to)
    };
    let faulty = links.iter().enumerate().filter(|(_, faulty)| **faulty);
    if rng.chance(1, 2) {
        return faulty.into_iter().nth(rng.below(count) as usize).map(|(at, _)| undo(at));
    }
    for (at, _) in faulty {
        pending.push(undo(at));
    }
    pending.next(menu)
}

/// A swizzle stops and restores at most so many nodes or links.
const UNITS_MAX: u32 = 8;

/// Clogs some nodes or some links one by one, and then restores them in an order of its own: plain choices, with
/// others between them. After FoundationDB's simulator ("swizzle-clogging").
fn swizzle(menu: &Menu, rng: &mut Rng, pending: &mut Pending) {
    let nodes = u16::from(menu.nodes);
    let (mut units, links) = (std::mem::take(&mut pending.units), rng.chance(1, 2));
    units.clear();
    if links {
        units.extend((0..nodes * nodes).filter(|link| link / nodes != link % nodes));
    } else {
        units.extend(0..nodes);
    }
    shuffle(&mut units, rng);
    let most = UNITS_MAX.min(units.len() as u32);
    units.truncate(2 + rng.below(most.saturating_sub(1)) as usize);
    // Mean distance of two units in choices: no one scale fits all targets.
    let interval = 1 << rng.below(7);
    // What is pushed last comes first: units are restored after all of them are clogged.
    for clog in [false, true] {
        let choice = |from, to| if clog { Choice::Clog { from, to } } else { Choice::Unclog { from, to } };
        for unit in &units {
            if links {
                let (from, to) = menu.ends(usize::from(*unit));
                pending.push(choice(from, to));
            } else {
                let node = *unit as NodeId;
                for other in (0..menu.nodes).filter(|other| *other != node) {
                    pending.push(choice(node, other));
                    pending.push(choice(other, node));
                }
            }
            if let Some((wait, _)) = pending.stack.last_mut() {
                *wait = rng.below(2 * interval + 1);
            }
        }
        shuffle(&mut units, rng);
    }
    // The macro begins with this choice.
    if let Some((wait, _)) = pending.stack.last_mut() {
        *wait = 0;
    }
    pending.units = units;
}

fn shuffle(units: &mut [u16], rng: &mut Rng) {
    for at in (1..units.len()).rev() {
        units.swap(at, rng.below(at as u32 + 1) as usize);
    }
}

/// For each link whether it is slow in this execution; empty where none is.
pub(crate) fn slow_links(faults: &FaultWeights, menu: &Menu, rng: &mut Rng, slow: &mut Vec<bool>) {
    slow.clear();
    let part = faults.of(FaultKind::Slow);
    if part > 0 {
        let links = usize::from(menu.nodes) * usize::from(menu.nodes);
        slow.extend((0..links).map(|_| rng.chance(part, u32::from(FaultWeights::MAX))));
    }
}

#[cfg(test)]
mod tests;

//! Simpler forms of choices.

use super::item::Item;
use misrule_world::{Argument, Choice, Keep, KeepShape, Keyed, Menu, NO_SESSION, Slot};
use std::collections::BTreeSet;

/// Simpler forms of the choice at `at`, simplest first; none when it is simple already.
pub(super) fn simpler(items: &[Item], at: usize, menu: &Menu) -> Vec<Choice> {
    let choice = items[at].choice;
    match choice {
        Choice::Request { node, operation, argument, session } => {
            let with = |argument, session| Choice::Request { node, operation, argument, session };
            let arguments = simpler_arguments(items, operation, argument, menu);
            // Where the first session waits, the first that is free takes its place.
            let first = (session != NO_SESSION && session > 0).then(|| with(argument, 0));
            arguments.into_iter().map(|argument| with(argument, session)).chain(first).collect()
        }
        Choice::Crash { node, keep } => {
            simpler_keeps(keep).into_iter().map(|keep| Choice::Crash { node, keep }).collect()
        }
        Choice::CrashAt { node, at, keep } => {
            let now = [Keep::NONE, keep].map(|keep| Choice::Crash { node, keep });
            let keeps = simpler_keeps(keep).into_iter().map(|keep| Choice::CrashAt { node, at, keep });
            let earlier = [0, at / 2, at.saturating_sub(1)].into_iter().filter(|earlier| *earlier < at);
            now.into_iter().chain(keeps).chain(earlier.map(|at| Choice::CrashAt { node, at, keep })).collect()
        }
        Choice::Disk { node, outcome, at } if at > 1 => vec![Choice::Disk { node, outcome, at: 1 }],
        Choice::Draw { node, name, value } if value > 0 => vec![Choice::Draw { node, name, value: 0 }],
        Choice::Drop(slot) | Choice::Duplicate(slot) => vec![Choice::Deliver(slot)],
        Choice::Deliver(slot) if slot.at > 1 => {
            vec![Choice::Deliver(Slot { at: Slot::FIRST_OF_KIND, ..slot })]
        }
        _ => Vec::new(),
    }
}

/// Simpler arguments for a request, simplest first. Values that no other request may use are renumbered in the
/// order of their size; other arguments may also become 0. Keys and their values are left to [`renamed`].
fn simpler_arguments(items: &[Item], operation: u8, argument: u32, menu: &Menu) -> Vec<u32> {
    let smaller: BTreeSet<u32> = items
        .iter()
        .filter_map(|item| match item.choice {
            Choice::Request { argument: other, .. } if other < argument => Some(other),
            _ => None,
        })
        .collect();
    let rank = smaller.len() as u32 + 1;
    let simpler = match menu.operations.get(usize::from(operation)) {
        Some((_, Argument::Keyed { .. })) => Vec::new(),
        Some((_, Argument::Fresh)) => vec![rank],
        _ => vec![0, rank],
    };
    simpler.into_iter().filter(|simple| *simple < argument).collect()
}

/// The same items with sessions and keys numbered in the order in which they appear, and the values of keys in the
/// order of their size: all at once, since a value that is compared with must go on being the one that was put.
pub(super) fn renamed(items: &[Item], menu: &Menu) -> Vec<Item> {
    let (mut sessions, mut keys, mut values) = (Vec::new(), Vec::new(), BTreeSet::new());
    let keyed = |operation: u8| {
        matches!(menu.operations.get(usize::from(operation)), Some((_, Argument::Keyed { .. })))
    };
    for item in items {
        if let Some(session) = session(item.choice) {
            rank(&mut sessions, session);
        }
        if let Choice::Request { operation, argument, .. } = item.choice
            && keyed(operation)
        {
            let Keyed { key, from, value } = Keyed::of(argument);
            rank(&mut keys, key);
            values.extend([from, value]);
        }
    }
    values.remove(&0);
    let number = |value: u16| values.range(..=value).count() as u16;
    let mut renamed = items.to_vec();
    for item in &mut renamed {
        match &mut item.choice {
            Choice::Request { operation, argument, session, .. } => {
                if *session != NO_SESSION {
                    *session = rank(&mut sessions, *session);
                }
                if keyed(*operation) {
                    let Keyed { key, from, value } = Keyed::of(*argument);
                    let key = rank(&mut keys, key);
                    *argument = Keyed { key, from: number(from), value: number(value) }.argument();
                }
            }
            Choice::Retry { session, .. } | Choice::Abandon { session } => {
                *session = rank(&mut sessions, *session);
            }
            _ => {}
        }
    }
    renamed
}

/// The session of what a client does.
fn session(choice: Choice) -> Option<u8> {
    match choice {
        Choice::Request { session, .. } => Some(session).filter(|session| *session != NO_SESSION),
        Choice::Retry { session, .. } | Choice::Abandon { session } => Some(session),
        _ => None,
    }
}

/// The position of a number among those that came before, at the end where it is new.
fn rank(known: &mut Vec<u8>, number: u8) -> u8 {
    let at = known.iter().position(|known| *known == number).unwrap_or_else(|| {
        known.push(number);
        known.len() - 1
    });
    at as u8
}

/// Simpler sets of what survives a crash: nothing, everything, or one unit fewer.
fn simpler_keeps(keep: Keep) -> Vec<Keep> {
    match keep.shape() {
        KeepShape::Prefix(0) => Vec::new(),
        KeepShape::Prefix(_) | KeepShape::All => vec![Keep::NONE],
        KeepShape::AllBut(_) | KeepShape::Only(_) | KeepShape::TornLast => vec![Keep::NONE, Keep::ALL],
        KeepShape::Bits(bits) => {
            let without = (0..Keep::BITS).filter(|at| bits & (1 << at) != 0).map(|at| bits & !(1 << at));
            [Keep::NONE, Keep::ALL].into_iter().chain(without.map(Keep::bits)).collect()
        }
        KeepShape::AllButLast(lost) => {
            let fewer = (0..u16::BITS).filter(|at| lost & (1 << at) != 0).map(|at| lost & !(1 << at));
            [Keep::NONE, Keep::ALL].into_iter().chain(fewer.map(Keep::all_but_last)).collect()
        }
    }
}

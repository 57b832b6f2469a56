//! Simpler forms of choices, and what simpler means.

use super::item::Item;
use misrule_world::{Argument, Choice, Keep, KeepShape, Keyed, NO_SESSION, Slot};
use std::collections::BTreeSet;

/// Whether `candidate` is simpler than `best`: shorter, or as long and, at the first place where their costs differ,
/// cheaper there. Lists of one length over numbers have no endless descent in this order, so that a search that takes
/// only what is simpler comes to an end.
pub(super) fn is_simpler(candidate: &[Item], best: &[Item]) -> bool {
    fn costs(items: &[Item]) -> impl Iterator<Item = (u8, [u32; 3])> {
        items.iter().map(|item| cost(item.choice))
    }
    candidate.len().cmp(&best.len()).then_with(|| costs(candidate).cmp(costs(best))).is_lt()
}

/// How much a reader has to take in of a choice: first what kind it is, then its numbers, the most important first.
/// The kinds of one rank are not compared: no simpler form replaces one by the other.
fn cost(choice: Choice) -> (u8, [u32; 3]) {
    match choice {
        Choice::Deliver(slot) => (0, [u32::from(slot.at), 0, 0]),
        Choice::Drop(slot) | Choice::Duplicate(slot) => (1, [u32::from(slot.at), 0, 0]),
        // An argument of a key with values has the key in front, then the values.
        Choice::Request { argument, session, .. } => (0, [u32::from(session), argument, 0]),
        Choice::Retry { session, .. } | Choice::Abandon { session } => (0, [u32::from(session), 0, 0]),
        Choice::Crash { keep, .. } => (0, keep_cost(keep, 0)),
        Choice::CrashAt { keep, at, .. } => (1, keep_cost(keep, at)),
        Choice::Disk { at, .. } => (0, [u32::from(at), 0, 0]),
        Choice::Draw { value, .. } => (0, [value, 0, 0]),
        // A stall although more nodes came back says more.
        Choice::Recover { core } => (0, [core.count_zeros(), 0, 0]),
        _ => (0, [0; 3]),
    }
}

/// The cost of a set, and of the crash point behind it: sets that everybody knows first, then by how much is listed.
fn keep_cost(keep: Keep, at: u16) -> [u32; 3] {
    let (rank, listed) = match keep.shape() {
        KeepShape::Prefix(0) => (0, 0),
        KeepShape::Prefix(_) | KeepShape::All => (1, 0),
        KeepShape::AllBut(_) | KeepShape::Only(_) | KeepShape::TornLast => (2, 0),
        KeepShape::Bits(bits) => (3, bits.count_ones()),
        KeepShape::AllButLast(lost) => (3, lost.count_ones()),
    };
    [rank, listed, u32::from(at)]
}

/// What a menu says of the operations of the workload: weight and argument.
type Operations = [(u16, Argument)];

/// Simpler forms of the choice at `at`, simplest first; none when it is simple already.
pub(super) fn simpler(items: &[Item], at: usize, operations: &Operations) -> Vec<Choice> {
    let choice = items[at].choice;
    match choice {
        Choice::Request { node, operation, argument, session } => {
            let with = |argument, session| Choice::Request { node, operation, argument, session };
            let arguments = simpler_arguments(items, operation, argument, operations);
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
fn simpler_arguments(items: &[Item], operation: u8, argument: u32, operations: &Operations) -> Vec<u32> {
    let smaller: BTreeSet<u32> = items
        .iter()
        .filter_map(|item| match item.choice {
            Choice::Request { argument: other, .. } if other < argument => Some(other),
            _ => None,
        })
        .collect();
    let rank = smaller.len() as u32 + 1;
    let simpler = match operations.get(usize::from(operation)) {
        Some((_, Argument::Keyed { .. })) => Vec::new(),
        Some((_, Argument::Fresh)) => vec![rank],
        _ => vec![0, rank],
    };
    simpler.into_iter().filter(|simple| *simple < argument).collect()
}

/// The same items with sessions and keys numbered in the order in which they appear, and the values of keys in the
/// order of their size: all at once, since a value that is compared with must go on being the one that was put.
pub(super) fn renamed(items: &[Item], operations: &Operations) -> Vec<Item> {
    let (mut sessions, mut keys, mut values) = (Vec::new(), Vec::new(), BTreeSet::new());
    let keyed =
        |operation: u8| matches!(operations.get(usize::from(operation)), Some((_, Argument::Keyed { .. })));
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

/// Simpler sets of what survives a crash: nothing, everything, half of what is listed, or one unit fewer.
fn simpler_keeps(keep: Keep) -> Vec<Keep> {
    let listed: fn(u32) -> Keep;
    let bits = match keep.shape() {
        KeepShape::Prefix(0) => return Vec::new(),
        KeepShape::Prefix(_) | KeepShape::All => return vec![Keep::NONE],
        KeepShape::AllBut(_) | KeepShape::Only(_) | KeepShape::TornLast => {
            return vec![Keep::NONE, Keep::ALL];
        }
        KeepShape::Bits(bits) => {
            listed = Keep::bits;
            bits
        }
        KeepShape::AllButLast(lost) => {
            listed = |lost| Keep::all_but_last(lost as u16);
            u32::from(lost)
        }
    };
    let numbers = || (0..u32::BITS).filter(|at| bits & (1 << at) != 0);
    let count = bits.count_ones() as usize;
    let low = numbers().take(count / 2).fold(0, |half, at| half | 1 << at);
    let halves = [low, bits & !low].into_iter().filter(|_| count > 2);
    let without = numbers().map(|at| bits & !(1 << at));
    [Keep::NONE, Keep::ALL].into_iter().chain(halves.chain(without).map(listed)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Item, Operations, is_simpler, renamed, simpler};
    use misrule_world::{
        Argument, Choice, ChoiceKind, DiskOutcome, Keep, Keyed, KeyedValues, NO_SESSION, Rng, Slot,
    };

    const CAS: Argument = Argument::Keyed { keys: 4, values: KeyedValues::FromTo };
    const OPERATIONS: &Operations = &[(1, Argument::Fresh), (1, Argument::Below(9)), (1, CAS)];

    fn keep(rng: &mut Rng) -> Keep {
        let number = rng.below(40) as u16;
        match rng.below(8) {
            0 => Keep::prefix(number),
            1 => Keep::ALL,
            2 => Keep::TORN_LAST,
            3 => Keep::all_but(number),
            4 => Keep::only(number),
            5 => Keep::all_but_last(rng.next() as u16),
            6 => Keep::bits(1 << number.min(30) | 1 << rng.below(31)),
            _ => Keep::bits(rng.next() as u32),
        }
    }

    /// A choice of the kind, whatever its numbers.
    fn random(kind: ChoiceKind, rng: &mut Rng) -> Choice {
        let (node, other, small) = (rng.below(3) as u8, rng.below(3) as u8, rng.below(4) as u8);
        let at = rng.below(5) as u16;
        let slot = Slot { from: node, to: other, at, kind: Slot::ANY_KIND };
        match kind {
            ChoiceKind::Deliver => Choice::Deliver(slot),
            ChoiceKind::Drop => Choice::Drop(slot),
            ChoiceKind::Duplicate => Choice::Duplicate(slot),
            ChoiceKind::Timer => Choice::Timer { node, timer: small },
            ChoiceKind::Local => Choice::Local { node, step: small },
            ChoiceKind::Request => {
                let operation = rng.below(3) as u8;
                let session = if rng.chance(1, 3) { NO_SESSION } else { small };
                let (from, value) = (rng.below(5) as u16, rng.below(5) as u16);
                let keyed = Keyed { key: rng.below(4) as u8, from, value }.argument();
                let argument = if operation == 2 { keyed } else { rng.below(9) };
                Choice::Request { node, operation, argument, session }
            }
            ChoiceKind::Crash if rng.chance(1, 2) => Choice::Crash { node, keep: keep(rng) },
            ChoiceKind::Crash => Choice::CrashAt { node, at, keep: keep(rng) },
            ChoiceKind::Restart => Choice::Restart { node },
            ChoiceKind::Cut => Choice::Cut { from: node, to: other },
            ChoiceKind::Heal => Choice::Heal { from: node, to: other },
            ChoiceKind::Clog => Choice::Clog { from: node, to: other },
            ChoiceKind::Unclog => Choice::Unclog { from: node, to: other },
            ChoiceKind::Draw => Choice::Draw { node, name: small, value: rng.below(4) },
            ChoiceKind::Disk => {
                let outcome = DiskOutcome::ALL[rng.below(DiskOutcome::ALL.len() as u32) as usize].0;
                Choice::Disk { node, outcome, at: 1 + at }
            }
            ChoiceKind::Retry => Choice::Retry { node, session: small },
            ChoiceKind::Abandon => Choice::Abandon { session: small },
            ChoiceKind::Recover => Choice::Recover { core: 1 + rng.below(7) },
        }
    }

    fn schedule(rng: &mut Rng) -> Vec<Item> {
        let kind = |rng: &mut Rng| ChoiceKind::ALL[rng.below(ChoiceKind::COUNT as u32) as usize].0;
        (0..12).map(|id| Item { id, choice: random(kind(rng), rng), source: None }).collect()
    }

    /// Every form that is tried is simpler, for every choice of every kind, and so no search goes round in circles.
    #[test]
    fn every_simpler_form_is_simpler() {
        use ChoiceKind::{Crash, Deliver, Disk, Draw, Drop, Duplicate, Request};
        let (mut rng, mut simplified) = (Rng::new(3), [0; ChoiceKind::COUNT]);
        for _ in 0..3_000 {
            let items = schedule(&mut rng);
            let again = renamed(&items, OPERATIONS);
            assert!(again == items || is_simpler(&again, &items), "{items:?}\nbecame {again:?}");
            assert_eq!(renamed(&again, OPERATIONS), again);
            for at in 0..items.len() {
                for choice in simpler(&items, at, OPERATIONS) {
                    let mut candidate = items.clone();
                    candidate[at].choice = choice;
                    assert!(is_simpler(&candidate, &items), "{:?} became {choice:?}", items[at].choice);
                    assert!(!is_simpler(&items, &candidate));
                    simplified[items[at].choice.kind() as usize] += 1;
                }
            }
        }
        for kind in [Crash, Deliver, Disk, Draw, Drop, Duplicate, Request] {
            assert!(simplified[kind as usize] > 500, "{kind:?}: {simplified:?}");
        }
    }

    /// The longest way down from any set is short: a list goes by halves where it can, one by one where it must.
    #[test]
    fn sets_are_simple_after_few_steps() {
        let mut rng = Rng::new(5);
        for _ in 0..2_000 {
            let (mut steps, mut choice) = (0, Choice::CrashAt { node: 0, at: 63, keep: keep(&mut rng) });
            loop {
                let items = [Item { id: 0, choice, source: None }];
                // The worst case: of all forms that help, the one that helps least.
                let Some(next) = simpler(&items, 0, OPERATIONS).pop() else { break };
                (steps, choice) = (steps + 1, next);
            }
            assert!(steps <= 100, "{steps}");
            assert_eq!(choice, Choice::Crash { node: 0, keep: Keep::NONE });
        }
    }
}

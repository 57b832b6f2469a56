//! Draws what clients do: requests, and where there are sessions, retries and abandoned calls.

use misrule_world::{Argument, Choice, Keyed, KeyedValues, Menu, NO_SESSION, NodeId, Rng, nth_bit};

/// Whether a client can ask: some node runs, and where there are sessions, one of them is free.
pub(crate) fn can_ask(menu: &Menu) -> bool {
    menu.up != 0 && (menu.sessions == 0 || menu.sessions_free() != 0)
}

/// A request of some running node; `operations` is the sum of the operations' weights.
pub(crate) fn request(menu: &Menu, operations: u32, rng: &mut Rng) -> Option<Choice> {
    let node = menu.nth_up(rng.below(menu.up.count_ones()))?;
    let mut at = rng.below(operations);
    for (operation, (weight, argument)) in menu.operations.iter().enumerate() {
        if at < u32::from(*weight) {
            let argument = drawn(*argument, node, menu, rng);
            let session = if menu.sessions == 0 { NO_SESSION } else { any(menu.sessions_free(), rng)? };
            return Some(Choice::Request { node, operation: operation as u8, argument, session });
        }
        at -= u32::from(*weight);
    }
    None
}

/// A waiting session asks some running node again.
pub(crate) fn retry(menu: &Menu, rng: &mut Rng) -> Option<Choice> {
    let node = menu.nth_up(rng.below(menu.up.count_ones()))?;
    Some(Choice::Retry { node, session: any(menu.sessions_waiting, rng)? })
}

/// A waiting session gives up.
pub(crate) fn abandon(menu: &Menu, rng: &mut Rng) -> Option<Choice> {
    Some(Choice::Abandon { session: any(menu.sessions_waiting, rng)? })
}

/// A node other than `node`.
pub(crate) fn peer(menu: &Menu, node: NodeId, rng: &mut Rng) -> NodeId {
    let other = rng.below(u32::from(menu.nodes).saturating_sub(1)) as NodeId;
    if other >= node { (other + 1).min(menu.nodes - 1) } else { other }
}

/// An argument of a request of the node.
pub(crate) fn drawn(argument: Argument, node: NodeId, menu: &Menu, rng: &mut Rng) -> u32 {
    match argument {
        Argument::None => 0,
        Argument::Fresh => menu.fresh,
        Argument::Below(bound) => rng.below(bound),
        Argument::Peer => u32::from(peer(menu, node, rng)),
        Argument::Keyed { keys, values } => {
            let key = rng.below(u32::from(keys)) as u8;
            let fresh = menu.fresh.min(u32::from(Keyed::VALUE_MAX)) as u16;
            let (from, value) = match values {
                KeyedValues::None => (0, 0),
                KeyedValues::Fresh => (0, fresh),
                KeyedValues::FromTo => (compared(menu, key, fresh, rng), fresh),
            };
            Keyed { key, from, value }.argument()
        }
    }
}

/// A value to compare with: mostly the one that was last asked to be put at the key, else one of late.
fn compared(menu: &Menu, key: u8, fresh: u16, rng: &mut Rng) -> u16 {
    const LATE: u32 = 4;
    let last = menu.recent.get(usize::from(key)).copied().unwrap_or(0);
    if rng.chance(3, 4) { last } else { fresh.saturating_sub(1 + rng.below(LATE) as u16) }
}

/// One of the bits that are set.
fn any(bits: u64, rng: &mut Rng) -> Option<u8> {
    nth_bit(bits, rng.below(bits.count_ones()))
}

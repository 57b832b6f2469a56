//! `waiting`: for each receiver, the set of waiting messages, and its role.

use crate::{Key, Lens, NodeId, Replicas};

/// One waiting message, in relation to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingMessage {
    /// Message kind, below 20.
    pub kind: u8,
    /// Whether its term is newer than the receiver's; messages of older terms are left out.
    pub newer: bool,
    /// 0, 1 or 2: its index is less than, equal to or greater than the receiver's log length.
    pub index: u8,
}

/// A set of waiting messages. A projection keeps one for each receiver, so that lenses need a look only where it is
/// another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingSet(u128);

impl WaitingSet {
    /// Adds a message; it may be there already. Kinds above 20 count as 20.
    #[inline]
    pub fn insert(&mut self, message: WaitingMessage) {
        let bit = u32::from(message.kind.min(20)) * 6 + u32::from(message.newer) * 3;
        self.0 |= 1 << (bit + u32::from(message.index.min(2)));
    }

    /// Calls `each` for every message, by kind.
    pub fn each(self, each: &mut dyn FnMut(WaitingMessage)) {
        let mut set = self.0;
        while set != 0 {
            let bit = set.trailing_zeros() as u8;
            each(WaitingMessage { kind: bit / 6, newer: bit % 6 >= 3, index: bit % 3 });
            set &= set - 1;
        }
    }
}

/// Messages in flight, as the preset sees them.
pub trait Inbox: Replicas {
    /// Calls `each` for every message waiting for `to`, in any order. Heartbeats and messages of older terms
    /// are left out: they would make every state new.
    fn waiting(&self, to: NodeId, each: &mut dyn FnMut(WaitingMessage));
}

/// The lens `waiting`: one key for each touched receiver, made of the *set* of (kind, newer, index) over all
/// senders and the receiver's role.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting;

impl<V: Inbox + ?Sized> Lens<V> for Waiting {
    fn keys(&self, view: &V, touched: u64, out: &mut Vec<Key>) {
        for to in 0..view.count() {
            if touched & (1 << to) == 0 {
                continue;
            }
            let mut set = WaitingSet::default();
            view.waiting(to, &mut |message| set.insert(message));
            let replica = view.replica(to);
            let role = u64::from(replica.up) << 3 | u64::from(replica.role);
            let code = mix(mix(role, (set.0 >> 64) as u64), set.0 as u64);
            out.push(Key { lens: 0, facet: 0, code });
        }
    }
}

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014), a bijection of the sum.
fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

//! `message`, `persistence` and `detailed`: the whole state as one key. What published tools count; for granularity studies
//! and conformance, not for guidance.

use crate::{Key, Lens, StableHasher};
use std::hash::Hasher;

/// How much of a state a whole-state key takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Roles, terms, logs and messages.
    Message,
    /// Adds what is volatile against what is durable, where a view tells them apart.
    Persistence,
    /// Adds timers and buffers.
    Detailed,
}

/// A state that can be hashed at a level of detail.
pub trait Whole {
    /// Writes everything at `detail` into `hasher`, in a fixed order.
    fn digest(&self, detail: Detail, hasher: &mut StableHasher);
}

impl<V: Whole + ?Sized> Lens<V> for Detail {
    fn keys(&self, view: &V, _touched: u64, out: &mut Vec<Key>) {
        let mut hasher = StableHasher::default();
        view.digest(*self, &mut hasher);
        out.push(Key { lens: 0, facet: 0, code: hasher.finish() });
    }
}

//! Lenses: the granularity at which states are told apart.

use crate::Key;

/// Turns an abstract state into a small set of keys.
///
/// `touched` is a bit set of the nodes whose state or waiting messages the last step changed; a lens
/// recomputes only what depends on them. `V` is a model's state (`@model`) or a projection of the
/// implementation (`@impl`).
pub trait Lens<V: ?Sized> {
    /// Appends the keys of `view` to `out`. The `lens` field of a key is filled in by the [`LensSet`].
    fn keys(&self, view: &V, touched: u64, out: &mut Vec<Key>);
}

/// The lenses of one campaign over one kind of view, each stamped with its position.
pub struct LensSet<V: ?Sized> {
    lenses: Vec<(u8, Box<dyn Lens<V>>)>,
}

impl<V: ?Sized> Default for LensSet<V> {
    fn default() -> Self {
        Self { lenses: Vec::new() }
    }
}

impl<V: ?Sized> LensSet<V> {
    /// Adds a lens whose keys carry `position`.
    pub fn push(&mut self, position: u8, lens: Box<dyn Lens<V>>) {
        self.lenses.push((position, lens));
    }

    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.lenses.is_empty()
    }

    /// Appends the keys of every lens to `out`.
    pub fn keys(&self, view: &V, touched: u64, out: &mut Vec<Key>) {
        for (position, lens) in &self.lenses {
            let start = out.len();
            lens.keys(view, touched, out);
            for key in &mut out[start..] {
                key.lens = *position;
            }
        }
    }
}

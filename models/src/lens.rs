//! Lenses: the granularity at which states are told apart.

use crate::Key;
use crate::presets::{Facets, Replicas};

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

impl<V: Replicas + ?Sized> LensSet<V> {
    /// Adds the lens of facets that the name with its view spells, as `role+commit@model` does; false, with nothing
    /// added, where it spells none.
    pub fn push_facets(&mut self, position: u8, name: &str, view: &str) -> bool {
        let facets = Facets::at(name, view);
        if let Some(facets) = facets {
            self.push(position, Box::new(facets));
        }
        facets.is_some()
    }
}

/// The lenses of one campaign over a projection of the implementation, apart by what makes them look again.
pub struct ProjectionLenses<V: ?Sized> {
    /// Over the nodes themselves: they need a look only where one changed.
    pub states: LensSet<V>,
    /// Over waiting messages: they need a look only where their set is another.
    pub inboxes: LensSet<V>,
    /// Over deliveries and whole states: they look at every step.
    pub steps: LensSet<V>,
}

impl<V: ?Sized> Default for ProjectionLenses<V> {
    fn default() -> Self {
        Self { states: LensSet::default(), inboxes: LensSet::default(), steps: LensSet::default() }
    }
}

impl<V: ?Sized> ProjectionLenses<V> {
    /// Appends the keys of the lenses that need a look, where `states` is the bit set of nodes that changed, and
    /// `inboxes` that of nodes for which other messages wait.
    #[inline]
    pub fn keys(&self, view: &V, (states, inboxes): (u64, u64), out: &mut Vec<Key>) {
        if states | inboxes != 0 || !self.steps.is_empty() {
            self.look(view, states, inboxes, out);
        }
    }

    /// Never inlined: most steps change nothing that lenses read.
    #[inline(never)]
    fn look(&self, view: &V, states: u64, inboxes: u64, out: &mut Vec<Key>) {
        if states != 0 {
            self.states.keys(view, states, out);
        }
        if inboxes != 0 {
            self.inboxes.keys(view, inboxes, out);
        }
        if !self.steps.is_empty() {
            self.steps.keys(view, states | inboxes, out);
        }
    }
}

//! What was tried: states by number, and pairs of placed operations and state.

use crate::plan::Item;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;
use std::rc::Rc;

/// A state's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StateId(pub(super) u32);

/// All states that were seen, each once.
pub(super) struct States<T> {
    numbers: FxHashMap<Rc<T>, StateId>,
    states: Vec<Rc<T>>,
}

impl<T> Default for States<T> {
    fn default() -> Self {
        Self { numbers: FxHashMap::default(), states: Vec::new() }
    }
}

impl<T: Eq + Hash> States<T> {
    pub(super) fn id(&mut self, state: T) -> StateId {
        if let Some(id) = self.numbers.get(&state) {
            return *id;
        }
        let id = StateId(self.states.len() as u32);
        let state = Rc::new(state);
        self.states.push(Rc::clone(&state));
        self.numbers.insert(state, id);
        id
    }

    pub(super) fn state(&self, id: StateId) -> &T {
        &self.states[id.0 as usize]
    }
}

/// The set of placed operations: a bit each, those that must be placed before those that need not.
pub(super) struct Placed {
    bits: Vec<u64>,
    /// How many of the words belong to operations that must be placed.
    needed: usize,
    place: Vec<usize>,
}

impl Placed {
    pub(super) fn new<C>(items: &[Item<C>]) -> Self {
        let mut place = vec![0; items.len()];
        let mut order: Vec<usize> = (0..items.len()).filter(|at| items[*at].returned.is_some()).collect();
        // In the order of beginning the placed ones are nearly a prefix, which the cache need not keep.
        order.sort_by_key(|at| items[*at].invoked);
        let needed = order.len().div_ceil(64);
        let optional = (0..items.len()).filter(|at| items[*at].returned.is_none());
        let number = order.iter().copied().enumerate();
        for (bit, at) in number.chain(optional.enumerate().map(|(bit, at)| (needed * 64 + bit, at))) {
            place[at] = bit;
        }
        let optional = items.len() - order.len();
        Self { bits: vec![0; needed + optional.div_ceil(64)], needed, place }
    }

    pub(super) fn insert(&mut self, item: usize) {
        let bit = self.place[item];
        self.bits[bit / 64] |= 1 << (bit % 64);
    }

    pub(super) fn remove(&mut self, item: usize) {
        let bit = self.place[item];
        self.bits[bit / 64] &= !(1 << (bit % 64));
    }

    pub(super) fn contains(&self, item: usize) -> bool {
        let bit = self.place[item];
        self.bits[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// The set in few words: without the full words at its beginning and the empty ones at the end of what must be
    /// placed, of which the first word tells the number.
    fn key(&self) -> Box<[u64]> {
        let needed = &self.bits[..self.needed];
        let full = needed.iter().take_while(|word| **word == u64::MAX).count();
        let empty = needed[full..].iter().rev().take_while(|word| **word == 0).count();
        let length = self.needed - full - empty;
        let head = [full as u64 | (length as u64) << 32];
        [&head, &needed[full..full + length], &self.bits[self.needed..]].concat().into()
    }
}

/// The pairs that were tried.
#[derive(Default)]
pub(super) struct Cache(FxHashSet<(StateId, Box<[u64]>)>);

impl Cache {
    /// Adds the pair; false if it was there.
    pub(super) fn insert(&mut self, placed: &Placed, state: StateId) -> bool {
        self.0.insert((state, placed.key()))
    }
}

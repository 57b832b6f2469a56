//! Which operations need a state that no other can bring about any more.

use super::cache::{StateId, States};
use crate::Specification;
use crate::plan::Item;

/// Comparing every call with every needed state must stay cheap; beyond this, nothing is looked for.
const PAIRS_MAX: usize = 20_000_000;

/// For each needed state, how many operations need it and how many may bring it about, of those still to be placed.
/// Needed states have the first numbers.
pub(super) struct Lookahead {
    needing: Vec<u32>,
    giving: Vec<u32>,
    /// By operation: the state that it needs.
    needs: Vec<Option<u32>>,
    /// By operation: the states that it may bring about.
    gives: Vec<Vec<u32>>,
    /// Too large: nothing is known.
    off: bool,
}

impl Lookahead {
    /// Numbers the needed states, for which `states` must be empty.
    pub(super) fn new<S: Specification>(
        specification: &S,
        items: &[Item<S::Call>],
        states: &mut States<S::State>,
    ) -> Self {
        let mut needs = Vec::with_capacity(items.len());
        let mut count = 0;
        for item in items {
            let id = specification.needs(&item.call).filter(|_| item.returned.is_some());
            let id = id.map(|state| states.id(state).0);
            count = count.max(id.map_or(0, |id| id as usize + 1));
            needs.push(id);
        }
        let off = count.saturating_mul(items.len()) > PAIRS_MAX;
        if off {
            (needs, count) = (vec![None; items.len()], 0);
        }
        let mut needing = vec![0; count];
        for id in needs.iter().flatten() {
            needing[*id as usize] += 1;
        }
        let mut giving = vec![0; count];
        let mut gives = vec![Vec::new(); items.len()];
        for (item, gives) in items.iter().zip(&mut gives) {
            for id in 0..count as u32 {
                if specification.may_give(&item.call, states.state(StateId(id))) {
                    giving[id as usize] += 1;
                    gives.push(id);
                }
            }
        }
        Self { needing, giving, needs, gives, off }
    }

    pub(super) fn place(&mut self, item: usize) {
        if let Some(id) = self.needs[item] {
            self.needing[id as usize] -= 1;
        }
        for id in &self.gives[item] {
            self.giving[*id as usize] -= 1;
        }
    }

    pub(super) fn unplace(&mut self, item: usize) {
        if let Some(id) = self.needs[item] {
            self.needing[id as usize] += 1;
        }
        for id in &self.gives[item] {
            self.giving[*id as usize] += 1;
        }
    }

    /// Whether the operation may bring about a state that some other still needs.
    pub(super) fn gives_needed(&self, item: usize) -> bool {
        self.off || self.gives[item].iter().any(|id| self.needing[*id as usize] > 0)
    }

    /// Whether everything may be possible, from this state.
    pub(super) fn alive_at_first(&self, state: StateId) -> bool {
        let given = |id: usize| self.giving[id] > 0 || id == state.0 as usize;
        (0..self.needing.len()).all(given)
    }

    /// Whether what remains may still be possible, after this operation was placed and led from one state to another.
    pub(super) fn alive(&self, item: usize, from: StateId, to: StateId) -> bool {
        let lost = |id: u32| {
            let at = id as usize;
            id != to.0 && self.needing.get(at).is_some_and(|count| *count > 0) && self.giving[at] == 0
        };
        !lost(from.0) && !self.gives[item].iter().any(|id| lost(*id))
    }
}

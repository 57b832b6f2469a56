//! The ledger: which states the database may be in after a start.

use crate::contents::State;
use std::collections::VecDeque;

/// Older states that are remembered, to tell a commit that was rolled back from a mixture.
const PAST_MAX: usize = 256;

/// What was committed, as clients were told.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The last state that is durable for sure, then the later ones that may be there, in order.
    states: Vec<State>,
    /// States before those.
    past: VecDeque<State>,
}

/// Where a state stands in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The one that is durable for sure.
    Durable,
    /// One of those behind it.
    Later,
    /// The last one that may be there.
    Last,
    /// One that was replaced by a durable one.
    Past,
    /// Never committed.
    Nowhere,
}

impl Ledger {
    /// A new execution: an empty database.
    pub(crate) fn reset(&mut self) {
        self.past.clear();
        self.states.clear();
        self.states.push(State::default());
    }

    /// A commit was acknowledged.
    pub(crate) fn committed(&mut self, state: &State, durable: bool) {
        self.states.push(*state);
        if durable {
            self.settle(self.states.len() - 1);
        }
    }

    /// A commit was begun, and nobody knows how it ended.
    pub(crate) fn begun(&mut self, state: &State) {
        self.states.push(*state);
    }

    /// A client finds the database in this state. It is to stay so.
    pub(crate) fn found(&mut self, state: &State) -> Place {
        // From the end, as a commit may have changed nothing.
        let place = match self.states.iter().rposition(|known| known == state) {
            Some(at) => {
                let last = at + 1 == self.states.len();
                self.settle(at);
                if last {
                    Place::Last
                } else if at == 0 {
                    Place::Durable
                } else {
                    Place::Later
                }
            }
            None if self.past.contains(state) => Place::Past,
            None => Place::Nowhere,
        };
        place
    }

    /// Makes one of the states the durable one. Those behind it are forgotten: they are gone for good.
    fn settle(&mut self, at: usize) {
        self.past.extend(self.states.drain(..at));
        self.states.truncate(1);
        let excess = self.past.len().saturating_sub(PAST_MAX);
        self.past.drain(..excess);
    }

    /// How many states may be there.
    pub(crate) fn open(&self) -> usize {
        self.states.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ledger, Place};
    use crate::contents::State;

    fn state(number: u32) -> State {
        let mut state = State::default();
        state.contents[0][0] = number;
        state
    }

    #[test]
    fn what_is_durable_stays_and_the_rest_is_lost_from_the_end() {
        let ledger = |find: u32| {
            let mut ledger = Ledger::default();
            ledger.reset();
            ledger.committed(&state(1), true);
            ledger.committed(&state(2), true);
            ledger.committed(&state(3), false);
            ledger.committed(&state(4), false);
            ledger.begun(&state(5));
            (ledger.found(&state(find)), ledger)
        };
        let places = [
            Place::Past,
            Place::Past,
            Place::Durable,
            Place::Later,
            Place::Later,
            Place::Last,
            Place::Nowhere,
        ];
        for (number, place) in (0..).zip(places) {
            assert_eq!(ledger(number).0, place, "state {number}");
        }
        // What was found stays: the state before it is past now, the one behind it never was.
        let (_, mut after) = ledger(3);
        assert_eq!(after.open(), 1);
        assert_eq!(after.found(&state(3)), Place::Last);
        assert_eq!(after.found(&state(2)), Place::Past);
        assert_eq!(after.found(&state(4)), Place::Nowhere);
    }

    #[test]
    fn a_durable_commit_makes_earlier_ones_durable() {
        let mut ledger = Ledger::default();
        ledger.reset();
        ledger.committed(&state(1), false);
        ledger.committed(&state(2), true);
        assert_eq!(ledger.found(&state(1)), Place::Past);
        assert_eq!(ledger.found(&state(2)), Place::Last);
    }
}

//! Plans: choices after which the model would be where nobody has been.
//!
//! A mapping says of choices what the model would do by them ([`Expected`]). A search takes the model through these in
//! every order, breadth first, so that what it finds is nearest. It knows of no message that is not waiting yet: what a
//! plan leads to shows new ones, and a strategy plans again there.

use crate::choice::{Choice, Slot};
use crate::links::Links;
use crate::menu::Menu;
use misrule_models::{Key, Kind, LensSet, Model, NodeId, Step, stable_hash};
use std::collections::BTreeSet;

/// The lens of keys that stand for `sometimes` properties: the facet is the property's place among them.
pub const SOMETIMES: u8 = u8::MAX;

/// The most that a mapping may expect at once; what comes later is not looked at.
const EXPECTED_MAX: usize = 64;

/// What the model would do if choices were made now, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected<A> {
    /// The choices.
    pub choices: Vec<Choice>,
    /// What the mapping would tell of them, without what is ignored. Where the model refuses one of it, it is not
    /// expected after all.
    pub actions: Vec<A>,
}

/// A search, and what it has found.
pub struct Search<'a> {
    /// Whether a key is one to get to. Keys of `sometimes` properties that the campaign has not seen have the lens
    /// [`SOMETIMES`].
    pub wants: &'a mut dyn FnMut(Key) -> bool,
    /// How many states of the model it may look at.
    pub states_max: u32,
    /// How many it has looked at.
    pub states: u32,
    /// What was found: the key, and the choices that lead to it.
    pub found: Option<(Key, Vec<Choice>)>,
}

/// A state that a search has come to: from which, by which of what is expected.
struct Reached<S> {
    state: S,
    from: usize,
    by: usize,
    used: u64,
}

impl<'a> Search<'a> {
    /// A search that has not begun.
    pub fn new(wants: &'a mut dyn FnMut(Key) -> bool, states_max: u32) -> Self {
        Self { wants, states_max, states: 0, found: None }
    }

    /// Searches from a state of the model. `unseen` are the `sometimes` properties to look for, by their place among
    /// all of that kind.
    pub(crate) fn from<M: Model>(
        &mut self,
        (model, start): (&M, &M::State),
        expected: &[Expected<M::Action>],
        (lenses, touched): (&LensSet<M::State>, u64),
        unseen: &dyn Fn(usize) -> bool,
    ) {
        let mut reached = vec![Reached { state: start.clone(), from: 0, by: 0, used: 0 }];
        let mut known = BTreeSet::from([stable_hash(start)]);
        let mut at = 0;
        while at < reached.len() {
            for (by, one) in expected.iter().enumerate().take(EXPECTED_MAX) {
                if reached[at].used & (1 << by) != 0 {
                    continue;
                }
                let Some(state) = after(model, &reached[at].state, &one.actions) else { continue };
                if !known.insert(stable_hash(&state)) {
                    continue;
                }
                self.states += 1;
                let goal = self.goal(model, &state, (lenses, touched), unseen);
                let used = reached[at].used | 1 << by;
                reached.push(Reached { state, from: at, by, used });
                if let Some(key) = goal {
                    self.found = Some((key, way(&reached, expected)));
                    return;
                }
                if self.states >= self.states_max {
                    return;
                }
            }
            at += 1;
        }
    }

    /// The first key of the state that is wanted.
    fn goal<M: Model>(
        &mut self,
        model: &M,
        state: &M::State,
        (lenses, touched): (&LensSet<M::State>, u64),
        unseen: &dyn Fn(usize) -> bool,
    ) -> Option<Key> {
        let mut keys = Vec::new();
        lenses.keys(state, touched, &mut keys);
        let sometimes = model.properties().iter().filter(|property| property.kind == Kind::Sometimes);
        for (at, property) in sometimes.enumerate() {
            if unseen(at) && (property.holds)(model, state) {
                keys.push(Key { lens: SOMETIMES, facet: at as u8, code: 0 });
            }
        }
        keys.into_iter().find(|key| (self.wants)(*key))
    }
}

/// The state after all of these actions; none where the model refuses one, or has several outcomes.
fn after<M: Model>(model: &M, state: &M::State, actions: &[M::Action]) -> Option<M::State> {
    let mut next = state.clone();
    actions.iter().all(|action| model.step(&mut next, action) == Step::Taken).then_some(next)
}

/// The choices that lead to the state reached last.
fn way<S, A>(reached: &[Reached<S>], expected: &[Expected<A>]) -> Vec<Choice> {
    let mut parts = Vec::new();
    let mut at = reached.len() - 1;
    while at > 0 {
        parts.push(&expected[reached[at].by].choices);
        at = reached[at].from;
    }
    parts.into_iter().rev().flatten().copied().collect()
}

/// The messages that may be delivered now, sender and receiver first. Each is named by the first of its kind, so that a
/// choice still fits where one before it was delivered.
pub fn deliverable<'a, M: Clone>(
    menu: &'a Menu,
    links: &'a Links<M>,
) -> impl Iterator<Item = (NodeId, NodeId, &'a M, Choice)> {
    let ends = (0..menu.nodes).flat_map(|from| (0..menu.nodes).map(move |to| (from, to)));
    ends.flat_map(move |(from, to)| {
        let (mut kinds, reach) = (0_u64, usize::from(menu.reach(from, to)));
        let first = move |(_, kind): &(&M, u8)| {
            let bit = 1 << (*kind).min(63);
            let is_first = kinds & bit == 0;
            kinds |= bit;
            is_first
        };
        let slot = move |kind| Slot { from, to, at: Slot::FIRST_OF_KIND, kind };
        let waiting = links.waiting(from, to).take(reach).filter(first);
        waiting.map(move |(message, kind)| (from, to, message, Choice::Deliver(slot(kind))))
    })
}

#[cfg(test)]
mod tests {
    use super::{Expected, SOMETIMES, Search};
    use crate::choice::Choice;
    use misrule_models::{Fields, Key, Kind, Lens, LensSet, Model, Property, Refusal, Step};
    use std::fmt::Display;

    /// Counts up to three, by one or by two.
    struct Counter;

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Count(u8);

    impl Fields for Count {
        fn fields(&self, _: &mut dyn FnMut(&str, &dyn Display)) {}
    }

    impl Model for Counter {
        type State = Count;
        type Action = u8;
        fn initial(&self, out: &mut Vec<Count>) {
            out.push(Count(0));
        }
        fn step(&self, state: &mut Count, by: &u8) -> Step<Count> {
            if state.0 + by > 3 {
                return Step::Refused(Refusal("beyond three"));
            }
            state.0 += by;
            Step::Taken
        }
        fn enabled(&self, _: &Count, _: &mut Vec<u8>) {}
        fn properties(&self) -> &'static [Property<Self>] {
            &[Property { name: "two", kind: Kind::Sometimes, holds: |_, state| state.0 == 2 }]
        }
    }

    struct Whole;
    impl Lens<Count> for Whole {
        fn keys(&self, state: &Count, _: u64, out: &mut Vec<Key>) {
            out.push(Key { code: u64::from(state.0), ..Key::default() });
        }
    }

    fn expected() -> Vec<Expected<u8>> {
        let one =
            |node, by: &[u8]| Expected { choices: vec![Choice::Restart { node }], actions: by.to_vec() };
        vec![one(0, &[1]), one(1, &[2]), one(2, &[1, 1, 2])]
    }

    fn found(
        wanted: &dyn Fn(Key) -> bool,
        unseen: bool,
        states_max: u32,
    ) -> (Option<(Key, Vec<Choice>)>, u32) {
        let mut lenses = LensSet::default();
        lenses.push(0, Box::new(Whole));
        let mut wants = |key| wanted(key);
        let mut search = Search::new(&mut wants, states_max);
        search.from((&Counter, &Count(0)), &expected(), (&lenses, 1), &|_| unseen);
        (search.found, search.states)
    }

    #[test]
    fn the_nearest_wanted_key_is_found_with_the_choices_that_lead_there() {
        let key = |code| Key { code, ..Key::default() };
        let (first, second) = (Choice::Restart { node: 0 }, Choice::Restart { node: 1 });
        let to = |code| found(&|it| it == key(code), false, 64).0;
        assert_eq!(to(2), Some((key(2), vec![second])));
        assert_eq!(to(3), Some((key(3), vec![first, second])));
        // Nothing leads beyond three, and what is expected comes once.
        assert_eq!(found(&|it| it == key(4), false, 64), (None, 3));
    }

    #[test]
    fn it_stops_where_it_has_looked_at_enough() {
        assert_eq!(found(&|_| false, false, 2), (None, 2));
    }

    #[test]
    fn a_sometimes_property_is_a_goal_until_it_was_seen() {
        let goal = |unseen| found(&|key| key.lens == SOMETIMES, unseen, 64).0;
        assert_eq!(goal(true).map(|(_, choices)| choices), Some(vec![Choice::Restart { node: 1 }]));
        assert_eq!(goal(false), None);
    }
}

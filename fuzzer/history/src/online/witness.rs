//! An order of one object's operations that explains all answers so far, and the search for another one.
//!
//! Operations that are answered and change the state, and open ones where they are needed, stand in the order as
//! choices that can be taken back. Three rules keep the search short, and keep the verdict:
//! - an answered operation that never changes the state ([`Specification::only_looks`]) is put where it first fits,
//!   without alternative: it disturbs no other;
//! - an open operation is placed only where it changes the state, and of equal ones the first; it may be needed for
//!   that, or not at all;
//! - where an operation needs a state that no other can bring about any more, the search turns back at once.

use crate::Specification;
use rustc_hash::{FxHashMap, FxHashSet};

/// An operation of the object.
struct Asked<S: Specification> {
    /// None where the operation tells nothing and does nothing.
    call: Option<S::Call>,
    invoked: u64,
    /// The largest number while it is open.
    returned: u64,
    /// It is answered, and never changes the state.
    looks: bool,
    /// It is answered, and possible in this state only.
    needs: Option<S::State>,
    /// As an open operation it was placed where it stands for this: what its answer depends on.
    promise: u128,
}

impl<S: Specification> Asked<S> {
    fn answered(&self) -> bool {
        self.returned != u64::MAX
    }
}

/// A placed operation.
struct Frame<T> {
    operation: usize,
    before: T,
}

/// The answer to an operation.
pub(super) struct Ended<C> {
    pub(super) operation: usize,
    pub(super) call: Option<C>,
    pub(super) event: u64,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Order,
    Nothing,
    Unknown,
}

pub(super) struct Witness<S: Specification> {
    operations: Vec<Asked<S>>,
    frames: Vec<Frame<S::State>>,
    /// The state behind all frames.
    state: S::State,
    /// Operations that may be placed and are not, in the order in which they began.
    waiting: Vec<usize>,
    /// How many of those are answered.
    owed: usize,
    /// The configuration but for the state: a sum of marks of the operations that are placed and change the state,
    /// of those that look and wait, and of what the answers of open ones depend on.
    marks: u128,
    /// The configurations that were given up, with the number of the state.
    failed: FxHashSet<(u128, u32)>,
    numbers: FxHashMap<S::State, u32>,
    /// The states in which the operation answered last could have been placed, before a search.
    seen: Vec<S::State>,
}

impl<S: Specification> Witness<S> {
    pub(super) fn new(init: S::State) -> Self {
        Self {
            operations: Vec::new(),
            frames: Vec::new(),
            state: init,
            waiting: Vec::new(),
            owed: 0,
            marks: 0,
            failed: FxHashSet::default(),
            numbers: FxHashMap::default(),
            seen: Vec::new(),
        }
    }

    pub(super) fn reset(&mut self, init: &S::State) {
        self.operations.clear();
        self.frames.clear();
        self.state.clone_from(init);
        self.waiting.clear();
        (self.owed, self.marks) = (0, 0);
        self.failed.clear();
        self.numbers.clear();
        self.seen.clear();
    }

    pub(super) fn invoke(&mut self, specification: &S, call: Option<S::Call>, event: u64) -> usize {
        let at = self.operations.len();
        // What never changes anything explains no other answer.
        if call.as_ref().is_some_and(|call| !specification.only_looks(call)) {
            self.waiting.push(at);
        }
        let (returned, looks, needs, promise) = (u64::MAX, false, None, 0);
        self.operations.push(Asked { call, invoked: event, returned, looks, needs, promise });
        at
    }

    /// Whether there is an order that explains this answer too. At most `left` configurations are given up.
    pub(super) fn answer(&mut self, specification: &S, ended: Ended<S::Call>, left: &mut usize) -> Found {
        let Ended { operation: at, call, event } = ended;
        if self.operations[at].answered() {
            return Found::Order;
        }
        let first = self.first_place(at);
        let place = (first..self.frames.len()).find(|place| self.frames[*place].operation == at);
        if let (Some(place), Some(call)) = (place, &call)
            && specification.step(&self.frames[place].before, call).as_ref() == Some(self.after(place))
        {
            let asked = &mut self.operations[at];
            self.marks = self.marks.wrapping_sub(std::mem::take(&mut asked.promise));
            (asked.call, asked.returned) = (Some(call.clone()), event);
            return Found::Order;
        }
        self.seen.clear();
        if let Some(place) = place {
            // It was placed for another answer than it got.
            self.look_back(at);
            while self.frames.len() > place {
                self.take_back();
            }
        }
        if let Ok(place) = self.waiting.binary_search(&at) {
            self.waiting.remove(place);
        }
        let asked = &mut self.operations[at];
        asked.returned = event;
        asked.looks = call.as_ref().is_some_and(|call| specification.only_looks(call));
        asked.needs = call.as_ref().and_then(|call| specification.needs(call));
        asked.call = call;
        if self.operations[at].call.is_some() && !self.insert_look(specification, at) {
            self.wait(at);
        }
        self.search(specification, at, left)
    }

    /// What the operation could have been answered, where the last search began.
    pub(super) fn allowed(&self, specification: &S, at: usize) -> impl Iterator<Item = String> {
        let call = self.operations[at].call.as_ref();
        self.seen.iter().rev().filter_map(move |state| call.map(|call| specification.allowed(state, call)))
    }

    /// The state behind a frame.
    fn after(&self, place: usize) -> &S::State {
        self.frames.get(place + 1).map_or(&self.state, |frame| &frame.before)
    }

    /// The first frame before which an operation may stand: it comes after all that was answered before it began.
    fn first_place(&self, at: usize) -> usize {
        let invoked = self.operations[at].invoked;
        let before = |frame: &Frame<S::State>| self.operations[frame.operation].returned < invoked;
        self.frames.iter().rposition(before).map_or(0, |place| place + 1)
    }

    /// Remembers the states in which the operation could stand.
    fn look_back(&mut self, at: usize) {
        self.seen.clear();
        let others = |frame: &&Frame<S::State>| frame.operation != at;
        let first = self.first_place(at);
        self.seen.extend(self.frames[first..].iter().filter(others).map(|frame| frame.before.clone()));
        self.seen.push(self.state.clone());
    }

    /// Places an answered operation that never changes the state where it first fits, if it does.
    fn insert_look(&mut self, specification: &S, at: usize) -> bool {
        let asked = &self.operations[at];
        let Some(call) = asked.call.as_ref().filter(|_| asked.looks) else { return false };
        let first = self.first_place(at);
        let fits = |state: &S::State| specification.step(state, call).is_some();
        let found = (first..self.frames.len()).find(|place| fits(&self.frames[*place].before));
        let Some(place) = found.or_else(|| fits(&self.state).then_some(self.frames.len())) else {
            return false;
        };
        let before = self.frames.get(place).map_or(&self.state, |frame| &frame.before).clone();
        self.frames.insert(place, Frame { operation: at, before });
        true
    }

    /// Adds an operation to those that wait.
    fn wait(&mut self, at: usize) {
        let place = self.waiting.partition_point(|other| *other < at);
        self.waiting.insert(place, at);
        let asked = &self.operations[at];
        self.owed += usize::from(asked.answered());
        if asked.looks {
            self.marks = self.marks.wrapping_add(mark(LOOKS, at, 0));
        }
    }

    /// Looks for an order, from the kept one on, after the operation was answered. Depth first; nothing that was
    /// given up is tried again.
    fn search(&mut self, specification: &S, answered: usize, left: &mut usize) -> Found {
        while self.owed > 0 {
            self.settle(specification);
            if self.owed == 0 || (self.alive(specification) && self.descend(specification)) {
                continue;
            }
            if *left == 0 {
                return Found::Unknown;
            }
            *left -= 1;
            if self.seen.is_empty() {
                self.look_back(answered);
            }
            if !self.give_up() {
                return Found::Nothing;
            }
        }
        Found::Order
    }

    /// Places whatever looks and fits.
    fn settle(&mut self, specification: &S) {
        let mut next = 0;
        let mut deadline = self.deadline();
        while let Some(at) = self.waiting.get(next).copied() {
            let Asked { call: Some(call), invoked, looks, .. } = &self.operations[at] else { return };
            if *invoked >= deadline {
                return;
            }
            if *looks && specification.step(&self.state, call).is_some() {
                self.place(next, self.state.clone());
                // Others may be free now, also those before.
                (next, deadline) = (0, self.deadline());
            } else {
                next += 1;
            }
        }
    }

    /// Before this an operation must have begun that is placed next.
    fn deadline(&self) -> u64 {
        if self.owed == 0 {
            return u64::MAX;
        }
        self.waiting.iter().map(|at| self.operations[*at].returned).min().unwrap_or(u64::MAX)
    }

    /// Whether all states that are needed are there or can still be brought about.
    fn alive(&self, specification: &S) -> bool {
        let gives = |at: &usize, needed: &S::State| {
            let Asked { call, looks, .. } = &self.operations[*at];
            !looks && call.as_ref().is_some_and(|call| specification.may_give(call, needed))
        };
        self.waiting.iter().all(|at| match &self.operations[*at].needs {
            Some(needed) => *needed == self.state || self.waiting.iter().any(|at| gives(at, needed)),
            None => true,
        })
    }

    /// Places an operation that changes the state and was not tried here: an answered one first.
    fn descend(&mut self, specification: &S) -> bool {
        let deadline = self.deadline();
        for answered in [true, false] {
            for next in 0..self.waiting.len() {
                let at = self.waiting[next];
                let asked = &self.operations[at];
                if asked.invoked >= deadline {
                    break;
                }
                if asked.answered() != answered || asked.looks || self.has_twin(next) {
                    continue;
                }
                let Some(call) = &asked.call else { continue };
                let Some(state) = specification.step(&self.state, call) else { continue };
                if !answered && state == self.state {
                    continue;
                }
                let promise = if answered || specification.answers_alike(call) {
                    0
                } else {
                    let before = number(&mut self.numbers, &self.state);
                    mark(PROMISES, at, before)
                };
                let marks = self.marks.wrapping_add(mark(PLACED, at, 0)).wrapping_add(promise);
                if !self.failed.is_empty()
                    && self.failed.contains(&(marks, number(&mut self.numbers, &state)))
                {
                    continue;
                }
                self.operations[at].promise = promise;
                self.marks = self.marks.wrapping_add(promise);
                self.place(next, state);
                return true;
            }
        }
        false
    }

    /// Whether an equal operation, open like this one, began before: it does for both.
    fn has_twin(&self, next: usize) -> bool {
        let asked = &self.operations[self.waiting[next]];
        let equal = |at: &usize| {
            let other = &self.operations[*at];
            !other.answered() && other.call == asked.call
        };
        !asked.answered() && self.waiting[..next].iter().any(equal)
    }

    /// Places an operation that waits.
    fn place(&mut self, next: usize, state: S::State) {
        let at = self.waiting.remove(next);
        let asked = &self.operations[at];
        self.owed -= usize::from(asked.answered());
        self.marks = if asked.looks {
            self.marks.wrapping_sub(mark(LOOKS, at, 0))
        } else {
            self.marks.wrapping_add(mark(PLACED, at, 0))
        };
        let before = std::mem::replace(&mut self.state, state);
        self.frames.push(Frame { operation: at, before });
    }

    /// Takes back the last placed operation; whether there was one that changes the state.
    fn take_back(&mut self) -> bool {
        let Some(Frame { operation: at, before }) = self.frames.pop() else { return false };
        self.state = before;
        let asked = &mut self.operations[at];
        let promise = std::mem::take(&mut asked.promise);
        if !asked.looks {
            self.marks = self.marks.wrapping_sub(promise).wrapping_sub(mark(PLACED, at, 0));
        }
        let changes = !asked.looks;
        self.wait(at);
        changes
    }

    /// Remembers that nothing leads on from here, and takes back the last operation that changes the state. False
    /// where there is none.
    fn give_up(&mut self) -> bool {
        while let Some(frame) = self.frames.last() {
            if !self.operations[frame.operation].looks {
                let number = number(&mut self.numbers, &self.state);
                self.failed.insert((self.marks, number));
                return self.take_back();
            }
            self.take_back();
        }
        false
    }
}

/// The number of a state.
fn number<T: Clone + Eq + std::hash::Hash>(numbers: &mut FxHashMap<T, u32>, state: &T) -> u32 {
    if let Some(number) = numbers.get(state) {
        return *number;
    }
    let number = numbers.len() as u32;
    numbers.insert(state.clone(), number);
    number
}

/// An operation is placed and changes the state.
const PLACED: u64 = 0;
/// An operation looks and waits.
const LOOKS: u64 = 1;
/// An open operation is placed, and its answer depends on the state with that number.
const PROMISES: u64 = 2;

/// A number of 128 bits for what is true of an operation. Sums of them stand for sets: as with the hashing of Zobrist
/// ("A new hashing method with application for game playing", 1970), two sets have one sum by mere chance only, once
/// in 2^128.
fn mark(what: u64, operation: usize, state: u32) -> u128 {
    let seed = (operation as u64) << 34 | u64::from(state) << 2 | what;
    u128::from(mix(seed)) << 64 | u128::from(mix(!seed))
}

/// The last part of `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
fn mix(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

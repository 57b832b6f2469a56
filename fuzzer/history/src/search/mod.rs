//! The search for an order of the operations that a specification allows.
//!
//! After Wing and Gong ("Testing and verifying concurrent objects", 1993): take an operation that no operation
//! still to be placed must precede, apply it, go on, and come back where nothing fits. With the cache of Lowe
//! ("Testing for linearizability", 2017), which tries no pair of placed operations and state twice, and the entry
//! list of Porcupine (Athalye, 2017), from which operations are lifted and to which they return.
//!
//! Five things are added, each of which keeps the verdict:
//! - an answered operation that never changes the state ([`Specification::only_looks`]) is placed as soon as it can
//!   be, without alternative: put earlier, it disturbs no other;
//! - where all others either look for one state or overwrite whatever there is, an operation that overwrites it with
//!   a state for which none looks any more is placed as soon as no look is possible, without alternative: the next
//!   one would overwrite its state in any case;
//! - operations without an answer need not be placed, are placed only where they change the state, and equal ones
//!   of them in the order in which they began;
//! - what a specification knows of all allowed orders is kept to ([`Specification::plan`]);
//! - where an operation still to be placed needs a state that no other can bring about any more, the search turns
//!   back at once ([`Specification::needs`]).

mod cache;
mod lookahead;
mod order;
mod planned;

pub(crate) use order::{Linear, Sequential};
pub(crate) use planned::Planned;

use crate::plan::{Item, Turn, Turns};
use crate::{Limits, Specification};
use cache::{Cache, Placed, StateId, States};
use lookahead::Lookahead;
use order::{Frontier, Place};

/// How far a search may go. Shared by the searches of one check.
pub(crate) struct Budget<'a> {
    pub(crate) steps: u64,
    pub(crate) limits: Limits<'a>,
    pub(crate) over: bool,
}

/// How often the deadline is asked for.
const STEPS_PER_LOOK: u64 = 1024;

impl Budget<'_> {
    /// Does something with at most so many more steps.
    pub(crate) fn within<T>(&mut self, steps: u64, run: impl FnOnce(&mut Self) -> T) -> T {
        let all = self.limits.stop_after_steps;
        self.limits.stop_after_steps = all.min(self.steps.saturating_add(steps));
        let result = run(self);
        self.limits.stop_after_steps = all;
        self.over = self.steps >= all;
        result
    }

    /// Counts one step; false when it is one too many.
    fn step(&mut self) -> bool {
        if self.over || self.steps >= self.limits.stop_after_steps {
            self.over = true;
            return false;
        }
        if self.steps.is_multiple_of(STEPS_PER_LOOK) && (self.limits.expired)() {
            self.over = true;
            return false;
        }
        self.steps += 1;
        true
    }
}

/// What a search found. Orders are of positions in the items.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// An order of all operations that had to be placed.
    Order(Vec<usize>),
    /// There is none. The longest order that was tried, and the operation at which it ended.
    Nothing { longest: Vec<usize>, stuck: usize },
    /// The budget was over before.
    Unknown,
}

/// A placed operation, and how to take it back.
struct Frame {
    item: usize,
    before: StateId,
    /// Placed without alternative.
    forced: bool,
}

pub(crate) struct Search<'a, S: Specification, F> {
    specification: &'a S,
    items: &'a [Item<S::Call>],
    turns: Option<Turns<'a, S::State>>,
    frontier: F,
    /// For each operation that need not be placed, an equal one that began before.
    twins: Vec<Option<usize>>,
    /// Which operations must be placed and never change the state.
    looks: Vec<bool>,
    /// Which operations overwrite the state, where all others only look for one; otherwise none.
    overwrites: Vec<bool>,
    states: States<S::State>,
    cache: Cache,
    lookahead: Lookahead,
    placed: Placed,
    /// How many operations must still be placed.
    missing: usize,
    state: StateId,
    frames: Vec<Frame>,
    longest: Vec<usize>,
    stuck: Option<usize>,
}

/// What a look at one operation showed.
enum Tried {
    Impossible,
    Leads(StateId),
    OutOfSteps,
}

impl<'a, S: Specification, F: Frontier> Search<'a, S, F> {
    pub(crate) fn new(specification: &'a S, items: &'a [Item<S::Call>], frontier: F) -> Self {
        let mut states = States::default();
        let lookahead = Lookahead::new(specification, items, &mut states);
        let state = states.id(specification.init());
        Self {
            specification,
            twins: if F::REAL_TIME { twins(items) } else { vec![None; items.len()] },
            looks: items
                .iter()
                .map(|item| item.returned.is_some() && specification.only_looks(&item.call))
                .collect(),
            overwrites: overwrites(specification, items),
            placed: Placed::new(items),
            missing: items.iter().filter(|item| item.returned.is_some()).count(),
            items,
            turns: None,
            frontier,
            states,
            cache: Cache::default(),
            lookahead,
            state,
            frames: Vec::new(),
            longest: Vec::new(),
            stuck: None,
        }
    }

    /// Follows a plan, too.
    pub(crate) fn with(self, turns: Turns<'a, S::State>) -> Self {
        Self { turns: Some(turns), ..self }
    }

    pub(crate) fn run(mut self, budget: &mut Budget<'_>) -> Found {
        loop {
            let Some(mut alive) = self.settle(budget) else { return Found::Unknown };
            if self.missing == 0 {
                return Found::Order(self.frames.iter().map(|frame| frame.item).collect());
            }
            alive = alive && self.cache.insert(&self.placed, self.state);
            let mut cursor = if alive { Some(self.frontier.start()) } else { self.back() };
            loop {
                let Some(at) = cursor else { return self.nothing() };
                match self.frontier.look(at) {
                    Place::Nothing => cursor = Some(self.frontier.next(at)),
                    Place::Stuck => cursor = self.back(),
                    Place::Call(item) => match self.attempt(item, budget) {
                        Tried::OutOfSteps => return Found::Unknown,
                        Tried::Leads(state) if self.helps(item, state) && self.turn(item) != Turn::Never => {
                            if self.place(item, state, false) {
                                break;
                            }
                            cursor = self.back();
                        }
                        Tried::Leads(_) | Tried::Impossible => cursor = Some(self.frontier.next(at)),
                    },
                }
            }
        }
    }

    /// Places everything that has no alternative. False at a dead end, none when out of steps.
    fn settle(&mut self, budget: &mut Budget<'_>) -> Option<bool> {
        let mut alive = !self.frames.is_empty() || self.lookahead.alive_at_first(self.state);
        loop {
            let placed = self.frames.len();
            alive &= self.place_looks(budget)?;
            if alive && self.turns.is_some() && self.frames.len() > placed {
                // The state may be another one.
                continue;
            }
            let Some(item) = self.find_blind() else { return Some(alive) };
            let Tried::Leads(state) = self.attempt(item, budget) else { return None };
            alive &= self.place(item, state, true);
            if !alive {
                return Some(false);
            }
        }
    }

    /// Places every answered operation that can be placed and never changes the state, and what the plan wants.
    fn place_looks(&mut self, budget: &mut Budget<'_>) -> Option<bool> {
        let mut cursor = self.frontier.start();
        let mut alive = true;
        loop {
            match self.frontier.look(cursor) {
                Place::Stuck => return Some(alive),
                Place::Call(item) if self.looks[item] || self.turn(item) == Turn::AtOnce => {
                    match self.attempt(item, budget) {
                        Tried::OutOfSteps => return None,
                        Tried::Leads(state) => {
                            alive &= self.place(item, state, true);
                            if !F::REAL_TIME {
                                // The client's next operation stands here now.
                                continue;
                            }
                        }
                        Tried::Impossible => {}
                    }
                }
                Place::Call(_) | Place::Nothing => {}
            }
            cursor = self.frontier.next(cursor);
        }
    }

    /// An operation that must be placed and overwrites the state with one for which none looks any more.
    fn find_blind(&self) -> Option<usize> {
        let mut cursor = self.frontier.start();
        loop {
            match self.frontier.look(cursor) {
                Place::Stuck => return None,
                Place::Call(item) if self.items[item].returned.is_some() && self.blind(item) => {
                    return Some(item);
                }
                Place::Call(_) | Place::Nothing => cursor = self.frontier.next(cursor),
            }
        }
    }

    fn blind(&self, item: usize) -> bool {
        self.overwrites[item] && !self.lookahead.gives_needed(item)
    }

    /// Whether placing an operation that leads to this state may be of use.
    fn helps(&self, item: usize, state: StateId) -> bool {
        self.items[item].returned.is_some() || (state != self.state && !self.blind(item))
    }

    fn turn(&self, item: usize) -> Turn {
        let turn = |turns: &Turns<'_, S::State>| turns(item, self.states.state(self.state));
        self.turns.as_ref().map_or(Turn::Maybe, turn)
    }

    fn attempt(&mut self, item: usize, budget: &mut Budget<'_>) -> Tried {
        if self.twins[item].is_some_and(|twin| !self.placed.contains(twin)) {
            return Tried::Impossible;
        }
        if !budget.step() {
            return Tried::OutOfSteps;
        }
        match self.specification.step(self.states.state(self.state), &self.items[item].call) {
            Some(_) if self.looks[item] => Tried::Leads(self.state),
            Some(next) => Tried::Leads(self.states.id(next)),
            None => Tried::Impossible,
        }
    }

    /// Places an operation; false if what remains can now be seen to be impossible.
    fn place(&mut self, item: usize, state: StateId, forced: bool) -> bool {
        self.frontier.lift(item);
        self.placed.insert(item);
        self.missing -= usize::from(self.items[item].returned.is_some());
        self.frames.push(Frame { item, before: self.state, forced });
        let left = std::mem::replace(&mut self.state, state);
        self.lookahead.place(item);
        self.lookahead.alive(item, left, state)
    }

    /// Takes back up to the last operation that has alternatives; the place behind it, or none if there is none.
    fn back(&mut self) -> Option<usize> {
        if self.stuck.is_none() || self.frames.len() > self.longest.len() {
            self.longest.clear();
            self.longest.extend(self.frames.iter().map(|frame| frame.item));
            self.stuck = self.first_missing();
        }
        while let Some(frame) = self.frames.pop() {
            self.frontier.unlift(frame.item);
            self.placed.remove(frame.item);
            self.missing += usize::from(self.items[frame.item].returned.is_some());
            self.lookahead.unplace(frame.item);
            self.state = frame.before;
            if !frame.forced {
                return Some(self.frontier.behind(frame.item));
            }
        }
        None
    }

    /// The operation still to be placed that was answered first.
    fn first_missing(&self) -> Option<usize> {
        let missing = (0..self.items.len()).filter(|item| !self.placed.contains(*item));
        missing.filter_map(|item| Some((self.items[item].returned?, item))).min().map(|(_, item)| item)
    }

    fn nothing(self) -> Found {
        // Something must be missing, or the search would have found an order.
        Found::Nothing { stuck: self.stuck.unwrap_or_default(), longest: self.longest }
    }
}

/// Which operations overwrite the state, if every other one that changes or constrains anything looks for one state.
fn overwrites<S: Specification>(specification: &S, items: &[Item<S::Call>]) -> Vec<bool> {
    let overwrites: Vec<bool> = items.iter().map(|item| specification.overwrites(&item.call)).collect();
    let looks = |call: &S::Call| specification.only_looks(call) && specification.needs(call).is_some();
    let all = items.iter().zip(&overwrites).all(|(item, overwrites)| *overwrites || looks(&item.call));
    if all { overwrites } else { vec![false; items.len()] }
}

/// For each operation that need not be placed, the last equal one before it: of two, the one that began later can
/// always give its place to the other.
fn twins<C: PartialEq>(items: &[Item<C>]) -> Vec<Option<usize>> {
    let mut optional: Vec<usize> = (0..items.len()).filter(|at| items[*at].returned.is_none()).collect();
    optional.sort_by_key(|at| items[*at].invoked);
    let mut twins = vec![None; items.len()];
    for (at, item) in optional.iter().enumerate() {
        let same = |other: &&usize| items[**other].call == items[*item].call;
        twins[*item] = optional[..at].iter().rev().find(same).copied();
    }
    twins
}

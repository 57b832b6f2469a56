//! Checks a history against a specification.

use crate::plan::{Item, Plan};
use crate::search::{Budget, Found, Linear, Planned, Search, Sequential};
use crate::whole::Whole;
use crate::{History, Misfit, Specification, Value};
use std::collections::BTreeMap;

/// In which order operations must appear to have taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Linearizability (Herlihy and Wing 1990): each at one moment between its beginning and its end.
    RealTime,
    /// Sequential consistency (Lamport 1979): those of each client in its order. An operation without an answer may
    /// take effect after later ones of its client.
    PerClient,
}

/// How far a check may go; beyond, the verdict is [`Verdict::Unknown`].
pub struct Limits<'a> {
    /// Stop after this many looks at an operation.
    pub stop_after_steps: u64,
    /// Whether the time is over. Asked about once in a thousand steps; this crate reads no clock.
    pub expired: &'a mut dyn FnMut() -> bool,
}

/// Whether a history is one that the specification allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Pass,
    /// It is not.
    Fail,
    /// Undecided within the limits.
    Unknown,
}

impl Verdict {
    /// `pass`, `fail` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The verdict.
    pub verdict: Verdict,
    /// How many objects were checked by themselves.
    pub partitions: usize,
    /// How many steps were taken.
    pub steps: u64,
    /// Where it passes: for each partition, an order that the specification allows, as positions in
    /// [`History::operations`]. Operations that tell nothing, and those without an answer that took no effect, are
    /// left out.
    pub orders: Vec<Vec<usize>>,
    /// Where it fails: as much as can be explained, and what cannot.
    pub explanation: Option<Explanation>,
}

/// Why a history fails. Numbers are positions in [`History::operations`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The object.
    pub key: Option<Value>,
    /// A longest order that the specification allows: in real-time order, of everything that was answered before the
    /// operation that cannot be placed; in clients' order, the longest that was tried.
    pub order: Vec<usize>,
    /// The operation that cannot be placed.
    pub misplaced: usize,
    /// What it could have been answered in that order instead, without repetition; at most
    /// [`ALLOWED_MAX`](Self::ALLOWED_MAX).
    pub allowed: Vec<String>,
}

impl Explanation {
    /// The most answers that are listed.
    pub const ALLOWED_MAX: usize = 8;
}

/// What one search had to say.
enum Part {
    Pass(Vec<usize>),
    Fail(Explanation),
    Unknown,
}

/// Checks a history against a specification.
///
/// Real-time order is checked object by object, smallest first, and ends at the first that fails.
///
/// # Errors
/// When an operation does not exist in the specification.
pub fn check<S: Specification>(
    specification: &S,
    history: &History,
    order: Order,
    limits: Limits<'_>,
) -> Result<Checked, Misfit> {
    let mut partitions: BTreeMap<Option<&Value>, Vec<usize>> = BTreeMap::new();
    let mut calls = Vec::with_capacity(history.operations().len());
    for (at, operation) in history.operations().iter().enumerate() {
        let call = specification.call(operation)?;
        if call.is_some() {
            partitions.entry(specification.partition(operation)).or_default().push(at);
        }
        calls.push(call);
    }
    let mut budget = Budget { steps: 0, limits, over: false };
    let mut checked =
        Checked { verdict: Verdict::Pass, partitions: 1, steps: 0, orders: Vec::new(), explanation: None };
    if order == Order::PerClient && partitions.len() > 1 {
        let whole = Whole(specification);
        let mut all = Vec::with_capacity(calls.len());
        for operation in history.operations() {
            all.push(whole.call(operation)?);
        }
        let positions: Vec<usize> = (0..all.len()).filter(|at| all[*at].is_some()).collect();
        checked.add(per_client(&whole, history, &items(history, &positions, &all), &positions, &mut budget));
    } else {
        checked.partitions = partitions.len();
        let mut partitions: Vec<Vec<usize>> = partitions.into_values().collect();
        partitions.sort_by_key(Vec::len);
        for positions in &partitions {
            let items = items(history, positions, &calls);
            checked.add(match order {
                Order::RealTime => real_time(specification, history, &items, positions, &mut budget),
                Order::PerClient => per_client(specification, history, &items, positions, &mut budget),
            });
            if checked.verdict == Verdict::Fail {
                break;
            }
        }
    }
    if checked.verdict != Verdict::Pass {
        checked.orders.clear();
    }
    checked.steps = budget.steps;
    Ok(checked)
}

impl Checked {
    fn add(&mut self, part: Part) {
        match part {
            Part::Pass(order) => self.orders.push(order),
            Part::Unknown => self.verdict = Verdict::Unknown,
            Part::Fail(explanation) => {
                self.verdict = Verdict::Fail;
                self.explanation = Some(explanation);
            }
        }
    }
}

fn items<C: Clone>(history: &History, positions: &[usize], calls: &[Option<C>]) -> Vec<Item<C>> {
    let one = |at: &usize| {
        let operation = &history.operations()[*at];
        let (process, invoked, returned) = (operation.process, operation.invoked, operation.returned);
        calls[*at].clone().map(|call| Item { call, process, invoked, returned })
    };
    positions.iter().filter_map(one).collect()
}

/// A guess that takes more looks for each operation than this was a bad one.
const STEPS_PER_GUESS: u64 = 100;

/// Looks for an order in real time, along the specification's plan if it has one.
fn search<S: Specification>(specification: &S, items: &[Item<S::Call>], budget: &mut Budget<'_>) -> Found {
    let Some(plan) = specification.plan(items) else {
        return Search::new(specification, items, Linear::new(items)).run(budget);
    };
    let run = |plan: Plan<'_, S::State>, budget: &mut Budget<'_>| {
        let frontier = Planned::new(items, &plan.before).filter(|_| !plan.impossible);
        if let Some(frontier) = frontier {
            return Search::new(specification, items, frontier).with(plan.turn).run(budget);
        }
        let answered = items.iter().enumerate().filter_map(|(at, item)| Some((item.returned?, at)));
        Found::Nothing { longest: Vec::new(), stuck: answered.min().map_or(0, |(_, at)| at) }
    };
    let Plan { guess, .. } = plan;
    if let Some(guess) = guess {
        let found = budget.within(STEPS_PER_GUESS * items.len() as u64, |budget| run(*guess, budget));
        if let Found::Order(_) = found {
            return found;
        }
    }
    run(Plan { guess: None, ..plan }, budget)
}

fn real_time<S: Specification>(
    specification: &S,
    history: &History,
    items: &[Item<S::Call>],
    positions: &[usize],
    budget: &mut Budget<'_>,
) -> Part {
    let there = |order: Vec<usize>| order.into_iter().map(|at| positions[at]).collect::<Vec<usize>>();
    let (longest, stuck) = match search(specification, items, budget) {
        Found::Order(order) => return Part::Pass(there(order)),
        Found::Unknown => return Part::Unknown,
        Found::Nothing { longest, stuck } => (longest, stuck),
    };
    let (order, misplaced) = explainable(specification, items, budget).unwrap_or((longest, stuck));
    let before = items[misplaced].invoked;
    let earlier = |item: &Item<S::Call>| item.returned.is_some_and(|returned| returned < before);
    let allowed = allowed(specification, items, &order, misplaced, earlier);
    let key = specification.partition(&history.operations()[positions[misplaced]]).cloned();
    Part::Fail(Explanation { key, order: there(order), misplaced: positions[misplaced], allowed })
}

fn per_client<S: Specification>(
    specification: &S,
    history: &History,
    items: &[Item<S::Call>],
    positions: &[usize],
    budget: &mut Budget<'_>,
) -> Part {
    let there = |order: Vec<usize>| order.into_iter().map(|at| positions[at]).collect::<Vec<usize>>();
    match Search::new(specification, items, Sequential::new(items)).run(budget) {
        Found::Order(order) => Part::Pass(there(order)),
        Found::Unknown => Part::Unknown,
        Found::Nothing { longest, stuck } => {
            let same = |item: &Item<S::Call>| item.process == items[stuck].process;
            let allowed = allowed(specification, items, &longest, stuck, same);
            let key = specification.partition(&history.operations()[positions[stuck]]).cloned();
            Part::Fail(Explanation { key, order: there(longest), misplaced: positions[stuck], allowed })
        }
    }
}

/// The first answer that cannot be explained, and an order of everything answered before it. Whether a beginning of
/// the history can be explained only changes once, as linearizability is closed under prefixes; operations that are
/// open where it ends need not be placed. None when the budget is over.
fn explainable<S: Specification>(
    specification: &S,
    items: &[Item<S::Call>],
    budget: &mut Budget<'_>,
) -> Option<(Vec<usize>, usize)> {
    let mut answers: Vec<(u64, usize)> =
        items.iter().enumerate().filter_map(|(at, item)| Some((item.returned?, at))).collect();
    answers.sort_unstable();
    let mut best = Vec::new();
    // The first `low` answers can be explained, the first `high` cannot.
    let (mut low, mut high) = (0, answers.len());
    while low + 1 < high {
        let middle = low.midpoint(high);
        let last = answers[middle - 1].0;
        let within: Vec<usize> = (0..items.len()).filter(|at| items[*at].invoked <= last).collect();
        let cut: Vec<Item<S::Call>> = within
            .iter()
            .map(|at| {
                let Item { call, process, invoked, returned } = &items[*at];
                let returned = returned.filter(|returned| *returned <= last);
                Item { call: call.clone(), process: *process, invoked: *invoked, returned }
            })
            .collect();
        match search(specification, &cut, budget) {
            Found::Order(order) => {
                best = order.into_iter().map(|at| within[at]).collect();
                low = middle;
            }
            Found::Nothing { .. } => high = middle,
            Found::Unknown => return None,
        }
    }
    answers.get(low).map(|(_, misplaced)| (best, *misplaced))
}

/// What the misplaced operation could have been answered along an order, behind all that come before it.
fn allowed<S: Specification>(
    specification: &S,
    items: &[Item<S::Call>],
    order: &[usize],
    misplaced: usize,
    before: impl Fn(&Item<S::Call>) -> bool,
) -> Vec<String> {
    let first = order.iter().rposition(|at| before(&items[*at])).map_or(0, |at| at + 1);
    let mut state = specification.init();
    let mut answers = Vec::new();
    for at in 0..=order.len() {
        if at >= first {
            let answer = specification.allowed(&state, &items[misplaced].call);
            if !answers.contains(&answer) && answers.len() < Explanation::ALLOWED_MAX {
                answers.push(answer);
            }
        }
        let Some(item) = order.get(at) else { break };
        match specification.step(&state, &items[*item].call) {
            Some(next) => state = next,
            None => break,
        }
    }
    answers
}

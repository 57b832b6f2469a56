//! Real-time order with what a plan adds to it.

use super::order::{Frontier, Place};
use crate::plan::Item;

/// A list in which operations are left out while they are placed, and to which they return in reverse.
struct Links {
    next: Vec<usize>,
    previous: Vec<usize>,
}

impl Links {
    /// Places from 1 to `count`; 0 stands before them, and one more behind them.
    fn new(count: usize) -> Self {
        Self {
            next: (1..=count + 2).collect(),
            previous: (0..count + 2).map(|at: usize| at.saturating_sub(1)).collect(),
        }
    }

    fn take(&mut self, place: usize) {
        let (previous, next) = (self.previous[place], self.next[place]);
        self.next[previous] = next;
        self.previous[next] = previous;
    }

    fn give_back(&mut self, place: usize) {
        let (previous, next) = (self.previous[place], self.next[place]);
        self.next[previous] = place;
        self.previous[next] = place;
    }
}

/// Real-time order and the plan's: an operation may be next if it began before the first end of those still to be
/// placed, and all that the plan wants before it are placed. The most urgent comes first, which is the one that must
/// be placed before the earliest end. So nothing is placed long before there is need for it.
pub(crate) struct Planned {
    /// By urgency.
    list: Links,
    /// By place in the list: the operation.
    items: Vec<usize>,
    /// By operation: its place in the list.
    places: Vec<usize>,
    /// Ends, in their order.
    ends: Links,
    /// By place: when that is.
    times: Vec<u64>,
    /// By operation: the place of its end.
    end_places: Vec<Option<usize>>,
    invoked: Vec<u64>,
    /// By operation: those that the plan wants behind it, and how many it wants before and are not placed.
    behind: Vec<Vec<usize>>,
    blocked: Vec<u32>,
}

impl Planned {
    /// None if no order fits both the plan's and real time.
    pub(crate) fn new<C>(items: &[Item<C>], before: &[(usize, usize)]) -> Option<Self> {
        let mut behind = vec![Vec::new(); items.len()];
        let mut blocked = vec![0; items.len()];
        for (first, second) in before {
            behind[*first].push(*second);
            blocked[*second] += 1;
        }
        let order = sorted(items, &behind)?;
        // How urgent each is: the end before which it must be placed.
        let mut urgent: Vec<u64> = items.iter().map(|item| item.returned.unwrap_or(u64::MAX)).collect();
        for at in order.iter().rev() {
            urgent[*at] = behind[*at].iter().map(|other| urgent[*other]).fold(urgent[*at], u64::min);
        }
        let mut by_urgency = order;
        by_urgency.sort_by_key(|at| urgent[*at]);
        let mut places = vec![0; items.len()];
        for (place, at) in by_urgency.iter().enumerate() {
            places[*at] = place + 1;
        }
        let mut ends: Vec<(u64, usize)> =
            items.iter().enumerate().filter_map(|(at, item)| Some((item.returned?, at))).collect();
        ends.sort_unstable();
        let mut end_places = vec![None; items.len()];
        for (place, (_, at)) in ends.iter().enumerate() {
            end_places[*at] = Some(place + 1);
        }
        let times = ends.iter().map(|(time, _)| *time);
        Some(Self {
            list: Links::new(items.len()),
            items: by_urgency,
            places,
            times: [0].into_iter().chain(times.clone()).chain([u64::MAX]).collect(),
            ends: Links::new(ends.len()),
            end_places,
            invoked: items.iter().map(|item| item.invoked).collect(),
            behind,
            blocked,
        })
    }
}

/// The operations in some order that fits real time and the plan (Kahn, "Topological sorting of large networks",
/// 1962); none where there is none. Events are nodes between the operations, so that real time takes few edges.
fn sorted<C>(items: &[Item<C>], behind: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut events: Vec<(u64, usize, bool)> = Vec::with_capacity(2 * items.len());
    for (at, item) in items.iter().enumerate() {
        events.push((item.invoked, at, true));
        events.extend(item.returned.map(|returned| (returned, at, false)));
    }
    events.sort_unstable();
    let count = items.len();
    let mut edges: Vec<Vec<usize>> = behind.to_vec();
    edges.resize(count + events.len(), Vec::new());
    for (number, (_, at, begins)) in events.iter().enumerate() {
        let event = count + number;
        if number + 1 < events.len() {
            edges[event].push(event + 1);
        }
        let (from, to) = if *begins { (event, *at) } else { (*at, event) };
        edges[from].push(to);
    }
    let mut before = vec![0; edges.len()];
    for to in edges.iter().flatten() {
        before[*to] += 1;
    }
    let mut free: Vec<usize> = (0..edges.len()).filter(|node| before[*node] == 0).collect();
    let mut sorted = Vec::with_capacity(count);
    while let Some(node) = free.pop() {
        sorted.extend((node < count).then_some(node));
        for to in &edges[node] {
            before[*to] -= 1;
            if before[*to] == 0 {
                free.push(*to);
            }
        }
    }
    (sorted.len() == count).then_some(sorted)
}

impl Frontier for Planned {
    const REAL_TIME: bool = true;

    fn start(&self) -> usize {
        self.list.next[0]
    }

    fn look(&self, place: usize) -> Place {
        let Some(item) = self.items.get(place - 1).copied() else { return Place::Stuck };
        let first_end = self.times[self.ends.next[0]];
        if self.blocked[item] == 0 && self.invoked[item] < first_end {
            Place::Call(item)
        } else {
            Place::Nothing
        }
    }

    fn next(&self, place: usize) -> usize {
        self.list.next[place]
    }

    fn behind(&self, item: usize) -> usize {
        self.list.next[self.places[item]]
    }

    fn lift(&mut self, item: usize) {
        self.list.take(self.places[item]);
        if let Some(end) = self.end_places[item] {
            self.ends.take(end);
        }
        for other in &self.behind[item] {
            self.blocked[*other] -= 1;
        }
    }

    fn unlift(&mut self, item: usize) {
        self.list.give_back(self.places[item]);
        if let Some(end) = self.end_places[item] {
            self.ends.give_back(end);
        }
        for other in &self.behind[item] {
            self.blocked[*other] += 1;
        }
    }
}

//! Which operations may be placed next: in real-time order, or in each client's order only.

use crate::plan::Item;
use std::collections::BTreeMap;

/// What stands at a place.
pub(crate) enum Place {
    /// An operation that may be placed next.
    Call(usize),
    /// Nothing; the next place may hold something.
    Nothing,
    /// The end of what may be placed.
    Stuck,
}

/// The operations that may be placed next, at places that are walked from a first one.
pub(crate) trait Frontier {
    /// Whether operations are ordered by time; otherwise only within a client.
    const REAL_TIME: bool;
    fn start(&self) -> usize;
    fn look(&self, place: usize) -> Place;
    fn next(&self, place: usize) -> usize;
    /// The place behind an operation's, which is there.
    fn behind(&self, item: usize) -> usize;
    fn lift(&mut self, item: usize);
    /// Undoes the last [`lift`](Self::lift).
    fn unlift(&mut self, item: usize);
}

/// Real-time order: a doubly linked list of beginnings and ends, in which placed operations are left out. All
/// beginnings before the first end may be next.
pub(crate) struct Linear {
    next: Vec<usize>,
    previous: Vec<usize>,
    /// By place: the operation that begins there; none at an end.
    begins: Vec<Option<usize>>,
    /// By operation: the place of its beginning and of its end.
    places: Vec<(usize, Option<usize>)>,
}

impl Linear {
    pub(crate) fn new<C>(items: &[Item<C>]) -> Self {
        let begins = items.iter().enumerate().map(|(at, item)| (item.invoked, at, true));
        let ends = items.iter().enumerate().filter_map(|(at, item)| Some((item.returned?, at, false)));
        let mut events: Vec<_> = begins.chain(ends).collect();
        events.sort_unstable_by_key(|(event, ..)| *event);
        // The first place is no event, and neither is the last: the list is never empty.
        let count = events.len() + 2;
        let mut list = Self {
            next: (1..=count).collect(),
            previous: (0..count).map(|at| at.saturating_sub(1)).collect(),
            begins: vec![None; count],
            places: vec![(0, None); items.len()],
        };
        for (at, (_, item, begins)) in events.into_iter().enumerate() {
            if begins {
                list.begins[at + 1] = Some(item);
                list.places[item].0 = at + 1;
            } else {
                list.places[item].1 = Some(at + 1);
            }
        }
        list
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

impl Frontier for Linear {
    const REAL_TIME: bool = true;

    fn start(&self) -> usize {
        self.next[0]
    }

    fn look(&self, place: usize) -> Place {
        self.begins[place].map_or(Place::Stuck, Place::Call)
    }

    fn next(&self, place: usize) -> usize {
        self.next[place]
    }

    fn behind(&self, item: usize) -> usize {
        self.next[self.places[item].0]
    }

    fn lift(&mut self, item: usize) {
        let (begin, end) = self.places[item];
        // The end first: the place behind the beginning is then still one of the list.
        if let Some(end) = end {
            self.take(end);
        }
        self.take(begin);
    }

    fn unlift(&mut self, item: usize) {
        let (begin, end) = self.places[item];
        self.give_back(begin);
        if let Some(end) = end {
            self.give_back(end);
        }
    }
}

/// Each client's order: a queue for each client, of which the first may be next. What need not be placed follows
/// what its client did before and precedes nothing: it may take effect at any later time.
pub(crate) struct Sequential {
    queues: Vec<Vec<usize>>,
    /// How many of each queue are placed.
    placed: Vec<usize>,
    /// What need not be placed, with its queue, what must have been placed of that, and whether it is placed.
    free: Vec<(usize, usize, usize, bool)>,
    /// By operation: its queue or, behind all queues, its place in `free`.
    places: Vec<usize>,
}

impl Sequential {
    pub(crate) fn new<C>(items: &[Item<C>]) -> Self {
        let mut numbers = BTreeMap::new();
        for item in items {
            let number = numbers.len();
            numbers.entry(item.process).or_insert(number);
        }
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|at| items[*at].invoked);
        let mut sequential = Self {
            queues: vec![Vec::new(); numbers.len()],
            placed: vec![0; numbers.len()],
            free: Vec::new(),
            places: vec![0; items.len()],
        };
        for at in order {
            let queue = numbers[&items[at].process];
            sequential.places[at] = if items[at].returned.is_some() {
                sequential.queues[queue].push(at);
                queue
            } else {
                sequential.free.push((at, queue, sequential.queues[queue].len(), false));
                numbers.len() + sequential.free.len() - 1
            };
        }
        sequential
    }
}

impl Frontier for Sequential {
    const REAL_TIME: bool = false;

    fn start(&self) -> usize {
        0
    }

    fn look(&self, place: usize) -> Place {
        if let Some(queue) = self.queues.get(place) {
            return queue.get(self.placed[place]).map_or(Place::Nothing, |item| Place::Call(*item));
        }
        match self.free.get(place - self.queues.len()) {
            None => Place::Stuck,
            Some((item, queue, after, false)) if self.placed[*queue] >= *after => Place::Call(*item),
            Some(_) => Place::Nothing,
        }
    }

    fn next(&self, place: usize) -> usize {
        place + 1
    }

    fn behind(&self, item: usize) -> usize {
        self.places[item] + 1
    }

    fn lift(&mut self, item: usize) {
        let place = self.places[item];
        match self.placed.get_mut(place) {
            Some(placed) => *placed += 1,
            None => self.free[place - self.queues.len()].3 = true,
        }
    }

    fn unlift(&mut self, item: usize) {
        let place = self.places[item];
        match self.placed.get_mut(place) {
            Some(placed) => *placed -= 1,
            None => self.free[place - self.queues.len()].3 = false,
        }
    }
}

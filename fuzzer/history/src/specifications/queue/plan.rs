//! What the dequeues of a queue tell about the order of its enqueues.
//!
//! A value that is enqueued once is dequeued at most once. The order of two such values is that of their enqueues and
//! that of their dequeues alike, so what real time says of the ones holds for the others; and no dequeue finds nothing
//! while values are there that must be. Without operations of unknown outcome, these conditions are also sufficient
//! (Henzinger, Sezgin and Vafeiadis, "Aspect-oriented linearizability proofs", 2013, section 4; Bouajjani et al.,
//! "On reducing linearizability to state reachability", 2015, section 5), so the search need not turn back.
//!
//! A dequeue of unknown outcome may have taken any value that no answered one took. Which ones must have been taken is
//! known, and by when; which dequeue took which is guessed first: the one that began first took the most urgent.

use super::QueueCall;
use crate::Value;
use crate::plan::{Item, Plan, Turn};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is done with one value.
#[derive(Default)]
struct Life {
    enqueues: usize,
    /// Dequeues that must be placed.
    dequeues: usize,
    /// The last of each.
    enqueue: usize,
    dequeue: usize,
    /// When the first dequeue began that takes this value, if it is placed at all.
    may_begin: Option<u64>,
}

/// What happens to a value that is in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// A dequeue takes it.
    Taken,
    /// It is surely enqueued, and only a dequeue of unknown outcome can take it.
    Lost,
    /// It is surely enqueued, and there is a dequeue for it that need not be placed.
    Takable,
    /// It need not be enqueued, and none must take it.
    Needless,
    /// It is enqueued more than once.
    Unclear,
}

/// The time in which something happens at one moment, and the item that it is about.
#[derive(Clone, Copy)]
struct Span {
    begin: u64,
    end: u64,
    item: usize,
}

/// A value that is taken: its enqueue, which ends at the latest with the dequeue, and its dequeue.
struct Pair {
    enqueue: Span,
    dequeue: Span,
    /// Which dequeue it is, is known.
    known: bool,
}

/// What becomes of the values: of some for sure, or of all by a guess.
struct View {
    taken: Vec<Pair>,
    /// Values that stay, and until when.
    stays: Vec<(Span, u64)>,
}

struct Facts<'a> {
    items: &'a [Item<QueueCall>],
    lives: FxHashMap<&'a Value, Life>,
    /// When the dequeues of unknown outcome began, in order.
    unknown: Vec<u64>,
}

pub(super) fn plan(items: &[Item<QueueCall>]) -> Plan<'_, Vec<Value>> {
    let facts = Facts::new(items);
    let known = facts.known();
    let mut before = Vec::new();
    let taken = if facts.invented() { None } else { facts.must_be_taken(&known) };
    let impossible = taken.is_none() || !known.order(&mut before) || known.finds_nothing_wrongly(items);
    // Where no value stays, there is nothing to guess.
    let guess = taken.filter(|_| !impossible && !known.stays.is_empty()).and_then(|taken| {
        let items_taken: FxHashSet<usize> = taken.iter().map(|pair| pair.enqueue.item).collect();
        let view = known.with(taken, &items_taken);
        let facts = Facts::new(items);
        let mut before = Vec::new();
        let possible = view.order(&mut before) && !view.finds_nothing_wrongly(items);
        let turn = Box::new(move |item, state: &Vec<Value>| facts.guessed_turn(item, state, &items_taken));
        possible.then(|| Box::new(Plan { impossible: false, before, turn, guess: None }))
    });
    let turn = Box::new(move |item, state: &Vec<Value>| facts.turn(item, state));
    Plan { impossible, before, turn, guess }
}

impl<'a> Facts<'a> {
    fn new(items: &'a [Item<QueueCall>]) -> Self {
        let mut lives: FxHashMap<&Value, Life> = FxHashMap::default();
        let mut unknown = Vec::new();
        for (at, item) in items.iter().enumerate() {
            match &item.call {
                QueueCall::Enqueue(value) => {
                    let life = lives.entry(value).or_default();
                    (life.enqueues, life.enqueue) = (life.enqueues + 1, at);
                }
                QueueCall::Dequeue(Some(Value::Nil)) => {}
                QueueCall::Dequeue(Some(value)) => {
                    let life = lives.entry(value).or_default();
                    if item.returned.is_some() {
                        (life.dequeues, life.dequeue) = (life.dequeues + 1, at);
                    } else {
                        life.may_begin = Some(life.may_begin.unwrap_or(u64::MAX).min(item.invoked));
                    }
                }
                QueueCall::Dequeue(None) => unknown.push(item.invoked),
            }
        }
        unknown.sort_unstable();
        Self { items, lives, unknown }
    }

    fn fate(&self, value: &Value) -> Fate {
        match self.lives.get(value) {
            Some(Life { enqueues: 1, dequeues: 1, .. }) => Fate::Taken,
            Some(Life { enqueues: 1, dequeues: 0, enqueue, may_begin, .. }) => {
                match (self.items[*enqueue].returned, may_begin) {
                    (None, _) => Fate::Needless,
                    (Some(_), None) => Fate::Lost,
                    (Some(_), Some(_)) => Fate::Takable,
                }
            }
            _ => Fate::Unclear,
        }
    }

    fn span(&self, item: usize) -> Span {
        let Item { invoked, returned, .. } = self.items[item];
        Span { begin: invoked, end: returned.unwrap_or(u64::MAX), item }
    }

    /// A value was dequeued more often than enqueued.
    fn invented(&self) -> bool {
        self.items.iter().any(|item| match &item.call {
            QueueCall::Dequeue(Some(value)) => {
                self.lives.get(value).is_some_and(|life| life.dequeues > life.enqueues)
            }
            _ => false,
        })
    }

    /// What is sure.
    fn known(&self) -> View {
        let mut view = View { taken: Vec::new(), stays: Vec::new() };
        let first = self.unknown.first().copied().unwrap_or(u64::MAX);
        for item in self.items {
            let QueueCall::Enqueue(value) = &item.call else { continue };
            let (fate, Some(life)) = (self.fate(value), self.lives.get(value)) else { continue };
            let enqueue = self.span(life.enqueue);
            match fate {
                Fate::Taken => {
                    let dequeue = self.span(life.dequeue);
                    let enqueue = Span { end: enqueue.end.min(dequeue.end), ..enqueue };
                    view.taken.push(Pair { enqueue, dequeue, known: true });
                }
                Fate::Lost | Fate::Takable => {
                    view.stays.push((enqueue, life.may_begin.unwrap_or(u64::MAX).min(first)));
                }
                Fate::Needless | Fate::Unclear => {}
            }
        }
        view
    }

    /// The values that stay in the view and must have been taken, by which dequeue as far as can be guessed. None if
    /// there are not enough of them in time.
    fn must_be_taken(&self, view: &View) -> Option<Vec<Pair>> {
        // Behind the end of an enqueue: when a later value was taken, or nothing was found.
        let later = view.taken.iter().map(|pair| (pair.enqueue.begin, pair.dequeue.end));
        let nothing = self.items.iter().filter_map(|item| match (&item.call, item.returned) {
            (QueueCall::Dequeue(Some(Value::Nil)), Some(returned)) => Some((item.invoked, returned)),
            _ => None,
        });
        let mut ends: Vec<(u64, u64)> = later.chain(nothing).collect();
        ends.sort_unstable();
        let mut first = u64::MAX;
        for (_, end) in ends.iter_mut().rev() {
            first = first.min(*end);
            *end = first;
        }
        let mut taken = Vec::new();
        let mut lost = Vec::new();
        for (enqueue, _) in &view.stays {
            let behind = ends.partition_point(|(begin, _)| *begin < enqueue.end);
            let Some((_, end)) = ends.get(behind).copied() else { continue };
            let QueueCall::Enqueue(value) = &self.items[enqueue.item].call else { continue };
            match self.lives.get(value).and_then(|life| life.may_begin) {
                Some(begin) => {
                    let dequeue = Span { begin, end, item: enqueue.item };
                    taken.push(Pair { enqueue: *enqueue, dequeue, known: false });
                }
                None => lost.push((end, *enqueue)),
            }
        }
        lost.sort_unstable_by_key(|(end, enqueue)| (*end, enqueue.item));
        for (at, (end, enqueue)) in lost.into_iter().enumerate() {
            let begin = self.unknown.get(at).copied().filter(|begin| *begin < end)?;
            taken.push(Pair { enqueue, dequeue: Span { begin, end, item: enqueue.item }, known: false });
        }
        Some(taken)
    }

    fn turn(&self, item: usize, state: &[Value]) -> Turn {
        match &self.items[item].call {
            QueueCall::Enqueue(value) if self.fate(value) == Fate::Needless => Turn::Never,
            QueueCall::Dequeue(Some(value)) => match (self.fate(value), self.items[item].returned) {
                // Until its first value is taken, a queue only grows: it can as well be taken now.
                (Fate::Taken, Some(_)) | (Fate::Takable, _) => Turn::AtOnce,
                (Fate::Taken, None) => Turn::Never,
                _ => Turn::Maybe,
            },
            QueueCall::Dequeue(None) => match state.first().map(|first| self.fate(first)) {
                Some(Fate::Unclear | Fate::Takable) => Turn::Maybe,
                // Nothing else can take it, and it is in the way of all other answers.
                Some(Fate::Lost) => Turn::AtOnce,
                Some(Fate::Taken | Fate::Needless) | None => Turn::Never,
            },
            QueueCall::Enqueue(_) => Turn::Maybe,
        }
    }

    /// The same where the values of these enqueues are taken, and no others.
    fn guessed_turn(&self, item: usize, state: &[Value], taken: &FxHashSet<usize>) -> Turn {
        let unanswered = self.items[item].returned.is_none();
        match (&self.items[item].call, state.first().and_then(|first| self.lives.get(first))) {
            (QueueCall::Dequeue(_), Some(life)) if unanswered && life.enqueues == 1 => {
                if taken.contains(&life.enqueue) { Turn::AtOnce } else { Turn::Never }
            }
            _ => self.turn(item, state),
        }
    }
}

impl View {
    /// With some values that are taken by a guess, and the others that stay for ever.
    fn with(self, taken: Vec<Pair>, enqueues: &FxHashSet<usize>) -> Self {
        let stays = self.stays.into_iter().filter(|(enqueue, _)| !enqueues.contains(&enqueue.item));
        Self {
            stays: stays.map(|(enqueue, _)| (enqueue, u64::MAX)).collect(),
            taken: self.taken.into_iter().chain(taken).collect(),
        }
    }

    /// Collects what must come before what; false if no order is possible.
    fn order(&self, before: &mut Vec<(usize, usize)>) -> bool {
        let known = || self.taken.iter().filter(|pair| pair.known);
        before.extend(known().map(|pair| (pair.enqueue.item, pair.dequeue.item)));
        follow(
            &known().map(|pair| Span { item: pair.dequeue.item, ..pair.enqueue }).collect::<Vec<_>>(),
            before,
        );
        let enqueues = self.taken.iter().map(|pair| Span { item: pair.enqueue.item, ..pair.dequeue });
        follow(&enqueues.collect::<Vec<_>>(), before);
        // What is never taken was enqueued behind all that is.
        let last = self.taken.iter().map(|pair| pair.enqueue.begin).max().unwrap_or(0);
        self.stays.iter().filter(|(_, until)| *until == u64::MAX).all(|(stays, _)| {
            let together = self.taken.iter().filter(|pair| pair.enqueue.end > stays.begin);
            before.extend(together.map(|pair| (pair.enqueue.item, stays.item)));
            last < stays.end
        })
    }

    /// Whether a dequeue found nothing, although at each moment of it some value was surely there.
    fn finds_nothing_wrongly(&self, items: &[Item<QueueCall>]) -> bool {
        let taken = self.taken.iter().map(|pair| (pair.enqueue.end, pair.dequeue.begin));
        let stays = self.stays.iter().map(|(enqueue, until)| (enqueue.end, *until));
        let mut there: Vec<(u64, u64)> = taken.chain(stays).filter(|(from, to)| from < to).collect();
        there.sort_unstable();
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        for (from, to) in there {
            match stretches.last_mut() {
                Some((_, end)) if from <= *end => *end = (*end).max(to),
                _ => stretches.push((from, to)),
            }
        }
        items.iter().any(|item| {
            let (QueueCall::Dequeue(Some(Value::Nil)), Some(returned)) = (&item.call, item.returned) else {
                return false;
            };
            let place = stretches.partition_point(|(from, _)| *from <= item.invoked);
            place > 0 && stretches[place - 1].1 >= returned
        })
    }
}

/// For spans of which one is over before another begins: the item of the one comes before that of the other. Pairs
/// with a third in between are left out.
fn follow(spans: &[Span], before: &mut Vec<(usize, usize)>) {
    let mut by_end: Vec<&Span> = spans.iter().collect();
    by_end.sort_unstable_by_key(|span| span.end);
    // Up to each, the latest begin.
    let mut latest = 0;
    let latest: Vec<u64> = by_end
        .iter()
        .map(|span| {
            latest = span.begin.max(latest);
            latest
        })
        .collect();
    for span in spans {
        let over = by_end.partition_point(|other| other.end < span.begin);
        let Some(last) = over.checked_sub(1).map(|last| latest[last]) else { continue };
        let near = by_end[..over].iter().rev().take_while(|other| other.end >= last);
        before.extend(near.map(|other| (other.item, span.item)));
    }
}

//! What the reads of a log tell about the order of its appends.
//!
//! An entry never leaves its position. So every answer that names one fixes a part of the order of all appends, and
//! whoever reads all entries comes before the append of the next. Entries that are appended once are known by their
//! value.

use super::LogCall;
use crate::Value;
use crate::plan::{Item, Plan, Turn};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

struct Facts<'a> {
    items: &'a [Item<LogCall>],
    /// By position: the entry that some answer names.
    known: BTreeMap<usize, &'a Value>,
    /// By value: how often it is appended, and the last time.
    appends: FxHashMap<&'a Value, (usize, usize)>,
    /// By value: its first known position.
    positions: FxHashMap<&'a Value, usize>,
    /// The length of the longest list that was read.
    longest: usize,
}

pub(super) fn plan(items: &[Item<LogCall>]) -> Plan<'_, Vec<Value>> {
    let mut facts = Facts {
        items,
        known: BTreeMap::new(),
        appends: FxHashMap::default(),
        positions: FxHashMap::default(),
        longest: 0,
    };
    let mut before = Vec::new();
    let impossible = !facts.collect();
    if !impossible {
        facts.order(&mut before);
    }
    // An append that nobody saw and nobody answered: where no answer counts entries behind the longest list, it may as
    // well never happen.
    let short = facts.known.last_key_value().is_none_or(|(last, _)| *last < facts.longest);
    let turn = move |item: usize, _: &Vec<Value>| match &items[item].call {
        LogCall::Append(entry, _) if short && items[item].returned.is_none() => {
            if facts.find_unseen(entry).is_some() { Turn::Never } else { Turn::Maybe }
        }
        _ => Turn::Maybe,
    };
    Plan { impossible, before, turn: Box::new(turn), guess: None }
}

impl<'a> Facts<'a> {
    /// Collects what answers name; false if they contradict each other.
    fn collect(&mut self) -> bool {
        let mut agree = true;
        for (at, item) in self.items.iter().enumerate() {
            match &item.call {
                LogCall::Append(entry, position) => {
                    let (count, last) = self.appends.entry(entry).or_default();
                    (*count, *last) = (*count + 1, at);
                    let told = position.filter(|_| item.returned.is_some());
                    agree &= told.is_none_or(|position| self.name(position, entry));
                }
                // It may have been answered later than the history goes.
                LogCall::ReadAll(_) | LogCall::ReadAt(..) if item.returned.is_none() => {}
                LogCall::ReadAll(entries) => {
                    self.longest = self.longest.max(entries.len());
                    agree &= entries.iter().enumerate().all(|(position, entry)| self.name(position, entry));
                }
                LogCall::ReadAt(_, Value::Nil) => {}
                LogCall::ReadAt(position, entry) => agree &= self.name(*position, entry),
            }
        }
        let mut counts: FxHashMap<&Value, usize> = FxHashMap::default();
        for (position, entry) in &self.known {
            *counts.entry(entry).or_default() += 1;
            self.positions.entry(entry).or_insert(*position);
            agree &= self.appends.get(entry).is_some_and(|(count, _)| counts[entry] <= *count);
        }
        agree
    }

    /// An answer names the entry at a position; false if another one did with another entry.
    fn name(&mut self, position: usize, entry: &'a Value) -> bool {
        *self.known.entry(position).or_insert(entry) == entry
    }

    /// The only append of an entry.
    fn find_append(&self, entry: &Value) -> Option<usize> {
        self.appends.get(entry).filter(|(count, _)| *count == 1).map(|(_, at)| *at)
    }

    /// The only append of an entry that no answer names.
    fn find_unseen(&self, entry: &Value) -> Option<usize> {
        self.find_append(entry).filter(|_| !self.positions.contains_key(entry))
    }

    /// Collects what must come before what.
    fn order(&self, before: &mut Vec<(usize, usize)>) {
        let placed = |(position, entry): (&usize, &&Value)| Some((*position, self.find_append(entry)?));
        let chain: Vec<(usize, usize)> = self.known.iter().filter_map(placed).collect();
        before.extend(chain.windows(2).map(|pair| (pair[0].1, pair[1].1)));
        let mut last_reads = Vec::new();
        for (at, item) in self.items.iter().enumerate().filter(|(_, item)| item.returned.is_some()) {
            // How many entries there are at least, and which position is empty.
            let (least, empty) = match &item.call {
                LogCall::Append(..) => continue,
                LogCall::ReadAll(entries) => (entries.len(), Some(entries.len())),
                LogCall::ReadAt(position, Value::Nil) => (0, Some(*position)),
                LogCall::ReadAt(position, _) => (position + 1, None),
            };
            let last = chain.partition_point(|(position, _)| *position < least).checked_sub(1);
            before.extend(last.map(|last| (chain[last].1, at)));
            let next = empty.map(|empty| chain.partition_point(|(position, _)| *position < empty));
            before.extend(next.and_then(|next| chain.get(next)).map(|(_, next)| (at, *next)));
            if matches!(&item.call, LogCall::ReadAll(entries) if entries.len() == self.longest) {
                last_reads.push(at);
            }
        }
        // What nobody saw is behind what was seen.
        let last = chain.partition_point(|(position, _)| *position < self.longest).checked_sub(1);
        for (at, item) in self.items.iter().enumerate() {
            let LogCall::Append(entry, _) = &item.call else { continue };
            if self.find_unseen(entry).is_some() {
                before.extend(last.map(|last| (chain[last].1, at)));
                before.extend(last_reads.iter().map(|read| (*read, at)));
            }
        }
    }
}

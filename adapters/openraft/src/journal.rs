//! What a node does in a step, in order: with late flushes one step may hold the work of several messages, and which
//! part of it came first is seen in no state.

use crate::image::Change;
use crate::types::{Entry, LogId, Vote};

/// A change of what a node keeps, or the sync of its disk.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Vote(Vote),
    Append(Vec<Entry>),
    /// All entries from this index on go.
    Truncate(u64),
    Purge(LogId),
    /// The index of the last entry that is known to be committed.
    Commit(u64),
    Sync,
}

/// The deeds of a step, and when it sent what.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) deeds: Vec<Deed>,
    /// For each message that was sent, in order, how many deeds came before.
    pub(crate) sends: Vec<usize>,
}

impl Journal {
    /// A new step.
    pub(crate) fn clear(&mut self) {
        self.deeds.clear();
        self.sends.clear();
    }

    pub(crate) fn note(&mut self, change: &Change) {
        self.deeds.extend(match change {
            Change::Vote(vote) => Some(Deed::Vote(*vote)),
            Change::Append(entries) => Some(Deed::Append(entries.clone())),
            Change::Truncate(from) => Some(Deed::Truncate(*from)),
            Change::Purge(upto) => Some(Deed::Purge(*upto)),
            Change::Committed(upto) => upto.map(|upto| Deed::Commit(upto.index)),
            Change::Snapshot(..) => None,
        });
    }

    /// A message is sent.
    pub(crate) fn send(&mut self) {
        self.sends.push(self.deeds.len());
    }
}

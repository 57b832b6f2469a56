//! A node's log as the model has it, kept beside the node's own.

use super::messages::{rank, to_entry};
use crate::image::Image;
use misrule_models::Log;
use misrule_models::raft::LogEntry;

/// A copy of a log in the model's terms; only what changed is read again.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    log: Log<LogEntry>,
}

impl Shadow {
    /// The log at the last call of [`follow`](Self::follow).
    pub(super) fn log(&self) -> &Log<LogEntry> {
        &self.log
    }

    /// Reads the log of a node. Entries that a snapshot has replaced are those that are `committed`. Logs that have
    /// an entry of the same term at an index are the same up to there.
    pub(super) fn follow(&mut self, image: &Image, committed: &Log<LogEntry>) {
        let length = image.now.length().saturating_sub(1) as u32;
        let term = |index: u32| match image.now.id(u64::from(index)) {
            Some(id) => Some(rank((id.leader_id.term, id.leader_id.node_id))),
            None => committed.entries().get(index as usize - 1).map(|entry| entry.term),
        };
        self.log.truncate(length);
        while let Some(last) = self.log.entries().last()
            && term(self.log.len()) != Some(last.term)
        {
            self.log.truncate(self.log.len() - 1);
        }
        let same = self.log.len() as usize;
        if same == length as usize {
            return;
        }
        let first = image.now.first_index().max(1) as usize;
        let hidden = committed.entries().get(same..first - 1).unwrap_or(&[]);
        self.log.extend(hidden);
        for entry in image.entries(u64::from(self.log.len()) + 1, u64::MAX) {
            self.log.extend(&[to_entry(&entry)]);
        }
    }
}

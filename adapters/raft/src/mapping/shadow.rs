//! A node's log as the model has it, kept beside the node's own.

use super::messages::to_entry;
use crate::image::Image;
use misrule_models::Log;
use misrule_models::raft::LogEntry;

/// A copy of a log in the model's terms; only what changed is read again.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    log: Log<LogEntry>,
    /// The image's own hash of each prefix, by which changes are found.
    hashes: Vec<u64>,
}

impl Shadow {
    /// The log at the last call of [`follow`](Self::follow).
    pub(super) fn log(&self) -> &Log<LogEntry> {
        &self.log
    }

    /// Reads the log of a node. Entries that a snapshot has replaced are those that are `committed`.
    pub(super) fn follow(&mut self, image: &Image, committed: &Log<LogEntry>) {
        let hash = |index: usize| image.prefix_hash(index as u64).unwrap_or(0);
        self.hashes.truncate(image.last_index() as usize);
        while self.hashes.last().is_some_and(|known| *known != hash(self.hashes.len())) {
            self.hashes.pop();
        }
        let (same, base) = (self.hashes.len(), image.base().index as usize);
        self.log.truncate(same as u32);
        let before = committed.entries().get(same..base).unwrap_or(&[]);
        self.log.extend(before);
        for entry in image.entries().iter().skip(same.saturating_sub(base)) {
            self.log.extend(&[to_entry(entry)]);
        }
        self.hashes.extend((same + 1..=self.log.len() as usize).map(hash));
    }
}

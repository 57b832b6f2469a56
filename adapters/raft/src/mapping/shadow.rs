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

    /// Reads the log of a node.
    pub(super) fn follow(&mut self, image: &Image) {
        self.hashes.truncate(image.last_index() as usize);
        while self.hashes.last().is_some_and(|hash| *hash != image.prefix_hash(self.hashes.len() as u64)) {
            self.hashes.pop();
        }
        let same = self.hashes.len();
        self.log.truncate(same as u32);
        for entry in &image.entries()[same..] {
            self.log.extend(&[to_entry(entry)]);
            self.hashes.push(image.prefix_hash(self.hashes.len() as u64 + 1));
        }
    }
}

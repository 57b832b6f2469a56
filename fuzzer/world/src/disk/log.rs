//! The record log: appends, one sync for all, reads from the oldest on.
//!
//! It stands for a log that checks its records: a record is there whole or not at all, and after a crash the log
//! ends at the first one that is not there. It keeps no second copy and allocates nothing once its buffers have
//! grown.

/// A log of records.
#[derive(Debug, Default)]
pub(super) struct Log {
    bytes: Vec<u8>,
    /// For each record its end in `bytes` and its number among the operations of the disk.
    ends: Vec<(usize, u64)>,
    durable: usize,
    /// From this record on a failed sync has dropped what was to be synced: a crash loses it and all that
    /// follows.
    dropped: Option<usize>,
}

crate::clone_in_place!(Log { bytes, ends, durable, dropped });

impl Log {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.durable = 0;
        self.dropped = None;
    }

    /// How long the log is, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn append(&mut self, record: &[u8], number: u64) {
        self.bytes.extend_from_slice(record);
        self.ends.push((self.bytes.len(), number));
    }

    pub(super) fn sync(&mut self) {
        self.durable = self.dropped.unwrap_or(self.ends.len());
    }

    /// What could have become durable now never does.
    pub(super) fn drop_unsynced(&mut self) {
        if self.durable < self.ends.len() {
            self.dropped.get_or_insert(self.durable);
        }
    }

    pub(super) fn read(&self, mut each: impl FnMut(&[u8])) {
        let mut start = 0;
        for (end, _) in &self.ends {
            each(&self.bytes[start..*end]);
            start = *end;
        }
    }

    /// Records that a crash may lose and may keep.
    pub(super) fn pending(&self) -> usize {
        self.dropped.unwrap_or(self.ends.len()) - self.durable
    }

    /// The operation numbers of the pending records.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.ends[self.durable..self.durable + self.pending()].iter().map(|(_, number)| *number)
    }

    /// Ends the log `kept` records after the durable ones.
    pub(super) fn recover(&mut self, kept: usize) {
        self.ends.truncate(self.durable + kept);
        self.bytes.truncate(self.ends.last().map_or(0, |(end, _)| *end));
        self.durable = self.ends.len();
        self.dropped = None;
    }

    /// The bytes of the log as a crash that keeps `kept` pending records leaves it, and where records end.
    pub(super) fn image(&self, kept: usize) -> (&[u8], impl Iterator<Item = usize>) {
        let ends = &self.ends[..self.durable + kept];
        (&self.bytes[..ends.last().map_or(0, |(end, _)| *end)], ends.iter().map(|(end, _)| *end))
    }
}

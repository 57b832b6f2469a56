//! The storage: openraft's second storage interface over an [`Image`](crate::Image) and the disk below it.
//!
//! A write is one record of the disk's log. With late flushes it waits for a local step that syncs the disk, and openraft
//! hears then that it is durable; else the disk is synced at once.

use crate::image::{Change, SharedImage, Waiter, lock};
use crate::types::{Entry, LogFlushed, LogId, StorageError, Types, Vote};
use misrule_executor::oneshot;
use misrule_world::DiskError;
use openraft::storage::RaftLogStorage;
use openraft::{AnyError, LogState, OptionalSend, RaftLogReader, StorageIOError};
use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};

/// A bug that a user may write: in the storage, in the state machine, or in what answers clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Bug {
    #[default]
    None,
    EarlyFlush,
    VoteNotSynced,
    FlushForgotten,
    FlushDropped,
    LocalRead,
    MembershipForgotten,
}

/// The bugs that can be planted: name, and what is wrong.
pub(crate) const BUGS: [(&str, &str); 6] = [
    ("early-flush", "entries are reported as durable before the disk is synced"),
    ("vote-not-synced", "a vote is reported as saved before the disk is synced"),
    ("flush-forgotten", "nobody is told of a flush in which entries were cut off"),
    ("flush-dropped", "who waits for a flush in which entries were cut off is dropped"),
    (
        "membership-forgotten",
        "the state machine keeps the membership that the cluster started with, and snapshots say that one",
    ),
    ("local-read", "reads are answered without asking the library whether the node leads"),
];

impl Bug {
    /// The bug of a name.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "early-flush" => Self::EarlyFlush,
            "vote-not-synced" => Self::VoteNotSynced,
            "flush-forgotten" => Self::FlushForgotten,
            "flush-dropped" => Self::FlushDropped,
            "local-read" => Self::LocalRead,
            "membership-forgotten" => Self::MembershipForgotten,
            _ => Self::None,
        }
    }
}

/// A node's log and vote.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) image: SharedImage,
    /// Whether a local step syncs the disk.
    pub(crate) flushes_late: bool,
    pub(crate) bug: Bug,
}

/// A disk's error as openraft wants it.
fn failed(error: &DiskError) -> StorageError {
    StorageIOError::write(AnyError::error(error)).into()
}

impl Store {
    /// Syncs the disk and tells everybody who waits for it.
    pub(crate) fn flush(&self) {
        let (has_truncated, result, waiters) = {
            let mut image = lock(&self.image);
            (image.has_truncated(), image.sync(), std::mem::take(&mut image.waiters))
        };
        if has_truncated && self.bug == Bug::FlushForgotten {
            // What is never dropped is never told of.
            lock(&self.image).forgotten.extend(waiters);
            return;
        }
        if has_truncated && self.bug == Bug::FlushDropped {
            return;
        }
        // Whoever is told may run at once: nothing is locked here.
        for waiter in waiters {
            match waiter {
                Waiter::Log(callback) => {
                    callback.log_io_completed(
                        result.clone().map_err(|error| std::io::Error::other(error.to_string())),
                    );
                }
                // A node that has stopped waits for nothing.
                Waiter::Vote(sender) => drop(sender.send(result.clone())),
                Waiter::Nobody => {}
            }
        }
    }

    #[expect(clippy::result_large_err, reason = "the library's error")]
    fn write(&self, change: Change) -> Result<(), StorageError> {
        lock(&self.image).write(change).map_err(|error| failed(&error))
    }

    fn wait(&self, waiter: Waiter) {
        lock(&self.image).waiters.push(waiter);
        if !self.flushes_late {
            self.flush();
        }
    }
}

impl RaftLogReader<Types> for Store {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry>, StorageError> {
        let from = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(to) => *to,
            Bound::Unbounded => u64::MAX,
        };
        Ok(lock(&self.image).entries(from, to))
    }
}

impl RaftLogStorage<Types> for Store {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError> {
        let image = lock(&self.image);
        Ok(LogState { last_purged_log_id: image.now.purged(), last_log_id: image.now.last() })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        self.write(Change::Vote(*vote))?;
        if self.bug == Bug::VoteNotSynced {
            self.wait(Waiter::Nobody);
            return Ok(());
        }
        let (sender, receiver) = oneshot();
        self.wait(Waiter::Vote(sender));
        match receiver.await {
            Ok(result) => result.map_err(|error| failed(&error)),
            Err(error) => Err(StorageIOError::write_vote(AnyError::error(error)).into()),
        }
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(lock(&self.image).vote())
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        self.write(Change::Committed(committed))
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(lock(&self.image).committed)
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        self.write(Change::Append(entries.into_iter().collect()))?;
        if self.bug == Bug::EarlyFlush {
            callback.log_io_completed(Ok(()));
            self.wait(Waiter::Nobody);
        } else {
            self.wait(Waiter::Log(callback));
        }
        Ok(())
    }

    async fn truncate(&mut self, log_id: LogId) -> Result<(), StorageError> {
        self.write(Change::Truncate(log_id.index))?;
        if !self.flushes_late {
            self.flush();
        }
        Ok(())
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), StorageError> {
        self.write(Change::Purge(log_id))
    }
}

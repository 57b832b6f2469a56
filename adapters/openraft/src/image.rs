//! What a node keeps: in memory, and of it what is surely on its disk.

use crate::journal::{Deed, Journal};
use crate::members::{Members, configuration};
use crate::record;
use crate::registers::Registers;
use crate::types::{Entry, LogFlushed, LogId, Membership, SnapshotMeta, Vote, number};
use misrule_executor::OneshotSender;
use misrule_models::NodeId;
use misrule_world::{DiskError, DiskHandle};
use openraft::{CommittedLeaderId, EntryPayload};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A change of what a node keeps; one record of the disk's log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Vote(Vote),
    Append(Vec<Entry>),
    /// All entries from this index on go.
    Truncate(u64),
    /// All entries up to this one go: a snapshot holds what they did.
    Purge(LogId),
    Committed(Option<LogId>),
    Snapshot(SnapshotMeta, Vec<u8>),
}

/// Vote and log, without what the entries say: enough for oracles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    vote: Option<Vote>,
    purged: Option<LogId>,
    ids: Vec<LogId>,
}

impl Outline {
    /// Term and node of the vote.
    pub fn vote(&self) -> Option<(u64, u64)> {
        self.vote.map(|vote| (vote.leader_id.term, vote.leader_id.node_id))
    }

    /// The vote, with whether it is granted.
    pub(crate) fn ballot(&self) -> Option<Vote> {
        self.vote
    }

    /// The entry at an index, where it is there.
    pub fn id(&self, index: u64) -> Option<LogId> {
        let first = self.first_index();
        index.checked_sub(first).and_then(|at| self.ids.get(at as usize)).copied()
    }

    /// The index of the first entry that was not purged.
    pub fn first_index(&self) -> u64 {
        self.purged.map_or(0, |purged| purged.index + 1)
    }

    /// Up to where entries were purged.
    pub fn purged(&self) -> Option<LogId> {
        self.purged
    }

    /// The last entry, or the last that was purged.
    pub fn last(&self) -> Option<LogId> {
        self.ids.last().copied().or(self.purged)
    }

    /// How many entries there are, with those that were purged.
    pub fn length(&self) -> u64 {
        self.first_index() + self.ids.len() as u64
    }

    /// What tells one outline from another, but for what was purged.
    pub(crate) fn summary(&self) -> Summary {
        (self.vote, self.last(), self.length())
    }

    /// Whether an entry is in the log, or in the snapshot in front of it.
    pub fn has(&self, id: &LogId) -> bool {
        id.index < self.first_index() || self.id(id.index) == Some(*id)
    }

    fn apply(&mut self, change: &Brief) {
        match change {
            Brief::Vote(vote) => self.vote = Some(*vote),
            Brief::Append(ids) => self.ids.extend_from_slice(ids),
            Brief::Truncate(from) => self.ids.truncate(from.saturating_sub(self.first_index()) as usize),
            Brief::Purge(upto) => {
                let gone = (upto.index + 1).saturating_sub(self.first_index()) as usize;
                self.ids.drain(..gone.min(self.ids.len()));
                self.purged = self.purged.max(Some(*upto));
            }
        }
    }
}

/// The vote, the last entry and the number of entries.
pub(crate) type Summary = (Option<Vote>, Option<LogId>, u64);

/// A change of an outline.
#[derive(Clone, Debug)]
enum Brief {
    Vote(Vote),
    Append(Vec<LogId>),
    Truncate(u64),
    Purge(LogId),
}

impl Brief {
    fn of(change: &Change) -> Option<Self> {
        match change {
            Change::Vote(vote) => Some(Self::Vote(*vote)),
            Change::Append(entries) => Some(Self::Append(entries.iter().map(|entry| entry.log_id).collect())),
            Change::Truncate(from) => Some(Self::Truncate(*from)),
            Change::Purge(upto) => Some(Self::Purge(*upto)),
            Change::Committed(_) | Change::Snapshot(..) => None,
        }
    }
}

/// Who waits for the disk.
pub(crate) enum Waiter {
    Log(LogFlushed),
    Vote(OneshotSender<Result<(), DiskError>>),
    /// Nobody: a planted bug has told too early.
    Nobody,
}

/// What a node keeps.
pub struct Image {
    disk: DiskHandle,
    record: Vec<u8>,
    /// Vote and log, in memory and as far as they were synced.
    pub(crate) now: Outline,
    pub(crate) durable: Outline,
    /// What was written since the last sync.
    unsynced: Vec<Brief>,
    pub(crate) waiters: Vec<Waiter>,
    /// Who waits for ever, with a planted bug.
    pub(crate) forgotten: Vec<Waiter>,
    /// The entries, as `now` lists them.
    entries: Vec<Entry>,
    pub(crate) committed: Option<LogId>,
    /// The last entry that the state machine has applied; gone after a crash.
    pub(crate) applied: Option<LogId>,
    /// What the state machine has made of it, for clients to read.
    pub(crate) registers: Registers,
    pub(crate) snapshot: Option<(SnapshotMeta, Vec<u8>)>,
    /// What contradicts the contract of the storage, as the storage saw it.
    pub(crate) contradiction: Option<String>,
    /// What has happened to the state machine: bits of [`SOMETIMES`](crate::oracles::SOMETIMES).
    pub(crate) seen: u8,
    /// Whether the disk has reported an error.
    pub(crate) disk_failed: bool,
    /// What happened in this step.
    pub(crate) journal: Journal,
    /// The last membership in the log, or in the snapshot in front of it.
    pub(crate) members: Members,
    /// Up to where the entries are known to be committed that it started with.
    pub(crate) started: Option<LogId>,
    /// Counts changes, so that views tell whether something is another.
    pub(crate) changes: u64,
}

/// An image as storage, views and judge share it.
pub(crate) type SharedImage = Arc<Mutex<Image>>;

/// Locks; never contended, since one thread does everything.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Image {
    /// The image of an empty disk.
    pub(crate) fn new(disk: DiskHandle) -> Self {
        Self {
            disk,
            record: Vec::new(),
            now: Outline::default(),
            durable: Outline::default(),
            unsynced: Vec::new(),
            waiters: Vec::new(),
            forgotten: Vec::new(),
            entries: Vec::new(),
            committed: None,
            applied: None,
            registers: Registers::default(),
            snapshot: None,
            contradiction: None,
            seen: 0,
            disk_failed: false,
            journal: Journal::default(),
            members: Members::default(),
            started: None,
            changes: 0,
        }
    }

    /// Reads what is on the disk. Where nothing is, the operator has started the cluster: one entry with its `voters`,
    /// as `Raft::initialize` writes it on each of them. A node without voters waits until a leader adds it.
    ///
    /// # Errors
    /// Disk errors, and records that hold no change.
    pub(crate) fn open(disk: DiskHandle, voters: Option<NodeId>) -> Result<Self, String> {
        let mut image = Self::new(disk);
        let mut readable = true;
        let mut changes = Vec::new();
        disk.read(|bytes| match record::read(bytes) {
            Some(change) => changes.push(change),
            None => readable = false,
        })
        .map_err(|error| error.to_string())?;
        if !readable {
            return Err("a disk record cannot be read".to_owned());
        }
        for change in changes {
            image.apply(change);
        }
        image.durable.clone_from(&image.now);
        image.unsynced.clear();
        let kept = image.snapshot.as_ref().and_then(|(meta, _)| meta.last_log_id);
        image.started = image.committed.max(kept);
        if let Some(voters) = voters.filter(|_| image.now == Outline::default()) {
            let membership = Membership::new(vec![(0..voters).map(number).collect()], BTreeSet::new());
            let first = Entry {
                log_id: LogId::new(CommittedLeaderId::default(), 0),
                payload: EntryPayload::Membership(membership),
            };
            image.write(Change::Append(vec![first])).map_err(|error| error.to_string())?;
            image.sync().map_err(|error| error.to_string())?;
        }
        Ok(image)
    }

    /// Appends a record: completed, not durable.
    ///
    /// # Errors
    /// Disk errors; the image is then as before.
    pub(crate) fn write(&mut self, change: Change) -> Result<(), DiskError> {
        let mut bytes = std::mem::take(&mut self.record);
        record::write(&change, &mut bytes);
        let result = self.disk.append(&bytes);
        self.record = bytes;
        self.disk_failed |= result.is_err();
        result?;
        self.journal.note(&change);
        self.apply(change);
        Ok(())
    }

    /// Makes everything durable that was written.
    ///
    /// # Errors
    /// Disk errors.
    pub(crate) fn sync(&mut self) -> Result<(), DiskError> {
        let result = self.disk.sync();
        self.disk_failed |= result.is_err();
        result?;
        self.journal.deeds.push(Deed::Sync);
        for change in self.unsynced.drain(..) {
            self.durable.apply(&change);
        }
        self.changes += 1;
        Ok(())
    }

    /// Whether entries were cut off since the last sync.
    pub(crate) fn has_truncated(&self) -> bool {
        self.unsynced.iter().any(|change| matches!(change, Brief::Truncate(_)))
    }

    /// Whether vote or log have something that was not synced.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.now.summary() != self.durable.summary()
    }

    /// Whether the library waits for the disk, and does nothing else meanwhile.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.has_waiters() || !self.forgotten.is_empty()
    }

    /// What is still to be synced for somebody who waits.
    pub(crate) fn has_waiters(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Brings about a change that is on the disk.
    pub(crate) fn apply(&mut self, change: Change) {
        self.changes += 1;
        if let Some(brief) = Brief::of(&change) {
            let first = self.now.first_index();
            match &brief {
                Brief::Append(ids) => self.check_append(ids),
                Brief::Truncate(from) => self.entries.truncate(from.saturating_sub(first) as usize),
                Brief::Purge(upto) => {
                    let gone = (upto.index + 1).saturating_sub(first) as usize;
                    self.entries.drain(..gone.min(self.entries.len()));
                }
                Brief::Vote(vote) => self.check_vote(vote),
            }
            self.now.apply(&brief);
            self.unsynced.push(brief);
        }
        match change {
            Change::Append(entries) => {
                let is_change = entries.iter().any(|entry| membership(entry).is_some());
                self.entries.extend(entries);
                if is_change {
                    self.members = self.members_below(u64::MAX);
                }
            }
            Change::Committed(committed) => self.committed = committed,
            Change::Snapshot(meta, data) => {
                self.snapshot = Some((meta, data));
                self.members = self.members_below(u64::MAX);
            }
            Change::Truncate(_) => self.members = self.members_below(u64::MAX),
            // What was purged a snapshot has.
            Change::Vote(_) | Change::Purge(_) => {}
        }
    }

    /// The last membership among the entries below an index, or that of the snapshot in front of them.
    pub(crate) fn members_below(&self, index: u64) -> Members {
        let mut entries = self.entries.iter().rev().filter(|entry| entry.log_id.index < index);
        let said = |entry: &Entry| {
            membership(entry).map(|it| Members { id: Some(entry.log_id), configuration: configuration(it) })
        };
        let kept = || self.snapshot.as_ref().map(|(meta, _)| Members::of(&meta.last_membership));
        entries.find_map(said).or_else(kept).unwrap_or_default()
    }

    /// The library promises a log without holes.
    fn check_append(&mut self, ids: &[LogId]) {
        let mut next = self.now.length();
        for id in ids {
            if id.index != next {
                self.contradict(format!("entry {} is appended behind a log of {next} entries", id.index));
            }
            next = id.index + 1;
        }
    }

    /// The library promises that votes grow.
    fn check_vote(&mut self, vote: &Vote) {
        if let Some(before) = self
            .now
            .vote
            .filter(|before| (vote.leader_id, vote.committed) < (before.leader_id, before.committed))
        {
            self.contradict(format!("vote {vote} is saved after {before}"));
        }
    }

    /// Notes a contradiction, the first one of the node.
    pub(crate) fn contradict(&mut self, what: String) {
        self.contradiction.get_or_insert(what);
    }

    /// The vote in memory.
    pub(crate) fn vote(&self) -> Option<Vote> {
        self.now.vote
    }

    /// The entries `from..to`, as far as they are there.
    pub(crate) fn entries(&self, from: u64, to: u64) -> Vec<Entry> {
        let first = self.now.first_index();
        let place = |index: u64| (index.saturating_sub(first) as usize).min(self.entries.len());
        let (start, end) = (place(from), place(to));
        self.entries[start..end.max(start)].to_vec()
    }

    /// The memberships that were in force since the entry at an index was in the log, the last one first: a leader
    /// counts by the last one that it has.
    pub(crate) fn memberships(&self, since: u64) -> Vec<&Membership> {
        let mut found = Vec::new();
        for entry in self.entries.iter().rev() {
            if let Some(membership) = membership(entry) {
                found.push(membership);
                if entry.log_id.index <= since {
                    return found;
                }
            }
        }
        found.extend(self.snapshot.as_ref().map(|(meta, _)| meta.last_membership.membership()));
        found
    }

    /// The membership by which the node with this vote was elected: the last one that is not of its own entries.
    pub(crate) fn elected_by(&self, vote: (u64, u64)) -> Option<&Membership> {
        let own = |entry: &&Entry| (entry.log_id.leader_id.term, entry.log_id.leader_id.node_id) == vote;
        let before = self.entries.iter().rev().filter(|entry| !own(entry)).find_map(membership);
        before.or_else(|| self.snapshot.as_ref().map(|(meta, _)| meta.last_membership.membership()))
    }
}

/// The membership that an entry says, if it says one.
fn membership(entry: &Entry) -> Option<&Membership> {
    if let EntryPayload::Membership(membership) = &entry.payload { Some(membership) } else { None }
}

impl Default for Image {
    /// What is seen of a node that has never started.
    fn default() -> Self {
        Self::new(DiskHandle::default())
    }
}

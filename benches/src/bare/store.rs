//! The storage of the bare driver: plain memory that outlives its server.

use super::Value;
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::storage::{NoSnapshot, StopSign, Storage, StorageOp, StorageResult};
use std::cell::RefCell;
use std::rc::Rc;

/// What survives a crash.
#[derive(Debug, Default)]
pub(super) struct Disk {
    log: Vec<Value>,
    promise: Option<Ballot>,
    accepted_round: Option<Ballot>,
    decided: usize,
    compacted: usize,
}

impl Disk {
    pub(super) fn clear(&mut self) {
        self.log.clear();
        (self.promise, self.accepted_round) = (None, None);
        (self.decided, self.compacted) = (0, 0);
    }

    pub(super) fn decided(&self) -> usize {
        self.decided
    }
}

/// A server's storage.
#[derive(Debug)]
pub(super) struct Store(Rc<RefCell<Disk>>);

impl Store {
    pub(super) fn new(disk: Rc<RefCell<Disk>>) -> Self {
        Self(disk)
    }
}

fn unused<T>(what: &str) -> StorageResult<T> {
    Err(format!("the workload does not ask for {what}").into())
}

impl Storage<Value> for Store {
    fn write_atomically(&mut self, operations: Vec<StorageOp<Value>>) -> StorageResult<()> {
        for operation in operations {
            match operation {
                StorageOp::AppendEntry(entry) => self.append_entry(entry)?,
                StorageOp::AppendEntries(entries) => self.append_entries(entries)?,
                StorageOp::AppendOnPrefix(from, entries) => self.append_on_prefix(from, entries)?,
                StorageOp::SetPromise(ballot) => self.set_promise(ballot)?,
                StorageOp::SetDecidedIndex(index) => self.set_decided_idx(index)?,
                StorageOp::SetAcceptedRound(ballot) => self.set_accepted_round(ballot)?,
                StorageOp::SetCompactedIdx(index) => self.set_compacted_idx(index)?,
                StorageOp::Trim(index) => self.trim(index)?,
                StorageOp::SetStopsign(sign) => self.set_stopsign(sign)?,
                StorageOp::SetSnapshot(snapshot) => self.set_snapshot(snapshot)?,
            }
        }
        Ok(())
    }

    fn append_entry(&mut self, entry: Value) -> StorageResult<()> {
        self.0.borrow_mut().log.push(entry);
        Ok(())
    }

    fn append_entries(&mut self, mut entries: Vec<Value>) -> StorageResult<()> {
        self.0.borrow_mut().log.append(&mut entries);
        Ok(())
    }

    fn append_on_prefix(&mut self, from: usize, mut entries: Vec<Value>) -> StorageResult<()> {
        let mut disk = self.0.borrow_mut();
        disk.log.truncate(from);
        disk.log.append(&mut entries);
        Ok(())
    }

    fn set_promise(&mut self, ballot: Ballot) -> StorageResult<()> {
        self.0.borrow_mut().promise = Some(ballot);
        Ok(())
    }

    fn set_decided_idx(&mut self, index: usize) -> StorageResult<()> {
        self.0.borrow_mut().decided = index;
        Ok(())
    }

    fn get_decided_idx(&self) -> StorageResult<usize> {
        Ok(self.0.borrow().decided)
    }

    fn set_accepted_round(&mut self, ballot: Ballot) -> StorageResult<()> {
        self.0.borrow_mut().accepted_round = Some(ballot);
        Ok(())
    }

    fn get_accepted_round(&self) -> StorageResult<Option<Ballot>> {
        Ok(self.0.borrow().accepted_round)
    }

    fn get_entries(&self, from: usize, to: usize) -> StorageResult<Vec<Value>> {
        Ok(self.0.borrow().log.get(from..to).unwrap_or_default().to_vec())
    }

    fn get_log_len(&self) -> StorageResult<usize> {
        Ok(self.0.borrow().log.len())
    }

    fn get_suffix(&self, from: usize) -> StorageResult<Vec<Value>> {
        Ok(self.0.borrow().log.get(from..).unwrap_or_default().to_vec())
    }

    fn get_promise(&self) -> StorageResult<Option<Ballot>> {
        Ok(self.0.borrow().promise)
    }

    fn set_stopsign(&mut self, sign: Option<StopSign>) -> StorageResult<()> {
        sign.map_or(Ok(()), |_| unused("stop signs"))
    }

    fn get_stopsign(&self) -> StorageResult<Option<StopSign>> {
        Ok(None)
    }

    fn trim(&mut self, _index: usize) -> StorageResult<()> {
        unused("trimming")
    }

    fn set_compacted_idx(&mut self, index: usize) -> StorageResult<()> {
        self.0.borrow_mut().compacted = index;
        Ok(())
    }

    fn get_compacted_idx(&self) -> StorageResult<usize> {
        Ok(self.0.borrow().compacted)
    }

    fn set_snapshot(&mut self, snapshot: Option<NoSnapshot>) -> StorageResult<()> {
        snapshot.map_or(Ok(()), |_| unused("snapshots"))
    }

    fn get_snapshot(&self) -> StorageResult<Option<NoSnapshot>> {
        Ok(None)
    }
}

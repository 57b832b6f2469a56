//! What differs between releases of omnipaxos, and nothing else: the only file that knows which release it is
//! built with.

use crate::image::Operation;
use crate::store::{Store, beyond_workload};
use crate::system::Value;
use omnipaxos::OmniPaxos;
use omnipaxos::ServerConfig;
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::messages::Message;
use omnipaxos::messages::sequence_paxos::{AcceptSync, PaxosMsg, Promise};
use omnipaxos::storage::{StopSign, Storage, StorageResult};

#[cfg(feature = "since-0-2-3")]
mod release {
    use super::{AcceptSync, Ballot, Message, OmniPaxos, PaxosMsg, Promise, ServerConfig};
    use super::{Operation, Store, Value};
    use crate::system::FLUSH_TICKS;
    use omnipaxos::storage::{StorageOp, StorageResult};

    /// The model follows these releases: their protocol is the same.
    pub(crate) const MODELLED: bool = true;
    pub(crate) type Index = usize;
    pub(super) type Appended = ();

    pub(super) fn appended(store: &mut Store) -> StorageResult<Appended> {
        store.commit()
    }

    /// Indices of the storage count from the log's beginning.
    pub(super) fn place(_store: &Store, index: Index) -> usize {
        index
    }

    pub(crate) fn index(index: Index) -> usize {
        index
    }

    pub(crate) fn accepting(paxos: &OmniPaxos<Value, Store>) -> bool {
        paxos.get_current_leader().is_some_and(|(_, accepting)| accepting)
    }

    pub(crate) fn take_messages(paxos: &mut OmniPaxos<Value, Store>, into: &mut Vec<Message<Value>>) {
        paxos.take_outgoing_messages(into);
    }

    pub(crate) fn finish(config: ServerConfig) -> ServerConfig {
        let logger = crate::logger::shared();
        ServerConfig { flush_batch_tick_timeout: FLUSH_TICKS, custom_logger: Some(logger), ..config }
    }

    pub(crate) fn accept_sync(message: &AcceptSync<Value>) -> (usize, &[Value]) {
        (message.log_sync.sync_idx, &message.log_sync.suffix)
    }

    pub(crate) fn promise_sync(message: &Promise<Value>) -> Option<(usize, &[Value])> {
        message.log_sync.as_ref().map(|sync| (sync.sync_idx, &sync.suffix[..]))
    }

    pub(crate) fn asked_ballot(message: &PaxosMsg<Value>) -> Option<Ballot> {
        match message {
            PaxosMsg::PrepareReq(request) => Some(request.n),
            PaxosMsg::NotAccepted(refusal) => Some(refusal.n),
            _ => None,
        }
    }

    pub(super) fn stage(store: &mut Store, operation: StorageOp<Value>) -> StorageResult<()> {
        match operation {
            StorageOp::AppendEntry(entry) => return store.stage_append(&[entry]),
            StorageOp::AppendEntries(entries) => return store.stage_append(&entries),
            StorageOp::AppendOnPrefix(from, entries) => return store.stage_write(from, &entries),
            StorageOp::SetPromise(ballot) => store.stage(Operation::Promise(ballot)),
            StorageOp::SetDecidedIndex(index) => store.stage(Operation::Decided(index)),
            StorageOp::SetAcceptedRound(ballot) => store.stage(Operation::AcceptedRound(ballot)),
            StorageOp::SetCompactedIdx(index) => store.stage(Operation::Compacted(index)),
            StorageOp::Trim(index) => store.stage(Operation::Trim(index)),
            StorageOp::SetStopsign(None) | StorageOp::SetSnapshot(None) => {}
            StorageOp::SetStopsign(Some(_)) => return super::beyond_workload("stop signs"),
            StorageOp::SetSnapshot(Some(_)) => return super::beyond_workload("snapshots"),
        }
        Ok(())
    }
}

#[cfg(not(feature = "since-0-2-3"))]
mod release {
    use super::{AcceptSync, Ballot, Message, OmniPaxos, PaxosMsg, Promise, ServerConfig};
    use super::{StorageResult, Store, Value};

    /// The model does not follow these releases: their rules are others.
    pub(crate) const MODELLED: bool = false;
    pub(crate) type Index = u64;
    pub(super) type Appended = u64;

    /// Appending returns how many entries can be read.
    pub(super) fn appended(store: &mut Store) -> StorageResult<Appended> {
        store.commit()?;
        Ok(store.readable() as u64)
    }

    /// Indices of the storage count from the first entry that can be read.
    pub(super) fn place(store: &Store, index: Index) -> usize {
        store.image.borrow().trimmed() + index as usize
    }

    pub(crate) fn index(index: Index) -> usize {
        index as usize
    }

    /// These releases do not tell.
    pub(crate) fn accepting(_paxos: &OmniPaxos<Value, Store>) -> bool {
        false
    }

    pub(crate) fn take_messages(paxos: &mut OmniPaxos<Value, Store>, into: &mut Vec<Message<Value>>) {
        into.extend(paxos.outgoing_messages());
    }

    /// These releases have no logger of the user's and no flush timeout.
    pub(crate) fn finish(config: ServerConfig) -> ServerConfig {
        config
    }

    pub(crate) fn accept_sync(message: &AcceptSync<Value>) -> (usize, &[Value]) {
        (message.sync_idx as usize, &message.suffix)
    }

    /// The message does not say where its entries begin; they end at its accepted index.
    pub(crate) fn promise_sync(message: &Promise<Value>) -> Option<(usize, &[Value])> {
        let from = (message.accepted_idx as usize).checked_sub(message.suffix.len())?;
        if message.suffix.is_empty() { None } else { Some((from, &message.suffix)) }
    }

    /// Release 0.2.0 has no ballot in a request to prepare, so it is not read here.
    pub(crate) fn asked_ballot(_message: &PaxosMsg<Value>) -> Option<Ballot> {
        None
    }
}

use release::{Appended, appended, place};
pub(crate) use release::{Index, MODELLED, accept_sync, accepting, asked_ballot};
pub(crate) use release::{finish, index, promise_sync, take_messages};

impl Storage<Value> for Store {
    #[cfg(feature = "since-0-2-3")]
    fn write_atomically(
        &mut self,
        operations: Vec<omnipaxos::storage::StorageOp<Value>>,
    ) -> StorageResult<()> {
        for operation in operations {
            release::stage(self, operation)?;
        }
        self.commit()
    }

    fn append_entry(&mut self, entry: Value) -> StorageResult<Appended> {
        self.append_entries(vec![entry])
    }

    fn append_entries(&mut self, entries: Vec<Value>) -> StorageResult<Appended> {
        self.stage_append(&entries)?;
        appended(self)
    }

    fn append_on_prefix(&mut self, from: Index, entries: Vec<Value>) -> StorageResult<Appended> {
        self.stage_write(place(self, from), &entries)?;
        appended(self)
    }

    fn set_promise(&mut self, ballot: Ballot) -> StorageResult<()> {
        self.write(Operation::Promise(ballot))
    }

    fn set_decided_idx(&mut self, decided: Index) -> StorageResult<()> {
        self.write(Operation::Decided(index(decided)))
    }

    fn get_decided_idx(&self) -> StorageResult<Index> {
        Ok(self.image.borrow().decided() as Index)
    }

    fn set_accepted_round(&mut self, ballot: Ballot) -> StorageResult<()> {
        self.write(Operation::AcceptedRound(ballot))
    }

    fn get_accepted_round(&self) -> StorageResult<Option<Ballot>> {
        Ok(self.image.borrow().accepted_round())
    }

    fn get_entries(&self, from: Index, to: Index) -> StorageResult<Vec<Value>> {
        self.entries(place(self, from), place(self, to))
    }

    fn get_log_len(&self) -> StorageResult<Index> {
        Ok(self.readable() as Index)
    }

    fn get_suffix(&self, from: Index) -> StorageResult<Vec<Value>> {
        self.suffix(place(self, from))
    }

    fn get_promise(&self) -> StorageResult<Option<Ballot>> {
        Ok(self.image.borrow().promise())
    }

    fn set_stopsign(&mut self, sign: Option<StopSign>) -> StorageResult<()> {
        sign.map_or(Ok(()), |_| beyond_workload("stop signs"))
    }

    fn get_stopsign(&self) -> StorageResult<Option<StopSign>> {
        Ok(None)
    }

    fn trim(&mut self, to: Index) -> StorageResult<()> {
        self.write(Operation::Trim(place(self, to)))
    }

    fn set_compacted_idx(&mut self, to: Index) -> StorageResult<()> {
        self.write(Operation::Compacted(index(to)))
    }

    fn get_compacted_idx(&self) -> StorageResult<Index> {
        Ok(self.image.borrow().compacted() as Index)
    }

    fn set_snapshot(&mut self, snapshot: Option<omnipaxos::storage::NoSnapshot>) -> StorageResult<()> {
        snapshot.map_or(Ok(()), |_| beyond_workload("snapshots"))
    }

    fn get_snapshot(&self) -> StorageResult<Option<omnipaxos::storage::NoSnapshot>> {
        Ok(None)
    }
}

//! Releases until 0.5: one kind of messages, a ready that lasts until it is applied, and no joint configurations.

use crate::bugs::Bug;
use crate::client::Asked;
use crate::conf::Conf;
use crate::image::{Hard, Image, Operation};
use crate::node::{Node, Out};
use crate::store::Store;
use misrule_models::raft::Change;
use misrule_world::DiskError;
use protobuf::Message as _;
use raft::eraftpb::{ConfChange, ConfState, Entry, EntryType, HardState, Message, Snapshot};
use raft::util::limit_size;
use raft::{Config, Error, Peer, RaftState, RawNode, Ready, StateRole, Storage, StorageError, is_empty_snap};

/// The model does not have what these releases do.
pub(crate) const MODELLED: bool = false;

/// Words of the settings that not every release has all of.
pub(crate) const MEMBERSHIPS: &[&str] = &["off"];
pub(crate) const APPLIES: &[&str] = &["at-once"];
pub(crate) const FLUSHES: &[&str] = &["at-once"];

/// Entry types in the order of their numbers.
pub(crate) const ENTRY_TYPES: &[EntryType] = &[EntryType::EntryNormal, EntryType::EntryConfChange];

/// A node over a store. At its first start the crate writes the configuration into the log.
pub(crate) fn open(config: &Config, store: Store, voters: u64) -> Result<RawNode<Store>, String> {
    let is_first = store.last_index().map_err(|error| error.to_string())? == 0;
    let peer = |id| Peer { id, context: None };
    let peers = if is_first { (1..=voters).map(peer).collect() } else { Vec::new() };
    RawNode::new(config, store, peers).map_err(|error| error.to_string())
}

pub(crate) fn timeout(node: &RawNode<Store>) -> usize {
    node.raft.get_randomized_election_timeout()
}

/// The model does not follow these releases.
pub(crate) fn change(_entry: &Entry) -> Option<Change> {
    None
}

/// These releases do not tell.
pub(crate) fn heartbeat_elapsed(_node: &RawNode<Store>) -> usize {
    0
}

/// These releases have none.
pub(crate) fn commit_term(_message: &Message) -> u64 {
    0
}

/// Index up to which entries are committed.
pub(crate) fn settled(node: &RawNode<Store>) -> u64 {
    node.raft.raft_log.committed
}

pub(crate) fn advance_apply(node: &mut RawNode<Store>, index: u64) {
    node.advance_apply(index);
}

/// The model does not follow these releases, so that nobody asks for reads.
pub(crate) fn reads_before(_node: &RawNode<Store>) -> Option<()> {
    None
}

pub(crate) fn record_reads(_node: &RawNode<Store>, _before: (), _image: &mut Image) {}

pub(crate) fn reads_waiting(_node: &RawNode<Store>) -> usize {
    0
}

/// The configuration of the crate's form of it.
pub(crate) fn read_conf(state: &ConfState) -> Conf {
    Conf { voters: Conf::set(&state.nodes), learners: Conf::set(&state.learners), ..Conf::default() }
}

/// The crate's form of a configuration.
fn write_conf(conf: Conf) -> ConfState {
    let mut state = ConfState::default();
    (state.nodes, state.learners) = (Conf::list(conf.voters), Conf::list(conf.learners));
    state
}

/// The workload does not change the configuration of these releases.
pub(crate) fn propose_change(_node: &mut RawNode<Store>, _asked: Asked, _argument: u32, _nodes: u8) {}

/// Applies the change of the configuration of an entry; `None` where there is none.
pub(crate) fn reconfigure(node: &mut RawNode<Store>, entry: &Entry) -> Option<Conf> {
    if entry.entry_type != EntryType::EntryConfChange {
        return None;
    }
    let mut change = ConfChange::default();
    change.merge_from_bytes(&entry.data).ok()?;
    Some(read_conf(&node.apply_conf_change(&change)))
}

impl Node {
    /// Does what the crate asks for, in the order that its documentation prescribes: a leader sends at once, all others
    /// when everything is on the disk.
    pub(crate) fn process(&mut self, out: &mut Out<'_>) -> Result<(), DiskError> {
        let mut ready = self.raft.ready();
        let messages = std::mem::take(&mut ready.messages);
        let (early, late) = match self.raft.raft.state {
            StateRole::Leader => (messages, Vec::new()),
            _ => (Vec::new(), messages),
        };
        self.send(early, out);
        for state in &ready.read_states {
            self.confirm(state.index, &state.request_ctx);
        }
        if self.write(&ready)? {
            self.sync(&ready)?;
        }
        self.send(late, out);
        self.to_apply.extend(ready.committed_entries.take().unwrap_or_default());
        self.raft.advance_append(ready);
        self.tell_applied();
        while self.apply_next()? {}
        Ok(())
    }

    /// Writes snapshot, entries and hard state, in this order, each a record of its own.
    fn write(&mut self, ready: &Ready) -> Result<bool, DiskError> {
        let has_snapshot = !is_empty_snap(&ready.snapshot);
        if has_snapshot {
            self.install(&ready.snapshot)?;
        }
        let store = self.raft.mut_store();
        if !ready.entries.is_empty() {
            store.write(Operation::Entries(&ready.entries))?;
        }
        if let Some(hard) = &ready.hs {
            store.write(Operation::Hard(Hard { term: hard.term, vote: hard.vote, commit: hard.commit }))?;
        }
        Ok(has_snapshot || !ready.entries.is_empty() || ready.hs.is_some())
    }

    fn sync(&mut self, ready: &Ready) -> Result<(), DiskError> {
        let bug = self.options.bug;
        let (has_entries, store) = (!ready.entries.is_empty(), self.raft.mut_store());
        if !has_entries && ready.must_sync && bug == Bug::VoteNotSynced {
            store.pretend_sync();
        } else if (!has_entries || bug != Bug::EntriesNotSynced)
            && (ready.must_sync || self.options.syncs_all)
        {
            store.sync()?;
        }
        if bug == Bug::ApplyBeforeCommit && self.raft.raft.state == StateRole::Leader {
            self.to_apply.extend(ready.entries.iter().cloned());
        }
        Ok(())
    }

    /// Nothing waits for a sync here.
    pub(crate) fn release(&mut self, _out: &mut Out<'_>) {}
}

impl Storage for Store {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let image = self.image.borrow();
        let Hard { term, vote, commit } = image.hard();
        let mut hard_state = HardState::default();
        (hard_state.term, hard_state.vote, hard_state.commit) = (term, vote, commit);
        Ok(RaftState { hard_state, conf_state: write_conf(image.conf().0) })
    }

    fn entries(&self, low: u64, high: u64, max_size: u64) -> raft::Result<Vec<Entry>> {
        let image = self.image.borrow();
        let first = image.base().index + 1;
        let from = low.checked_sub(first).ok_or(Error::Store(StorageError::Compacted))? as usize;
        let to = high.saturating_sub(first) as usize;
        let found = image.entries().get(from..to).ok_or(Error::Store(StorageError::Unavailable))?;
        let mut entries = found.to_vec();
        limit_size(&mut entries, max_size);
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let image = self.image.borrow();
        let is_compacted = index < image.base().index;
        let error = if is_compacted { StorageError::Compacted } else { StorageError::Unavailable };
        image.term(index).ok_or(Error::Store(error))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.image.borrow().base().index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.image.borrow().last_index())
    }

    fn snapshot(&self) -> raft::Result<Snapshot> {
        let image = self.image.borrow();
        let base = image.base();
        if base.index == 0 {
            return Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        let mut snapshot = Snapshot::default();
        snapshot.data.clone_from(&base.data);
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (base.index, base.term);
        metadata.set_conf_state(write_conf(base.conf));
        Ok(snapshot)
    }
}

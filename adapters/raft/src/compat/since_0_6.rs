//! Releases from 0.6 on: ready by ready with messages that wait for the disk, and joint configurations.

use crate::bugs::Bug;
use crate::client::Asked;
use crate::conf::{Conf, joint_parts};
use crate::image::{Hard, Image, Operation};
use crate::node::{FLUSH, Flush, Node, Out};
use crate::store::Store;
use misrule_models::raft::{Change, ChangeKind};
use misrule_world::DiskError;
use protobuf::Message as _;
use raft::eraftpb::{
    ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2, ConfState, Entry, EntryType,
    HardState, Message, MessageType, Snapshot,
};
use raft::util::limit_size;
use raft::{
    Config, Error, GetEntriesContext, LightReady, RaftState, RawNode, Ready, StateRole, Storage, StorageError,
};

/// The model follows these releases.
pub(crate) const MODELLED: bool = true;

/// Words of the settings that not every release has all of.
pub(crate) const MEMBERSHIPS: &[&str] = &["off", "single", "joint"];
pub(crate) const APPLIES: &[&str] = &["at-once", "later"];
pub(crate) const FLUSHES: &[&str] = &["at-once", "later", "always-later"];

/// Entry types in the order of their numbers.
pub(crate) const ENTRY_TYPES: &[EntryType] =
    &[EntryType::EntryNormal, EntryType::EntryConfChange, EntryType::EntryConfChangeV2];

/// A node over a store, at its first start or a later one.
pub(crate) fn open(config: &Config, store: Store, _voters: u64) -> Result<RawNode<Store>, String> {
    RawNode::new(config, store, &crate::logger::shared()).map_err(|error| error.to_string())
}

pub(crate) fn timeout(node: &RawNode<Store>) -> usize {
    node.raft.randomized_election_timeout()
}

pub(crate) fn heartbeat_elapsed(node: &RawNode<Store>) -> usize {
    node.raft.heartbeat_elapsed()
}

pub(crate) fn commit_term(message: &Message) -> u64 {
    message.commit_term
}

/// Index up to which entries are committed, and on the disk as far as the crate knows.
pub(crate) fn settled(node: &RawNode<Store>) -> u64 {
    node.raft.raft_log.committed.min(node.raft.raft_log.persisted)
}

pub(crate) fn advance_apply(node: &mut RawNode<Store>, index: u64) {
    node.advance_apply_to(index);
}

/// What is known of a leader's reads before a call into the crate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    term: u64,
    /// How many reads of its own it has confirmed and not handed out yet, and how many messages it has to send.
    own: usize,
    messages: usize,
}

/// What is known before a call; `None` where the node does not lead.
pub(crate) fn reads_before(node: &RawNode<Store>) -> Option<Before> {
    let raft = &node.raft;
    let (own, messages) = (raft.read_states.len(), raft.msgs.len());
    (raft.state == StateRole::Leader).then_some(Before { term: raft.term, own, messages })
}

/// Records what a call into the crate took and confirmed, where the node leads on.
pub(crate) fn record_reads(node: &RawNode<Store>, before: Before, image: &mut Image) {
    let (raft, turns) = (&node.raft, image.turns().1);
    let Before { term, own, messages } = before;
    if raft.state != StateRole::Leader || raft.term != term {
        return;
    }
    for state in &raft.read_states[own..] {
        image.reads.confirm(term, &state.request_ctx, state.index, turns);
    }
    let answers = raft.msgs[messages..].iter().filter(|it| it.msg_type == MessageType::MsgReadIndexResp);
    for (answer, entry) in answers.filter_map(|answer| Some((answer, answer.entries.first()?))) {
        image.reads.confirm(term, &entry.data, answer.index, turns);
    }
    image.reads.wait(term, raft.read_only.read_index_queue.iter().map(Vec::as_slice), turns);
}

/// How many reads wait at a leader.
pub(crate) fn reads_waiting(node: &RawNode<Store>) -> usize {
    node.raft.read_only.read_index_queue.len()
}

/// The configuration of the crate's form of it.
pub(crate) fn read_conf(state: &ConfState) -> Conf {
    Conf {
        voters: Conf::set(&state.voters),
        learners: Conf::set(&state.learners),
        outgoing: Conf::set(&state.voters_outgoing),
        learners_next: Conf::set(&state.learners_next),
        auto_leave: state.auto_leave,
    }
}

/// The crate's form of a configuration.
fn write_conf(conf: Conf) -> ConfState {
    ConfState {
        voters: Conf::list(conf.voters),
        learners: Conf::list(conf.learners),
        voters_outgoing: Conf::list(conf.outgoing),
        learners_next: Conf::list(conf.learners_next),
        auto_leave: conf.auto_leave,
        ..ConfState::default()
    }
}

/// Proposes a change of the configuration. A joint one makes one node vote and another one listen only.
pub(crate) fn propose_change(node: &mut RawNode<Store>, asked: Asked, argument: u32, nodes: u8) {
    let single = |change_type, node: u32| ConfChangeSingle {
        change_type,
        node_id: u64::from(node) + 1,
        ..ConfChangeSingle::default()
    };
    let mut transition = ConfChangeTransition::Auto;
    let changes = match asked {
        Asked::AddVoter => vec![single(ConfChangeType::AddNode, argument)],
        Asked::AddLearner => vec![single(ConfChangeType::AddLearnerNode, argument)],
        Asked::Remove => vec![single(ConfChangeType::RemoveNode, argument)],
        Asked::Joint => {
            let (joins, leaves, is_explicit) = joint_parts(argument, nodes);
            let explicit = ConfChangeTransition::Explicit;
            transition = if is_explicit { explicit } else { ConfChangeTransition::Implicit };
            vec![single(ConfChangeType::AddLearnerNode, leaves), single(ConfChangeType::AddNode, joins)]
        }
        _ => Vec::new(),
    };
    let change = ConfChangeV2 { transition, changes: changes.into(), ..ConfChangeV2::default() };
    // What is refused is not proposed.
    drop(node.propose_conf_change(Vec::new(), change));
}

/// The change of the configuration of an entry, as the model has it. Of several changes of a node the last one counts.
pub(crate) fn change(entry: &Entry) -> Option<Change> {
    if entry.entry_type != EntryType::EntryConfChangeV2 {
        return None;
    }
    let mut theirs = ConfChangeV2::default();
    theirs.merge_from_bytes(&entry.data).ok()?;
    let kind = match (theirs.transition, theirs.changes.len()) {
        (ConfChangeTransition::Auto, 0) => ChangeKind::Leave,
        (ConfChangeTransition::Auto, 1) => ChangeKind::Simple,
        (transition, _) => ChangeKind::Enter { leaves_itself: transition != ConfChangeTransition::Explicit },
    };
    let mut change = Change { kind, ..Change::default() };
    for single in &theirs.changes {
        let node = Conf::set(&[single.node_id]);
        for set in [&mut change.voters, &mut change.learners, &mut change.removed] {
            *set &= !node;
        }
        *match single.change_type {
            ConfChangeType::AddNode => &mut change.voters,
            ConfChangeType::AddLearnerNode => &mut change.learners,
            ConfChangeType::RemoveNode => &mut change.removed,
        } |= node;
    }
    Some(change)
}

/// Applies the change of the configuration of an entry; `None` where there is none, or it is refused.
pub(crate) fn reconfigure(node: &mut RawNode<Store>, entry: &Entry) -> Option<Conf> {
    if entry.entry_type != EntryType::EntryConfChangeV2 {
        return None;
    }
    let mut change = ConfChangeV2::default();
    change.merge_from_bytes(&entry.data).ok()?;
    node.apply_conf_change(&change).ok().map(|state| read_conf(&state))
}

impl Node {
    /// Does what the crate asks for, in the order that its documentation prescribes.
    pub(crate) fn process(&mut self, out: &mut Out<'_>) -> Result<(), DiskError> {
        let mut ready = self.raft.ready();
        self.send(ready.take_messages(), out);
        for state in ready.take_read_states() {
            self.confirm(state.index, &state.request_ctx);
        }
        let has_written = self.write(&ready)?;
        self.to_apply.extend(ready.take_committed_entries());
        if self.options.flush == Flush::AtOnce {
            if has_written {
                self.sync(&ready)?;
            }
            self.send(ready.take_persisted_messages(), out);
            let mut light = self.raft.advance_append(ready);
            self.finish(&mut light, out)?;
        } else {
            self.hold(ready, out)?;
        }
        self.tell_applied();
        if self.options.applies_later {
            self.offer_apply(out.cx);
            return Ok(());
        }
        while self.apply_next()? {}
        Ok(())
    }

    /// Writes snapshot, entries and hard state, in this order, each a record of its own.
    fn write(&mut self, ready: &Ready) -> Result<bool, DiskError> {
        if !ready.snapshot().is_empty() {
            self.install(ready.snapshot())?;
        }
        let store = self.raft.mut_store();
        if !ready.entries().is_empty() {
            store.write(Operation::Entries(ready.entries()))?;
        }
        if let Some(hard) = ready.hs() {
            let hard = Hard { term: hard.term, vote: hard.vote, commit: hard.commit };
            store.write(Operation::Hard(hard))?;
        }
        Ok(!ready.snapshot().is_empty() || !ready.entries().is_empty() || ready.hs().is_some())
    }

    fn sync(&mut self, ready: &Ready) -> Result<(), DiskError> {
        let bug = self.options.bug;
        let (has_entries, store) = (!ready.entries().is_empty(), self.raft.mut_store());
        if !has_entries && ready.must_sync() && bug == Bug::VoteNotSynced {
            store.pretend_sync();
        } else if (!has_entries || bug != Bug::EntriesNotSynced)
            && (ready.must_sync() || self.options.syncs_all)
        {
            store.sync()?;
        }
        if bug == Bug::ApplyBeforeCommit && self.raft.raft.state == StateRole::Leader {
            self.to_apply.extend(ready.entries().iter().cloned());
        }
        Ok(())
    }

    /// What the crate says once it knows that everything is on the disk. Its commit index is written before the entries
    /// are applied, and synced with whatever is synced next: the crate asks for no more.
    fn finish(&mut self, light: &mut LightReady, out: &mut Out<'_>) -> Result<(), DiskError> {
        if let Some(commit) = light.commit_index() {
            let hard = Hard { commit, ..self.image.borrow().hard() };
            self.raft.mut_store().write(Operation::Hard(hard))?;
        }
        self.send(light.take_messages(), out);
        self.to_apply.extend(light.take_committed_entries());
        Ok(())
    }

    /// Leaves the sync to a local step. Messages that wait for one wait for all before it.
    fn hold(&mut self, mut ready: Ready, out: &mut Out<'_>) -> Result<(), DiskError> {
        let must_sync = ready.must_sync() || self.unsynced.is_some();
        let is_urgent = !ready.snapshot().is_empty() && self.options.flush == Flush::Later;
        self.image.borrow_mut().hold(ready.take_persisted_messages());
        self.unsynced = Some(ready.number());
        self.raft.advance_append_async(ready);
        if must_sync && !is_urgent {
            out.cx.enable_local(FLUSH);
            return Ok(());
        }
        if must_sync {
            self.raft.mut_store().sync()?;
        }
        self.release(out);
        Ok(())
    }

    /// What was written is on the disk: tells the crate and whoever waits for it.
    pub(crate) fn release(&mut self, out: &mut Out<'_>) {
        let Some(number) = self.unsynced.take() else { return };
        let held = self.image.borrow_mut().take_held();
        self.send(held, out);
        self.raft.on_persist_ready(number);
        self.tell_applied();
    }
}

impl Storage for Store {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let image = self.image.borrow();
        let Hard { term, vote, commit } = image.hard();
        let hard_state = HardState { term, vote, commit, ..HardState::default() };
        Ok(RaftState { hard_state, conf_state: write_conf(image.conf().0) })
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        let image = self.image.borrow();
        let first = image.base().index + 1;
        let from = low.checked_sub(first).ok_or(Error::Store(StorageError::Compacted))? as usize;
        let to = high.saturating_sub(first) as usize;
        let found = image.entries().get(from..to).ok_or(Error::Store(StorageError::Unavailable))?;
        let mut entries = found.to_vec();
        limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let image = self.image.borrow();
        let error =
            if index < image.base().index { StorageError::Compacted } else { StorageError::Unavailable };
        image.term(index).ok_or(Error::Store(error))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.image.borrow().base().index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.image.borrow().last_index())
    }

    fn snapshot(&self, request_index: u64, _to: u64) -> raft::Result<Snapshot> {
        let image = self.image.borrow();
        let base = image.base();
        if base.index == 0 || base.index < request_index {
            return Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        let mut snapshot = Snapshot { data: base.data.clone().into(), ..Snapshot::default() };
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (base.index, base.term);
        metadata.set_conf_state(write_conf(base.conf));
        Ok(snapshot)
    }
}

//! A running node: the crate's `RawNode`, driven in the order that its documentation prescribes.

use crate::bugs::Bug;
use crate::client::Waiting;
use crate::command::call_number;
use crate::compat;
use crate::conf::Conf;
use crate::image::{Base, Operation, SharedImage, Turn};
use crate::machine::Machine;
use crate::message::{Kind, Packing, Wire};
use crate::store::Store;
use misrule_models::NodeId;
use misrule_world::{Call, Context, DiskError};
use raft::eraftpb::{Entry, EntryType, Message, Snapshot};
use raft::{RawNode, SnapshotStatus, StateRole};
use std::collections::VecDeque;

/// The draw of an election timeout.
const TIMEOUT: u8 = 0;

/// The local step that tells the crate that snapshots have been handed over to the network.
pub(crate) const REPORT: u8 = 0;
/// The local step that applies one entry.
pub(crate) const APPLY: u8 = 1;
/// The local step that syncs what was written.
pub(crate) const FLUSH: u8 = 2;

/// When the disk is synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flush {
    /// Before the crate goes on.
    #[default]
    AtOnce,
    /// By a local step of its own, but for snapshots and where the node needs no other vote than its own.
    Later,
    /// By a local step of its own, always. Where the node asks for votes in between the crate panics: it takes a snapshot
    /// for neither pending nor applied, and expects of a node that is elected at once that all is on the disk.
    AlwaysLater,
}

/// What does not change while a node runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// The shortest election timeout in ticks; the longest is one less than twice that.
    pub(crate) election_ticks: usize,
    /// Whether entries are applied by a local step of their own, one at a time.
    pub(crate) applies_later: bool,
    pub(crate) flush: Flush,
    /// Whether the disk is synced after everything that was written, or only where the crate says that it must be.
    pub(crate) syncs_all: bool,
    /// Whether a leader that does not vote any more steps down.
    pub(crate) leaver_steps_down: bool,
    pub(crate) bug: Bug,
}

/// What a node has done since it started, for what is to be seen sometimes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Changes of the configuration.
    pub configurations: u32,
    /// Snapshots of a leader that replaced the log.
    pub snapshots: u32,
    /// Reads that were answered after the crate had confirmed them.
    pub reads: u32,
    /// Whether the node asked for votes although no quorum had said that it would vote for it.
    pub unfounded: bool,
}

/// A running node.
pub struct Node {
    pub(crate) raft: RawNode<Store>,
    pub(crate) image: SharedImage,
    pub(crate) options: Options,
    pub(crate) machine: Machine,
    /// Committed entries that are not applied yet.
    pub(crate) to_apply: VecDeque<Entry>,
    /// The number of the last ready that waits for a sync.
    pub(crate) unsynced: Option<u64>,
    /// Nodes, by the crate's number, to which snapshots were sent since the last report.
    sent_snapshots: Vec<u64>,
    /// Calls that this node was asked and has not answered.
    pub(crate) waiting: Vec<(Call, Waiting)>,
    /// Reads that the crate has confirmed, with the index that must be applied before.
    pub(crate) confirmed: Vec<(u64, u32)>,
    /// The term in which the node asked for votes since a leader told it to; 0 for none.
    pub(crate) transfer_term: u64,
    /// Those who would vote for this node, since it asked last.
    pub(crate) pre_votes: u8,
    pub(crate) done: Done,
    /// Whether the node does nothing any more: its disk refused an operation.
    pub(crate) halted: bool,
    /// How often the node has asked for a read since it started.
    asked: u32,
}

/// The crate's number of a node: they count from 1.
pub(crate) fn number(node: NodeId) -> u64 {
    u64::from(node) + 1
}

impl Node {
    pub(crate) fn new(raft: RawNode<Store>, image: SharedImage, machine: Machine, options: Options) -> Self {
        Self {
            raft,
            image,
            options,
            machine,
            to_apply: VecDeque::new(),
            unsynced: None,
            sent_snapshots: Vec::new(),
            waiting: Vec::new(),
            confirmed: Vec::new(),
            transfer_term: 0,
            pre_votes: 0,
            done: Done::default(),
            halted: false,
            asked: 0,
        }
    }

    /// One tick of the crate's clock.
    pub(crate) fn tick(&mut self) {
        self.raft.tick();
        let raft = &self.raft.raft;
        // It asks again, from the beginning.
        if raft.state == StateRole::PreCandidate && raft.election_elapsed == 0 {
            self.pre_votes = Conf::set(&[raft.id]);
        }
    }

    /// Hands a message to the crate. What it refuses of it, it says, and nothing has changed then.
    pub(crate) fn step(&mut self, message: Message) {
        let (kind, term) = (Kind::of(&message), self.raft.raft.term);
        let was_asking = self.raft.raft.state == StateRole::PreCandidate;
        // The crate counts late answers of an earlier round too, where their term is not over.
        if kind == Kind::RequestPreVoteResponse && !message.reject && message.term >= term {
            self.pre_votes |= Conf::set(&[message.from]);
        }
        self.watch_reads(|node| drop(node.raft.step(message)));
        let raft = &self.raft.raft;
        if kind == Kind::TimeoutNow && raft.term > term {
            self.transfer_term = raft.term;
        } else if was_asking && raft.state == StateRole::Candidate {
            let conf = self.image.borrow().conf().0;
            self.done.unfounded |= !conf.is_quorum(self.pre_votes);
        }
    }

    /// Does what the last call into the crate asks for.
    pub(crate) fn settle(&mut self, packing: &mut Packing, cx: &mut Context<Wire>) {
        self.draw_timeout(cx);
        let mut out = Out { packing, cx };
        while !self.halted {
            if self.raft.has_ready() {
                // A node whose disk fails keeps its promises by doing nothing until it is started again.
                self.halted = self.process(&mut out).is_err();
            } else if self.options.flush == Flush::Later && self.unsynced.is_some() && self.is_alone() {
                // Alone it would lead as soon as it asks for votes, and the crate wants all to be on the disk then.
                self.flush(&mut out);
            } else {
                break;
            }
        }
        self.draw_timeout(cx);
        self.answer(cx);
    }

    /// The crate draws a timeout, at random, whenever it begins a term or follows another leader. Its bounds are such
    /// that it is told from those that are set here: those are choices of the schedule.
    fn draw_timeout(&mut self, cx: &mut Context<Wire>) {
        let shortest = self.options.election_ticks;
        if compat::timeout(&self.raft) >= 2 * shortest {
            self.raft.raft.set_randomized_election_timeout(shortest + cx.draw(TIMEOUT) as usize);
        }
    }

    /// Whether the node needs no other vote than its own.
    fn is_alone(&self) -> bool {
        self.image.borrow().conf().0.is_quorum(Conf::set(&[self.raft.raft.id]))
    }

    /// Syncs the disk as a step of its own.
    pub(crate) fn flush_later(&mut self, packing: &mut Packing, cx: &mut Context<Wire>) {
        self.flush(&mut Out { packing, cx });
    }

    fn flush(&mut self, out: &mut Out<'_>) {
        if self.unsynced.is_some() {
            self.halted |= self.raft.mut_store().sync().is_err();
        }
        if !self.halted {
            self.release(out);
        }
    }

    /// A planted bug: the disk is synced with the next tick only.
    pub(crate) fn sync_late(&mut self) {
        if self.options.bug == Bug::EntriesNotSynced {
            self.halted |= self.raft.mut_store().sync().is_err();
        }
    }

    /// Applies one entry as a step of its own.
    pub(crate) fn apply_later(&mut self, cx: &mut Context<Wire>) {
        self.halted |= self.apply_next().is_err();
        self.offer_apply(cx);
    }

    pub(crate) fn offer_apply(&self, cx: &mut Context<Wire>) {
        if !self.to_apply.is_empty() {
            cx.enable_local(APPLY);
        }
    }

    /// Applies the next committed entry, if there is one.
    pub(crate) fn apply_next(&mut self) -> Result<bool, DiskError> {
        let Some(entry) = self.to_apply.pop_front() else { return Ok(false) };
        // What was applied too early is not applied again.
        if entry.index > self.machine.index {
            self.machine.apply(&entry);
            self.reconfigure(&entry)?;
        }
        self.tell_applied();
        Ok(true)
    }

    /// Tells the crate what is applied: entries, or a snapshot that is on the disk by now.
    pub(crate) fn tell_applied(&mut self) {
        let index = self.machine.index.min(compat::settled(&self.raft));
        if index > self.raft.raft.raft_log.applied {
            compat::advance_apply(&mut self.raft, index);
        }
    }

    /// Applies a change of the configuration, if the entry is one, and writes the new one. Each node refuses the same changes, since each
    /// applies the same entries. A change that the disk knows already was applied before a restart.
    fn reconfigure(&mut self, entry: &Entry) -> Result<(), DiskError> {
        if entry.entry_type == EntryType::EntryNormal || entry.index <= self.image.borrow().conf().1 {
            return Ok(());
        }
        let known = |raft: &RawNode<Store>| (raft.raft.raft_log.committed, raft.raft.raft_log.last_index());
        let (before, last) = known(&self.raft);
        let changed = self.watch_reads(|node| {
            let changed = compat::reconfigure(&mut node.raft, entry);
            let commit = (before, known(&node.raft).0);
            let mut image = node.image.borrow_mut();
            let syncs = image.syncs();
            image.turn(Turn { index: entry.index, last, commit, syncs });
            changed
        });
        let Some(conf) = changed else { return Ok(()) };
        self.done.configurations += 1;
        let raft = &mut self.raft.raft;
        if self.options.leaver_steps_down && !conf.has_voter(raft.id) && raft.state == StateRole::Leader {
            let term = raft.term;
            raft.become_follower(term, raft::INVALID_ID);
        }
        self.raft.mut_store().write(Operation::Conf(entry.index, conf))
    }

    /// Writes a snapshot of what is applied in place of the entries that made it.
    pub(crate) fn compact(&mut self) -> Result<(), DiskError> {
        let (index, hash) = (self.machine.index, self.machine.hash);
        let image = self.image.borrow();
        let (conf, conf_index) = image.conf();
        let term = image.term(index);
        let is_new = index > image.base().index && conf_index <= index;
        drop(image);
        let Some(term) = term.filter(|_| is_new) else { return Ok(()) };
        let base = Base { index, term, hash, conf, data: self.machine.bytes() };
        let store = self.raft.mut_store();
        store.write(Operation::Snapshot(&base))?;
        if self.unsynced.is_none() { store.sync() } else { Ok(()) }
    }

    /// Takes over a leader's snapshot.
    pub(crate) fn install(&mut self, snapshot: &Snapshot) -> Result<(), DiskError> {
        let metadata = snapshot.get_metadata();
        // The bytes are those of another node of this very program.
        let Some(machine) = Machine::read(&snapshot.data) else { return Ok(()) };
        let base = Base {
            index: metadata.index,
            term: metadata.term,
            hash: machine.hash,
            conf: compat::read_conf(metadata.get_conf_state()),
            data: snapshot.data.to_vec(),
        };
        self.raft.mut_store().write(Operation::Snapshot(&base))?;
        self.machine = machine;
        self.to_apply.clear();
        self.done.snapshots += 1;
        Ok(())
    }

    /// Tells the crate that snapshots are on their way; what becomes of them it finds out itself.
    pub(crate) fn report_snapshots(&mut self) {
        for node in std::mem::take(&mut self.sent_snapshots) {
            self.raft.report_snapshot(node, SnapshotStatus::Finish);
        }
    }

    pub(crate) fn send(&mut self, messages: Vec<Message>, out: &mut Out<'_>) {
        for message in messages {
            if Kind::of(&message) == Kind::Snapshot {
                self.sent_snapshots.push(message.to);
                out.cx.enable_local(REPORT);
            }
            let (to, wire) = out.packing.pack(message);
            out.cx.send(to.unwrap_or(Context::<Wire>::NOBODY), wire);
        }
    }

    /// A read that the crate has confirmed is answered once the index is applied.
    pub(crate) fn confirm(&mut self, index: u64, context: &[u8]) {
        if let Some(call) = context.first_chunk() {
            self.confirmed.push((index, u32::from_le_bytes(*call)));
        }
    }

    /// Calls into the crate, and records which reads it took and confirmed by that.
    pub(crate) fn watch_reads<T>(&mut self, call: impl FnOnce(&mut Self) -> T) -> T {
        let before = compat::reads_before(&self.raft);
        let out = call(self);
        if let Some(before) = before {
            compat::record_reads(&self.raft, before, &mut self.image.borrow_mut());
        }
        out
    }

    /// A planted bug: reads need no confirmation.
    pub(crate) fn reads_unconfirmed(&self) -> bool {
        self.options.bug == Bug::ReadUnconfirmed
    }

    /// The bytes by which the crate tells reads apart: the call, the node that was asked, and a number of this asking. Where
    /// a call that is asked again comes with the bytes of before, an old answer to a heartbeat confirms it, and with it
    /// every read that waits in front of it. Numbers begin anew when the node starts.
    pub(crate) fn read_context(&mut self, call: Call, node: NodeId) -> Vec<u8> {
        self.asked += 1;
        let mut context = call_number(call).to_le_bytes().to_vec();
        context.push(node);
        context.extend(self.asked.to_le_bytes());
        context
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("machine", &self.machine).finish_non_exhaustive()
    }
}

/// The way of messages out of a node.
pub(crate) struct Out<'a> {
    pub(crate) packing: &'a mut Packing,
    pub(crate) cx: &'a mut Context<Wire>,
}

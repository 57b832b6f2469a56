//! A running node: the crate's `RawNode`, driven in the order that its documentation prescribes.

use crate::bugs::Bug;
use crate::image::{Hard, Operation, SharedImage, chain};
use crate::message::{Packing, Wire};
use crate::store::Store;
use misrule_models::NodeId;
use misrule_world::{Context, DiskError};
use raft::eraftpb::{Entry, Message};
use raft::{LightReady, RawNode, Ready};

/// The draw of an election timeout.
const TIMEOUT: u8 = 0;

/// What does not change while a node runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// The shortest election timeout in ticks; the longest is one less than twice that.
    pub(crate) election_ticks: usize,
    pub(crate) bug: Bug,
}

/// A running node.
pub struct Node {
    pub(crate) raft: RawNode<Store>,
    pub(crate) image: SharedImage,
    options: Options,
    /// Index of the last entry that was applied, and the hash of all that were.
    pub(crate) applied: u64,
    pub(crate) applied_hash: u64,
    /// Why the node does nothing any more: its disk refused an operation.
    pub(crate) halted: bool,
}

/// The crate's number of a node: they count from 1.
pub(crate) fn number(node: NodeId) -> u64 {
    u64::from(node) + 1
}

impl Node {
    pub(crate) fn new(raft: RawNode<Store>, image: SharedImage, options: Options) -> Self {
        Self { raft, image, options, applied: 0, applied_hash: 0, halted: false }
    }

    /// Does what the last call into the crate asks for.
    pub(crate) fn settle(&mut self, packing: &mut Packing, cx: &mut Context<Wire>) {
        self.draw_timeout(cx);
        let mut out = Out { packing, cx };
        while !self.halted && self.raft.has_ready() {
            let ready = self.raft.ready();
            // A node whose disk fails keeps its promises by doing nothing until it is started again.
            self.halted = self.process(ready, &mut out).is_err();
        }
    }

    /// The crate draws a timeout, at random, whenever it begins a term or follows another leader. Its bounds are such
    /// that it is told from those that are set here: those are choices of the schedule.
    fn draw_timeout(&mut self, cx: &mut Context<Wire>) {
        let shortest = self.options.election_ticks;
        if self.raft.raft.randomized_election_timeout() >= 2 * shortest {
            self.raft.raft.set_randomized_election_timeout(shortest + cx.draw(TIMEOUT) as usize);
        }
    }

    fn process(&mut self, mut ready: Ready, out: &mut Out<'_>) -> Result<(), DiskError> {
        out.send(ready.take_messages());
        self.apply(&ready.take_committed_entries());
        self.persist(&ready)?;
        out.send(ready.take_persisted_messages());
        let mut light = self.raft.advance(ready);
        self.finish(&mut light, out)?;
        self.raft.advance_apply();
        Ok(())
    }

    /// Writes entries and hard state, in this order, and syncs them.
    fn persist(&mut self, ready: &Ready) -> Result<(), DiskError> {
        let bug = self.options.bug;
        let store = self.raft.mut_store();
        if !ready.entries().is_empty() {
            store.write(Operation::Entries(ready.entries()))?;
        }
        if let Some(hard) = ready.hs() {
            let hard = Hard { term: hard.term, vote: hard.vote, commit: hard.commit };
            store.write(Operation::Hard(hard))?;
        } else if ready.entries().is_empty() {
            return Ok(());
        }
        let only_entries = !ready.entries().is_empty() && bug == Bug::AckBeforeSync;
        if ready.entries().is_empty() && ready.must_sync() && bug == Bug::VoteNotDurable {
            store.pretend_sync();
        } else if !only_entries {
            store.sync()?;
        }
        if bug == Bug::ApplyBeforeCommit && self.raft.raft.state == raft::StateRole::Leader {
            self.apply(ready.entries());
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
        out.send(light.take_messages());
        self.apply(&light.take_committed_entries());
        Ok(())
    }

    /// A planted bug: the disk is synced with the next tick only.
    pub(crate) fn sync_late(&mut self) {
        if self.options.bug == Bug::AckBeforeSync {
            self.halted |= self.raft.mut_store().sync().is_err();
        }
    }

    fn apply(&mut self, entries: &[Entry]) {
        // What was applied too early is not applied again.
        let from = self.applied;
        for entry in entries.iter().filter(|entry| entry.index > from) {
            self.applied = entry.index;
            self.applied_hash = chain(self.applied_hash, entry);
        }
    }

    /// The image, for a view.
    pub(crate) fn shared_image(&self) -> &SharedImage {
        &self.image
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("applied", &self.applied).finish_non_exhaustive()
    }
}

/// The way of messages out of a node.
struct Out<'a> {
    packing: &'a mut Packing,
    cx: &'a mut Context<Wire>,
}

impl Out<'_> {
    fn send(&mut self, messages: Vec<Message>) {
        for message in messages {
            let (to, wire) = self.packing.pack(message);
            self.cx.send(to.unwrap_or(Context::<Wire>::NOBODY), wire);
        }
    }
}

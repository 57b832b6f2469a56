//! A running node: its state, and what every part of the protocol does to it.
//!
//! The protocol is Raft (Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014, figure
//! 2; section 7 for snapshots), small: `elect` has elections, `replicate` the log, `client` requests.

use crate::bugs::Bug;
use crate::client;
use crate::entry::{Entry, Promise};
use crate::log::Log;
use crate::machine::Machine;
use crate::message::Message;
use crate::store::{Options, Store, Trouble};
use misrule_world::{Context, NodeId};

/// The most nodes.
pub const NODES_MAX: usize = 5;

/// Timer: a node that does not lead looks whether it has heard of a leader.
pub(crate) const ELECTION: u8 = 0;
/// Timer of a leader: says that it still leads.
pub(crate) const HEARTBEAT: u8 = 1;
/// Local step: syncs what was written, and tells who waits for that (group commit).
pub(crate) const FLUSH: u8 = 0;
/// Local step: makes a snapshot, and begins the log anew behind it.
pub(crate) const SNAPSHOT: u8 = 1;
/// Draw: how many election timers more than one go by before a node wants to lead.
pub(crate) const PATIENCE: u8 = 0;
/// Bound of the draw.
pub(crate) const PATIENCE_BELOW: u32 = 4;

/// What a node does at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Does what a leader says, or waits for one.
    #[default]
    Follower,
    /// Asks for votes.
    Candidate,
    /// Leads.
    Leader,
    /// Its disk is in trouble: it refuses everything until it starts again.
    Stopped,
}

impl Role {
    /// The word in views.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Follower => "follower",
            Self::Candidate => "candidate",
            Self::Leader => "leader",
            Self::Stopped => "stopped",
        }
    }
}

/// A running node.
#[derive(Debug)]
pub struct Node {
    pub(crate) me: NodeId,
    pub(crate) nodes: NodeId,
    pub(crate) bug: Bug,
    /// Entries behind the base that may be applied before a snapshot is due.
    snapshot_every: u64,
    pub(crate) store: Store,
    pub(crate) role: Role,
    /// As it was last written.
    pub(crate) promise: Promise,
    pub(crate) leader: Option<NodeId>,
    pub(crate) log: Log,
    /// Index up to which the log is on the disk for sure.
    pub(crate) durable: u64,
    pub(crate) commit: u64,
    pub(crate) machine: Machine,
    /// Candidate: bit set of those that vote for it.
    pub(crate) votes: u32,
    /// Leader: for each node, the next entry to send and the last one that it has.
    pub(crate) next: [u64; NODES_MAX],
    pub(crate) matched: [u64; NODES_MAX],
    /// Follower: index up to which it has the leader's log and has not said so yet.
    pub(crate) owed: u64,
    /// Election timers since it has heard of a leader, and how many it puts up with.
    pub(crate) missed: u32,
    pub(crate) patience: u32,
    /// Index of the last entry whose client this node has answered since it started.
    pub(crate) acknowledged: u64,
}

impl Node {
    /// Starts from the disk; `first` is the state before all entries.
    pub(crate) fn boot(
        options: Options,
        snapshot_every: u64,
        first: &Machine,
        cx: &mut Context<Message>,
    ) -> Result<Self, Trouble> {
        let (store, recovered) = Store::open(cx.disk(), options)?;
        let machine = if recovered.machine.at.index == 0 { *first } else { recovered.machine };
        let node = Self {
            me: cx.me(),
            nodes: cx.nodes(),
            bug: options.bug,
            snapshot_every,
            store,
            role: Role::Follower,
            promise: recovered.promise,
            leader: None,
            durable: recovered.log.last(),
            log: recovered.log,
            commit: machine.at.index,
            machine,
            votes: 0,
            next: [0; NODES_MAX],
            matched: [0; NODES_MAX],
            owed: 0,
            missed: 0,
            patience: 1 + cx.draw(PATIENCE),
            acknowledged: 0,
        };
        cx.set_timer(ELECTION);
        Ok(node)
    }

    /// How many nodes are more than half.
    pub(crate) fn majority(&self) -> u32 {
        u32::from(self.nodes) / 2 + 1
    }

    /// The other nodes.
    pub(crate) fn peers(&self) -> impl Iterator<Item = NodeId> + use<> {
        let me = self.me;
        (0..self.nodes).filter(move |node| *node != me)
    }

    /// Index up to which the log counts as stored, for others and for itself.
    pub(crate) fn stored(&self) -> u64 {
        if self.bug == Bug::AckBeforeSync { self.log.last() } else { self.durable }
    }

    /// Gives up whatever it does for a term, and follows.
    pub(crate) fn follow(&mut self, leader: Option<NodeId>, cx: &mut Context<Message>) {
        if self.role == Role::Leader {
            cx.cancel_timer(HEARTBEAT);
            cx.set_timer(ELECTION);
        }
        (self.role, self.leader, self.votes) = (Role::Follower, leader, 0);
    }

    /// Takes note of a term that it has heard of.
    pub(crate) fn hear(&mut self, term: u32, cx: &mut Context<Message>) -> Result<(), Trouble> {
        if term > self.promise.term {
            self.follow(None, cx);
            self.make(Promise { term, vote: None }, cx)?;
        }
        Ok(())
    }

    /// Promises something: nobody is told before it is on the disk.
    pub(crate) fn make(&mut self, promise: Promise, cx: &mut Context<Message>) -> Result<(), Trouble> {
        if promise.term > self.promise.term {
            self.owed = 0;
        }
        self.promise = promise;
        self.store.promise(promise)?;
        self.note_synced(cx);
        Ok(())
    }

    /// Takes note of what the store has made durable.
    fn note_synced(&mut self, cx: &mut Context<Message>) {
        if self.store.is_synced() {
            self.durable = self.log.last();
            cx.disable_local(FLUSH);
        } else {
            cx.enable_local(FLUSH);
        }
    }

    /// Replaces all entries from the index on.
    pub(crate) fn write(
        &mut self,
        from: u64,
        entries: &[Entry],
        cx: &mut Context<Message>,
    ) -> Result<(), Trouble> {
        self.log.truncate(from);
        self.durable = self.durable.min(from - 1);
        for entry in entries {
            self.log.push(*entry);
        }
        self.store.write(from, entries)?;
        self.note_synced(cx);
        Ok(())
    }

    /// Syncs, and says what may be said now.
    pub(crate) fn flush(&mut self, cx: &mut Context<Message>) -> Result<(), Trouble> {
        self.store.sync()?;
        self.note_synced(cx);
        self.settle(cx);
        Ok(())
    }

    /// Says what is stored: a follower to its leader, a leader to itself.
    pub(crate) fn settle(&mut self, cx: &mut Context<Message>) {
        let (stored, term) = (self.stored(), self.promise.term);
        if self.role == Role::Leader {
            self.matched[usize::from(self.me)] = stored;
            self.advance(cx);
        } else if let Some(leader) = self.leader
            && self.owed > 0
            && self.owed <= stored
        {
            cx.send(leader, Message::Appended { term, matched: self.owed });
            self.owed = 0;
        }
    }

    /// Applies what is committed, and answers those who asked for it.
    pub(crate) fn apply(&mut self, cx: &mut Context<Message>) {
        while self.machine.at.index < self.commit {
            let index = self.machine.at.index + 1;
            let (Some(entry), Some(digest)) = (self.log.entry(index), self.log.digest(index)) else { return };
            let outcome = self.machine.apply(&entry, digest, self.bug);
            if let (Role::Leader, Some(outcome)) = (self.role, outcome) {
                self.acknowledged = index;
                client::answer(entry.call, outcome, cx);
            }
        }
        if self.machine.at.index >= self.log.base().index + self.snapshot_every {
            cx.enable_local(SNAPSHOT);
        }
    }

    /// Makes a snapshot of what is applied.
    pub(crate) fn snapshot(&mut self, cx: &mut Context<Message>) -> Result<(), Trouble> {
        self.log.rebase(self.machine.at);
        self.store_snapshot(cx)?;
        self.settle(cx);
        Ok(())
    }

    /// Takes over the state of a leader that has no entries for it any more.
    pub(crate) fn install(&mut self, machine: &Machine, cx: &mut Context<Message>) -> Result<(), Trouble> {
        self.log.rebase(machine.at);
        self.machine = *machine;
        self.commit = machine.at.index;
        self.store_snapshot(cx)
    }

    fn store_snapshot(&mut self, cx: &mut Context<Message>) -> Result<(), Trouble> {
        cx.disable_local(SNAPSHOT);
        self.store.compact(&self.machine, self.promise, &self.log)?;
        self.note_synced(cx);
        Ok(())
    }
}

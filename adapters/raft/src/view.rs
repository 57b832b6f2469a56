//! What is seen of a node.

use crate::compat;
use crate::conf::Conf;
use crate::image::{Image, SharedImage};
use crate::message::Shown;
use crate::node::{Done, Node};
use misrule_models::Fields;
use raft::StateRole;
use std::cell::Ref;
use std::fmt::{self, Display};
use std::rc::Rc;

/// The role of a node; a follower that has given its vote is told from one that has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Role {
    /// Follows, and has no vote given in its term.
    #[default]
    Follower,
    /// Follows, and has given its vote.
    Voter,
    /// Asks whether it would be elected.
    PreCandidate,
    /// Asks for votes.
    Candidate,
    /// Leads.
    Leader,
    /// Leads, and hands over to another node.
    Leaving,
}

impl Role {
    /// The role in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Follower => "follower",
            Self::Voter => "voter",
            Self::PreCandidate => "pre-candidate",
            Self::Candidate => "candidate",
            Self::Leader => "leader",
            Self::Leaving => "leaving",
        }
    }

    /// Whether the node leads.
    pub fn leads(self) -> bool {
        matches!(self, Self::Leader | Self::Leaving)
    }
}

/// What is seen of a node. It shares the node's image: nothing is copied to look at it.
#[derive(Clone, Debug, Default)]
pub struct View {
    image: SharedImage,
    pub(crate) role: Role,
    pub(crate) term: u64,
    pub(crate) vote: u64,
    pub(crate) leader: u64,
    pub(crate) commit: u64,
    pub(crate) applied: u64,
    pub(crate) applied_hash: u64,
    pub(crate) elapsed: (usize, usize),
    pub(crate) timeout: usize,
    pub(crate) conf: Conf,
    pub(crate) reads: usize,
    pub(crate) done: Done,
    pub(crate) called: u32,
    pub(crate) is_transferred: bool,
    pub(crate) halted: bool,
    /// Whether something waits for a sync.
    pub(crate) unsynced: bool,
}

impl View {
    /// Reads a node.
    pub(crate) fn refresh(&mut self, node: &Node) {
        if !Rc::ptr_eq(&node.image, &self.image) {
            self.image = Rc::clone(&node.image);
        }
        let raft = &node.raft.raft;
        self.role = match raft.state {
            StateRole::Follower if raft.vote == 0 => Role::Follower,
            StateRole::Follower => Role::Voter,
            StateRole::PreCandidate => Role::PreCandidate,
            StateRole::Candidate => Role::Candidate,
            StateRole::Leader if raft.lead_transferee.is_some() => Role::Leaving,
            StateRole::Leader => Role::Leader,
        };
        (self.term, self.vote, self.leader) = (raft.term, raft.vote, raft.leader_id);
        self.commit = raft.raft_log.committed;
        (self.applied, self.applied_hash) = (node.machine.index, node.machine.hash);
        (self.called, self.done) = (node.machine.called, node.done);
        self.is_transferred = node.transfer_term == raft.term;
        self.conf = node.image.borrow().conf().0;
        self.reads = compat::reads_waiting(&node.raft);
        self.elapsed = (raft.election_elapsed, compat::heartbeat_elapsed(&node.raft));
        self.timeout = compat::timeout(&node.raft);
        (self.halted, self.unsynced) = (node.halted, node.unsynced.is_some());
    }

    /// The role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The current term.
    pub fn term(&self) -> u64 {
        self.term
    }

    /// The crate's number of the node that has the vote of the term; 0 for none.
    pub fn vote(&self) -> u64 {
        self.vote
    }

    /// The crate's number of the leader that the node knows; 0 for none.
    pub fn leader(&self) -> u64 {
        self.leader
    }

    /// Index of the last entry known to be committed.
    pub fn commit(&self) -> u64 {
        self.commit
    }

    /// Index of the last entry that was applied. After a restart those behind the snapshot are applied again.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Ticks since the node heard of a leader or began to ask for votes, and since a leader's last heartbeat.
    pub fn elapsed(&self) -> (usize, usize) {
        self.elapsed
    }

    /// The election timeout in ticks.
    pub fn timeout(&self) -> usize {
        self.timeout
    }

    /// The configuration that the node goes by.
    pub fn conf(&self) -> Conf {
        self.conf
    }

    /// How many reads a leader has taken and not confirmed.
    pub fn reads(&self) -> usize {
        self.reads
    }

    /// What the node has done since it started.
    pub fn done(&self) -> Done {
        self.done
    }

    /// The number of the last call that has taken effect at the node.
    pub fn called(&self) -> u32 {
        self.called
    }

    /// Whether the node asked for the votes of this term since a leader told it to.
    pub fn is_transferred(&self) -> bool {
        self.is_transferred
    }

    /// Whether the node does nothing any more, since its disk refused an operation.
    pub fn is_halted(&self) -> bool {
        self.halted
    }

    /// What the node keeps on its disk.
    pub fn image(&self) -> Ref<'_, Image> {
        self.image.borrow()
    }

    pub(crate) fn shared_image(&self) -> &SharedImage {
        &self.image
    }
}

/// How many entries a log shows at its end.
const SHOWN: usize = 12;

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        let image = self.image.borrow();
        visit("role", &self.role.name());
        visit("term", &self.term);
        visit("vote", &self.vote);
        visit("leader", &self.leader);
        visit("last", &image.last_index());
        visit("log", &ShownLog(&image));
        visit("log_hash", &format_args!("{:016x}", image.log_hash()));
        visit("base", &image.base().index);
        visit("conf", &self.conf);
        visit("commit", &self.commit);
        visit("applied", &self.applied);
        visit("timeout", &self.timeout);
        visit("halted", &self.halted);
    }
}

/// The last entries of a log.
struct ShownLog<'a>(&'a Image);

impl Display for ShownLog<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.entries();
        let hidden = entries.len().saturating_sub(SHOWN);
        f.write_str(if hidden > 0 { "... " } else { "" })?;
        for (at, entry) in entries[hidden..].iter().enumerate() {
            f.write_str(if at > 0 { " " } else { "" })?;
            Shown(entry).fmt(f)?;
        }
        Ok(())
    }
}

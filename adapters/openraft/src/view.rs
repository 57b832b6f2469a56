//! What is seen of a node.

use crate::image::{Image, SharedImage, lock};
use crate::members::Members;
use crate::system::Node;
use crate::types::LogId;
use misrule_models::Fields;
use openraft::{LogIdOptionExt, ServerState};
use std::fmt::{self, Display};
use std::sync::{Arc, MutexGuard};

/// What is seen of a node. It shares the node's image: nothing is copied to look at it.
#[derive(Clone, Debug, Default)]
pub struct View {
    image: SharedImage,
    role: ServerState,
    /// Term and node of the vote that the node tells of, and whether a quorum has granted it.
    vote: (u64, u64, bool),
    /// The membership that the node goes by, as it tells of it.
    members: Members,
    /// Why it has stopped.
    stopped: Option<String>,
    /// Tasks that wait for each other.
    deadlock: Option<String>,
    /// Whether somebody waited for the answer that came in last.
    heard: bool,
}

impl View {
    pub(crate) fn show(&mut self, node: &Node, deadlock: Option<String>) {
        let (raft, image) = (&node.raft, &node.store.image);
        self.heard = node.heard;
        if !Arc::ptr_eq(&self.image, image) {
            self.image = Arc::clone(image);
        }
        let metrics = raft.metrics();
        let metrics = metrics.borrow();
        self.role = metrics.state;
        if self.members.id != *metrics.membership_config.log_id() {
            self.members = Members::of(&metrics.membership_config);
        }
        let leader = metrics.vote.leader_id;
        self.vote = (leader.term, leader.node_id, metrics.vote.committed);
        self.stopped = metrics.running_state.as_ref().err().map(ToString::to_string);
        self.deadlock = deadlock;
    }

    /// What is seen of a node that keeps this.
    #[cfg(test)]
    pub(crate) fn of(image: Image) -> Self {
        Self { image: Arc::new(std::sync::Mutex::new(image)), ..Self::default() }
    }

    /// Its role, as it tells of it.
    pub fn role(&self) -> ServerState {
        self.role
    }

    /// Term and node of its vote, as it tells of it.
    pub fn vote(&self) -> (u64, u64) {
        (self.vote.0, self.vote.1)
    }

    /// The membership that it goes by, as it tells of it.
    pub fn members(&self) -> Members {
        self.members
    }

    /// The number of the last call that has taken effect.
    pub fn called(&self) -> u32 {
        self.image().registers.called
    }

    /// Why the library has stopped, if it has.
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Whether it has given up, or will: its disk refused an operation.
    pub fn is_halted(&self) -> bool {
        self.stopped.is_some() || self.image().disk_failed
    }

    /// Whether somebody waited for the answer that came in last.
    pub(crate) fn heard(&self) -> bool {
        self.heard
    }

    /// Index of the last entry that it knows to be committed; 0 where there is none.
    pub fn commit(&self) -> u32 {
        let image = self.image();
        image.committed.max(image.applied).map_or(0, |id| id.index as u32)
    }

    /// Tasks that wait for each other, if there are some.
    pub fn deadlock(&self) -> Option<&str> {
        self.deadlock.as_deref()
    }

    /// What it keeps.
    pub fn image(&self) -> MutexGuard<'_, Image> {
        lock(&self.image)
    }
}

/// How many entries a log shows at its end.
const SHOWN: usize = 8;

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        let image = self.image();
        visit("role", &format_args!("{:?}", self.role));
        let granted = if self.vote.2 { "" } else { "?" };
        visit("vote", &format_args!("{}.{}{granted}", self.vote.0, self.vote.1));
        visit("length", &image.now.length());
        visit("log", &Ids(&image.entries(0, u64::MAX)));
        visit("durable", &image.durable.length());
        visit("committed", &image.committed.next_index());
        visit("applied", &image.applied.next_index());
        visit("purged", &image.now.first_index());
        visit("stopped", &self.stopped.as_deref().unwrap_or("no"));
    }
}

/// The last entries of a log: term, node of the leader, and what they say.
struct Ids<'a>(&'a [crate::types::Entry]);

impl Display for Ids<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.0.len().saturating_sub(SHOWN);
        f.write_str(if hidden > 0 { "..." } else { "" })?;
        for (at, entry) in self.0[hidden..].iter().enumerate() {
            let LogId { leader_id, .. } = entry.log_id;
            f.write_str(if at > 0 || hidden > 0 { " " } else { "" })?;
            write!(f, "{}.{}:", leader_id.term, leader_id.node_id)?;
            match &entry.payload {
                openraft::EntryPayload::Blank => f.write_str("blank")?,
                openraft::EntryPayload::Normal(value) => write!(f, "{value:?}")?,
                openraft::EntryPayload::Membership(_) => f.write_str("members")?,
            }
        }
        Ok(())
    }
}

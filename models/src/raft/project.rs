//! The state of an implementation, as the model reads it.

use super::message::LogEntry;
use super::state::{Role, State};
use super::step::commit;
use crate::NodeId;

/// What can be read of a node of an implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Whether it runs.
    pub up: bool,
    /// What it is.
    pub role: Role,
    /// The current term.
    pub term: u32,
    /// Who has the vote of that term.
    pub vote: Option<NodeId>,
    /// The commit index.
    pub commit: u32,
    /// The length of the log.
    pub length: u32,
    /// The hash of the log, as [`Log`](crate::Log) computes it.
    pub log: u64,
}

impl State {
    /// What the model says of `node`, to compare.
    pub fn projection(&self, node: NodeId) -> Projection {
        let node = self.node(node);
        Projection {
            up: node.up,
            role: node.role,
            term: node.term,
            vote: node.vote,
            commit: node.commit,
            length: node.length(),
            log: node.log.digest(),
        }
    }

    /// Sets `node` from what was seen of an implementation, with this log. All of it counts as being on the disk: exact
    /// for a node that has just started. What cannot be seen starts anew; of a leader's followers, what both have
    /// on their disks counts as acknowledged.
    pub fn resync_node(&mut self, node: NodeId, seen: &Projection, log: &[LogEntry]) {
        let ours = self.node_mut(node);
        ours.enter(seen.term, seen.vote);
        (ours.up, ours.role) = (seen.up, seen.role);
        ours.log.assign(log);
        ours.drop_waiting();
        let disk = &mut ours.disk;
        (disk.term, disk.vote, disk.commit) = (seen.term, seen.vote, seen.commit);
        disk.led = if seen.role == Role::Leader { seen.term } else { 0 };
        disk.log.follow(&ours.log);
        let reached = seen.commit.min(ours.log.len());
        commit(self, node, reached);
        if seen.role == Role::Leader {
            for peer in 0..self.count() {
                let agreed = self.node(node).log.common(&self.node(peer).disk.log);
                self.node_mut(node).matched[usize::from(peer)] = agreed;
            }
        }
    }
}

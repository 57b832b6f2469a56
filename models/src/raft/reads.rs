//! Reads that do not go into the log (thesis, section 6.4).
//!
//! A leader that has committed an entry of its term notes its commit index for a read, and asks the others whether it still
//! leads: its heartbeats say which read is the newest, and an answer counts for that one and all before it. Once a quorum
//! has answered, the leader has led after the read came, so that nobody can have committed more by then. With a lease
//! (section 6.4.1) it asks nobody and relies on time, which the model does not have: whether that was right the property
//! `reads-never-stale` says.

use super::rules::Reads;
use super::state::{NodeState, Role, State};
use super::{Action, Raft};
use crate::NodeId;

type Taken = Result<(), &'static str>;

/// A read that a leader has taken and not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Read {
    /// Which read it is; not 0.
    pub number: u32,
    /// The commit index of the leader when it took the read: what must be applied before the read is answered.
    pub index: u32,
    /// Bit set of nodes that have said since then that they follow this leader, with itself.
    pub acknowledged: u64,
    /// History: how much was committed then, by any node.
    pub floor: u32,
}

impl NodeState {
    /// The newest read that waits, which heartbeats carry; 0 where none does.
    pub(super) fn newest_read(&self) -> u32 {
        self.reads.last().map_or(0, |read| read.number)
    }

    pub(super) fn has_read(&self, number: u32) -> bool {
        self.reads.iter().any(|read| read.number == number)
    }

    /// A node follows this leader still, by its answer to a heartbeat that came after this read and all before it.
    pub(super) fn acknowledge_reads(&mut self, from: NodeId, number: u32) {
        let behind = self.reads.iter().position(|read| read.number == number).map_or(0, |at| at + 1);
        for read in &mut self.reads[..behind] {
            read.acknowledged |= 1 << from;
        }
    }
}

impl Raft {
    pub(super) fn has_reads(&self) -> bool {
        self.rules.reads != Reads::Off
    }

    /// Whether a leader may take reads: it has committed an entry of its term, and so knows all that was committed before.
    pub(super) fn may_read(&self, node: &NodeState) -> bool {
        let knows = !self.rules.read_in_own_term || node.term_at(node.commit) == Some(node.term);
        self.has_reads() && node.role == Role::Leader && knows
    }

    pub(super) fn take_read(&self, state: &mut State, me: NodeId, number: u32) -> Taken {
        let floor = state.committed.len();
        let node = state.node_mut(me);
        if !self.may_read(node) {
            return Err("only a leader takes reads, once it has committed an entry of its term");
        }
        if number == 0 || node.has_read(number) {
            return Err("the read has no number, or waits already");
        }
        node.reads.push(Read { number, index: node.commit, acknowledged: 1 << me, floor });
        state.reads += u32::from(!self.is_open());
        Ok(())
    }

    /// Whether the leader need not wait any more to confirm a read.
    pub(super) fn may_confirm(&self, node: &NodeState, read: &Read) -> bool {
        self.rules.reads == Reads::Lease || self.decides(node.configuration, read.acknowledged)
    }

    pub(super) fn confirm_read(&self, state: &mut State, me: NodeId, number: u32, index: u32) -> Taken {
        let node = state.node_mut(me);
        let Some(at) = node.reads.iter().position(|read| read.number == number) else {
            return Err("the node leads no more, or has not taken the read");
        };
        let read = node.reads[at];
        if read.index != index {
            return Err("the index is not the commit index at which the read was taken");
        }
        if !self.may_confirm(node, &read) {
            return Err("no quorum has said since the read came that it follows the leader");
        }
        node.reads.remove(at);
        state.marks.read = true;
        state.marks.read_stale |= index < read.floor;
        Ok(())
    }

    /// What a leader of a bounded network may do with reads.
    pub(super) fn reading(&self, state: &State, node: NodeId, reads_max: u32, out: &mut Vec<Action>) {
        let it = state.node(node);
        if state.reads < reads_max && self.may_read(it) {
            out.push(Action::TakeRead { node, read: state.reads + 1 });
        }
        let due = it.reads.iter().filter(|read| self.may_confirm(it, read));
        out.extend(due.map(|read| Action::ConfirmRead { node, read: read.number, index: read.index }));
    }

    /// Whether a leader of a bounded network sends heartbeats of their own: where it always does, and for a read.
    pub(super) fn beats(&self, leader: &NodeState) -> bool {
        self.rules.heartbeats || !leader.reads.is_empty()
    }
}

#[cfg(test)]
mod tests;

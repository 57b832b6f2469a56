//! Configurations of the cluster, as sets of bits, and the changes that the workload asks for.

use raft::eraftpb::{ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2, ConfState};
use std::fmt;

/// A configuration: sets of nodes, where node 1 is bit 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conf {
    /// Those that vote.
    pub voters: u8,
    /// Those that only listen.
    pub learners: u8,
    /// In a joint configuration those that voted before it; else empty.
    pub outgoing: u8,
    /// Those that become learners when the joint configuration is left.
    pub learners_next: u8,
    /// Whether the crate leaves the joint configuration by itself.
    pub auto_leave: bool,
}

impl Conf {
    /// The first so many nodes vote.
    pub(crate) fn of_voters(count: u8) -> Self {
        Self { voters: (1_u16 << count).wrapping_sub(1) as u8, ..Self::default() }
    }

    /// Whether the configuration is joint.
    pub fn is_joint(self) -> bool {
        self.outgoing != 0
    }

    /// Whether a node, by the crate's number, is a part of it in any way.
    pub fn has(self, id: u64) -> bool {
        (self.voters | self.learners | self.outgoing | self.learners_next) & bit(id) != 0
    }

    /// Whether a node, by the crate's number, is the only one that votes.
    pub(crate) fn is_only(self, id: u64) -> bool {
        self.voters == bit(id) && !self.is_joint()
    }

    /// From the crate's form.
    pub(crate) fn read(state: &ConfState) -> Self {
        let set = |list: &[u64]| list.iter().fold(0, |set, id| set | bit(*id));
        Self {
            voters: set(&state.voters),
            learners: set(&state.learners),
            outgoing: set(&state.voters_outgoing),
            learners_next: set(&state.learners_next),
            auto_leave: state.auto_leave,
        }
    }

    /// The crate's form.
    pub(crate) fn state(self) -> ConfState {
        let list = |set: u8| members(set).map(u64::from).collect();
        ConfState {
            voters: list(self.voters),
            learners: list(self.learners),
            voters_outgoing: list(self.outgoing),
            learners_next: list(self.learners_next),
            auto_leave: self.auto_leave,
            ..ConfState::default()
        }
    }

    /// One number, for records.
    pub(crate) fn packed(self) -> u64 {
        let sets = [self.voters, self.learners, self.outgoing, self.learners_next, u8::from(self.auto_leave)];
        sets.iter().rev().fold(0, |packed, set| packed << 8 | u64::from(*set))
    }

    /// The configuration of such a number.
    pub(crate) fn unpacked(packed: u64) -> Self {
        let [voters, learners, outgoing, learners_next, auto_leave, ..] = packed.to_le_bytes();
        Self { voters, learners, outgoing, learners_next, auto_leave: auto_leave != 0 }
    }
}

/// The bit of a node by the crate's number; none for one that no world has.
fn bit(id: u64) -> u8 {
    1_u8.checked_shl(id.wrapping_sub(1).min(63) as u32).unwrap_or(0)
}

/// The nodes of a set, counted from 1.
fn members(set: u8) -> impl Iterator<Item = u8> {
    (1..=8).filter(move |node| set & bit(u64::from(*node)) != 0)
}

impl fmt::Display for Conf {
    /// `1,2,3`, with `&1,2` for the voters before a joint configuration, `+4` for learners, `!` where it is left by itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts =
            [("", self.voters), ("&", self.outgoing), ("+", self.learners), ("-", self.learners_next)];
        for (mark, set) in parts.into_iter().filter(|(mark, set)| *set != 0 || mark.is_empty()) {
            f.write_str(mark)?;
            for (at, node) in members(set).enumerate() {
                write!(f, "{}{node}", if at > 0 { "," } else { "" })?;
            }
        }
        f.write_str(if self.auto_leave { "!" } else { "" })
    }
}

/// A change of one node, as the workload's operations name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    AddVoter,
    AddLearner,
    Remove,
}

/// The change of one node, with the crate's number of it.
fn single(change: Change, id: u64) -> ConfChangeSingle {
    let change_type = match change {
        Change::AddVoter => ConfChangeType::AddNode,
        Change::AddLearner => ConfChangeType::AddLearnerNode,
        Change::Remove => ConfChangeType::RemoveNode,
    };
    ConfChangeSingle { change_type, node_id: id, ..ConfChangeSingle::default() }
}

/// A change of one node, through the simple protocol.
pub(crate) fn simple(change: Change, id: u64) -> ConfChangeV2 {
    ConfChangeV2 { changes: vec![single(change, id)].into(), ..ConfChangeV2::default() }
}

/// One node votes from now on and another one only listens, through a joint configuration that the crate leaves by
/// itself, or that a client leaves. The argument is below [`joint_below`].
pub(crate) fn joint(argument: u32, nodes: u8) -> ConfChangeV2 {
    let nodes = u32::from(nodes);
    let (joins, rest) = (argument % nodes, argument / nodes);
    let (leaves, is_explicit) = (rest % nodes, rest / nodes % 2 == 1);
    let transition =
        if is_explicit { ConfChangeTransition::Explicit } else { ConfChangeTransition::Implicit };
    let changes = vec![
        single(Change::AddLearner, u64::from(leaves) + 1),
        single(Change::AddVoter, u64::from(joins) + 1),
    ];
    ConfChangeV2 { transition, changes: changes.into(), ..ConfChangeV2::default() }
}

/// The bound of the argument of a joint change.
pub(crate) fn joint_below(nodes: u8) -> u32 {
    u32::from(nodes) * u32::from(nodes) * 2
}

#[cfg(test)]
mod tests {
    use super::{Conf, joint, joint_below};

    #[test]
    fn configurations_read_back() {
        let conf =
            Conf { voters: 0b111, learners: 0b1000, outgoing: 0b11, learners_next: 0b1, auto_leave: true };
        assert_eq!(Conf::read(&conf.state()), conf);
        assert_eq!(Conf::unpacked(conf.packed()), conf);
        assert_eq!(conf.to_string(), "1,2,3&1,2+4-1!");
        assert_eq!(Conf::of_voters(7).to_string(), "1,2,3,4,5,6,7");
    }

    #[test]
    fn joint_changes_name_nodes_of_the_cluster() {
        for argument in 0..joint_below(3) {
            let change = joint(argument, 3);
            assert!(change.changes.iter().all(|single| (1..=3).contains(&single.node_id)));
        }
    }
}

//! Configurations of the cluster, as sets of bits, and the changes that the workload asks for.

use misrule_models::raft::Configuration;
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

    /// Whether a node, by the crate's number, votes.
    pub fn has_voter(self, id: u64) -> bool {
        (self.voters | self.outgoing) & bit(id) != 0
    }

    /// Whether so many nodes, as a set of bits, decide.
    pub(crate) fn is_quorum(self, set: u8) -> bool {
        let is_most = |of: u8| of == 0 || 2 * (set & of).count_ones() > of.count_ones();
        is_most(self.voters) && is_most(self.outgoing)
    }

    /// The configuration as the model has it.
    pub(crate) fn to_model(self) -> Configuration {
        let Self { voters, learners, outgoing, learners_next, auto_leave } = self;
        Configuration { voters, outgoing, learners, learners_next, leaves_itself: auto_leave }
    }

    /// The set of nodes in a list of the crate's numbers.
    pub(crate) fn set(list: &[u64]) -> u8 {
        list.iter().fold(0, |set, id| set | bit(*id))
    }

    /// The list of the crate's numbers of the nodes in a set.
    pub(crate) fn list(set: u8) -> Vec<u64> {
        members(set).map(u64::from).collect()
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

/// The parts of the argument of a joint change, which is below [`joint_below`]: the node that votes from now on and the
/// one that only listens, counted from 0, and whether a client leaves the joint configuration, or the crate by itself.
pub(crate) fn joint_parts(argument: u32, nodes: u8) -> (u32, u32, bool) {
    let nodes = u32::from(nodes);
    (argument % nodes, argument / nodes % nodes, argument / nodes / nodes % 2 == 1)
}

/// The bound of the argument of a joint change.
pub(crate) fn joint_below(nodes: u8) -> u32 {
    u32::from(nodes) * u32::from(nodes) * 2
}

#[cfg(test)]
mod tests {
    use super::{Conf, joint_below, joint_parts};

    #[test]
    fn configurations_read_back() {
        let conf =
            Conf { voters: 0b111, learners: 0b1000, outgoing: 0b11, learners_next: 0b1, auto_leave: true };
        assert_eq!(Conf::set(&Conf::list(conf.voters)), conf.voters);
        assert_eq!(Conf::unpacked(conf.packed()), conf);
        assert_eq!(conf.to_string(), "1,2,3&1,2+4-1!");
        assert_eq!(Conf::of_voters(7).to_string(), "1,2,3,4,5,6,7");
    }

    #[test]
    fn joint_changes_name_each_pair_of_nodes_in_both_ways() {
        let mut parts: Vec<_> = (0..joint_below(3)).map(|argument| joint_parts(argument, 3)).collect();
        assert!(parts.iter().all(|(joins, leaves, _)| *joins < 3 && *leaves < 3));
        parts.sort_unstable();
        parts.dedup();
        assert_eq!(parts.len(), 18);
    }

    #[test]
    fn a_joint_configuration_needs_both_quorums() {
        let conf = Conf { voters: 0b111, outgoing: 0b1_1100, ..Conf::default() };
        for (set, expected) in [(0b111, false), (0b110, false), (0b1110, true), (0b1_1100, false)] {
            assert_eq!(conf.is_quorum(set), expected, "{set:b}");
        }
        assert!(Conf::of_voters(3).is_quorum(0b101) && !Conf::of_voters(5).is_quorum(0b101));
    }
}

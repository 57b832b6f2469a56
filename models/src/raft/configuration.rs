//! Configurations of the cluster, and changes of them as entries of the log.

use crate::NodeId;
use std::fmt;

/// Who decides: sets of nodes, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Configuration {
    /// Those that vote.
    pub voters: u8,
    /// In a joint configuration those that voted before it, and still do; else empty.
    pub outgoing: u8,
    /// Those that are sent entries and do not vote.
    pub learners: u8,
    /// Those that become learners when the joint configuration is left.
    pub learners_next: u8,
    /// Whether the leader leaves the joint configuration without being asked. The model lets it do so at any time.
    pub leaves_itself: bool,
}

impl Configuration {
    /// The first so many nodes vote, up to 8.
    pub const fn of_voters(count: NodeId) -> Self {
        let voters = ((1_u16 << count) - 1) as u8;
        Self { voters, outgoing: 0, learners: 0, learners_next: 0, leaves_itself: false }
    }

    /// Whether it is joint.
    pub fn is_joint(self) -> bool {
        self.outgoing != 0
    }

    /// Whether a node votes.
    pub fn has_voter(self, node: NodeId) -> bool {
        (self.voters | self.outgoing) & bit(node) != 0
    }

    /// Whether a node is sent entries.
    pub fn has_member(self, node: NodeId) -> bool {
        (self.voters | self.outgoing | self.learners) & bit(node) != 0
    }

    /// Whether a set of nodes, as bits, decides: the majority of the voters, and of those before a joint configuration
    /// (paper, section 6). Where nobody votes, any set does.
    pub fn is_quorum(self, set: u64) -> bool {
        let is_most = |of: u8| of == 0 || 2 * (set & u64::from(of)).count_ones() > of.count_ones();
        is_most(self.voters) && is_most(self.outgoing)
    }

    /// Whether two configurations have a set of voters in common, so that a majority of one meets each of the other
    /// (Ongaro and Ousterhout, section 6, of which a joint configuration and the two on its sides are a case).
    fn shares(self, other: Self) -> bool {
        let sets = |of: Self| [of.voters, of.outgoing].into_iter().filter(|set| *set != 0);
        sets(self).any(|set| sets(other).any(|its| its == set))
    }

    /// The configuration after a change; `None` where this one does not allow it: no voter would be left, a simple
    /// change would change two voters, the way into a joint configuration begins in one, or out of one elsewhere, or a
    /// whole one has no set of voters of this one.
    pub fn after(self, change: Change) -> Option<Self> {
        if change.kind != ChangeKind::Whole && self.is_joint() != (change.kind == ChangeKind::Leave) {
            return None;
        }
        let mut new = self;
        match change.kind {
            ChangeKind::Whole => {
                let Change { voters, learners, removed: outgoing, .. } = change;
                let whole = Self { voters, outgoing, learners, ..Self::default() };
                return (voters != 0 && self.shares(whole)).then_some(whole);
            }
            ChangeKind::Leave => {
                new.learners |= new.learners_next;
                (new.outgoing, new.learners_next, new.leaves_itself) = (0, 0, false);
                return Some(new);
            }
            ChangeKind::Simple => {}
            ChangeKind::Enter { leaves_itself } => {
                (new.outgoing, new.leaves_itself) = (self.voters, leaves_itself);
            }
        }
        let touched = change.voters | change.learners | change.removed;
        new.voters = new.voters & !touched | change.voters;
        // Who votes in the old configuration listens only when that is over.
        let listening = change.learners & !new.outgoing;
        new.learners = new.learners & !touched | listening;
        new.learners_next = new.learners_next & !touched | change.learners & new.outgoing;
        let is_simple = change.kind == ChangeKind::Simple;
        let too_many = is_simple && (new.voters ^ self.voters).count_ones() > 1;
        (new.voters != 0 && !too_many).then_some(new)
    }
}

impl fmt::Display for Configuration {
    /// `1,2,3`, with `&1,2` for the voters before a joint configuration, `+4` for learners, `-1` for those that become
    /// learners.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts =
            [("", self.voters), ("&", self.outgoing), ("+", self.learners), ("-", self.learners_next)];
        for (mark, set) in parts.into_iter().filter(|(_, set)| *set != 0) {
            let members = (0..8).filter(|node| set & bit(*node) != 0);
            for (at, node) in members.enumerate() {
                write!(f, "{}{}", if at > 0 { "," } else { mark }, node + 1)?;
            }
        }
        Ok(())
    }
}

/// How a change is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeKind {
    /// At once (thesis, section 4.1).
    #[default]
    Simple,
    /// By a joint configuration (paper, section 6).
    Enter {
        /// Whether the leader leaves it without being asked.
        leaves_itself: bool,
    },
    /// The joint configuration is left.
    Leave,
    /// The entry says all of the configuration, which may be joint, whatever the one before is.
    Whole,
}

/// A change of the configuration: sets of nodes, as bits, of which none has a node of another but in a whole one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Those that vote from now on.
    pub voters: u8,
    /// Those that only listen from now on.
    pub learners: u8,
    /// Those that are no members any more; of a whole configuration that is joint, those that voted before it.
    pub removed: u8,
    /// How it is made.
    pub kind: ChangeKind,
}

/// An entry whose number has the highest bit set and the lowest clear is a change.
const MARK: u32 = 1 << 31;

impl Change {
    /// A node votes from now on.
    pub fn adds(node: NodeId) -> Self {
        Self { voters: bit(node), ..Self::default() }
    }

    /// A node is no member any more.
    pub fn removes(node: NodeId) -> Self {
        Self { removed: bit(node), ..Self::default() }
    }

    /// A joint configuration is left.
    pub fn leaves() -> Self {
        Self { kind: ChangeKind::Leave, ..Self::default() }
    }

    /// A configuration is said as a whole: its voters, those before it where it is joint, and its learners.
    pub fn whole(configuration: Configuration) -> Self {
        let Configuration { voters, outgoing, learners, .. } = configuration;
        Self { voters, learners, removed: outgoing, kind: ChangeKind::Whole }
    }

    /// Whether it needs joint configurations.
    pub(super) fn is_joint(self) -> bool {
        match self.kind {
            ChangeKind::Simple => false,
            ChangeKind::Whole => self.removed != 0,
            ChangeKind::Enter { .. } | ChangeKind::Leave => true,
        }
    }

    /// The number of an entry with this change. Other entries of a model with changes need numbers that are odd, or
    /// below 2^31.
    pub fn value(self) -> u32 {
        let kind = match self.kind {
            ChangeKind::Simple => 0,
            ChangeKind::Enter { leaves_itself } => 1 + u32::from(leaves_itself),
            ChangeKind::Leave => 3,
            ChangeKind::Whole => 4,
        };
        let sets = u32::from_le_bytes([self.voters, self.learners, self.removed, kind as u8]);
        MARK | sets << 1
    }

    /// The change of an entry's number; `None` where it is none.
    pub fn of(value: u32) -> Option<Self> {
        if value & (MARK | 1) != MARK {
            return None;
        }
        let [voters, learners, removed, kind] = ((value & !MARK) >> 1).to_le_bytes();
        let kind = match kind {
            0 => ChangeKind::Simple,
            1 | 2 => ChangeKind::Enter { leaves_itself: kind == 2 },
            3 => ChangeKind::Leave,
            _ => ChangeKind::Whole,
        };
        Some(Self { voters, learners, removed, kind })
    }
}

fn bit(node: NodeId) -> u8 {
    1_u8.checked_shl(u32::from(node)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Change, ChangeKind, Configuration};

    #[test]
    fn changes_are_read_back_and_other_numbers_are_none() {
        let enter = |leaves_itself| ChangeKind::Enter { leaves_itself };
        for kind in [ChangeKind::Simple, enter(false), enter(true), ChangeKind::Leave, ChangeKind::Whole] {
            let change = Change { voters: 0xa5, learners: 0x5a, removed: 0x80, kind };
            assert_eq!(Change::of(change.value()), Some(change));
        }
        for value in [0, 1, 2, u32::MAX, 1 << 31 | 1, (1 << 31) - 1] {
            assert_eq!(Change::of(value), None, "{value:x}");
        }
    }

    #[test]
    fn a_change_takes_effect_where_it_is_allowed() {
        let three = Configuration::of_voters(3);
        let four = three.after(Change::adds(3)).unwrap();
        assert_eq!((four.voters, four.after(Change::removes(0)).unwrap().voters), (0b1111, 0b1110));
        assert_eq!(four.after(Change { voters: 0b11_0000, ..Change::default() }), None, "two at once");
        assert_eq!(Configuration::of_voters(1).after(Change::removes(0)), None, "nobody is left");
        assert_eq!(three.after(Change::leaves()), None);
        let listens = Change { learners: 0b1, ..Change::default() };
        let joint = Change { voters: 0b1000, kind: ChangeKind::Enter { leaves_itself: true }, ..listens };
        let entered = three.after(joint).unwrap();
        assert_eq!((entered.voters, entered.outgoing, entered.learners_next), (0b1110, 0b111, 0b1));
        assert!(entered.has_voter(0) && entered.learners == 0 && entered.leaves_itself);
        assert_eq!((entered.after(listens), entered.after(joint)), (None, None));
        assert_eq!(entered.to_string(), "2,3,4&1,2,3-1");
        let left = entered.after(Change::leaves()).unwrap();
        assert_eq!((left.voters, left.outgoing, left.learners), (0b1110, 0, 0b1));
        assert!(!left.has_voter(0) && left.has_member(0) && !left.leaves_itself);
    }

    #[test]
    fn a_whole_configuration_shares_a_set_of_voters() {
        let whole = |voters, outgoing| Configuration {
            voters,
            outgoing,
            learners: 0b1000,
            ..Configuration::default()
        };
        let after = |before: Configuration, to| before.after(Change::whole(to));
        let (three, joint) = (Configuration::of_voters(3), whole(0b1, 0b111));
        for (before, to, is_allowed) in [
            (three, whole(0b111, 0), true),
            (three, joint, true),
            (three, whole(0b11, 0), false),
            (three, whole(0b1, 0b11), false),
            (joint, whole(0b1, 0), true),
            (joint, whole(0b111, 0), true),
            (joint, whole(0b110, 0b1), true),
            (joint, whole(0b110, 0), false),
            (three, whole(0, 0), false),
        ] {
            assert_eq!(after(before, to), is_allowed.then_some(to), "{before} {to}");
        }
    }

    #[test]
    fn a_joint_configuration_needs_both_majorities() {
        let conf = Configuration { voters: 0b111, outgoing: 0b1_1100, ..Configuration::default() };
        for (set, expected) in [(0b111, false), (0b110, false), (0b1110, true), (0b1_1100, false)] {
            assert_eq!(conf.is_quorum(set), expected, "{set:b}");
        }
        assert!(
            Configuration::of_voters(3).is_quorum(0b101) && !Configuration::of_voters(5).is_quorum(0b101)
        );
        assert!(Configuration::default().is_quorum(0));
    }
}

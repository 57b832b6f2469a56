//! Who is a member, in the words of the model.

use crate::types::{LogId, Membership, StoredMembership, node};
use misrule_models::raft::Configuration;

/// A membership, and the entry that says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// The entry; none where there is no membership yet.
    pub id: Option<LogId>,
    /// Who decides, and who only listens.
    pub configuration: Configuration,
}

impl Members {
    pub(crate) fn of(stored: &StoredMembership) -> Self {
        Self { id: *stored.log_id(), configuration: configuration(stored.membership()) }
    }
}

/// A membership of the library: one set of voters, or those before a joint one and those of it. The other nodes listen.
pub(crate) fn configuration(membership: &Membership) -> Configuration {
    let set = |ids: &mut dyn Iterator<Item = &u64>| {
        ids.fold(0, |set, id| set | 1_u8.checked_shl(u32::from(node(*id))).unwrap_or(0))
    };
    let sets = membership.get_joint_config();
    let voters = sets.last().map_or(0, |ids| set(&mut ids.iter()));
    let outgoing = if sets.len() > 1 { set(&mut sets[0].iter()) } else { 0 };
    let all = set(&mut membership.nodes().map(|(id, _)| id));
    Configuration { voters, outgoing, learners: all & !(voters | outgoing), ..Configuration::default() }
}

#[cfg(test)]
mod tests {
    use super::configuration;
    use crate::types::Membership;
    use std::collections::BTreeSet;

    #[test]
    fn a_joint_membership_is_read_with_the_voters_before_it() {
        let sets = vec![BTreeSet::from([1, 2, 3]), BTreeSet::from([3, 4])];
        for (sets, expected) in [(sets.clone(), "3,4&1,2,3+5"), (sets[1..].to_vec(), "3,4+5")] {
            let membership = Membership::new(sets, BTreeSet::from([5]));
            assert_eq!(configuration(&membership).to_string(), expected);
        }
    }
}

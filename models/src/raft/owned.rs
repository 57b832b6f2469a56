//! What the crate `openraft` 0.9 does otherwise than the paper: [`Rules::owned_terms`], [`Rules::leads_again`].
//!
//! There a vote is for a term and a node, votes are ordered by both, and of two candidates in one term the one with the
//! greater number wins where the other has not yet led. That is the paper's protocol with finer terms: each of
//! them has one node that may ask for votes in it, and who enters it can vote for nobody else.

use super::state::{NodeState, Role, State};
use super::{Raft, Rules};
use crate::NodeId;

/// Terms of the model to a term of the implementation: more than there may be nodes.
const TERMS: u32 = Raft::NODES_MAX as u32 + 1;

/// The term of the model in which `node` asks for votes in a `term` of the implementation; of nobody, 0 is term 0.
pub fn owned_term(term: u32, node: Option<NodeId>) -> u32 {
    term * TERMS + node.map_or(0, |node| u32::from(node) + 1)
}

impl Rules {
    /// What the crate `openraft` 0.9 does, with changes of the configuration off, which are settings of the target. Its
    /// heartbeats are `Append`s. Since each configuration has a set of voters of the one before, a leader need not commit an
    /// entry of its term before it changes one: of two changes of the same configuration only one gets its majority.
    pub const fn openraft_0_9() -> Self {
        Self {
            empty_entry: true,
            batch: u32::MAX,
            check_quorum: true,
            snapshots: true,
            learns_commit: true,
            commit_kept: true,
            commit_unsynced: true,
            owned_terms: true,
            cuts_refused: true,
            leads_again: true,
            whole_configurations: true,
            change_in_own_term: false,
            ..Self::lagging()
        }
    }
}

impl Raft {
    /// The term that a node begins when it asks for votes.
    pub(super) fn next_term(&self, node: &NodeState, me: NodeId) -> u32 {
        if self.rules.owned_terms { owned_term(node.term / TERMS + 1, Some(me)) } else { node.term + 1 }
    }

    /// A disk that has a term which is another's has the vote in it.
    pub(super) fn own_vote(&self, node: &mut NodeState) {
        if self.rules.owned_terms && node.disk.term == node.term {
            node.disk.vote = node.vote;
        }
    }

    /// Whether a node has started that led in its term.
    pub(super) fn may_lead_again(&self, node: &NodeState) -> bool {
        self.rules.leads_again && node.role == Role::Follower && node.term > 0 && node.disk.led == node.term
    }
}

impl State {
    /// Lets a leader that has just started know of no acknowledgement but its own disk's; see
    /// [`resync_node`](State::resync_node).
    pub fn forget_acknowledged(&mut self, node: NodeId) {
        let it = self.node_mut(node);
        if it.role == Role::Leader {
            it.matched.fill(0);
            it.matched[usize::from(node)] = it.disk.log.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::owned_term;
    use crate::raft::tests::{model, sound};
    use crate::raft::{Action, Envelope, Message, Raft, Role, Rules, State};
    use crate::{Model, Step};

    #[test]
    fn rules_are_safe_and_their_states_are_counted() {
        let (paper, crate_0_9) = (Rules::paper(), Rules { batch: 1, ..Rules::openraft_0_9() });
        let one = (owned_term(1, Some(1)), 0, 0);
        let crash = (owned_term(1, Some(0)), 0, 1);
        let mut counts = Vec::new();
        for (name, rules, bounds) in [
            ("owned terms", Rules { owned_terms: true, ..paper }, one),
            ("refusals that cut", Rules { cuts_refused: true, ..paper }, (2, 1, 0)),
            ("leads again", Rules { leads_again: true, ..paper }, (1, 1, 1)),
            ("commit unsynced", Rules { commit_kept: true, commit_unsynced: true, ..paper }, (1, 1, 1)),
            ("openraft", crate_0_9, one),
            ("openraft with a crash", crate_0_9, crash),
        ] {
            counts.push((name, sound(name, &model(2, rules, bounds)).states));
        }
        assert_eq!(counts, COUNTS);
    }

    /// States of two nodes.
    const COUNTS: [(&str, u64); 6] = [
        ("owned terms", 26),
        ("refusals that cut", 6_465),
        ("leads again", 1_150),
        ("commit unsynced", 862),
        ("openraft", 7_922),
        ("openraft with a crash", 5_576),
    ];

    /// Two of three nodes elect the first one, as an implementation does it.
    fn elected(model: &Raft) -> State {
        let mut states = Vec::new();
        model.initial(&mut states);
        let mut state = states.remove(0);
        let term = owned_term(1, Some(0));
        let vote = Message::Vote { term, last: (0, 0) };
        let granted = Message::VoteReply { term, granted: true };
        for action in [
            Action::Timeout { node: 0 },
            Action::Persist { node: 0 },
            Action::Deliver(Envelope { from: 0, to: 1, message: vote }),
            Action::Persist { node: 1 },
            Action::Deliver(Envelope { from: 1, to: 0, message: granted }),
            Action::BecomeLeader { node: 0 },
        ] {
            assert_eq!(model.step(&mut state, &action), Step::Taken, "{action:?}");
        }
        state
    }

    #[test]
    fn who_led_leads_again_if_its_disk_says_so() {
        let model = Raft::open(3, Rules::openraft_0_9()).unwrap();
        for is_kept in [true, false] {
            let mut state = elected(&model);
            if is_kept {
                assert_eq!(model.step(&mut state, &Action::Persist { node: 0 }), Step::Taken);
            }
            let starts = [Action::Crash { node: 0 }, Action::Restart { node: 0, commit: 0 }];
            for action in &starts {
                assert_eq!(model.step(&mut state, action), Step::Taken);
            }
            let leads = model.step(&mut state, &Action::BecomeLeader { node: 0 });
            assert_eq!(leads == Step::Taken, is_kept);
            // Its empty entry is there already.
            let expected = if is_kept { (Role::Leader, 1) } else { (Role::Follower, 0) };
            assert_eq!((state.node(0).role, state.node(0).length()), expected);
        }
    }

    #[test]
    fn a_refusal_cuts_off_what_conflicts() {
        for cuts_refused in [true, false] {
            let model = Raft::open(3, Rules { cuts_refused, ..Rules::openraft_0_9() }).unwrap();
            let mut state = elected(&model);
            let term = owned_term(2, Some(1));
            let message = Message::Append { term, previous: (1, term), entries: Vec::new(), commit: 0 };
            let append = Action::Deliver(Envelope { from: 1, to: 0, message });
            assert_eq!(model.step(&mut state, &append), Step::Taken);
            assert_eq!(state.node(0).length(), u32::from(!cuts_refused));
        }
    }
}

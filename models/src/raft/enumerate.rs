//! The actions of a bounded network that are enabled.

use super::state::{NodeState, Role, State};
use super::step::restarts;
use super::{Action, Bounds, Raft};
use crate::NodeId;

impl Raft {
    pub(super) fn enumerate(&self, state: &State, out: &mut Vec<Action>) {
        // What an open network can do is known to the implementation only.
        let Some(bounds) = self.bounds else { return };
        for node in 0..self.nodes {
            let it = state.node(node);
            if !it.up {
                out.extend(restarts(it).map(|commit| Action::Restart { node, commit }));
                continue;
            }
            if it.role == Role::Leader {
                self.leading(state, node, bounds, out);
            } else {
                self.waiting(it, node, bounds, out);
            }
            let known = if self.rules.learns_commit { it.length() } else { 0 };
            let learned = (it.commit + 1..=known).filter(|index| self.may_learn(state, node, *index));
            out.extend(learned.map(|index| Action::LearnCommit { node, index }));
            out.extend(self.next_change(it, node));
            if it.waits_for_disk() {
                out.push(Action::Persist { node });
            }
            if state.faults < bounds.faults_max {
                out.push(Action::Crash { node });
            }
        }
        let arrivals = state.messages.iter().filter(|envelope| state.node(envelope.to).up);
        let begins = |envelope: &&super::Envelope| {
            let asks = matches!(envelope.message, super::Message::TimeoutNow { .. });
            !asks || self.next_term(state.node(envelope.to), envelope.to) <= bounds.term_max
        };
        out.extend(arrivals.filter(begins).cloned().map(Action::Deliver));
    }

    fn leading(&self, state: &State, node: NodeId, bounds: Bounds, out: &mut Vec<Action>) {
        let it = state.node(node);
        if state.proposed < bounds.entries_max {
            out.push(Action::Propose { node, value: state.proposed + 1 });
            self.changes(it, &mut |value| out.push(Action::Propose { node, value }));
        }
        for peer in (0..self.nodes).filter(|peer| *peer != node && self.is_sent(it, *peer)) {
            if self.may_append(it, peer) {
                out.push(Action::Append { node, peer });
            }
            if self.beats(it) {
                out.push(Action::Heartbeat { node, peer });
            }
            if self.rules.snapshots && it.commit > 0 {
                out.push(Action::Snapshot { node, peer });
            }
            if self.may_hand_over(it, peer) {
                out.push(Action::TimeoutNow { node, peer });
            }
        }
        out.extend(self.commits(it).map(|_| Action::AdvanceCommit { node }));
        self.reading(state, node, bounds.reads_max, out);
        if self.may_step_down(it, node) {
            out.push(Action::StepDown { node });
        }
    }

    fn waiting(&self, it: &NodeState, node: NodeId, bounds: Bounds, out: &mut Vec<Action>) {
        if self.next_term(it, node) <= bounds.term_max {
            if self.rules.pre_vote && self.may_campaign(it, node) {
                out.push(Action::PreVote { node });
            }
            if self.may_time_out(it, node) {
                out.push(Action::Timeout { node });
            }
        }
        if self.has_won(it, Role::Candidate) || self.may_lead_again(it) {
            out.push(Action::BecomeLeader { node });
        }
    }
}

//! Changes of membership: when they may be proposed, and when they take effect.
//!
//! As published, a node goes by the latest configuration in its log, committed or not, and a log that is cut takes it back
//! (paper, section 6; thesis, section 4.1). With [`Rules::applied_configuration`](super::Rules::applied_configuration) it
//! goes by what it has applied, as the crate `raft` does; that is safe as long as a node that has a change in its log
//! knows that the one before is committed, and does not ask for votes before it has applied what it knows to be
//! committed.

use super::configuration::{Change, ChangeKind, Configuration};
use super::message::LogEntry;
use super::rules::Membership;
use super::state::{NodeState, Role, State};
use super::{Action, Raft};
use crate::NodeId;

impl Raft {
    pub(super) fn has_changes(&self) -> bool {
        self.rules.membership != Membership::Off
    }

    /// Whether a set of nodes decides in a configuration.
    pub(super) fn decides(&self, configuration: Configuration, set: u64) -> bool {
        let outgoing = if self.rules.both_majorities { configuration.outgoing } else { 0 };
        Configuration { outgoing, ..configuration }.is_quorum(set)
    }

    /// Whether a node asks for votes. As published all do, since those that a change removes may be needed until it is
    /// committed (thesis, section 4.2.2).
    pub(super) fn may_campaign(&self, node: &NodeState, me: NodeId) -> bool {
        let applied = !self.rules.applied_configuration
            || node.configuration.has_voter(me)
                && change_in(&node.log.entries()[..node.commit as usize], node.configured).is_none();
        !self.has_changes() || applied
    }

    /// Whether a node is sent what a leader sends.
    pub(super) fn is_sent(&self, leader: &NodeState, peer: NodeId) -> bool {
        !self.has_changes() || leader.configuration.has_member(peer)
    }

    /// Whether a leader may take an entry of this number.
    pub(super) fn may_take(&self, leader: &NodeState, value: u32) -> Result<(), &'static str> {
        let Some(change) = Change::of(value).filter(|_| self.has_changes()) else { return Ok(()) };
        let effective = if self.rules.applied_configuration { leader.configured } else { leader.commit };
        let is_leave = change.kind == ChangeKind::Leave;
        let is_whole = change.kind == ChangeKind::Whole;
        if is_whole != self.rules.whole_configurations {
            Err("the rules know no such entry of a change")
        } else if change.is_joint() && self.rules.membership != Membership::Joint {
            Err("the rules know no joint configurations")
        } else if is_whole && leader.configuration.after(change).is_none() {
            Err("the configuration has no set of voters of the one before")
        } else if !is_whole && is_leave != leader.configuration.is_joint() {
            Err("a joint configuration is left before anything else, and nothing else is")
        } else if self.rules.one_change && change_in(leader.log.entries(), effective).is_some() {
            Err("the change before has not taken effect")
        } else if self.rules.change_in_own_term && leader.term_at(leader.commit) != Some(leader.term) {
            Err("the leader has committed no entry of its term")
        } else {
            Ok(())
        }
    }

    /// A node applies the changes up to an index.
    pub(super) fn reconfigure(&self, state: &mut State, me: NodeId, index: u32) -> Result<(), &'static str> {
        let node = state.node_mut(me);
        if !self.has_changes() || !self.rules.applied_configuration {
            return Err("changes are not applied by themselves");
        }
        if index > node.commit {
            return Err("the index is not committed");
        }
        let mut configuration = node.configuration;
        while let Some(at) = change_in(&node.log.entries()[..index as usize], node.configured) {
            configuration = changed(configuration, &node.log.entries()[at as usize - 1..at as usize]);
            node.configured = at;
        }
        self.put_in_force(state, me, configuration);
        Ok(())
    }

    /// A snapshot has the configuration that its entries make (paper, section 7).
    pub(super) fn take_configuration(&self, state: &mut State, me: NodeId) {
        if self.has_changes() && self.rules.applied_configuration {
            let node = state.node_mut(me);
            let log = &node.log.entries()[..node.commit as usize];
            let configuration = self.configuration(log);
            node.configured = last_change(log);
            self.put_in_force(state, me, configuration);
        }
    }

    /// After an action: as published, the log has the configuration.
    pub(super) fn follow_log(&self, state: &mut State, me: NodeId) {
        if self.has_changes() && !self.rules.applied_configuration {
            let configuration = self.configuration(state.node(me).log.entries());
            self.put_in_force(state, me, configuration);
        }
    }

    /// The configuration that a log makes.
    fn configuration(&self, log: &[LogEntry]) -> Configuration {
        changed(Configuration::of_voters(self.voters), log)
    }

    fn put_in_force(&self, state: &mut State, me: NodeId, configuration: Configuration) {
        let node = state.node_mut(me);
        let before = std::mem::replace(&mut node.configuration, configuration);
        if node.role == Role::Leader {
            // Of who joins, a leader knows nothing.
            let joins = |peer: &NodeId| !before.has_member(*peer) && configuration.has_member(*peer);
            for peer in (0..self.nodes).filter(|peer| *peer != me).filter(joins) {
                node.matched[usize::from(peer)] = 0;
                node.next[usize::from(peer)] = node.length() + 1;
            }
        }
        state.marks.reconfigured |= before != configuration;
    }

    /// What a crash takes back: what is applied is on the disk as of its last sync.
    pub(super) fn forget_applied(&self, node: &mut NodeState) {
        if self.has_changes() && self.rules.applied_configuration {
            node.configured = node.disk.configured;
            node.configuration = self.configuration(&node.log.entries()[..node.configured as usize]);
        }
    }

    /// Changes that a leader may propose in a bounded network, as entries: of voters only.
    pub(super) fn changes(&self, leader: &NodeState, each: &mut dyn FnMut(u32)) {
        let voters = leader.configuration.voters;
        let mut offer = |change: Change| {
            if self.may_take(leader, change.value()).is_ok() {
                each(change.value());
            }
        };
        let all = Configuration::of_voters(self.nodes).voters;
        match self.rules.membership {
            Membership::Off => {}
            _ if self.rules.whole_configurations => {
                let sets = (1..=all).flat_map(|voters| (0..=all).map(move |outgoing| (voters, outgoing)));
                for (voters, outgoing) in sets.filter(|(voters, outgoing)| voters != outgoing) {
                    let learners = all & !(voters | outgoing);
                    let new = Configuration { voters, outgoing, learners, ..Configuration::default() };
                    if new != leader.configuration {
                        offer(Change::whole(new));
                    }
                }
            }
            Membership::Single => {
                for node in 0..self.nodes {
                    let votes = leader.configuration.has_voter(node);
                    let change = if votes { Change::removes(node) } else { Change::adds(node) };
                    if leader.configuration.after(change).is_some() {
                        offer(change);
                    }
                }
            }
            Membership::Joint => {
                let kind = ChangeKind::Enter { leaves_itself: false };
                for new in (1..=all).filter(|new| *new != voters) {
                    offer(Change { voters: new & !voters, learners: 0, removed: voters & !new, kind });
                }
                offer(Change::leaves());
            }
        }
    }

    /// The next change that a node may apply.
    pub(super) fn next_change(&self, node: &NodeState, me: NodeId) -> Option<Action> {
        let is_due = self.has_changes() && self.rules.applied_configuration;
        let log = &node.log.entries()[..if is_due { node.commit as usize } else { 0 }];
        change_in(log, node.configured).map(|index| Action::Reconfigure { node: me, index })
    }
}

impl State {
    /// Sets the configuration of `node` from what was seen of an implementation: what it goes by, and up to where it has
    /// applied its log. It counts as being on the disk.
    pub fn resync_configuration(&mut self, node: NodeId, seen: Configuration, applied: u32) {
        let it = self.node_mut(node);
        let reached = applied.min(it.log.len()) as usize;
        it.configuration = seen;
        it.configured = last_change(&it.log.entries()[..reached]);
        it.disk.configured = it.configured;
    }
}

/// The index of the first change behind an index of a log.
fn change_in(log: &[LogEntry], behind: u32) -> Option<u32> {
    let rest = log.get(behind as usize..)?;
    rest.iter().position(|entry| Change::of(entry.value).is_some()).map(|at| behind + at as u32 + 1)
}

/// The index of the last change of a log; 0 where there is none.
fn last_change(log: &[LogEntry]) -> u32 {
    let is_change = |entry: &LogEntry| Change::of(entry.value).is_some();
    log.iter().rposition(is_change).map_or(0, |at| at as u32 + 1)
}

/// The configuration after the entries of a log. A change that the configuration does not allow is none, at every node.
fn changed(before: Configuration, log: &[LogEntry]) -> Configuration {
    let changes = log.iter().filter_map(|entry| Change::of(entry.value));
    changes.fold(before, |configuration, change| configuration.after(change).unwrap_or(configuration))
}

#[cfg(test)]
mod tests;

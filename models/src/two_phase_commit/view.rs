//! How the state is shown and what the lens presets read of it.

use super::{Coordinator, ResourceManager, State};
use crate::presets::{Detail, Inbox, WaitingMessage, Whole};
use crate::{Fields, LogRelation, NodeId, Replica, Replicas, StableHasher};
use std::fmt::{Display, Formatter, Result};
use std::hash::Hasher;

impl Coordinator {
    /// The name in files and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::Committed => "committed",
            Self::Aborted => "aborted",
        }
    }
}

impl ResourceManager {
    /// The name in files and on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Prepared => "prepared",
            Self::Committed => "committed",
            Self::Aborted => "aborted",
        }
    }
}

/// The nodes of a state for which `has` holds, as `{n2,n3}`.
struct Nodes<'a> {
    state: &'a State,
    first: NodeId,
    has: fn(&State, NodeId) -> bool,
}

impl Display for Nodes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("{")?;
        let mut separator = "";
        for node in self.first..=self.state.resource_managers() {
            if (self.has)(self.state, node) {
                write!(f, "{separator}n{}", node + 1)?;
                separator = ",";
            }
        }
        f.write_str("}")
    }
}

/// The decisions that were sent: at most one.
fn outcomes(state: &State) -> &'static str {
    match (state.sent_commit(), state.sent_abort()) {
        (false, false) => "{}",
        (true, false) => "{Commit}",
        (false, true) => "{Abort}",
        (true, true) => "{Commit,Abort}",
    }
}

/// Text counts nodes from 1: the coordinator is `n1`.
impl Fields for State {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        let nodes = |first, has| Nodes { state: self, first, has };
        visit("n1.state", &self.coordinator().name());
        visit("n1.received", &nodes(1, Self::received));
        for rm in 1..=self.resource_managers() {
            visit(&format!("n{}.state", rm + 1), &self.resource_manager(rm).name());
        }
        visit("sent.prepared", &nodes(1, Self::sent_prepared));
        visit("sent.outcome", &outcomes(self));
        visit("down", &nodes(0, |state, node| !state.up(node)));
        visit("in-doubt", &nodes(1, Self::in_doubt));
    }
}

impl State {
    /// The decision that a node knows of, as its log of no or one entry.
    fn decision(&self, node: NodeId) -> Coordinator {
        if node == 0 {
            return self.coordinator();
        }
        match self.resource_manager(node) {
            ResourceManager::Committed => Coordinator::Committed,
            ResourceManager::Aborted => Coordinator::Aborted,
            ResourceManager::Working | ResourceManager::Prepared => Coordinator::Undecided,
        }
    }
}

/// Role: how far a resource manager has come (0 to 3, 4 in doubt) or the coordinator (5 to 7). The log is the
/// decision; there are no terms. `length` is the number of resource managers that a node knows to be prepared.
impl Replicas for State {
    fn count(&self) -> NodeId {
        self.resource_managers() + 1
    }

    fn replica(&self, node: NodeId) -> Replica {
        let (role, length) = if node == 0 {
            let received = (1..=self.resource_managers()).filter(|rm| self.received(*rm)).count();
            (5 + self.coordinator() as u8, received as u64)
        } else if self.in_doubt(node) {
            (4, 1)
        } else {
            (self.resource_manager(node) as u8, u64::from(self.sent_prepared(node)))
        };
        let commit = u64::from(self.decision(node) != Coordinator::Undecided);
        Replica { up: self.up(node), role, term: 0, log_term: 0, length, commit }
    }

    fn logs(&self, a: NodeId, b: NodeId) -> LogRelation {
        match (self.decision(a), self.decision(b)) {
            (a, b) if a == b => LogRelation::Equal,
            (Coordinator::Undecided, _) | (_, Coordinator::Undecided) => LogRelation::Prefix,
            _ => LogRelation::DecidedConflict,
        }
    }
}

/// A message waits until its receiver has acted on it. Kinds: 0 Prepared, 1 Commit, 2 Abort.
impl Inbox for State {
    fn waiting(&self, to: NodeId, each: &mut dyn FnMut(WaitingMessage)) {
        let mut message = |kind| each(WaitingMessage { kind, newer: false, index: 1 });
        let undecided = self.decision(to) == Coordinator::Undecided;
        if to == 0 {
            let unread = |rm: &NodeId| undecided && self.sent_prepared(*rm) && !self.received(*rm);
            (1..=self.resource_managers()).filter(unread).for_each(|_| message(0));
        } else if undecided {
            [(1, self.sent_commit()), (2, self.sent_abort())]
                .into_iter()
                .filter(|(_, sent)| *sent)
                .for_each(|(kind, _)| message(kind));
        }
    }
}

/// `message` is what the protocol's variables say; `detailed` adds who is down and who is in doubt.
impl Whole for State {
    fn digest(&self, detail: Detail, hasher: &mut StableHasher) {
        hasher.write_u8(self.resource_managers());
        hasher.write_u8(self.coordinator() as u8);
        hasher.write_u8(u8::from(self.sent_commit()) | u8::from(self.sent_abort()) << 1);
        for rm in 1..=self.resource_managers() {
            let sent = u8::from(self.sent_prepared(rm)) | u8::from(self.received(rm)) << 1;
            hasher.write_u8((self.resource_manager(rm) as u8) << 2 | sent);
        }
        if detail == Detail::Detailed {
            for node in 0..self.count() {
                hasher.write_u8(u8::from(self.up(node)) | u8::from(self.in_doubt(node)) << 1);
            }
        }
    }
}

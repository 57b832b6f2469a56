//! The view of a node: what oracles, lenses and reports see.

use crate::entry::{KEYS_MAX, Value};
use crate::log::Base;
use crate::node::{Node, Role};
use crate::store::Trouble;
use misrule_world::{Fields, NodeId};
use std::fmt::{self, Display};

/// What is seen of a node. Of a stopped one only why it is.
#[derive(Debug, Default)]
pub struct View {
    /// What it does.
    pub role: Role,
    /// The newest term that it knows of.
    pub term: u32,
    /// Whom it votes for in that term.
    pub vote: Option<NodeId>,
    /// Who leads, as far as it knows.
    pub leader: Option<NodeId>,
    /// The last entry that its log does not have any more: where its snapshot is.
    pub base: Base,
    /// The digests of the log behind the base, one an entry.
    pub digests: Vec<u64>,
    /// Term of the last entry.
    pub last_term: u32,
    /// Index up to which the log is on its disk for sure.
    pub durable: u64,
    /// Index up to which the log is committed.
    pub commit: u64,
    /// The last entry that was applied.
    pub applied: Base,
    /// Index of the last entry whose client it has answered since it started.
    pub acknowledged: u64,
    /// Index up to which a follower has the leader's log and has not said so.
    pub owed: u64,
    /// The newest call that has taken effect.
    pub called: u32,
    /// Values of the keys.
    pub values: [Value; KEYS_MAX],
    /// How many keys there are.
    pub keys: u8,
    /// Why it is stopped.
    pub trouble: Option<Trouble>,
}

impl Clone for View {
    fn clone(&self) -> Self {
        let mut view = Self::default();
        view.clone_from(self);
        view
    }

    /// Keeps the memory of the digests.
    fn clone_from(&mut self, from: &Self) {
        let mut digests = std::mem::take(&mut self.digests);
        digests.clone_from(&from.digests);
        *self = Self { digests, trouble: from.trouble.clone(), ..*from };
    }
}

impl View {
    pub(crate) fn show(&mut self, node: &Node, keys: u8) {
        self.role = node.role;
        (self.term, self.vote, self.leader) = (node.promise.term, node.promise.vote, node.leader);
        self.base = node.log.base();
        self.digests.clear();
        self.digests.extend_from_slice(node.log.digests());
        self.last_term = node.log.last_term();
        (self.durable, self.commit, self.applied) = (node.durable, node.commit, node.machine.at);
        (self.acknowledged, self.owed) = (node.acknowledged, node.owed);
        self.called = node.machine.sessions.iter().map(|session| session.number).max().unwrap_or(0);
        (self.values, self.keys) = (node.machine.values, keys);
        if self.trouble.is_some() {
            self.trouble = None;
        }
    }

    pub(crate) fn show_trouble(&mut self, trouble: &Trouble) {
        let mut digests = std::mem::take(&mut self.digests);
        digests.clear();
        *self = Self { role: Role::Stopped, digests, trouble: Some(trouble.clone()), ..Self::default() };
    }

    /// The index of the last entry.
    pub fn last(&self) -> u64 {
        self.base.index + self.digests.len() as u64
    }

    /// The digest of the log up to the index; of the base too.
    pub fn digest(&self, index: u64) -> Option<u64> {
        match index.checked_sub(self.base.index)? {
            0 => Some(self.base.digest),
            behind => self.digests.get(behind as usize - 1).copied(),
        }
    }
}

/// A node, counted from 1, or `-`.
struct Maybe(Option<NodeId>);

impl Display for Maybe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("-"),
            Some(node) => write!(f, "{}", node + 1),
        }
    }
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("role", &self.role.word());
        if let Some(trouble) = &self.trouble {
            return visit("trouble", trouble);
        }
        visit("term", &self.term);
        visit("vote", &Maybe(self.vote));
        visit("leader", &Maybe(self.leader));
        visit("snapshot", &self.base.index);
        visit("log", &self.last());
        visit("log-digest", &format_args!("{:08x}", self.digest(self.last()).unwrap_or_default() as u32));
        visit("durable", &self.durable);
        visit("commit", &self.commit);
        visit("applied", &self.applied.index);
        visit("acknowledged", &self.acknowledged);
        visit("owed", &self.owed);
        visit("keys", &format_args!("{:?}", &self.values[..usize::from(self.keys)]));
    }
}

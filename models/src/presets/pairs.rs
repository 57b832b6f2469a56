//! `pairs`: for each pair of nodes, up or down, roles, the relations of term, last-log term, length and
//! commit, and how the logs relate.

use crate::{Key, KeyWriter, Lens, NodeId};

/// What the presets read of one node. Numbers are compared, never put into a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    /// Whether the node runs.
    pub up: bool,
    /// Role and phase, below 8; 0 for protocols without roles.
    pub role: u8,
    /// Term or ballot, as an ordered number.
    pub term: u64,
    /// Term or ballot of the last entry, or of the round in which the log was accepted.
    pub log_term: u64,
    /// Length of the log.
    pub length: u64,
    /// Length of the log's decided prefix.
    pub commit: u64,
}

/// How two logs relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogRelation {
    /// The same entries.
    Equal,
    /// One is a proper prefix of the other.
    Prefix,
    /// They differ at some index.
    Conflict,
    /// They differ at an index that one of them has decided.
    DecidedConflict,
}

/// A cluster as the presets see it.
pub trait Replicas {
    /// How many nodes, at most 64.
    fn count(&self) -> NodeId;
    /// What the presets read of `node`.
    fn replica(&self, node: NodeId) -> Replica;
    /// How the logs of two nodes relate; constant time where logs carry running prefix hashes.
    fn logs(&self, a: NodeId, b: NodeId) -> LogRelation;
}

/// The lens `pairs`. A key has 18 bits: 4 + 4 for up and role, 2 for each of four relations, 2 for the logs;
/// it is the smaller of the two orders of the pair, so that (a, b) and (b, a) share a key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairs;

impl<V: Replicas + ?Sized> Lens<V> for Pairs {
    #[inline]
    fn keys(&self, view: &V, touched: u64, out: &mut Vec<Key>) {
        each_pair(view, touched, out, pair);
    }
}

/// Appends a key for each pair with a touched node: the smaller of the codes of its two orders.
#[inline]
pub(super) fn each_pair<V: Replicas + ?Sized>(
    view: &V,
    touched: u64,
    out: &mut Vec<Key>,
    code: impl Fn(&Replica, &Replica, u64) -> u64,
) {
    for a in 0..view.count() {
        if touched & (1 << a) == 0 {
            continue;
        }
        let left = view.replica(a);
        for b in 0..view.count() {
            // A pair with both ends touched is emitted once.
            if a == b || (touched & (1 << b) != 0 && b < a) {
                continue;
            }
            let right = view.replica(b);
            let logs = view.logs(a, b) as u64;
            let code = code(&left, &right, logs).min(code(&right, &left, logs));
            out.push(Key { lens: 0, facet: 0, code });
        }
    }
}

fn pair(a: &Replica, b: &Replica, logs: u64) -> u64 {
    let mut key = KeyWriter::default();
    key.put(u64::from(a.up), 1).put(u64::from(a.role), 3);
    key.put(u64::from(b.up), 1).put(u64::from(b.role), 3);
    key.relation(&a.term, &b.term).relation(&a.log_term, &b.log_term);
    key.relation(&a.length, &b.length).relation(&a.commit, &b.commit);
    key.put(logs, 2);
    key.code()
}

//! The menu: what can be chosen now, as counts and bit sets kept up to date.

use crate::choice::Choice;
use crate::contract::Contract;
use crate::vocabulary::{Argument, Keyed, Vocabulary};
use misrule_models::NodeId;

/// What a world can do next. Kept up to date step by step; nothing is listed unless a person asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// How many nodes.
    pub nodes: NodeId,
    /// The contract of the run.
    pub contract: Contract,
    /// Bit set of nodes that run.
    pub up: u64,
    /// For each link (`from * nodes + to`), how many messages could be delivered now.
    pub deliverable: Vec<u16>,
    /// Sum of `deliverable`.
    pub waiting: u32,
    /// For each link, whether it is cut.
    pub cut: Vec<bool>,
    /// How many links are cut.
    pub cuts: u32,
    /// For each link, whether it is clogged; it may be cut too.
    pub clogged: Vec<bool>,
    /// How many links are clogged.
    pub clogs: u32,
    /// For each node, bit set of timers that may fire now: those that are set, and where the contract has a clock, those
    /// whose turn it is.
    pub timers: Vec<u32>,
    /// How many timers may fire now, all nodes together.
    pub timers_set: u32,
    /// For each node, bit set of enabled local steps.
    pub locals: Vec<u32>,
    /// Sum of enabled local steps of all nodes.
    pub locals_enabled: u32,
    /// For each node, units of its disk that a crash now may lose: records of the log, blocks of writes, changes
    /// of length and of names.
    pub unsynced: Vec<u16>,
    /// For each node, disk operations of its last call that did any; reads do not count. As many crash points that
    /// call had.
    pub changes: Vec<u16>,
    /// Bit set of nodes that keep files. Only there are crash points and disk outcomes drawn.
    pub files: u64,
    /// Media faults of disks that operations have met, all nodes together.
    pub media_faults: u32,
    /// For each operation of the workload, its weight and argument.
    pub operations: Vec<(u16, Argument)>,
    /// For each draw, the bound of its values.
    pub draws: Vec<u32>,
    /// The next value that no request used.
    pub fresh: u32,
    /// How many sessions there are.
    pub sessions: u8,
    /// Bit set of sessions that have a call open.
    pub sessions_waiting: u64,
    /// For each key of [`Argument::Keyed`], the value that was last asked to be put there; 0 where none was.
    pub recent: Vec<u16>,
}

impl Menu {
    pub(crate) fn new(vocabulary: &Vocabulary, contract: Contract) -> Self {
        let nodes = usize::from(vocabulary.nodes);
        Self {
            nodes: vocabulary.nodes,
            contract,
            up: 0,
            deliverable: vec![0; nodes * nodes],
            waiting: 0,
            cut: vec![false; nodes * nodes],
            cuts: 0,
            clogged: vec![false; nodes * nodes],
            clogs: 0,
            timers: vec![0; nodes],
            timers_set: 0,
            locals: vec![0; nodes],
            locals_enabled: 0,
            unsynced: vec![0; nodes],
            changes: vec![0; nodes],
            files: 0,
            media_faults: 0,
            operations: vocabulary.operations.iter().map(|o| (o.weight, o.argument)).collect(),
            draws: vocabulary.draws.iter().map(|d| d.below).collect(),
            fresh: 1,
            sessions: vocabulary.sessions,
            sessions_waiting: 0,
            recent: vec![0; vocabulary.operations.iter().map(|o| o.argument.keys()).max().unwrap_or(0)],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.up = 0;
        self.deliverable.fill(0);
        self.waiting = 0;
        self.cut.fill(false);
        self.cuts = 0;
        self.clogged.fill(false);
        self.clogs = 0;
        self.timers.fill(0);
        self.timers_set = 0;
        self.locals.fill(0);
        self.locals_enabled = 0;
        self.unsynced.fill(0);
        self.changes.fill(0);
        self.files = 0;
        self.media_faults = 0;
        self.fresh = 1;
        self.sessions_waiting = 0;
        self.recent.fill(0);
    }

    /// Whether `node` runs.
    pub fn is_up(&self, node: NodeId) -> bool {
        node < self.nodes && self.up & (1 << node) != 0
    }

    /// The choice, without the units that a crash keeps and that are not there, and from a session that is free: what
    /// a changed schedule may still mean.
    #[must_use]
    pub fn fitted(&self, choice: Choice) -> Choice {
        match choice {
            Choice::Crash { node, keep } if node < self.nodes => {
                Choice::Crash { node, keep: keep.within(self.unsynced[usize::from(node)]) }
            }
            Choice::Request { node, operation, argument, session } if self.is_waiting(session) => {
                let session = nth_bit(self.sessions_free(), 0).unwrap_or(session);
                Choice::Request { node, operation, argument, session }
            }
            other => other,
        }
    }

    /// Bit set of sessions that have no call open.
    pub fn sessions_free(&self) -> u64 {
        let all = u64::MAX.checked_shr(64 - u32::from(self.sessions)).unwrap_or(0);
        all & !self.sessions_waiting
    }

    /// Whether there is such a session, and it has a call open.
    pub fn is_waiting(&self, session: u8) -> bool {
        session < self.sessions && self.sessions_waiting & (1 << session) != 0
    }

    pub(crate) fn set_waits(&mut self, session: u8, waits: bool) {
        let bit = 1 << session;
        self.sessions_waiting =
            if waits { self.sessions_waiting | bit } else { self.sessions_waiting & !bit };
    }

    /// Takes note of the values that a request uses.
    pub(crate) fn note_argument(&mut self, operation: u8, argument: u32) {
        let mut value = argument;
        if let Some((_, Argument::Keyed { .. })) = self.operations.get(usize::from(operation)) {
            let keyed = Keyed::of(argument);
            value = u32::from(keyed.value);
            if let Some(recent) = self.recent.get_mut(usize::from(keyed.key)).filter(|_| keyed.value > 0) {
                *recent = keyed.value;
            }
        }
        self.fresh = self.fresh.max(value.saturating_add(1));
    }

    /// The position of a link in `deliverable`, `cut` and `clogged`.
    pub fn link(&self, from: NodeId, to: NodeId) -> usize {
        usize::from(from) * usize::from(self.nodes) + usize::from(to)
    }

    /// The last position on a link from which a message may be delivered now, counted from 1; 0 where none may.
    pub fn reach(&self, from: NodeId, to: NodeId) -> u16 {
        self.deliverable[self.link(from, to)].min(self.contract.reach())
    }

    /// Bit set of all nodes.
    pub fn all_nodes(&self) -> u64 {
        u64::MAX >> (64 - u32::from(self.nodes))
    }

    /// Sender and receiver of the link at a position, as [`Menu::link`] counts.
    pub fn ends(&self, link: usize) -> (NodeId, NodeId) {
        let nodes = usize::from(self.nodes);
        ((link / nodes) as NodeId, (link % nodes) as NodeId)
    }

    /// The `number`-th running node, counted from 0, or `None` when fewer run.
    pub fn nth_up(&self, number: u32) -> Option<NodeId> {
        nth_bit(self.up, number)
    }

    #[inline]
    pub(crate) fn set_timers(&mut self, node: NodeId, timers: u32, locals: u32) {
        let at = usize::from(node);
        // What most steps find: a replica that sets its timer again, or none.
        if self.timers[at] == timers && self.locals[at] == locals {
            return;
        }
        replace(&mut self.timers[at], timers, &mut self.timers_set);
        replace(&mut self.locals[at], locals, &mut self.locals_enabled);
    }

    /// One message more can be delivered.
    #[inline]
    pub(crate) fn add_deliverable(&mut self, link: usize) {
        self.deliverable[link] += 1;
        self.waiting += 1;
    }

    #[inline]
    pub(crate) fn set_deliverable(&mut self, link: usize, count: u16) {
        self.waiting = self.waiting + u32::from(count) - u32::from(self.deliverable[link]);
        self.deliverable[link] = count;
    }
}

/// Replaces a bit set and keeps the sum over all sets up to date. Few bits differ, so that looking at each is
/// cheaper than counting all.
fn replace(set: &mut u32, with: u32, sum: &mut u32) {
    let mut differ = *set ^ with;
    while differ != 0 {
        let bit = differ & differ.wrapping_neg();
        if with & bit != 0 {
            *sum += 1;
        } else {
            *sum -= 1;
        }
        differ ^= bit;
    }
    *set = with;
}

/// The positions of the bits of a set, in order.
pub fn bits(set: impl Into<u64>) -> impl Iterator<Item = u8> {
    let mut set = set.into();
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as u8)?;
        set &= set - 1;
        Some(bit)
    })
}

/// The position of the `number`-th set bit, counted from 0.
pub fn nth_bit(mut bits: u64, number: u32) -> Option<u8> {
    for _ in 0..number {
        bits &= bits.wrapping_sub(1);
    }
    if bits == 0 { None } else { Some(bits.trailing_zeros() as u8) }
}

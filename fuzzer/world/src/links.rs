//! Links: the messages that wait between nodes.

use crate::choice::Slot;
use misrule_models::NodeId;
use std::collections::VecDeque;

/// One direction of a link. Messages stay where they are; only their order moves.
#[derive(Clone, Debug)]
struct Link<M> {
    order: VecDeque<u16>,
    slab: Vec<Option<(M, u8)>>,
    free: Vec<u16>,
}

/// All links of a world.
#[derive(Clone, Debug)]
pub struct Links<M> {
    nodes: NodeId,
    all: Vec<Link<M>>,
    /// For each receiver, bit set of the kinds that this step added or took away.
    changed: Vec<u64>,
    /// Bit set of receivers whose entry in `changed` is not 0: most steps touch none or one.
    receivers: u64,
}

impl<M: Clone> Links<M> {
    pub(crate) fn new(nodes: NodeId) -> Self {
        let link = || Link { order: VecDeque::new(), slab: Vec::new(), free: Vec::new() };
        let all = (0..usize::from(nodes) * usize::from(nodes)).map(|_| link()).collect();
        Self { nodes, all, changed: vec![0; usize::from(nodes)], receivers: 0 }
    }

    pub(crate) fn index(&self, from: NodeId, to: NodeId) -> usize {
        usize::from(from) * usize::from(self.nodes) + usize::from(to)
    }

    pub(crate) fn clear(&mut self) {
        for link in &mut self.all {
            for at in link.order.drain(..) {
                link.slab[usize::from(at)] = None;
                link.free.push(at);
            }
        }
    }

    /// A new step.
    pub(crate) fn start_step(&mut self) {
        while self.receivers != 0 {
            self.changed[self.receivers.trailing_zeros() as usize] = 0;
            self.receivers &= self.receivers - 1;
        }
    }

    /// Which kinds of messages this step added to those that wait for `to`, or took away: bit set of the
    /// vocabulary's kinds, where 63 stands for all kinds from there on.
    pub fn changed_kinds(&self, to: NodeId) -> u64 {
        self.changed[usize::from(to)]
    }

    fn change(&mut self, to: NodeId, kind: u8) {
        self.changed[usize::from(to)] |= 1 << kind.min(63);
        self.receivers |= 1 << to;
    }

    /// How many messages wait on the link.
    pub fn len(&self, from: NodeId, to: NodeId) -> usize {
        self.all[self.index(from, to)].order.len()
    }

    /// Whether nothing waits anywhere.
    pub fn is_empty(&self) -> bool {
        self.all.iter().all(|link| link.order.is_empty())
    }

    /// The messages waiting on the link, in order, with their kinds.
    pub fn waiting(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = (&M, u8)> {
        let link = &self.all[self.index(from, to)];
        link.order.iter().filter_map(|at| link.slab[usize::from(*at)].as_ref().map(|(m, kind)| (m, *kind)))
    }

    /// Puts a message at the end of the link.
    pub(crate) fn push(&mut self, from: NodeId, to: NodeId, message: M, kind: u8) {
        self.change(to, kind);
        let index = self.index(from, to);
        let link = &mut self.all[index];
        let at = if let Some(at) = link.free.pop() {
            link.slab[usize::from(at)] = Some((message, kind));
            at
        } else {
            link.slab.push(Some((message, kind)));
            link.slab.len() as u16 - 1
        };
        link.order.push_back(at);
    }

    /// The kind of the message at `at`, counted from 1.
    pub(crate) fn kind(&self, slot: Slot) -> Option<u8> {
        let link = &self.all[self.index(slot.from, slot.to)];
        let at = *link.order.get(usize::from(slot.at).checked_sub(1)?)?;
        link.slab[usize::from(at)].as_ref().map(|(_, kind)| *kind)
    }

    /// The position, counted from 1, of the first message of `kind`.
    pub(crate) fn first_of_kind(&self, from: NodeId, to: NodeId, kind: u8) -> Option<u16> {
        self.waiting(from, to).position(|(_, found)| found == kind).map(|at| at as u16 + 1)
    }

    /// The message at the slot, which must exist.
    pub(crate) fn get(&self, slot: Slot) -> Option<&M> {
        let link = &self.all[self.index(slot.from, slot.to)];
        let at = *link.order.get(usize::from(slot.at).checked_sub(1)?)?;
        link.slab[usize::from(at)].as_ref().map(|(message, _)| message)
    }

    /// Takes the message at the slot out of the link.
    pub(crate) fn take(&mut self, slot: Slot) -> Option<M> {
        let index = self.index(slot.from, slot.to);
        let link = &mut self.all[index];
        let position = usize::from(slot.at).checked_sub(1)?;
        let at = link.order.remove(position)?;
        link.free.push(at);
        let (message, kind) = link.slab[usize::from(at)].take()?;
        self.change(slot.to, kind);
        Some(message)
    }
}

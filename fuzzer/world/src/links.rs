//! Links: the messages that wait between nodes.

use crate::choice::Slot;
use crate::slab::Slab;
use misrule_models::NodeId;
use std::collections::VecDeque;

/// All links of a world.
#[derive(Debug)]
pub struct Links<M> {
    nodes: NodeId,
    /// What waits, and what is on its way onto a link or off it.
    pub(crate) messages: Slab<M>,
    /// For each link (`from * nodes + to`) what waits there, in order: the message's number and kind.
    all: Vec<VecDeque<(u32, u8)>>,
    /// For each receiver, bit set of the kinds that this step added or took away.
    changed: Vec<u64>,
    /// Bit set of receivers whose entry in `changed` is not 0: most steps touch none or one.
    receivers: u64,
}
crate::clone_in_place!(Links<M> { nodes, messages, all, changed, receivers });

impl<M: Clone> Links<M> {
    pub(crate) fn new(nodes: NodeId) -> Self {
        let all = (0..usize::from(nodes) * usize::from(nodes)).map(|_| VecDeque::new()).collect();
        Self { nodes, messages: Slab::new(), all, changed: vec![0; usize::from(nodes)], receivers: 0 }
    }

    fn index(&self, from: NodeId, to: NodeId) -> usize {
        usize::from(from) * usize::from(self.nodes) + usize::from(to)
    }

    pub(crate) fn clear(&mut self) {
        self.messages.clear();
        self.all.iter_mut().for_each(VecDeque::clear);
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
        self.all[self.index(from, to)].len()
    }

    /// Whether nothing waits anywhere.
    pub fn is_empty(&self) -> bool {
        self.all.iter().all(VecDeque::is_empty)
    }

    /// The messages waiting on the link, in order, with their kinds.
    pub fn waiting(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = (&M, u8)> {
        let link = self.all[self.index(from, to)].iter();
        link.map(|(number, kind)| (self.messages.get(*number), *kind))
    }

    /// Puts a message, by its number, at the end of the link and returns its position, counted from 1; none where so
    /// many wait already.
    #[inline]
    pub(crate) fn push(
        &mut self,
        from: NodeId,
        to: NodeId,
        (number, kind): (u32, u8),
        capacity: u16,
    ) -> Option<u16> {
        let index = self.index(from, to);
        let link = &mut self.all[index];
        if link.len() >= usize::from(capacity) {
            return None;
        }
        link.push_back((number, kind));
        let at = link.len() as u16;
        self.change(to, kind);
        Some(at)
    }

    /// Puts a copy of the message at the slot so many places behind it, or at the end of a shorter link, and returns
    /// the copy's position.
    pub(crate) fn duplicate(&mut self, slot: Slot, within: u16) -> Option<u16> {
        let index = self.index(slot.from, slot.to);
        let link = &mut self.all[index];
        let (number, kind) = *link.get(usize::from(slot.at).checked_sub(1)?)?;
        let copy = self.messages.get(number).clone();
        let before = link.len().min(usize::from(slot.at) - 1 + usize::from(within));
        link.insert(before, (self.messages.insert(copy), kind));
        self.change(slot.to, kind);
        Some(before as u16 + 1)
    }

    /// The kind of the message at the slot; positions count from 1.
    #[inline]
    pub(crate) fn kind(&self, slot: Slot) -> Option<u8> {
        let link = &self.all[self.index(slot.from, slot.to)];
        link.get(usize::from(slot.at).wrapping_sub(1)).map(|(_, kind)| *kind)
    }

    /// The position, counted from 1, of the first message of `kind`.
    #[inline(never)]
    pub(crate) fn first_of_kind(&self, from: NodeId, to: NodeId, kind: u8) -> Option<u16> {
        self.all[self.index(from, to)].iter().position(|(_, found)| *found == kind).map(|at| at as u16 + 1)
    }

    /// Takes the message at the slot off its link and returns its number; it is kept until it is removed.
    #[inline]
    pub(crate) fn take(&mut self, slot: Slot) -> Option<u32> {
        let index = self.index(slot.from, slot.to);
        let link = &mut self.all[index];
        let taken = if slot.at == 1 { link.pop_front() } else { take_within(link, slot.at) };
        let (number, kind) = taken?;
        self.change(slot.to, kind);
        Some(number)
    }
}

/// Takes a message out of the middle of a link.
#[inline(never)]
fn take_within(link: &mut VecDeque<(u32, u8)>, at: u16) -> Option<(u32, u8)> {
    link.remove(usize::from(at).checked_sub(1)?)
}

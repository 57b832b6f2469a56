//! Messages: from a node onto a link, from a link to a node.

use super::World;
use crate::choice::{Choice, ChoiceKind, Slot};
use crate::contract::LinkOrder;
use crate::judge::Judge;
use crate::report::{Effect, Failure, Report};
use crate::system::{Input, System};
use misrule_models::NodeId;

impl<S: System, J: Judge<S>> World<S, J> {
    /// Moves what the node sent onto the links.
    pub(super) fn flush(&mut self, from: NodeId, report: &mut Report) {
        while let Some((to, message)) = self.cx.outbox.pop_front() {
            if self.watch.model {
                self.sends.push((to, message.clone()));
            }
            let kind = self.system.kind(&message);
            if to >= self.vocabulary.nodes {
                self.sent_to_nobody(from, kind, &message, report);
                continue;
            }
            if self.watch.trace {
                self.tell_sent(from, to, &message);
            }
            let link = self.menu.link(from, to);
            if self.menu.cut[link] {
                self.count_cut(link);
            } else if self.links.push(from, to, (message, kind), self.menu.contract.capacity) {
                report.pushed.push((from, to));
                self.touched |= 1 << to;
                if self.menu.is_up(to) {
                    self.menu.add_deliverable(link);
                }
            } else {
                self.overflow += 1;
            }
        }
    }

    #[cold]
    fn sent_to_nobody(&self, from: NodeId, kind: u8, message: &S::Message, report: &mut Report) {
        let name = self.vocabulary.kinds.get(usize::from(kind)).copied().unwrap_or("message");
        let text = format!("node {} sent {name} to a node that does not exist: {message:?}", from + 1);
        let mut failure = Failure::new("unknown-receiver", "receiver-exists", text);
        name.clone_into(&mut failure.detail);
        report.failure.get_or_insert(failure);
    }

    /// Tells of a message that is about to be put onto its link, or lost.
    #[cold]
    fn tell_sent(&mut self, from: NodeId, to: NodeId, message: &S::Message) {
        let lost = if self.menu.cut[self.menu.link(from, to)] {
            " (lost: link is cut)"
        } else if self.links.len(from, to) >= usize::from(self.menu.contract.capacity) {
            " (lost: link is full)"
        } else {
            ""
        };
        self.recorder.effect(format!("sent {}->{} {message:?}{lost}", from + 1, to + 1));
    }

    /// Takes a message off its link for its receiver.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        slot: Slot,
        report: &mut Report,
    ) -> Result<(NodeId, Input<S::Message>), Effect> {
        let slot = self.resolve(slot)?;
        report.choice = Choice::Deliver(slot);
        if !self.menu.is_up(slot.to) {
            return Err(Effect::Skipped("the receiver is down"));
        }
        let link = self.menu.link(slot.from, slot.to);
        if self.menu.cut[link] {
            return Err(Effect::Skipped("the link is cut"));
        }
        let Some(message) = self.links.take(slot) else { return Err(Effect::Skipped("no such message")) };
        self.menu.set_deliverable(link, self.menu.deliverable[link] - 1);
        if self.watch.trace {
            self.tell_taken("got", slot, &message);
        }
        Ok((slot.to, Input::Message { from: slot.from, message }))
    }

    #[cold]
    fn tell_taken(&mut self, verb: &str, slot: Slot, message: &S::Message) {
        self.recorder.effect(format!("{verb} {}->{} {message:?}", slot.from + 1, slot.to + 1));
    }

    pub(super) fn lose(&mut self, slot: Slot, report: &mut Report) -> Result<Option<NodeId>, Effect> {
        let slot = self.resolve(slot)?;
        report.choice = Choice::Drop(slot);
        let message = self.links.take(slot).ok_or(Effect::Skipped("no such message"))?;
        self.touched |= 1 << slot.to;
        self.refresh(slot.from, slot.to);
        if self.watch.trace {
            self.tell_taken("lost", slot, &message);
        }
        Ok(None)
    }

    pub(super) fn duplicate(&mut self, slot: Slot, report: &mut Report) -> Result<Option<NodeId>, Effect> {
        let slot = self.resolve(slot)?;
        report.choice = Choice::Duplicate(slot);
        let copy = self.links.get(slot).cloned().ok_or(Effect::Skipped("no such message"))?;
        if !self.links.push(slot.from, slot.to, copy, self.menu.contract.capacity) {
            return Err(Effect::Skipped("the link is full"));
        }
        self.touched |= 1 << slot.to;
        report.pushed.push((slot.from, slot.to));
        self.refresh(slot.from, slot.to);
        Ok(None)
    }

    /// The slot with its position and the kind that stands there.
    #[inline]
    fn resolve(&self, mut slot: Slot) -> Result<Slot, Effect> {
        if slot.from >= self.vocabulary.nodes || slot.to >= self.vocabulary.nodes {
            return Err(Effect::Skipped("no such node"));
        }
        if slot.at == Slot::FIRST_OF_KIND {
            slot.at = self
                .links
                .first_of_kind(slot.from, slot.to, slot.kind)
                .ok_or(Effect::Skipped("no such message"))?;
        }
        if slot.at > 1 && self.menu.contract.order == LinkOrder::Fifo {
            return Err(Effect::Skipped("the contract keeps the order of links"));
        }
        let Some((_, found)) = self.links.get(slot) else { return Err(Effect::Skipped("no such message")) };
        if slot.kind != Slot::ANY_KIND && slot.kind != *found {
            return Err(Effect::Drift { found: *found });
        }
        Ok(Slot { kind: *found, ..slot })
    }

    pub(super) fn count_cut(&mut self, link: usize) {
        if !std::mem::replace(&mut self.cut_counted[link], true) {
            self.faults[ChoiceKind::Cut as usize].applied += 1;
        }
    }

    /// Updates the menu for a link whose queue, cut or receiver changed.
    pub(super) fn refresh(&mut self, from: NodeId, to: NodeId) {
        let link = self.menu.link(from, to);
        let open = self.menu.is_up(to) && !self.menu.cut[link];
        let count = if open { self.links.len(from, to) as u16 } else { 0 };
        self.menu.set_deliverable(link, count);
    }

    pub(super) fn cut(&mut self, from: NodeId, to: NodeId, cut: bool) {
        let link = self.menu.link(from, to);
        if cut {
            self.menu.cuts += 1;
            self.cut_counted[link] = false;
            self.menu.cut[link] = true;
            if self.links.len(from, to) > 0 {
                self.count_cut(link);
            }
        } else {
            self.menu.cuts -= 1;
            self.menu.cut[link] = false;
            self.faults[ChoiceKind::Heal as usize].applied += u64::from(self.cut_counted[link]);
        }
        self.refresh(from, to);
    }
}

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
        let mut outbox = std::mem::take(&mut self.cx.outbox);
        for (to, number) in outbox.drain(..) {
            let message = self.cx.links.messages.get(number);
            if self.watch.model {
                self.sends.push((to, message.clone()));
            }
            let kind = self.system.kind(message);
            if to >= self.vocabulary.nodes {
                self.sent_to_nobody(from, kind, number, report);
                continue;
            }
            if self.watch.trace {
                self.tell_sent(from, to, number);
            }
            let link = self.menu.link(from, to);
            if self.menu.cut[link] {
                self.cx.links.messages.take(number);
                self.count_cut(link);
            } else if let Some(at) = self.cx.links.push(from, to, (number, kind), self.menu.contract.capacity)
            {
                report.pushed.push((from, to, at));
                self.touched |= 1 << to;
                if let Some(clock) = &mut self.clock {
                    clock.sent(link, at);
                }
                if self.menu.clogs > 0 && self.menu.clogged[link] {
                    self.count_clog(link);
                } else if self.menu.is_up(to) {
                    self.menu.add_deliverable(link);
                }
            } else {
                self.cx.links.messages.take(number);
                self.overflow += 1;
            }
        }
        self.cx.outbox = outbox;
    }

    #[cold]
    fn sent_to_nobody(&mut self, from: NodeId, kind: u8, number: u32, report: &mut Report) {
        let message = self.cx.links.messages.take(number);
        let name = self.vocabulary.kinds.get(usize::from(kind)).copied().unwrap_or("message");
        let text = format!("node {} sent {name} to a node that does not exist: {message:?}", from + 1);
        let mut failure = Failure::new("unknown-receiver", "receiver-exists", text);
        name.clone_into(&mut failure.detail);
        report.failure.get_or_insert(failure);
    }

    /// Tells of a message that is about to be put onto its link, or lost.
    #[cold]
    fn tell_sent(&mut self, from: NodeId, to: NodeId, number: u32) {
        let lost = if self.menu.cut[self.menu.link(from, to)] {
            " (lost: link is cut)"
        } else if self.cx.links.len(from, to) >= usize::from(self.menu.contract.capacity) {
            " (lost: link is full)"
        } else {
            ""
        };
        let message = self.cx.links.messages.get(number);
        self.recorder.effect(format!("sent {}->{} {message:?}{lost}", from + 1, to + 1));
    }

    /// Takes a message off its link for its receiver; the input has its number.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        slot: Slot,
        report: &mut Report,
    ) -> Result<(NodeId, Input<u32>), Effect> {
        let slot = self.resolve(slot)?;
        report.choice = Choice::Deliver(slot);
        let link = self.menu.link(slot.from, slot.to);
        // The message is there: only the receiver or the link can be in the way.
        if self.menu.deliverable[link] == 0 {
            return Err(Effect::Skipped(self.in_the_way(slot.to, link)));
        }
        let Some(number) = self.cx.links.take(slot) else { return Err(Effect::Skipped("no such message")) };
        if let Some(clock) = &mut self.clock {
            clock.taken(link, slot.at);
        }
        self.menu.set_deliverable(link, self.menu.deliverable[link] - 1);
        if self.watch.trace {
            self.tell_taken("got", slot, number);
        }
        Ok((slot.to, Input::Message { from: slot.from, message: number }))
    }

    #[cold]
    fn in_the_way(&self, to: NodeId, link: usize) -> &'static str {
        if !self.menu.is_up(to) {
            "the receiver is down"
        } else if self.menu.cut[link] {
            "the link is cut"
        } else {
            "the link is clogged"
        }
    }

    #[cold]
    fn tell_taken(&mut self, verb: &str, slot: Slot, number: u32) {
        let message = self.cx.links.messages.get(number);
        self.recorder.effect(format!("{verb} {}->{} {message:?}", slot.from + 1, slot.to + 1));
    }

    pub(super) fn lose(&mut self, slot: Slot, report: &mut Report) -> Result<Option<NodeId>, Effect> {
        let slot = self.resolve(slot)?;
        report.choice = Choice::Drop(slot);
        let number = self.cx.links.take(slot).ok_or(Effect::Skipped("no such message"))?;
        if let Some(clock) = &mut self.clock {
            clock.taken(self.menu.link(slot.from, slot.to), slot.at);
        }
        self.touched |= 1 << slot.to;
        self.refresh(slot.from, slot.to);
        if self.watch.trace {
            self.tell_taken("lost", slot, number);
        }
        self.cx.links.messages.take(number);
        Ok(None)
    }

    pub(super) fn duplicate(&mut self, slot: Slot, report: &mut Report) -> Result<Option<NodeId>, Effect> {
        let slot = self.resolve(slot)?;
        report.choice = Choice::Duplicate(slot);
        if self.cx.links.len(slot.from, slot.to) >= usize::from(self.menu.contract.capacity) {
            return Err(Effect::Skipped("the link is full"));
        }
        let within = self.menu.contract.duplicate_within;
        let at = self.cx.links.duplicate(slot, within).ok_or(Effect::Skipped("no such message"))?;
        self.touched |= 1 << slot.to;
        report.pushed.push((slot.from, slot.to, at));
        if let Some(clock) = &mut self.clock {
            clock.sent(self.menu.link(slot.from, slot.to), at);
        }
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
                .cx
                .links
                .first_of_kind(slot.from, slot.to, slot.kind)
                .ok_or(Effect::Skipped("no such message"))?;
        }
        if slot.at > 1 && slot.at > self.menu.contract.reach() {
            return Err(Effect::Skipped(match self.menu.contract.order {
                LinkOrder::Fifo => "the contract keeps the order of links",
                LinkOrder::Reorder => "the contract does not let a message overtake so many",
            }));
        }
        let Some(found) = self.cx.links.kind(slot) else { return Err(Effect::Skipped("no such message")) };
        if slot.kind != Slot::ANY_KIND && slot.kind != found {
            return Err(Effect::Drift { found });
        }
        Ok(Slot { kind: found, ..slot })
    }

    pub(super) fn count_cut(&mut self, link: usize) {
        if !std::mem::replace(&mut self.cut_counted[link], true) {
            self.faults[ChoiceKind::Cut as usize].applied += 1;
        }
    }

    /// Updates the menu for a link whose queue, cut, clog or receiver changed.
    pub(super) fn refresh(&mut self, from: NodeId, to: NodeId) {
        let link = self.menu.link(from, to);
        let open = self.menu.is_up(to) && !self.menu.cut[link] && !self.menu.clogged[link];
        let count = if open { self.cx.links.len(from, to) as u16 } else { 0 };
        self.menu.set_deliverable(link, count);
    }

    pub(super) fn cut(&mut self, from: NodeId, to: NodeId, cut: bool) {
        let link = self.menu.link(from, to);
        if cut {
            self.menu.cuts += 1;
            self.cut_counted[link] = false;
            self.menu.cut[link] = true;
            if self.cx.links.len(from, to) > 0 {
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

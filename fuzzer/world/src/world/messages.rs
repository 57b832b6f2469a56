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
        if !self.cx.draws.made.is_empty() {
            self.count_draws();
        }
        if self.cx.outbox.is_empty() {
            return;
        }
        let mut outbox = std::mem::take(&mut self.cx.outbox);
        for (to, message) in outbox.drain(..) {
            if self.watch.model {
                self.sends.push((to, message.clone()));
            }
            let kind = self.system.kind(&message);
            if to >= self.vocabulary.nodes {
                let name = self.vocabulary.kinds.get(usize::from(kind)).copied().unwrap_or("message");
                let text =
                    format!("node {} sent {name} to a node that does not exist: {message:?}", from + 1);
                let mut failure = Failure::new("unknown-receiver", "receiver-exists", text);
                name.clone_into(&mut failure.detail);
                report.failure.get_or_insert(failure);
                continue;
            }
            let link = self.menu.link(from, to);
            let lost = if self.menu.cut[link] {
                self.count_cut(link);
                " (lost: link is cut)"
            } else if self.links.len(from, to) >= usize::from(self.menu.contract.capacity) {
                self.overflow += 1;
                " (lost: link is full)"
            } else {
                ""
            };
            if self.watch.trace {
                self.recorder.effect(format!("sent {}->{} {message:?}{lost}", from + 1, to + 1));
            }
            if lost.is_empty() {
                self.links.push(from, to, message, kind);
                report.pushed.push((from, to));
                self.touched |= 1 << to;
                if self.menu.is_up(to) {
                    self.menu.set_deliverable(link, self.menu.deliverable[link] + 1);
                }
            }
        }
        self.cx.outbox = outbox;
    }

    pub(super) fn message(
        &mut self,
        choice: Choice,
        slot: Slot,
        report: &mut Report,
    ) -> Result<Option<NodeId>, Effect> {
        let (slot, kind) = self.resolve(slot)?;
        report.choice = choice.with_slot(Slot { kind, ..slot });
        let skipped = |why| Err(Effect::Skipped(why));
        match choice {
            Choice::Deliver(_) if !self.menu.is_up(slot.to) => return skipped("the receiver is down"),
            Choice::Deliver(_) if self.menu.cut[self.menu.link(slot.from, slot.to)] => {
                return skipped("the link is cut");
            }
            Choice::Duplicate(_)
                if self.links.len(slot.from, slot.to) >= usize::from(self.menu.contract.capacity) =>
            {
                return skipped("the link is full");
            }
            _ => {}
        }
        self.touched |= 1 << slot.to;
        if let Choice::Duplicate(_) = choice {
            if let Some(message) = self.links.get(slot).cloned() {
                self.links.push(slot.from, slot.to, message, kind);
                report.pushed.push((slot.from, slot.to));
                self.refresh(slot.from, slot.to);
            }
            return Ok(None);
        }
        let Some(message) = self.links.take(slot) else { return skipped("no such message") };
        self.refresh(slot.from, slot.to);
        if self.watch.trace {
            let verb = if matches!(choice, Choice::Deliver(_)) { "got" } else { "lost" };
            self.recorder.effect(format!("{verb} {}->{} {message:?}", slot.from + 1, slot.to + 1));
        }
        if let Choice::Deliver(_) = choice {
            self.give(slot.to, Input::Message { from: slot.from, message }, report);
            return Ok(Some(slot.to));
        }
        Ok(None)
    }

    /// The slot with its position and the kind that stands there.
    pub(super) fn resolve(&self, mut slot: Slot) -> Result<(Slot, u8), Effect> {
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
        let found = self.links.kind(slot).ok_or(Effect::Skipped("no such message"))?;
        if slot.kind != Slot::ANY_KIND && slot.kind != found {
            return Err(Effect::Drift { found });
        }
        Ok((slot, found))
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

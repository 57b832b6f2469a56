//! The world's side of simulated time; nothing of it runs where timers are free.

use super::World;
use crate::judge::Judge;
use crate::system::System;
use crate::vocabulary::TIMERS_MAX;
use misrule_models::NodeId;

impl<S: System, J: Judge<S>> World<S, J> {
    /// The timers of a node that are set; the menu has those that may fire.
    pub(super) fn timers_of(&self, node: NodeId) -> u32 {
        match &self.clock {
            None => self.menu.timers[usize::from(node)],
            Some(clock) => clock.timers(node),
        }
    }

    /// Why a timer that the menu does not have cannot fire.
    #[cold]
    pub(super) fn why_not_timer(&self, node: NodeId, timer: u8) -> &'static str {
        if usize::from(timer) < TIMERS_MAX && self.timers_of(node) & (1 << timer) != 0 {
            "another timer or message comes first"
        } else {
            "the timer is not set"
        }
    }

    /// Takes over which timers a call has set.
    pub(super) fn take_timers(&mut self, node: NodeId) {
        if let Some(clock) = &mut self.clock {
            clock.take(node, self.cx.timers, &mut self.cx.timed);
        }
    }

    /// Lets time move to where a timer fires.
    #[inline(never)]
    pub(super) fn fire(&mut self, node: NodeId, timer: u8) {
        let Some(clock) = &mut self.clock else { return };
        let told = clock.fire(node, timer);
        if told && self.watch.trace {
            self.recorder.effect(format!("time {clock}"));
        }
    }

    /// Puts the timers into the menu that may fire after a step.
    #[inline(never)]
    pub(super) fn offer_timers(&mut self) {
        let Some(clock) = &self.clock else { return };
        let limit = clock.limit(&self.menu.deliverable);
        for node in 0..self.vocabulary.nodes {
            let locals = self.menu.locals[usize::from(node)];
            self.menu.set_timers(node, clock.may_fire(node, limit), locals);
        }
    }
}

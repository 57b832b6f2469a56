//! Clogs: links that hold their messages.

use super::World;
use crate::choice::ChoiceKind;
use crate::judge::Judge;
use crate::system::System;
use misrule_models::NodeId;

impl<S: System, J: Judge<S>> World<S, J> {
    /// Clogs a link, or undoes it. Unlike a cut, a clog loses nothing.
    pub(super) fn clog(&mut self, from: NodeId, to: NodeId, clog: bool) {
        let link = self.menu.link(from, to);
        self.menu.clogged[link] = clog;
        if clog {
            self.menu.clogs += 1;
            self.clog_counted[link] = false;
            if self.cx.links.len(from, to) > 0 {
                self.count_clog(link);
            }
        } else {
            self.menu.clogs -= 1;
            self.faults[ChoiceKind::Unclog as usize].applied += u64::from(self.clog_counted[link]);
        }
        self.refresh(from, to);
    }

    /// A clog has held a message.
    pub(super) fn count_clog(&mut self, link: usize) {
        if !std::mem::replace(&mut self.clog_counted[link], true) {
            self.faults[ChoiceKind::Clog as usize].applied += 1;
        }
    }
}

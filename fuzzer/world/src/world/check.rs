//! Whether a choice can apply now.

use super::World;
use crate::choice::Choice;
use crate::clients::NO_SESSION;
use crate::judge::Judge;
use crate::system::System;
use crate::vocabulary::TIMERS_MAX;
use misrule_models::NodeId;

impl<S: System, J: Judge<S>> World<S, J> {
    /// Why a choice cannot apply now; slots of messages are checked later.
    pub(super) fn check(&self, choice: Choice) -> Result<(), &'static str> {
        let node_exists =
            |node: NodeId| if node < self.vocabulary.nodes { Ok(()) } else { Err("no such node") };
        let up = |node| {
            node_exists(node).and(if self.menu.is_up(node) { Ok(()) } else { Err("the node is down") })
        };
        match choice {
            Choice::Timer { node, timer } => {
                up(node)?;
                let set = usize::from(timer) < TIMERS_MAX
                    && self.menu.timers[usize::from(node)] & (1 << timer) != 0;
                if set { Ok(()) } else { Err(self.why_not_timer(node, timer)) }
            }
            Choice::Local { node, step } => {
                up(node)?;
                let enabled =
                    usize::from(step) < TIMERS_MAX && self.menu.locals[usize::from(node)] & (1 << step) != 0;
                if enabled { Ok(()) } else { Err("the local step is not enabled") }
            }
            Choice::Request { node, operation, argument, session } => {
                up(node)?;
                if session != NO_SESSION {
                    self.clients.check_free(session)?;
                }
                let Some((_, kind)) = self.menu.operations.get(usize::from(operation)) else {
                    return Err("no such operation");
                };
                let fits = kind.takes(argument, node, self.menu.nodes);
                if fits { Ok(()) } else { Err("the operation does not take the argument") }
            }
            Choice::Retry { node, session } => up(node).and(self.clients.check_waits(session)),
            Choice::Abandon { session } => self.clients.check_waits(session),
            Choice::Crash { node, keep } => {
                up(node)?;
                let beyond = keep.names_beyond(self.menu.unsynced[usize::from(node)]);
                if beyond { Err("the crash keeps a unit that is not there") } else { Ok(()) }
            }
            Choice::CrashAt { node, .. } | Choice::Disk { node, .. } => node_exists(node),
            Choice::Restart { node } => {
                node_exists(node)?;
                if self.menu.is_up(node) { Err("the node runs") } else { Ok(()) }
            }
            Choice::Cut { from, to } | Choice::Heal { from, to } => {
                node_exists(from).and(node_exists(to))?;
                let is_cut = self.menu.cut[self.menu.link(from, to)];
                match (matches!(choice, Choice::Cut { .. }), is_cut) {
                    (true, true) => Err("the link is cut already"),
                    (false, false) => Err("the link is not cut"),
                    _ => Ok(()),
                }
            }
            Choice::Clog { from, to } | Choice::Unclog { from, to } => {
                node_exists(from).and(node_exists(to))?;
                let is_clogged = self.menu.clogged[self.menu.link(from, to)];
                match (matches!(choice, Choice::Clog { .. }), is_clogged) {
                    (true, true) => Err("the link is clogged already"),
                    (false, false) => Err("the link is not clogged"),
                    _ => Ok(()),
                }
            }
            Choice::Draw { node, name, value } => {
                node_exists(node)?;
                let bound = self.cx.draws.bounds.get(usize::from(name)).copied().unwrap_or(0);
                if value < bound { Ok(()) } else { Err("the value is beyond the draw's bound") }
            }
            Choice::Deliver(_) | Choice::Drop(_) | Choice::Duplicate(_) => Ok(()),
            Choice::Recover { .. } => Err("a recovery comes last"),
        }
    }
}

//! Requests of clients.
//!
//! A node that does not lead passes a request on to the leader that it knows, and drops it where it knows none: it
//! must not refuse, since the same call may have come to another node before. A request that was passed on is not
//! passed on again. The client asks again until it is answered; a call that comes twice takes effect once. The node
//! that applies a call as a leader answers it; and any node that has applied it answers when it is asked again.

use crate::bugs::Bug;
use crate::entry::{Asker, Entry, Op};
use crate::machine::Outcome;
use crate::message::Message;
use crate::node::{Node, Role};
use crate::store::Trouble;
use misrule_world::Context;

/// Answers a client: the only place where one is.
pub(crate) fn answer(_asker: Asker, _outcome: Outcome, _cx: &mut Context<Message>) {}

impl Node {
    /// A client asks, at this node or, where `is_passed_on`, at another one.
    pub(crate) fn request(
        &mut self,
        asker: Asker,
        op: Op,
        is_passed_on: bool,
        cx: &mut Context<Message>,
    ) -> Result<(), Trouble> {
        if let Some(outcome) = self.machine.answered(asker) {
            answer(asker, outcome, cx);
        } else if self.role == Role::Leader {
            if let (Bug::StaleRead, Op::Get(key)) = (self.bug, op) {
                answer(asker, Outcome::Found(self.machine.values[usize::from(key)]), cx);
                return Ok(());
            }
            // Reads go through the log too: a node does not know whether it leads still.
            return self.propose(Entry { term: self.promise.term, asker, op }, cx);
        } else if let (Some(leader), false) = (self.leader, is_passed_on) {
            cx.send(leader, Message::Forward { asker, op });
        }
        Ok(())
    }
}

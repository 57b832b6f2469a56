//! Requests of clients.
//!
//! A node that does not lead passes a request on to the leader that it knows, and drops it where it knows none: it
//! must not refuse, since the same call may have come to another node before. A request that was passed on is not
//! passed on again. The client asks again until it is answered; a call that comes twice takes effect once. The node
//! that applies a call as a leader answers it; and any node that has applied it answers when it is asked again.

use crate::bugs::Bug;
use crate::entry::{Entry, Op, Value};
use crate::machine::Outcome;
use crate::message::Message;
use crate::node::{Node, Role};
use crate::store::Trouble;
use misrule_world::{Answer, Call, Context};

/// Answers a client: the only place where one is.
pub(crate) fn answer(call: Option<Call>, outcome: Outcome, cx: &mut Context<Message>) {
    let Some(call) = call else { return };
    let answer = match outcome {
        Outcome::Done | Outcome::Found(Value(0)) => Answer::Nothing,
        Outcome::Swapped(swapped) => Answer::Bool(swapped),
        Outcome::Found(value) => Answer::Number(value.0),
        Outcome::Ring(packed) => Answer::Number(packed),
        Outcome::Refused => Answer::Failed,
    };
    cx.answer(call, answer);
}

impl Node {
    /// A client asks, at this node or, where `is_passed_on`, at another one.
    pub(crate) fn request(
        &mut self,
        call: Option<Call>,
        op: Op,
        is_passed_on: bool,
        cx: &mut Context<Message>,
    ) -> Result<(), Trouble> {
        if let Some(outcome) = call.and_then(|call| self.machine.answered(call)) {
            answer(call, outcome, cx);
        } else if self.role == Role::Leader {
            if let (Bug::StaleRead, Op::Get(key)) = (self.bug, op) {
                answer(call, Outcome::Found(self.machine.values[usize::from(key)]), cx);
                return Ok(());
            }
            let Some(op) = self.read_for(op) else { return Ok(()) };
            // Reads go through the log too: a node does not know whether it leads still.
            return self.propose(Entry { term: self.promise.term, call, op }, cx);
        } else if let (Some(leader), false) = (self.leader, is_passed_on) {
            cx.send(leader, Message::Forward { call, op });
        }
        Ok(())
    }

    /// The operation with what a transaction reads, from what is applied here. Others may be committed before it: that
    /// what it has read still holds is checked when it is applied.
    fn read_for(&self, op: Op) -> Option<Op> {
        match op {
            Op::Rotate(element, _) => Some(Op::Rotate(element, self.machine.behind(element)?)),
            op => Some(op),
        }
    }
}

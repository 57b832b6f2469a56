//! Requests of clients.
//!
//! A command goes into the log through whichever node is asked; the crate passes proposals on to the leader. The node
//! that was asked answers when it has applied the command. A read does not go into the log: the crate confirms an index
//! (its `read_index`), and the node answers once it has applied that. What the crate refuses or loses is asked again by
//! the client; a call that comes twice takes effect once.

use crate::command::{Action, Command, call_number};
use crate::compat;
use crate::message::Wire;
use crate::node::Node;
use misrule_world::{Answer, Call, Context, Keyed};

/// Operations of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Put,
    Get,
    Cas,
    Transfer,
    Compact,
    AddVoter,
    AddLearner,
    Remove,
    Joint,
    LeaveJoint,
}

impl Asked {
    /// Whether this is what operators do to the cluster. Nobody waits for what becomes of it, and it is answered as soon
    /// as it is asked.
    pub(crate) fn is_of_operators(self) -> bool {
        !matches!(self, Self::Put | Self::Get | Self::Cas)
    }
}

impl Node {
    /// A client asks this node for an operation.
    pub(crate) fn request(
        &mut self,
        asked: Asked,
        argument: u32,
        call: Option<Call>,
        cx: &mut Context<Wire>,
    ) {
        if let Some(call) = call.filter(|_| asked.is_of_operators()) {
            cx.answer(call, Answer::Nothing);
        }
        let id = u64::from(argument) + 1;
        match asked {
            Asked::Put => self.command(Action::Put, argument, call),
            Asked::Cas => self.command(Action::Cas, argument, call),
            Asked::Get => self.read(argument, call, cx),
            Asked::Transfer => self.raft.transfer_leader(id),
            Asked::Compact => self.halted |= self.compact().is_err(),
            _ => compat::propose_change(&mut self.raft, asked, argument, cx.nodes()),
        }
    }

    /// What the crate refuses is not proposed here; it may have been at another node, so that nobody is told.
    fn command(&mut self, action: Action, argument: u32, call: Option<Call>) {
        self.wait(call, Waiting::Command(action));
        let is_done = call.is_some_and(|call| self.machine.answer(call, action).is_some());
        if !is_done {
            let command = Command { action, argument, call };
            drop(self.raft.propose(Vec::new(), command.bytes()));
        }
    }

    fn read(&mut self, argument: u32, call: Option<Call>, cx: &Context<Wire>) {
        let Some(call) = call else { return };
        self.wait(Some(call), Waiting::Read(Keyed::of(argument).key));
        if self.reads_unconfirmed() {
            self.confirmed.push((0, call_number(call)));
            return;
        }
        let context = self.read_context(call, cx.me());
        self.watch_reads(|node| node.raft.read_index(context));
    }

    /// Of a session only the last call is waited for.
    fn wait(&mut self, call: Option<Call>, waiting: Waiting) {
        let Some(call) = call else { return };
        self.waiting.retain(|(known, _)| known.session() != call.session());
        self.waiting.push((call, waiting));
    }

    /// Answers what can be answered now.
    pub(crate) fn answer(&mut self, cx: &mut Context<Wire>) {
        if self.waiting.is_empty() {
            self.confirmed.clear();
            return;
        }
        let (machine, confirmed, done) = (&self.machine, &self.confirmed, &mut self.done);
        self.waiting.retain(|&(call, waiting)| {
            let answer = match waiting {
                Waiting::Command(action) => machine.answer(call, action),
                Waiting::Read(key) => {
                    let number = call_number(call);
                    let is_due = |&(index, read): &(u64, u32)| read == number && index <= machine.index;
                    confirmed.iter().any(is_due).then(|| machine.get(key))
                }
            };
            if let Some(answer) = answer {
                done.reads += u32::from(matches!(waiting, Waiting::Read(_)));
                cx.answer(call, answer);
            }
            answer.is_none()
        });
    }
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// A command that is to be applied.
    Command(Action),
    /// A read of a key that is to be confirmed, and then to be applied up to.
    Read(u8),
}

//! The implementation as a system of the world.

use crate::bugs::Bug;
use crate::state::{COORDINATOR, Message, Node, SLOTS_MAX, VOTE_BELOW, View};
use crate::{coordinator, manager};
use misrule_world::{Argument, BootError, Context, DrawName, Input, NodeId, Operation, System, Vocabulary};

/// Two-phase commit with one coordinator and some managers.
pub struct TwoPhaseCommit {
    vocabulary: Vocabulary,
    slots: u8,
    bug: Bug,
}

impl TwoPhaseCommit {
    /// A system of a coordinator and `managers`, with at most `transactions` at once.
    pub fn new(managers: NodeId, transactions: u8, bug: Bug) -> Self {
        let vocabulary = Vocabulary {
            nodes: managers + 1,
            kinds: Message::KINDS.to_vec(),
            timers: vec!["vote-timeout", "resend", "ask-outcome"],
            locals: vec!["flush"],
            operations: vec![Operation { name: "begin", argument: Argument::None, weight: 1 }],
            draws: vec![DrawName { name: "vote", below: VOTE_BELOW }],
        };
        Self { vocabulary, slots: transactions.min(SLOTS_MAX as u8), bug }
    }

    /// How many managers there are: nodes 1 to this.
    pub fn managers(&self) -> NodeId {
        self.vocabulary.nodes - 1
    }

    /// How many transactions run at once.
    pub fn slots(&self) -> u8 {
        self.slots
    }
}

impl System for TwoPhaseCommit {
    type Node = Node;
    type Message = Message;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Message>) -> Result<Node, BootError> {
        let failed = |error: misrule_world::DiskError| BootError(error.to_string());
        let mut node = Node::recover(self.slots, self.bug, cx.disk()).map_err(failed)?;
        if cx.me() == COORDINATOR {
            coordinator::boot(&mut node, cx).map_err(failed)?;
        } else {
            manager::boot(&node, cx);
        }
        Ok(node)
    }

    fn handle(&self, node: &mut Node, input: Input<Message>, cx: &mut Context<Message>) {
        // A node that cannot write says nothing more in this step: it neither votes nor decides.
        let _ = if cx.me() == COORDINATOR {
            coordinator::handle(node, &input, cx)
        } else {
            manager::handle(node, &input, cx)
        };
    }

    fn view(&self, node: &Node, out: &mut View) {
        (out.slots, out.count) = (node.slots, node.count);
    }

    fn kind(&self, message: &Message) -> u8 {
        message.kind()
    }
}

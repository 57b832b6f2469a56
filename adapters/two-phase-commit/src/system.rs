//! The implementation as a system of the world.

use crate::bugs::Bug;
use crate::state::{COORDINATOR, LANES_MAX, Message, Node, VOTE_BELOW, View};
use crate::{coordinator, manager};
use misrule_world::{Argument, BootError, Context, DrawName, Input, NodeId, Operation, System, Vocabulary};

/// Two-phase commit with one coordinator and some managers.
pub struct TwoPhaseCommit {
    vocabulary: Vocabulary,
    lanes: u8,
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
            ..Vocabulary::default()
        };
        Self { vocabulary, lanes: transactions.min(LANES_MAX as u8), bug }
    }

    /// How many managers there are: nodes 1 to this.
    pub fn managers(&self) -> NodeId {
        self.vocabulary.nodes - 1
    }

    /// How many transactions run at once.
    pub fn lanes(&self) -> u8 {
        self.lanes
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
        let mut node = Node::recover(self.lanes, self.bug, cx.disk()).map_err(failed)?;
        if cx.me() == COORDINATOR {
            coordinator::boot(&mut node, cx).map_err(failed)?;
        } else {
            manager::boot(&node, cx);
        }
        Ok(node)
    }

    fn handle(&self, node: &mut Node, input: Input<Message>, cx: &mut Context<Message>) {
        if node.stopped {
            return;
        }
        let done = if cx.me() == COORDINATOR {
            coordinator::handle(node, &input, cx)
        } else {
            manager::handle(node, &input, cx)
        };
        // Whether a failed write is on the disk is not known before the next start, and a second sync may claim
        // what the first one lost: the node says nothing more.
        node.stopped = done.is_err();
    }

    fn view(&self, node: &Node, out: &mut View) {
        (out.lanes, out.count, out.stopped) = (node.lanes, node.count, node.stopped);
    }

    fn fork(&self, node: &Node) -> Option<Node> {
        Some(node.clone())
    }

    fn kind(&self, message: &Message) -> u8 {
        message.kind()
    }
}

//! The servers as a system of the world.

use crate::bugs::Bug;
use crate::client;
use crate::message::Message;
use crate::server::{NODES_MAX, Server};
use crate::view::View;
use misrule_world::{Argument, BootError, Context, Input, NodeId, Operation, Setup, System, Vocabulary};
use std::cell::RefCell;
use std::rc::Rc;

/// Ticks of an election timeout and of a heartbeat, where the contract has a clock.
const TICKS: [u32; 2] = [20, 10];

/// Servers that stopped, by node: their memory is used again.
type Stopped = Rc<RefCell<[Vec<Server>; NODES_MAX]>>;

/// A running server in the world. What it is made of goes back to the system when it stops.
#[derive(Debug)]
pub struct Node {
    server: Server,
    stopped: Stopped,
}

impl Node {
    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }
}

impl Node {
    /// A node in the memory of one that stopped, if there is one.
    fn again(me: NodeId, stopped: &Stopped) -> Self {
        let server = stopped.borrow_mut()[usize::from(me)].pop().unwrap_or_default();
        Self { server, stopped: Rc::clone(stopped) }
    }
}

impl Clone for Node {
    fn clone(&self) -> Self {
        let mut node = Self::again(self.server.me, &self.stopped);
        node.server.copy(&self.server);
        node
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let server = std::mem::take(&mut self.server);
        self.stopped.borrow_mut()[usize::from(server.me)].push(server);
    }
}

/// A cluster.
#[derive(Debug)]
pub struct SmallRaft {
    vocabulary: Vocabulary,
    bug: Bug,
    stopped: Stopped,
}

impl SmallRaft {
    /// The cluster that the settings describe.
    pub(crate) fn new(setup: &Setup) -> Self {
        let settings = &setup.settings;
        let nodes = settings.integer("nodes") as NodeId;
        let operation = |name, argument, weight| Operation { name, argument, weight };
        let mut operations = vec![operation("append", Argument::None, 6)];
        operations.push(operation("read", Argument::None, if settings.is_on("reads") { 2 } else { 0 }));
        if settings.is_on("membership") {
            operations.push(operation("add-server", Argument::Below(u32::from(nodes)), 2));
            operations.push(operation("remove-server", Argument::Below(u32::from(nodes)), 2));
        }
        Self {
            vocabulary: Vocabulary {
                nodes,
                kinds: Message::KINDS.to_vec(),
                timers: vec!["election", "heartbeat"],
                timer_ticks: TICKS.to_vec(),
                locals: vec!["sync"],
                operations,
                sessions: settings.integer("sessions") as u8,
                ..Vocabulary::default()
            },
            bug: Bug::named(settings.word("bug")),
            stopped: Stopped::default(),
        }
    }
}

impl System for SmallRaft {
    type Node = Node;
    type Message = Message;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Message>) -> Result<Node, BootError> {
        let mut node = Node::again(cx.me(), &self.stopped);
        match node.server.start(self.vocabulary.nodes, self.bug, cx) {
            Ok(true) => Ok(node),
            Ok(false) => Err(BootError("a disk record cannot be read".to_owned())),
            Err(error) => Err(BootError(error.to_string())),
        }
    }

    fn handle(&self, node: &mut Node, input: Input<Message>, cx: &mut Context<Message>) {
        let server = &mut node.server;
        if !server.halted {
            server.halted = server.handle(&input, cx).is_err();
        }
    }

    fn view(&self, node: &Node, out: &mut View) {
        out.refresh(&node.server);
    }

    fn fork(&self, node: &Node) -> Option<Node> {
        Some(node.clone())
    }

    fn kind(&self, message: &Message) -> u8 {
        message.kind()
    }
}

/// Whether an operation of the vocabulary is a read.
pub(crate) fn is_read(operation: u8) -> bool {
    operation == client::READ
}

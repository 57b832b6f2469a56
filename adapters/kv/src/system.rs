//! The implementation as a system of the world.

use crate::entry::{KEYS_MAX, Op, SESSIONS_MAX, Value};
use crate::message::Message;
use crate::node::{self, Node, PATIENCE_BELOW};
use crate::store::{Options, Trouble};
use crate::view::View;
use misrule_world::{
    Argument, BootError, Context, DrawName, Input, Keyed, KeyedValues, NodeId, Operation, System, Vocabulary,
};

/// A replicated key-value service.
pub struct Kv {
    vocabulary: Vocabulary,
    options: Options,
    snapshot_every: u64,
    keys: u8,
}

/// What runs on a node: the service, or nothing since its disk is in trouble. It does not stop the process: a
/// node that is in trouble refuses everything, and whoever watches it starts it again.
#[derive(Debug)]
pub struct Server(pub(crate) Result<Node, Trouble>);

/// Positions of the operations.
pub(crate) const PUT: u8 = 0;
const GET: u8 = 1;
const CAS: u8 = 2;

/// Ticks of the timers election and heartbeat where the contract has a clock: as many of each as in a recovery, ten a
/// round, so that a message of some ticks arrives in one.
const TIMER_TICKS: [u32; 2] = [50, 30];

/// What clients do.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// How many keys they use, at most [`KEYS_MAX`].
    pub keys: u8,
    /// How many of them ask at the same time, at most [`SESSIONS_MAX`].
    pub sessions: u8,
}

impl Kv {
    /// A service of `nodes` nodes, at most [`NODES_MAX`](crate::NODES_MAX), where `snapshot_every` applied entries are
    /// due for a snapshot.
    pub fn new(nodes: NodeId, workload: Workload, snapshot_every: u64, options: Options) -> Self {
        let keys = workload.keys.clamp(1, KEYS_MAX as u8);
        let operation =
            |name, values, weight| Operation { name, argument: Argument::Keyed { keys, values }, weight };
        let vocabulary = Vocabulary {
            nodes,
            kinds: Message::KINDS.to_vec(),
            timers: vec!["election", "heartbeat"],
            timer_ticks: TIMER_TICKS.to_vec(),
            locals: vec!["flush", "snapshot"],
            operations: vec![
                operation("put", KeyedValues::Fresh, 4),
                operation("get", KeyedValues::None, 4),
                operation("cas", KeyedValues::FromTo, 2),
            ],
            draws: vec![DrawName { name: "patience", below: PATIENCE_BELOW }],
            sessions: workload.sessions.min(SESSIONS_MAX as u8),
        };
        Self { vocabulary, options, snapshot_every, keys }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> NodeId {
        self.vocabulary.nodes
    }
}

/// What a request asks for.
fn op(operation: u8, argument: u32) -> Option<Op> {
    let Keyed { key, from, value } = Keyed::of(argument);
    let (from, value) = (Value(u32::from(from)), Value(u32::from(value)));
    match operation {
        PUT => Some(Op::Put(key, value)),
        GET => Some(Op::Get(key)),
        CAS => Some(Op::Cas(key, from, value)),
        _ => None,
    }
}

impl System for Kv {
    type Node = Server;
    type Message = Message;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// A node whose disk cannot be read starts nevertheless, and refuses everything: the judge knows whether the
    /// contract lets a disk be so.
    fn boot(&self, cx: &mut Context<Message>) -> Result<Server, BootError> {
        Ok(Server(Node::boot(self.options, self.snapshot_every, cx)))
    }

    fn handle(&self, server: &mut Server, input: Input<Message>, cx: &mut Context<Message>) {
        let Ok(node) = &mut server.0 else { return };
        if let Err(trouble) = give(node, &input, cx) {
            for timer in [node::ELECTION, node::HEARTBEAT] {
                cx.cancel_timer(timer);
            }
            for step in [node::FLUSH, node::SNAPSHOT] {
                cx.disable_local(step);
            }
            server.0 = Err(trouble);
        }
    }

    fn view(&self, server: &Server, out: &mut View) {
        match &server.0 {
            Ok(node) => out.show(node, self.keys),
            Err(trouble) => out.show_trouble(trouble),
        }
    }

    fn kind(&self, message: &Message) -> u8 {
        message.kind()
    }
}

fn give(node: &mut Node, input: &Input<Message>, cx: &mut Context<Message>) -> Result<(), Trouble> {
    match input {
        Input::Timer(node::ELECTION) => node.election_timer(cx),
        Input::Timer(_) => {
            node.heartbeat_timer(cx);
            Ok(())
        }
        Input::Local(node::FLUSH) => node.flush(cx),
        Input::Local(_) => node.snapshot(cx),
        Input::Request { operation, argument, call } => match op(*operation, *argument) {
            Some(op) => node.request(*call, op, false, cx),
            None => Ok(()),
        },
        Input::Message { from, message } => deliver(node, *from, message, cx),
    }
}

fn deliver(
    node: &mut Node,
    from: NodeId,
    message: &Message,
    cx: &mut Context<Message>,
) -> Result<(), Trouble> {
    match *message {
        Message::RequestVote { term, last, last_term } => {
            node.request_vote(from, (term, last, last_term), cx)
        }
        Message::Vote { term, granted } => node.vote(from, term, granted, cx),
        Message::Append { term, prev, prev_term, ref entries, commit } => {
            node.append(from, (term, prev, prev_term, commit), entries, cx)
        }
        Message::Appended { term, matched } => node.appended(from, term, matched, cx),
        Message::Rejected { term, hint } => node.rejected(from, term, hint, cx),
        Message::Install { term, machine } => node.take_install(from, term, machine, cx),
        Message::Forward { call, op } => node.request(call, op, true, cx),
    }
}

//! A toy target with clients: a register on two nodes. Node 1 has the newest value and a version; node 2 follows. A
//! read at node 2 asks node 1 which version it must have, and waits for that.
//!
//! Planted bug: node 1 answers with the version that this session has seen. So no session ever sees its own past undone,
//! and only two of them together see that a value is stale.

use misrule_history::specifications::{Cell, Named};
use misrule_world::histories::Linearizable;
use misrule_world::{
    Answer, Argument, BootError, Call, Context, Fields, Input, Judge, Operation, Report, Seen, Setting,
    System, Tally, Target, Vocabulary, target,
};
use std::fmt::Display;

const READ: u8 = 0;

struct Register {
    vocabulary: Vocabulary,
    by_session: bool,
}

/// A node; versions count writes.
#[derive(Default)]
struct Node {
    value: u32,
    version: u32,
    /// For each session: the newest version that it has seen, and its last call.
    seen: Vec<(u32, u32)>,
    /// Reads that wait for a version.
    waiting: Vec<(Call, u32)>,
}

#[derive(Clone, Debug)]
enum Message {
    Write(Call, u32),
    Value { value: u32, version: u32 },
    Need(Call),
    Needed(Call, u32),
}

#[derive(Clone, Default)]
struct View {
    value: u32,
    version: u32,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("value", &self.value);
        visit("version", &self.version);
    }
}

impl Node {
    fn read(&self) -> Answer {
        if self.version == 0 { Answer::Nothing } else { Answer::Number(self.value) }
    }

    /// At node 1: a write, unless it is older than what its session has asked for since.
    fn write(&mut self, call: Call, value: u32, cx: &mut Context<Message>) {
        let seen = &mut self.seen[usize::from(call.session())];
        if call.number() > seen.1 {
            self.version += 1;
            self.value = value;
            *seen = (self.version, call.number());
            cx.send(1, Message::Value { value, version: self.version });
            cx.answer(call, Answer::Nothing);
        } else if call.number() == seen.1 {
            cx.answer(call, Answer::Nothing);
        }
    }

    /// At node 2: answers what no longer waits.
    fn catch_up(&mut self, cx: &mut Context<Message>) {
        let (answer, version) = (self.read(), self.version);
        self.waiting.retain(|(call, needed)| {
            if *needed <= version {
                cx.answer(*call, answer);
            }
            *needed > version
        });
    }
}

impl System for Register {
    type Node = Node;
    type Message = Message;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, _cx: &mut Context<Message>) -> Result<Node, BootError> {
        Ok(Node { seen: vec![(0, 0); usize::from(self.vocabulary.sessions)], ..Node::default() })
    }

    fn handle(&self, node: &mut Node, input: Input<Message>, cx: &mut Context<Message>) {
        match input {
            Input::Request { operation: READ, call: Some(call), .. } if cx.me() == 0 => {
                let seen = &mut node.seen[usize::from(call.session())];
                *seen = (node.version, seen.1.max(call.number()));
                cx.answer(call, node.read());
            }
            Input::Request { operation: READ, call: Some(call), .. } => cx.send(0, Message::Need(call)),
            Input::Request { argument, call: Some(call), .. } if cx.me() == 0 => {
                node.write(call, argument, cx);
            }
            Input::Request { argument, call: Some(call), .. } => cx.send(0, Message::Write(call, argument)),
            Input::Message { message: Message::Write(call, value), .. } => node.write(call, value, cx),
            Input::Message { message: Message::Need(call), .. } => {
                let seen = node.seen[usize::from(call.session())].0;
                let needed = if self.by_session { seen } else { node.version };
                cx.send(1, Message::Needed(call, needed));
            }
            Input::Message { message: Message::Value { value, version }, .. } => {
                if version > node.version {
                    (node.value, node.version) = (value, version);
                }
                node.catch_up(cx);
            }
            Input::Message { message: Message::Needed(call, version), .. } => {
                node.waiting.push((call, version));
                node.catch_up(cx);
            }
            Input::Timer(_) | Input::Local(_) | Input::Request { .. } => {}
        }
    }

    fn view(&self, node: &Node, out: &mut View) {
        (out.value, out.version) = (node.value, node.version);
    }

    fn kind(&self, message: &Message) -> u8 {
        match message {
            Message::Write(..) => 0,
            Message::Value { .. } => 1,
            Message::Need(_) => 2,
            Message::Needed(..) => 3,
        }
    }
}

struct Watched(Linearizable<Cell>);

impl Judge<Register> for Watched {
    fn reset(&mut self, _seen: &Seen<'_, Register>, _report: &mut Report) {
        self.0.reset();
    }

    fn after(&mut self, seen: &Seen<'_, Register>, report: &mut Report) {
        self.0.after(seen.clients, report);
    }

    fn tally(&self) -> Tally {
        Tally { undecided: vec![self.0.undecided()], ..Tally::default() }
    }
}

/// The target `register`. It keeps nothing on its disk, so campaigns run without crashes.
pub(crate) fn register() -> Target {
    target("register", |setup| {
        let operation = |name, argument| Operation { name, argument, weight: 1 };
        let vocabulary = Vocabulary {
            nodes: 2,
            kinds: vec!["Write", "Value", "Need", "Needed"],
            operations: vec![operation("read", Argument::None), operation("write", Argument::Fresh)],
            sessions: setup.settings.integer("sessions") as u8,
            ..Vocabulary::default()
        };
        let by_session = setup.settings.word("bug") == "by-session";
        // A limit of nothing can be exceeded; see the test that wants to see that.
        let limit = setup.settings.integer("limit") as usize;
        let oracle = Linearizable::within(&vocabulary, Cell::register(), limit);
        Ok((Register { vocabulary, by_session }, Watched(oracle)))
    })
    .version("1.0.0")
    .description("a register on two nodes, with clients")
    .setting(Setting::integer("sessions", 1, 8, 2, "sessions of clients"))
    .setting(Setting::integer("limit", 0, 100_000, 100_000, "configurations that the oracle may give up"))
    .bugs(&[("by-session", "a read needs only what its session has seen")])
    .specification(Named::Register)
    .contract("reorder")
}

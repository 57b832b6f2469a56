//! A complete target in one file, as CONTRIBUTING.md shows it: node 1 sends numbered pings, node 2 answers
//! each with a pong, and node 1 counts the rounds.

use misrule::{
    BootError, Context, Failure, Fields, Input, Judge, Key, KeyWriter, Report, Seen, System, Target,
    Vocabulary, target,
};
use std::fmt::Display;
use std::process::ExitCode;

/// The implementation under test is a value: it carries the options and the planted bug.
struct PingPong {
    vocabulary: Vocabulary,
    counts_every_pong: bool,
}

/// A running node. A crash drops it; only the disk survives, and this protocol does not use it.
#[derive(Default)]
struct Node {
    /// Node 1: the ping that waits for its pong. Node 2: the newest ping it has answered.
    number: u32,
    rounds: u32,
}

#[derive(Clone, Debug)]
enum Message {
    Ping(u32),
    Pong(u32),
}

/// What oracles, lenses and reports see of a node.
#[derive(Clone, Default)]
struct View {
    number: u32,
    rounds: u32,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("number", &self.number);
        visit("rounds", &self.rounds);
    }
}

const RESEND: u8 = 0;

impl System for PingPong {
    type Node = Node;
    type Message = Message;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Message>) -> Result<Node, BootError> {
        let mut node = Node::default();
        if cx.me() == 0 {
            node.number = 1;
            cx.send(1, Message::Ping(1));
            cx.set_timer(RESEND);
        }
        Ok(node)
    }

    fn handle(&self, node: &mut Node, input: Input<Message>, cx: &mut Context<Message>) {
        match input {
            Input::Message { from, message: Message::Ping(number) } => {
                node.number = node.number.max(number);
                cx.send(from, Message::Pong(number));
            }
            Input::Message { from, message: Message::Pong(number) } => {
                if number == node.number || self.counts_every_pong {
                    node.rounds += 1;
                    node.number += 1;
                    cx.send(from, Message::Ping(node.number));
                }
            }
            Input::Timer(_) => {
                cx.send(1, Message::Ping(node.number));
                cx.set_timer(RESEND);
            }
            Input::Local(_) | Input::Request { .. } => {}
        }
    }

    fn view(&self, node: &Node, out: &mut View) {
        *out = View { number: node.number, rounds: node.rounds };
    }

    fn kind(&self, message: &Message) -> u8 {
        match message {
            Message::Ping(_) => 0,
            Message::Pong(_) => 1,
        }
    }
}

/// The oracle: node 1 counts no more rounds than node 2 has answered pings. It remembers what node 2 had
/// answered before a crash.
#[derive(Default)]
struct RoundsWereAnswered {
    answered: u32,
}

impl Judge<PingPong> for RoundsWereAnswered {
    fn reset(&mut self, seen: &Seen<'_, PingPong>, report: &mut Report) {
        self.answered = 0;
        self.after(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, PingPong>, report: &mut Report) {
        let [one, two] = seen.views else { return };
        self.answered = self.answered.max(two.number);
        if one.rounds > self.answered {
            let text = format!("node 1 counts {} rounds, node 2 has answered {}", one.rounds, self.answered);
            report.failure.get_or_insert(Failure::new("rounds", "rounds-were-answered", text));
        }
        // The lens: how the two numbers relate, not what they are.
        if seen.watch.keys {
            let mut code = KeyWriter::default();
            code.relation(&one.number, &(two.number + 1)).put(seen.up, 2);
            report.keys.push(Key { lens: 0, facet: 0, code: code.code() });
        }
    }
}

/// The target: the system, its judge, and what the command line may choose.
fn ping_pong() -> Target {
    target("ping-pong", |setup| {
        let vocabulary = Vocabulary {
            nodes: 2,
            kinds: vec!["Ping", "Pong"],
            timers: vec!["resend"],
            ..Vocabulary::default()
        };
        let counts_every_pong = setup.settings.word("bug") == "count-every-pong";
        Ok((PingPong { vocabulary, counts_every_pong }, RoundsWereAnswered::default()))
    })
    .version("0.1.0")
    .description("two nodes, pings and pongs")
    .contract("fifo+loss+dup")
    .lenses(&["relation@impl"])
    .bugs(&[("count-every-pong", "a pong that was counted before counts again")])
}

fn main() -> ExitCode {
    misrule::main(vec![ping_pong()])
}

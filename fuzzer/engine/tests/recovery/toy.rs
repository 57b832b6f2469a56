//! A toy for recoveries: three nodes elect a leader, which tells the others the last value that a client gave it. It
//! keeps nothing on disk but what `grows` writes, and has no oracle but its promises.

use misrule_world::{
    Argument, BootError, Context, Fields, Input, Judge, NodeId, Operation, Recovering, Recovers, Recovery,
    Report, Seen, Setting, System, Target, Vocabulary, target,
};
use std::fmt::Display;

const ELECT: u8 = 0;
const BEAT: u8 = 1;

/// What the toy does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    /// A candidate that has lost never tries again.
    NoRetry,
    /// Whoever hears of a leader tells everybody twice.
    Storm,
    /// A leader writes at each beat.
    Grows,
    /// A node whose election timer fires stops, as after an error of its disk.
    GivesUp,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View {
    term: u32,
    votes: u8,
    leads: bool,
    value: u32,
    stopped: bool,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("term", &self.term);
        visit("leads", &self.leads);
        visit("value", &self.value);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    Ask(u32),
    Grant(u32),
    Refuse(u32),
    Lead(u32, u32),
}

pub(crate) struct Elects {
    vocabulary: Vocabulary,
    bug: Bug,
}

impl Elects {
    /// A message of a newer term ends what the node was in.
    fn follow(node: &mut View, term: u32) {
        if term > node.term {
            *node = View { term, value: node.value, ..View::default() };
        }
    }

    fn receive(&self, node: &mut View, from: NodeId, message: Message, cx: &mut Context<Message>) {
        match message {
            Message::Ask(term) if term > node.term => {
                Self::follow(node, term);
                cx.set_timer(ELECT);
                cx.send(from, Message::Grant(term));
            }
            Message::Ask(_) => cx.send(from, Message::Refuse(node.term)),
            Message::Refuse(term) => {
                Self::follow(node, term);
                if self.bug != Bug::NoRetry {
                    cx.set_timer(ELECT);
                }
            }
            Message::Grant(term) if term == node.term => {
                node.votes |= 1 << from;
                node.leads = 2 * node.votes.count_ones() > u32::from(cx.nodes());
                if node.leads {
                    cx.cancel_timer(ELECT);
                    cx.set_timer(BEAT);
                }
            }
            Message::Lead(term, value) if term >= node.term => {
                Self::follow(node, term);
                node.value = node.value.max(value);
                cx.set_timer(ELECT);
                if self.bug == Bug::Storm {
                    tell(cx, message);
                    tell(cx, message);
                }
            }
            Message::Grant(_) | Message::Lead(..) => {}
        }
    }
}

fn tell(cx: &mut Context<Message>, message: Message) {
    let me = cx.me();
    (0..cx.nodes()).filter(|to| *to != me).for_each(|to| cx.send(to, message));
}

impl System for Elects {
    type Node = View;
    type Message = Message;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Message>) -> Result<View, BootError> {
        cx.set_timer(ELECT);
        Ok(View::default())
    }

    fn handle(&self, node: &mut View, input: Input<Message>, cx: &mut Context<Message>) {
        match input {
            _ if node.stopped => {}
            Input::Message { from, message } => self.receive(node, from, message, cx),
            Input::Timer(ELECT) if self.bug == Bug::GivesUp => node.stopped = true,
            Input::Timer(ELECT) => {
                Self::follow(node, node.term + 1);
                node.votes = 1 << cx.me();
                tell(cx, Message::Ask(node.term));
                if self.bug != Bug::NoRetry {
                    cx.set_timer(ELECT);
                }
            }
            Input::Timer(_) if node.leads => {
                tell(cx, Message::Lead(node.term, node.value));
                cx.set_timer(BEAT);
                if self.bug == Bug::Grows {
                    let _ = cx.disk().append(&[0; 512]);
                }
            }
            Input::Request { argument, .. } if node.leads => node.value = argument,
            Input::Timer(_) | Input::Local(_) | Input::Request { .. } => {}
        }
    }

    fn view(&self, node: &View, out: &mut View) {
        *out = *node;
    }

    fn kind(&self, message: &Message) -> u8 {
        match message {
            Message::Ask(_) => 0,
            Message::Grant(_) => 1,
            Message::Refuse(_) => 2,
            Message::Lead(..) => 3,
        }
    }
}

pub(crate) struct Promises {
    policy: bool,
}

impl Judge<Elects> for Promises {
    fn reset(&mut self, _: &Seen<'_, Elects>, _: &mut Report) {}

    fn after(&mut self, _: &Seen<'_, Elects>, _: &mut Report) {}

    fn recovers(&self) -> Option<&dyn Recovers<Elects>> {
        self.policy.then_some(self)
    }
}

impl Recovers<Elects> for Promises {
    fn policy(&self) -> Recovery {
        Recovery {
            may_stay_down: 1,
            operation: Some(0),
            timers: vec![10, 2],
            restarting: 1 << ELECT,
            waiting_max: 60,
            quiet_rounds: 40,
            disk_bytes_max: 4096,
            ..Recovery::default()
        }
    }

    fn progressed(&self, now: &Recovering<'_, Elects>) -> bool {
        now.core_views().all(|view| view.value >= now.fresh)
    }

    fn waits_for(&self, now: &Recovering<'_, Elects>, node: NodeId) -> String {
        let view = now.views[usize::from(node)];
        if view.leads { "clients".to_owned() } else { format!("a leader of term {}", view.term) }
    }

    fn stopped(&self, now: &Recovering<'_, Elects>, node: NodeId) -> bool {
        now.views[usize::from(node)].stopped
    }
}

/// The target `elects`, with a setting `bug`, and `promises=no` for one without a policy.
pub(crate) fn elects() -> Target {
    target("elects", |setup| {
        let bug = match setup.settings.word("bug") {
            "no-retry" => Bug::NoRetry,
            "storm" => Bug::Storm,
            "grows" => Bug::Grows,
            "gives-up" => Bug::GivesUp,
            _ => Bug::None,
        };
        let vocabulary = Vocabulary {
            nodes: 3,
            kinds: vec!["Ask", "Grant", "Refuse", "Lead"],
            timers: vec!["elect", "beat"],
            operations: vec![Operation { name: "put", argument: Argument::Fresh, weight: 1 }],
            ..Vocabulary::default()
        };
        Ok((Elects { vocabulary, bug }, Promises { policy: setup.settings.word("promises") == "yes" }))
    })
    .setting(Setting::words("promises", vec!["yes", "no"], "yes", "whether there is a policy"))
    .bugs(&[("no-retry", ""), ("storm", ""), ("grows", ""), ("gives-up", "")])
    .contract("fifo+loss")
}

//! A toy target for the tests of the command line: two nodes pass a counter to and fro.

use misrule_models::{Key, Lens, LensSet};
use misrule_world::{
    BootError, Choice, Context, Failure, Fields, Input, Judge, NodeId, Operation, Recovering, Recovers,
    Recovery, Report, Seen, Setting, SetupError, System, Target, Vocabulary, target,
};
use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

/// What no target should have: state that outlives an execution.
static EVER: AtomicU32 = AtomicU32::new(0);

/// What the toy does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    Panics,
    Loops,
    Strays,
    Drifts,
    /// Sends nothing again.
    Silent,
}

pub(crate) struct PingPong {
    vocabulary: Vocabulary,
    wrong: Wrong,
    bound: u32,
    /// Whether a count that is not new is not answered. Else each one that is sent again goes to and fro for ever.
    once: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct View {
    count: u32,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("count", &self.count);
    }
}

impl System for PingPong {
    type Node = u32;
    type Message = u32;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<u32>) -> Result<u32, BootError> {
        if cx.me() == 0 {
            cx.send(1, 1);
        }
        cx.set_timer(0);
        Ok(0)
    }

    fn handle(&self, count: &mut u32, input: Input<u32>, cx: &mut Context<u32>) {
        let peer = 1 - cx.me();
        match input {
            Input::Message { message, .. } if self.once && message <= *count => {}
            Input::Message { message, .. } => {
                misrule_world::log::line(format_args!("counted {message}"));
                *count = message;
                let at_bound = message >= self.bound;
                match self.wrong {
                    Wrong::Panics => assert!(!at_bound, "too far"),
                    Wrong::Loops if at_bound => loop {
                        cx.send(peer, 0);
                    },
                    Wrong::Strays if at_bound => cx.send(9, 0),
                    Wrong::Drifts if at_bound => {
                        *count = self.bound + 1 + EVER.fetch_add(1, Ordering::Relaxed) % 1000;
                    }
                    _ => {}
                }
                cx.send(peer, if message > self.bound + 4 && !self.once { 0 } else { message + 1 });
            }
            Input::Timer(_) if self.wrong == Wrong::Silent => {}
            Input::Timer(_) => {
                cx.send(peer, *count + u32::from(self.once));
                cx.set_timer(0);
            }
            Input::Local(_) | Input::Request { .. } => {}
        }
    }

    fn view(&self, count: &u32, out: &mut View) {
        out.count = *count;
    }

    fn kind(&self, message: &u32) -> u8 {
        u8::from(*message > 2)
    }
}

pub(crate) struct Bound {
    max: u32,
    promises: bool,
    /// The counts when a recovery began.
    begun: [u32; 2],
    lenses: LensSet<[View]>,
}

struct Counts;

impl Lens<[View]> for Counts {
    fn keys(&self, view: &[View], _touched: u64, out: &mut Vec<Key>) {
        let code = view.iter().fold(0, |code, node| code << 8 | u64::from(node.count));
        out.push(Key { lens: 0, facet: 0, code });
    }
}

impl Judge<PingPong> for Bound {
    fn reset(&mut self, seen: &Seen<'_, PingPong>, report: &mut Report) {
        self.after(seen, report);
    }

    fn recovers(&self) -> Option<&dyn Recovers<PingPong>> {
        self.promises.then_some(self)
    }

    fn after(&mut self, seen: &Seen<'_, PingPong>, report: &mut Report) {
        if let Choice::Recover { .. } = seen.choice {
            self.begun = [seen.views[0].count, seen.views[1].count];
        }
        if seen.watch.keys {
            self.lenses.keys(seen.views, seen.touched, &mut report.keys);
        }
        if let Some(view) = seen.views.iter().find(|view| view.count > self.max) {
            let text = format!("a node counts {}, more than {}", view.count, self.max);
            report.failure.get_or_insert(Failure::new("count", "count-bounded", text));
        }
    }
}

impl Recovers<PingPong> for Bound {
    fn policy(&self) -> Recovery {
        Recovery { rounds_max: 50, ..Recovery::default() }
    }

    fn progressed(&self, now: &Recovering<'_, PingPong>) -> bool {
        now.views.iter().zip(self.begun).all(|(view, begun)| view.count != begun)
    }

    fn waits_for(&self, now: &Recovering<'_, PingPong>, node: NodeId) -> String {
        format!("the count after {}", now.views[usize::from(node)].count)
    }
}

/// The target `toy`: fails unless `safe=on`, or in the way of `bug`.
pub(crate) fn toy() -> Target {
    named("toy")
}

/// The same under another name.
pub(crate) fn named(name: &'static str) -> Target {
    target(name, |setup| {
        let wrong = match setup.settings.word("bug") {
            "panics" => Wrong::Panics,
            "loops" => Wrong::Loops,
            "strays" => Wrong::Strays,
            "drifts" => Wrong::Drifts,
            "silent" => Wrong::Silent,
            _ => Wrong::Nothing,
        };
        let mut lenses = LensSet::default();
        for (position, name) in setup.lenses.iter().enumerate() {
            match name.as_str() {
                "pairs@impl" => lenses.push(position as u8, Box::new(Counts)),
                _ => return Err(SetupError(format!("no lens `{name}`"))),
            }
        }
        let vocabulary = Vocabulary {
            nodes: 2,
            kinds: vec!["Low", "High"],
            timers: vec!["resend"],
            operations: Vec::<Operation>::new(),
            ..Vocabulary::default()
        };
        let bound = setup.settings.integer("bound") as u32;
        let max = if setup.settings.is_on("safe") { u32::MAX } else { bound };
        let promises = setup.settings.is_on("promises");
        Ok((
            PingPong { vocabulary, wrong, bound, once: promises },
            Bound { max, promises, begun: [0; 2], lenses },
        ))
    })
    .version("1.0.0")
    .description("two nodes count")
    .setting(Setting::integer("bound", 1, 100, 4, "how far to count"))
    .setting(Setting::switch("safe", false, "never fails"))
    .setting(Setting::switch("promises", false, "promises to count on"))
    .bugs(&[
        ("panics", "panics at the bound"),
        ("loops", "sends for ever"),
        ("strays", "sends to nobody"),
        ("drifts", "counts on from one execution to the next"),
        ("silent", "sends nothing again"),
    ])
    .contract("reorder+loss+dup")
    .lenses(&["pairs@impl"])
}

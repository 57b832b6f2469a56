//! A target of async code: one node, two tasks that each add to a counter on a storage that takes its time. The order
//! of tasks, the timer and the completions of storage are choices of the schedule.
//!
//! ```text
//! cargo run -p misrule-executor --example two-tasks -- fuzz --seed 1                        # nothing is found
//! cargo run -p misrule-executor --example two-tasks -- fuzz --seed 1 --set bug=no-lock      # an update is lost
//! cargo run -p misrule-executor --example two-tasks -- fuzz --seed 1 --set bug=lock-order   # tasks wait for each other
//! ```

use misrule::world::DrawName;
use misrule::{
    BootError, Context, Failure, Fields, Input, Judge, Report, Seen, System, Target, Vocabulary, target,
};
use misrule_executor::{EventKind, Executor, completion, sleep, spawn_named};
use std::fmt::Display;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex as Lock;

const RUN: u8 = 0;
const COMPLETE: u8 = 1;
const TIMER: u8 = 0;
const TASK: u8 = 0;

/// A draw below this picks a task or a completion, by its remainder.
const PICKS: u32 = 60;

#[derive(Clone, Copy, PartialEq)]
enum Bug {
    None,
    NoLock,
    LockOrder,
}

/// The code under test.
#[derive(Clone, Default)]
struct Counter {
    stored: Arc<Mutex<u32>>,
    lock: Arc<Lock<()>>,
    log: Arc<Lock<()>>,
}

impl Counter {
    async fn read(&self) -> u32 {
        completion("read").await;
        *self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, value: u32) {
        completion("write").await;
        *self.stored.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }

    async fn add(self, amount: u32, bug: Bug) {
        sleep(Duration::from_millis(10)).await;
        let (first, second) = match bug {
            Bug::LockOrder if amount == 2 => (&self.log, &self.lock),
            _ => (&self.lock, &self.log),
        };
        let _guards = match bug {
            Bug::NoLock => None,
            Bug::None | Bug::LockOrder => {
                let guard = first.lock().await;
                completion("open").await;
                Some((guard, second.lock().await))
            }
        };
        let value = self.read().await;
        self.write(value + amount).await;
    }
}

struct TwoTasks {
    vocabulary: Vocabulary,
    bug: Bug,
}

/// A running node; a crash drops it with all its tasks.
struct Node {
    executor: Executor,
    counter: Counter,
}

#[derive(Clone, Default)]
struct View {
    stored: u32,
    tasks: usize,
    deadlock: Option<String>,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("stored", &self.stored);
        visit("tasks", &self.tasks);
    }
}

impl TwoTasks {
    /// Enables what can be chosen next.
    fn offer(node: &Node, cx: &mut Context<()>) {
        let executor = &node.executor;
        if !executor.is_idle() {
            cx.enable_local(RUN);
        }
        if executor.find_event(|kind, _| matches!(kind, EventKind::Completion(_))).is_some() {
            cx.enable_local(COMPLETE);
        }
        if executor.find_event(|kind, _| matches!(kind, EventKind::Timer(_))).is_some() {
            cx.set_timer(TIMER);
        }
    }

    /// Fires one of the events that are timers, or one of those that are not.
    fn fire(node: &mut Node, timers: bool, cx: &mut Context<()>) {
        let mut events = node.executor.events();
        events.retain(|event| matches!(event.kind, EventKind::Timer(_)) == timers);
        if let Some(last) = events.len().checked_sub(1) {
            let position = if last == 0 { 0 } else { cx.draw(TASK) as usize % events.len() };
            node.executor.fire(events[position].id);
        }
    }
}

impl System for TwoTasks {
    type Node = Node;
    type Message = ();
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<()>) -> Result<Node, BootError> {
        let mut node = Node { executor: Executor::default(), counter: Counter::default() };
        for (name, amount) in [("adds-1", 1), ("adds-2", 2)] {
            let (counter, bug) = (node.counter.clone(), self.bug);
            node.executor.enter(|| spawn_named(name, counter.add(amount, bug)));
        }
        Self::offer(&node, cx);
        Ok(node)
    }

    fn handle(&self, node: &mut Node, input: Input<()>, cx: &mut Context<()>) {
        match input {
            Input::Local(RUN) => {
                let ready = node.executor.ready();
                let position = if ready < 2 { 0 } else { cx.draw(TASK) as usize % ready };
                node.executor.poll(position);
            }
            Input::Local(_) => Self::fire(node, false, cx),
            Input::Timer(_) => Self::fire(node, true, cx),
            Input::Message { .. } | Input::Request { .. } => {}
        }
        Self::offer(node, cx);
    }

    fn view(&self, node: &Node, out: &mut View) {
        out.stored = *node.counter.stored.lock().unwrap_or_else(PoisonError::into_inner);
        out.tasks = node.executor.tasks().count();
        out.deadlock = node.executor.deadlock(|_| false).map(|deadlock| deadlock.to_string());
    }

    fn kind(&self, (): &()) -> u8 {
        0
    }
}

/// The oracles: tasks never wait for each other, and once both have ended the counter has both amounts.
struct AddsUp;

impl Judge<TwoTasks> for AddsUp {
    fn reset(&mut self, _: &Seen<'_, TwoTasks>, _: &mut Report) {}

    fn after(&mut self, seen: &Seen<'_, TwoTasks>, report: &mut Report) {
        let [view] = seen.views else { return };
        if let Some(deadlock) = &view.deadlock {
            report.failure.get_or_insert(Failure::new("tasks", "no-deadlock", deadlock.clone()));
        } else if view.tasks == 0 && view.stored != 3 {
            let text = format!("1 and 2 were added to 0, and {} is stored", view.stored);
            report.failure.get_or_insert(Failure::new("counter", "adds-up", text));
        }
    }
}

fn two_tasks() -> Target {
    target("two-tasks", |setup| {
        let vocabulary = Vocabulary {
            nodes: 1,
            kinds: vec!["none"],
            timers: vec!["sleep"],
            locals: vec!["run", "complete"],
            draws: vec![DrawName { name: "task", below: PICKS }],
            ..Vocabulary::default()
        };
        let bug = match setup.settings.word("bug") {
            "no-lock" => Bug::NoLock,
            "lock-order" => Bug::LockOrder,
            _ => Bug::None,
        };
        Ok((TwoTasks { vocabulary, bug }, AddsUp))
    })
    .version("0.1.0")
    .description("one node, two async tasks that add to a counter")
    .bugs(&[
        ("no-lock", "both read before one writes"),
        ("lock-order", "the tasks take two locks in opposite order"),
    ])
}

fn main() -> ExitCode {
    misrule::main(vec![two_tasks()])
}

//! The executor: tasks, and the caller's choices among them.

use crate::blocked::{Deadlock, TaskInfo};
use crate::current::{self, Current};
use crate::event::{Event, EventId, EventKind};
use crate::instant::Instant;
use crate::task::{Ready, Task, TaskId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Wake};

/// Polls that one [`Executor::settle`] may take.
pub const POLLS_MAX: u32 = 100_000;

/// Runs the tasks of one node, as its caller says. See the [crate's documentation](crate).
///
/// Dropping it drops all tasks, as a crash does. Code that runs then can spawn nothing.
#[derive(Debug)]
pub struct Executor {
    /// `None` only while code runs: the thread-local has it then.
    current: Option<Box<Current>>,
    tasks: BTreeMap<TaskId, Task>,
    last: TaskId,
    ready: Arc<Ready>,
}

/// Tasks went on waking each other for [`POLLS_MAX`] polls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endless {
    /// The tasks that could run at the end.
    pub tasks: Vec<String>,
}

impl fmt::Display for Endless {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "tasks still run after {POLLS_MAX} polls: {}", self.tasks.join(", "))
    }
}

impl std::error::Error for Endless {}

impl Default for Executor {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Executor {
    /// An executor without tasks. `seed` is where the numbers of [`random`](crate::random) begin.
    pub fn new(seed: u64) -> Self {
        Self {
            current: Some(Box::new(Current { random: seed, ..Current::default() })),
            tasks: BTreeMap::new(),
            last: 0,
            ready: Arc::default(),
        }
    }

    /// Runs `call` inside this executor, so that it may spawn tasks, send to channels, ask for the time.
    pub fn enter<R>(&mut self, call: impl FnOnce() -> R) -> R {
        let result = current::enter(&mut self.current, call);
        self.adopt();
        result
    }

    /// Takes what was spawned since the last call.
    fn adopt(&mut self) {
        let Some(current) = &mut self.current else { return };
        for spawned in current.spawned.drain(..) {
            self.last += 1;
            let task = Task::new(self.last, spawned.name, spawned.body, self.ready.clone());
            task.signal.wake_by_ref();
            self.tasks.insert(self.last, task);
        }
    }

    /// How many tasks can run.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Whether no task can run.
    pub fn is_idle(&self) -> bool {
        self.ready() == 0
    }

    /// Polls one of the tasks that can run; 0 is the one that can run for the longest time. Returns whether there
    /// is one at this position.
    pub fn poll(&mut self, position: usize) -> bool {
        match self.ready.get(position) {
            Some(id) => self.poll_task(id),
            None => false,
        }
    }

    fn poll_task(&mut self, id: TaskId) -> bool {
        self.ready.remove(id);
        // A waker that outlives its task names one that is gone.
        let Some(task) = self.tasks.get_mut(&id) else { return false };
        task.signal.clear();
        if let Some(current) = &mut self.current {
            current.task = Some(id);
            current.poll += 1;
            // The buffer goes round: that of the last poll is filled again.
            current.waits = std::mem::take(&mut task.waits);
            current.waits.clear();
        }
        let mut cx = Context::from_waker(&task.waker);
        let body = &mut task.body;
        let polled = current::enter(&mut self.current, || body.as_mut().poll(&mut cx));
        if let Some(current) = &mut self.current {
            current.task = None;
            task.waits = std::mem::take(&mut current.waits);
        }
        if polled.is_ready() {
            let ended = self.tasks.remove(&id);
            current::enter(&mut self.current, || drop(ended));
            self.ready.remove(id);
        }
        self.adopt();
        true
    }

    /// Polls until no task can run. Where several can, `pick` is asked for a position below their number; what is
    /// too large means the last one. Returns the number of polls.
    ///
    /// # Errors
    /// After [`POLLS_MAX`] polls, when tasks wake each other or themselves for ever.
    pub fn settle(&mut self, mut pick: impl FnMut(usize) -> usize) -> Result<u32, Endless> {
        let mut polls = 0;
        loop {
            let position = match self.ready.len() {
                0 => return Ok(polls),
                1 => 0,
                several => pick(several).min(several - 1),
            };
            if polls == POLLS_MAX {
                return Err(Endless { tasks: self.ready_names() });
            }
            self.poll(position);
            polls += 1;
        }
    }

    fn ready_names(&self) -> Vec<String> {
        let ready = |(id, _): &(&TaskId, &Task)| self.ready.contains(**id);
        self.tasks.iter().filter(ready).map(|(_, task)| task.name.clone()).collect()
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.current.as_ref().map_or(Instant::START, |current| current.shared.now())
    }

    /// The events that tasks wait for: timers by deadline, then completions; equal ones in the order in which tasks
    /// came to wait for them.
    pub fn events(&self) -> Vec<Event> {
        let Some(current) = &self.current else { return Vec::new() };
        let events = current.shared.events();
        let mut listed: Vec<Event> = events
            .pending
            .iter()
            .map(|pending| Event {
                id: pending.id,
                kind: pending.kind,
                task: pending
                    .task
                    .and_then(|task| self.tasks.get(&task))
                    .map(|task| task.name.clone())
                    .unwrap_or_default(),
            })
            .collect();
        listed.sort_by_key(|event| match event.kind {
            EventKind::Timer(deadline) => (false, deadline),
            EventKind::Completion(_) => (true, Instant::START),
        });
        listed
    }

    /// Whether some task waits for an event that `is_meant` picks by kind and name of the task. Nothing is listed or
    /// copied.
    pub fn find_event(&self, mut is_meant: impl FnMut(EventKind, &str) -> bool) -> Option<EventId> {
        let current = self.current.as_ref()?;
        let events = current.shared.events();
        let mut found: Option<(Instant, EventId)> = None;
        for pending in &events.pending {
            let task = pending.task.and_then(|task| self.tasks.get(&task));
            let due = match pending.kind {
                EventKind::Timer(deadline) => deadline,
                EventKind::Completion(_) => Instant::START,
            };
            if is_meant(pending.kind, task.map_or("", |task| &task.name))
                && found.is_none_or(|(earliest, _)| due < earliest)
            {
                found = Some((due, pending.id));
            }
        }
        found.map(|(_, id)| id)
    }

    /// Fires an event, and polls the task that waits for it at once. A timer moves the time to its deadline, or
    /// leaves it where that has passed. Returns whether it did: not where the event is not pending any more, nor
    /// where its task can run already, which is to be polled first. (Were both allowed, a `select!` could find two
    /// branches ready; see the [crate's documentation](crate).)
    pub fn fire(&mut self, id: EventId) -> bool {
        let Some(current) = &self.current else { return false };
        let task = {
            let events = current.shared.events();
            let Some(pending) = events.pending.iter().find(|pending| pending.id == id) else { return false };
            pending.task
        };
        if task.is_some_and(|task| self.ready.contains(task)) {
            return false;
        }
        let waker = current.shared.events().fire(id);
        let Some(waker) = waker else { return false };
        self.enter(|| waker.wake());
        if let Some(task) = task {
            self.poll_task(task);
        }
        true
    }

    /// The tasks that have not ended, oldest first.
    pub fn tasks(&self) -> impl Iterator<Item = TaskInfo> {
        self.tasks.iter().map(|(id, task)| TaskInfo {
            name: task.name.clone(),
            ready: self.ready.contains(*id),
            waits: task.waits.clone(),
            wakers: task.wakers(),
        })
    }

    /// The tasks that wait for each other, if they do: none can run, and no event is pending for any of them.
    /// `may_wait` says which tasks, by name, rightly wait for what comes from outside, such as messages: they and
    /// their events do not count. `None` where all tasks may wait.
    pub fn deadlock(&self, may_wait: impl Fn(&str) -> bool) -> Option<Deadlock> {
        if !self.is_idle() || self.find_event(|_, task| !may_wait(task)).is_some() {
            return None;
        }
        let tasks: Vec<TaskInfo> = self.tasks().filter(|task| !may_wait(&task.name)).collect();
        if tasks.is_empty() { None } else { Some(Deadlock { tasks }) }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        let Some(current) = &mut self.current else { return };
        current.closing = true;
        // What a call that was unwound had spawned.
        let spawned = std::mem::take(&mut current.spawned);
        let tasks = &mut self.tasks;
        current::enter(&mut self.current, || {
            drop(spawned);
            // Newest first: a task is gone before the one that spawned it.
            while let Some(task) = tasks.pop_last() {
                drop(task);
            }
        });
    }
}

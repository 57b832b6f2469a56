//! Tasks, and the queue of those that can run.

use crate::blocked::Wait;
use crate::current::lock;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// Number of a task; never used twice by one executor.
pub(crate) type TaskId = u64;

/// What a task does. Its output goes to its handle.
pub(crate) type Body = Pin<Box<dyn Future<Output = ()>>>;

/// A task that has not ended.
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) body: Body,
    pub(crate) signal: Arc<Signal>,
    pub(crate) waker: Waker,
    /// What it waited for when it was last polled.
    pub(crate) waits: Vec<Wait>,
}

impl Task {
    pub(crate) fn new(id: TaskId, name: String, body: Body, ready: Arc<Ready>) -> Self {
        let signal = Arc::new(Signal { id, woken: AtomicBool::new(false), ready });
        Self { name, body, waker: Waker::from(signal.clone()), signal, waits: Vec::new() }
    }

    /// How many places could still wake it.
    pub(crate) fn wakers(&self) -> usize {
        // Two are the task's own.
        Arc::strong_count(&self.signal).saturating_sub(2)
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Task").field("name", &self.name).field("waits", &self.waits).finish_non_exhaustive()
    }
}

/// Tasks that can run, in the order in which they were woken.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    queue: Mutex<VecDeque<TaskId>>,
}

impl Ready {
    pub(crate) fn len(&self) -> usize {
        lock(&self.queue).len()
    }

    pub(crate) fn get(&self, position: usize) -> Option<TaskId> {
        lock(&self.queue).get(position).copied()
    }

    pub(crate) fn contains(&self, id: TaskId) -> bool {
        lock(&self.queue).contains(&id)
    }

    /// Takes a task out of the queue.
    pub(crate) fn remove(&self, id: TaskId) {
        lock(&self.queue).retain(|queued| *queued != id);
    }
}

/// What wakes a task.
#[derive(Debug)]
pub(crate) struct Signal {
    id: TaskId,
    woken: AtomicBool,
    ready: Arc<Ready>,
}

impl Signal {
    /// The task is about to be polled: what wakes it from now on counts again.
    pub(crate) fn clear(&self) {
        self.woken.store(false, Ordering::Relaxed);
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::Relaxed) {
            lock(&self.ready.queue).push_back(self.id);
        }
    }
}

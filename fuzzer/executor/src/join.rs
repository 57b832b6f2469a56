//! Handles of tasks.

use crate::blocked::Wait;
use crate::current::{Noted, forget, lock, note};
use crate::task::Body;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// Waits for a task to end, and has its output then. A task whose handle is dropped goes on.
#[derive(Debug)]
pub struct JoinHandle<T> {
    task: String,
    slot: Arc<Mutex<Slot<T>>>,
    noted: Noted,
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        forget(self.noted, |wait| matches!(wait, Wait::Task(name) if *name == self.task));
    }
}

/// Why a task has no output: it was dropped with its executor, or its output was taken before. A panic is no
/// reason: it unwinds through the executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinError {
    task: String,
}

impl fmt::Display for JoinError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "task {} has no output: it was dropped, or the output was taken", self.task)
    }
}

impl std::error::Error for JoinError {}

#[derive(Debug)]
struct Slot<T> {
    output: Option<T>,
    ended: bool,
    waker: Option<Waker>,
}

/// Ends the task in its slot, also where the task is dropped before its end.
struct End<T> {
    slot: Arc<Mutex<Slot<T>>>,
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        let waker = {
            let mut slot = lock(&self.slot);
            slot.ended = true;
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A task's body and its handle.
pub(crate) fn task<F>(name: String, future: F) -> (Body, JoinHandle<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
{
    let slot = Arc::new(Mutex::new(Slot { output: None, ended: false, waker: None }));
    let end = End { slot: slot.clone() };
    let body = async move {
        let output = future.await;
        lock(&end.slot).output = Some(output);
        drop(end);
    };
    (Box::pin(body), JoinHandle { task: name, slot, noted: Noted::default() })
}

impl<T> JoinHandle<T> {
    /// The output, if the task has ended and nobody took it.
    pub fn take(&self) -> Option<T> {
        lock(&self.slot).output.take()
    }

    /// Whether the task has ended, by itself or with its executor.
    pub fn is_finished(&self) -> bool {
        lock(&self.slot).ended
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        {
            let mut slot = lock(&self.slot);
            if slot.ended {
                return Poll::Ready(slot.output.take().ok_or_else(|| JoinError { task: self.task.clone() }));
            }
            slot.waker = Some(cx.waker().clone());
        }
        self.noted = note(Wait::Task(self.task.clone()));
        Poll::Pending
    }
}

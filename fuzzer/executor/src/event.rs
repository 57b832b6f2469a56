//! What happens only when the caller says so: timers fire, operations complete.

use crate::blocked::Wait;
use crate::current::{self, Noted, Shared, forget, note};
use crate::instant::Instant;
use crate::task::TaskId;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Names an event; never used twice by one executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(u64);

/// What kind of event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A timer fires, now or later than its deadline.
    Timer(Instant),
    /// An operation of this name completes.
    Completion(&'static str),
}

/// An event that some task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name for [`Executor::fire`](crate::Executor::fire).
    pub id: EventId,
    /// What it is.
    pub kind: EventKind,
    /// The task that waits for it; empty where it is awaited outside a task.
    pub task: String,
}

/// An event with who waits for it.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) id: EventId,
    pub(crate) kind: EventKind,
    pub(crate) task: Option<TaskId>,
    waker: Waker,
}

/// The time, and the events that have not fired.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) now: Instant,
    last: u64,
    /// In the order in which tasks came to wait for them.
    pub(crate) pending: Vec<Pending>,
}

impl Events {
    /// Fires an event: it is no longer pending, and its time has come.
    pub(crate) fn fire(&mut self, id: EventId) -> Option<Waker> {
        let at = self.pending.iter().position(|pending| pending.id == id)?;
        let fired = self.pending.remove(at);
        if let EventKind::Timer(deadline) = fired.kind {
            self.now = self.now.max(deadline);
        }
        Some(fired.waker)
    }
}

/// One event as a future: pending since its first poll, until it is fired.
#[derive(Debug)]
struct Awaited {
    kind: EventKind,
    /// Where it is pending, once it was polled.
    registered: Option<(Arc<Shared>, EventId)>,
    noted: Noted,
}

impl Awaited {
    fn new(kind: EventKind) -> Self {
        Self { kind, registered: None, noted: Noted::default() }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some((shared, id)) = &self.registered {
            let mut events = shared.events();
            let Some(pending) = events.pending.iter_mut().find(|pending| pending.id == *id) else {
                drop(events);
                self.registered = None;
                return Poll::Ready(());
            };
            pending.waker.clone_from(cx.waker());
            drop(events);
        } else {
            let waker = cx.waker().clone();
            let kind = self.kind;
            self.registered = Some(current::with("an event's poll", |current| {
                let mut events = current.shared.events();
                events.last += 1;
                let id = EventId(events.last);
                events.pending.push(Pending { id, kind, task: current.task, waker });
                drop(events);
                (current.shared.clone(), id)
            }));
        }
        self.noted = note(self.wait());
        Poll::Pending
    }

    fn wait(&self) -> Wait {
        match self.kind {
            EventKind::Timer(deadline) => Wait::Timer(deadline),
            EventKind::Completion(name) => Wait::Completion(name),
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let wait = self.wait();
        forget(self.noted, |noted| *noted == wait);
        if let Some((shared, id)) = self.registered.take() {
            let mut events = shared.events();
            let at = events.pending.iter().position(|pending| pending.id == id);
            let gone = at.map(|at| events.pending.remove(at));
            // The waker may be the last owner of something of the target's.
            drop(events);
            drop(gone);
        }
    }
}

/// Waits until its timer is fired; see [`sleep`].
#[derive(Debug)]
pub struct Sleep(Awaited);

/// The moment in which so much time has passed.
fn after(duration: Duration) -> Instant {
    current::with("now", |current| current.shared.now()) + duration
}

/// Waits for so long. The timer is one that can be fired since the first poll.
///
/// # Panics
/// Outside an executor.
pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(after(duration))
}

/// Waits until a moment. One that has passed waits too, until its timer is fired.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep(Awaited::new(EventKind::Timer(deadline)))
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll(cx)
    }
}

/// Waits until the caller of the executor completes the operation; see [`completion`].
#[derive(Debug)]
pub struct Completion(Awaited);

/// An operation outside the executor, such as a write: complete when the caller fires the event.
pub fn completion(name: &'static str) -> Completion {
    Completion(Awaited::new(EventKind::Completion(name)))
}

impl Future for Completion {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll(cx)
    }
}

/// A timeout has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the timeout has passed")
    }
}

impl std::error::Error for Elapsed {}

/// A future that has so much time; see [`timeout`].
#[derive(Debug)]
pub struct Timeout<F> {
    future: Pin<Box<F>>,
    sleep: Sleep,
}

/// Waits for a future, or until its timer is fired. The future goes first where both are ready.
///
/// # Panics
/// Outside an executor.
pub fn timeout<F: Future>(duration: Duration, future: F) -> Timeout<F> {
    timeout_at(after(duration), future)
}

/// [`timeout`] with a moment.
pub fn timeout_at<F: Future>(deadline: Instant, future: F) -> Timeout<F> {
    Timeout { future: Box::pin(future), sleep: sleep_until(deadline) }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(output) = self.future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        self.sleep.0.poll(cx).map(|()| Err(Elapsed))
    }
}

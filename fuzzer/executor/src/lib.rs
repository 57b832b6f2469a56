//! Runs async code in which nothing happens by itself. One thread polls the tasks of one node; which of the
//! tasks that can run is next, which timer fires and which storage operation completes are the caller's
//! choices, so that a world can make them choices of a schedule.
//!
//! What code under test calls is found through a thread-local, because the runtime traits of libraries have
//! functions without a receiver: [`spawn`], [`sleep`], [`timeout`], [`Instant::now`], [`completion`], [`random`].
//! The caller has the [`Executor`]: one for each node, dropped with all its tasks when the node crashes.
//!
//! ```
//! use misrule_executor::{Executor, completion, spawn};
//! use std::sync::{Arc, Mutex};
//!
//! // A counter whose increment is torn by a write that takes time.
//! async fn increment(counter: Arc<Mutex<u32>>) {
//!     let seen = *counter.lock().unwrap();
//!     completion("write").await;
//!     *counter.lock().unwrap() = seen + 1;
//! }
//!
//! let counter = Arc::new(Mutex::new(0));
//! let mut executor = Executor::default();
//! for _ in 0..2 {
//!     let counter = counter.clone();
//!     executor.enter(|| spawn(increment(counter)));
//! }
//! executor.settle(|_ready| 0).unwrap();
//! assert_eq!(executor.events().len(), 2);
//! while let Some(write) = executor.events().first().map(|event| event.id) {
//!     executor.fire(write);
//!     executor.settle(|_ready| 0).unwrap();
//! }
//! // One increment is lost, in each run.
//! assert_eq!(*counter.lock().unwrap(), 1);
//! ```
//!
//! # What time is
//!
//! An [`Instant`] counts from the start of its executor. Time stands still until [`Executor::fire`] fires a timer,
//! and is then at the timer's deadline, or stays where it is if that has passed: as in life, a timer is never
//! early and may be late. A [`Sleep`] is never ready before it was fired, even when its deadline has passed.
//!
//! # `tokio::select!`
//!
//! The channels and locks of `tokio::sync` need no runtime and may be used. `select!` without `biased` begins with a
//! branch that a generator of tokio picks, which only `--cfg tokio_unstable` lets one seed. It shows only where
//! two branches are ready in the same poll. A timer or completion fires only while its task cannot run, and its
//! task runs at once, so that a `select!` between one of them and a channel never sees both: the random
//! beginning then changes nothing. A `select!` between two channels has no such help; write `biased;` there, or
//! call [`Executor::settle`] inside a runtime of tokio's with a seed (`Builder::rng_seed`).
//!
//! # What it is not
//!
//! No input or output, no thread, no timer of tokio's: code that calls `tokio::spawn` or `tokio::time::sleep`
//! itself must be given a runtime trait of its own, or be changed. A panic in a task is not caught: it unwinds out of
//! the call that polled the task, and is for the world to judge.

mod blocked;
mod current;
mod event;
mod executor;
mod instant;
mod join;
mod name;
mod oneshot;
mod task;

pub use blocked::{Deadlock, TaskInfo, Wait};
pub use current::{random, spawn, spawn_named};
pub use event::{
    Completion, Elapsed, Event, EventId, EventKind, Sleep, Timeout, completion, sleep, sleep_until, timeout,
    timeout_at,
};
pub use executor::{Endless, Executor, POLLS_MAX};
pub use instant::Instant;
pub use join::{JoinError, JoinHandle};
pub use oneshot::{OneshotReceiver, OneshotSender, RecvError, oneshot};

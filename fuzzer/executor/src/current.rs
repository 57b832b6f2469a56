//! The executor that runs, found through a thread-local, and what all its parts share.

use crate::blocked::Wait;
use crate::event::Events;
use crate::instant::Instant;
use crate::join::{self, JoinHandle};
use crate::name::short_name;
use crate::task::{Body, TaskId};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an executor shares with the timers and completions of its tasks. The locks are never contended: they are
/// there because libraries want futures that are `Send` and `Sync`.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    events: Mutex<Events>,
}

impl Shared {
    pub(crate) fn events(&self) -> MutexGuard<'_, Events> {
        lock(&self.events)
    }

    pub(crate) fn now(&self) -> Instant {
        self.events().now
    }
}

/// Locks; what a panic left behind is still whole, since nothing of a target runs under these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The part of an executor that is in the thread-local while its code runs.
#[derive(Debug, Default)]
pub(crate) struct Current {
    pub(crate) shared: Arc<Shared>,
    /// Tasks that were spawned and are not known to the executor yet.
    pub(crate) spawned: Vec<Spawned>,
    /// The task that is being polled.
    pub(crate) task: Option<TaskId>,
    /// What the polled task waits for, as far as futures of ours say.
    pub(crate) waits: Vec<Wait>,
    /// The number of the poll, so that a future knows whether what it noted was in this one.
    pub(crate) poll: u64,
    /// The tasks are being dropped: nothing is spawned any more.
    pub(crate) closing: bool,
    /// State of the numbers of [`random`].
    pub(crate) random: u64,
}

/// A task before its first poll.
pub(crate) struct Spawned {
    pub(crate) name: String,
    pub(crate) body: Body,
}

impl std::fmt::Debug for Spawned {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.name)
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Box<Current>>> = const { RefCell::new(None) };
}

/// Puts the executor's part back, also when the call unwinds.
struct Entered<'a> {
    slot: &'a mut Option<Box<Current>>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        CURRENT.with(|current| std::mem::swap(&mut *current.borrow_mut(), self.slot));
    }
}

/// Runs `call` with `slot` as the current executor. Calls may nest, one executor inside another.
pub(crate) fn enter<R>(slot: &mut Option<Box<Current>>, call: impl FnOnce() -> R) -> R {
    CURRENT.with(|current| std::mem::swap(&mut *current.borrow_mut(), slot));
    let _entered = Entered { slot };
    call()
}

/// The current executor, if there is one. `call` must not run code of a target.
pub(crate) fn try_with<R>(call: impl FnOnce(&mut Current) -> R) -> Option<R> {
    CURRENT.with(|current| current.borrow_mut().as_mut().map(|current| call(current)))
}

/// The current executor; code that runs outside one has escaped control, which its author must know.
pub(crate) fn with<R>(what: &str, call: impl FnOnce(&mut Current) -> R) -> R {
    try_with(call).unwrap_or_else(|| {
        let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
        panic!("`{what}` was called outside an executor, on thread `{thread}`")
    })
}

/// A poll in which something was noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Noted(Option<u64>);

/// Notes what the polled task waits for.
pub(crate) fn note(wait: Wait) -> Noted {
    let noted = try_with(|current| {
        current.task.map(|_| {
            current.waits.push(wait);
            current.poll
        })
    });
    Noted(noted.flatten())
}

/// Takes back what was noted in this poll: the future is dropped before the poll has ended, and nobody waits for it.
pub(crate) fn forget(noted: Noted, is_it: impl Fn(&Wait) -> bool) {
    if noted.0.is_none() {
        return;
    }
    try_with(|current| {
        if noted.0 == Some(current.poll)
            && let Some(at) = current.waits.iter().rposition(is_it)
        {
            current.waits.remove(at);
        }
    });
}

/// Spawns a task on the executor that runs. Its name comes from the future's type. It runs first when it is picked. When
/// the executor is being dropped the task never runs, and its handle says [`JoinError`](crate::JoinError).
///
/// # Panics
/// Outside an executor.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    spawn_named(short_name(std::any::type_name::<F>()), future)
}

/// [`spawn`] with a name of the caller's.
///
/// # Panics
/// Outside an executor.
pub fn spawn_named<F>(name: impl Into<String>, future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let name = name.into();
    let (body, handle) = join::task(name.clone(), future);
    // A body that is refused is dropped after the borrow has ended: that may run code of the target.
    let refused = with("spawn", |current| {
        if current.closing {
            return Some(body);
        }
        current.spawned.push(Spawned { name, body });
        None
    });
    drop(refused);
    handle
}

/// A number that depends on the executor's seed and on how many were asked for before: `SplitMix64` (Steele, Lea and
/// Flood, *Fast splittable pseudorandom number generators*, figure 15).
///
/// # Panics
/// Outside an executor.
pub fn random() -> u64 {
    with("random", |current| {
        current.random = current.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = current.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

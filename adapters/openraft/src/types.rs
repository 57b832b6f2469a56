//! The types that openraft is generic in, and the runtime: everything async goes to the node's executor.

use crate::command::Command;
use misrule_executor::{
    Elapsed, JoinError, JoinHandle, OneshotReceiver, OneshotSender, RecvError, Sleep, Timeout,
};
use misrule_world::Answer;
use openraft::async_runtime::AsyncOneshotSendExt;
use openraft::{AsyncRuntime, EmptyNode, OptionalSend};
use rand::RngCore;
use std::fmt;
use std::io::Cursor;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

openraft::declare_raft_types!(
    /// The types of this adapter.
    pub Types:
        D = Command,
        R = Option<Answer>,
        NodeId = u64,
        Node = EmptyNode,
        SnapshotData = Cursor<Vec<u8>>,
        AsyncRuntime = Runtime,
);

pub(crate) type LogId = openraft::LogId<u64>;
pub(crate) type Vote = openraft::Vote<u64>;
pub(crate) type Entry = openraft::Entry<Types>;
pub(crate) type StorageError = openraft::StorageError<u64>;
pub(crate) type StoredMembership = openraft::StoredMembership<u64, EmptyNode>;
pub(crate) type Membership = openraft::Membership<u64, EmptyNode>;
pub(crate) type SnapshotMeta = openraft::SnapshotMeta<u64, EmptyNode>;
pub(crate) type LogFlushed = openraft::storage::LogFlushed<Types>;

/// The number by which openraft knows a node: they count from 1.
pub(crate) fn number(node: misrule_models::NodeId) -> u64 {
    u64::from(node) + 1
}

/// The node of a number; one that no node has where there is none.
pub(crate) fn node(number: u64) -> misrule_models::NodeId {
    number.checked_sub(1).and_then(|node| node.try_into().ok()).unwrap_or(misrule_models::NodeId::MAX)
}

/// The runtime: tasks, timers and channels are those of the executor that runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Runtime;

/// A moment of the executor's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(misrule_executor::Instant);

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl AddAssign<Duration> for Moment {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration;
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0 - duration)
    }
}

impl SubAssign<Duration> for Moment {
    fn sub_assign(&mut self, duration: Duration) {
        self.0 -= duration;
    }
}

impl Sub for Moment {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.0 - earlier.0
    }
}

impl openraft::Instant for Moment {
    fn now() -> Self {
        Self(misrule_executor::Instant::now())
    }
}

/// Random numbers of the executor.
#[derive(Debug)]
pub struct Numbers;

impl RngCore for Numbers {
    fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    fn next_u64(&mut self) -> u64 {
        misrule_executor::random()
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let number = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&number[..chunk.len()]);
        }
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

/// The sending half of a oneshot channel.
pub struct Sender<T>(OneshotSender<T>);

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl<T> AsyncOneshotSendExt<T> for Sender<T> {
    fn send(self, value: T) -> Result<(), T> {
        self.0.send(value)
    }
}

impl AsyncRuntime for Runtime {
    type JoinError = JoinError;
    type JoinHandle<T: OptionalSend + 'static> = JoinHandle<T>;
    type Sleep = Sleep;
    type Instant = Moment;
    type TimeoutError = Elapsed;
    type Timeout<R, T: Future<Output = R> + OptionalSend> = Timeout<T>;
    type ThreadLocalRng = Numbers;
    type OneshotSender<T: OptionalSend> = Sender<T>;
    type OneshotReceiverError = RecvError;
    type OneshotReceiver<T: OptionalSend> = OneshotReceiver<T>;

    fn spawn<T>(future: T) -> JoinHandle<T::Output>
    where
        T: Future + OptionalSend + 'static,
        T::Output: OptionalSend + 'static,
    {
        misrule_executor::spawn(future)
    }

    fn sleep(duration: Duration) -> Sleep {
        misrule_executor::sleep(duration)
    }

    fn sleep_until(deadline: Moment) -> Sleep {
        misrule_executor::sleep_until(deadline.0)
    }

    fn timeout<R, F: Future<Output = R> + OptionalSend>(duration: Duration, future: F) -> Timeout<F> {
        misrule_executor::timeout(duration, future)
    }

    fn timeout_at<R, F: Future<Output = R> + OptionalSend>(deadline: Moment, future: F) -> Timeout<F> {
        misrule_executor::timeout_at(deadline.0, future)
    }

    /// Never: a panic unwinds out of the step, and is a finding.
    fn is_panic(_: &JoinError) -> bool {
        false
    }

    fn thread_rng() -> Numbers {
        Numbers
    }

    fn oneshot<T: OptionalSend>() -> (Sender<T>, OneshotReceiver<T>) {
        let (sender, receiver) = misrule_executor::oneshot();
        (Sender(sender), receiver)
    }
}

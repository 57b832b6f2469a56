//! A channel for one value. That of tokio would do, but says nothing of who waits.

use crate::blocked::Wait;
use crate::current::{Noted, forget, lock, note};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// The sending half.
#[derive(Debug)]
pub struct OneshotSender<T> {
    channel: Arc<Mutex<Channel<T>>>,
}

/// The receiving half: a future of the value.
#[derive(Debug)]
pub struct OneshotReceiver<T> {
    channel: Arc<Mutex<Channel<T>>>,
    noted: Noted,
}

/// The sender is gone and has sent nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

impl fmt::Display for RecvError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the sender was dropped before it sent")
    }
}

impl std::error::Error for RecvError {}

#[derive(Debug)]
struct Channel<T> {
    value: Option<T>,
    waker: Option<Waker>,
    has_sender: bool,
    has_receiver: bool,
}

/// Makes a channel for one value.
pub fn oneshot<T>() -> (OneshotSender<T>, OneshotReceiver<T>) {
    let channel =
        Arc::new(Mutex::new(Channel { value: None, waker: None, has_sender: true, has_receiver: true }));
    (OneshotSender { channel: channel.clone() }, OneshotReceiver { channel, noted: Noted::default() })
}

impl<T> OneshotSender<T> {
    /// Sends the value.
    ///
    /// # Errors
    /// Gives the value back when the receiver is gone.
    pub fn send(self, value: T) -> Result<(), T> {
        let mut channel = lock(&self.channel);
        if !channel.has_receiver {
            return Err(value);
        }
        // Dropping the sender wakes the receiver.
        channel.value = Some(value);
        Ok(())
    }

    /// Whether the receiver is gone.
    pub fn is_closed(&self) -> bool {
        !lock(&self.channel).has_receiver
    }
}

impl<T> Drop for OneshotSender<T> {
    fn drop(&mut self) {
        let waker = {
            let mut channel = lock(&self.channel);
            channel.has_sender = false;
            channel.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> OneshotReceiver<T> {
    /// The value, if it was sent and nobody took it.
    pub fn take(&self) -> Option<T> {
        lock(&self.channel).value.take()
    }
}

impl<T> Drop for OneshotReceiver<T> {
    fn drop(&mut self) {
        forget(self.noted, |wait| *wait == Wait::Oneshot);
        let left = {
            let mut channel = lock(&self.channel);
            channel.has_receiver = false;
            (channel.value.take(), channel.waker.take())
        };
        drop(left);
    }
}

impl<T> Future for OneshotReceiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        {
            let mut channel = lock(&self.channel);
            if let Some(value) = channel.value.take() {
                return Poll::Ready(Ok(value));
            }
            if !channel.has_sender {
                return Poll::Ready(Err(RecvError));
            }
            channel.waker = Some(cx.waker().clone());
        }
        self.noted = note(Wait::Oneshot);
        Poll::Pending
    }
}

//! Simulated time.

use crate::current;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

/// A moment in the simulated time of one executor. Arithmetic saturates: a difference is never negative, and what
/// is too late to be expressed is the last moment there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    /// The moment in which the executor started.
    pub const START: Self = Self(Duration::ZERO);

    /// The current moment of the executor that runs.
    ///
    /// # Panics
    /// Outside an executor.
    pub fn now() -> Self {
        current::with("now", |current| current.shared.now())
    }

    /// The time since the executor started.
    pub fn since_start(self) -> Duration {
        self.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration))
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

//! Where the time of a step goes: sections of a step, timed with a clock of the caller's.
//!
//! For the bench of the engine's parts only. The world asks once an execution whether a probe is on; where none
//! is, a section costs a branch. A section's time contains about one reading of the clock: each section measures
//! one right before, in the same circumstances, and takes it off. What a panic cuts short is not counted.

use std::cell::Cell;

/// Nanoseconds since any moment.
pub type Clock = fn() -> u64;

/// A part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Inside the system: start, input, drop.
    Target,
    /// Refreshing the view.
    View,
    /// Inside the judge.
    Judge,
    /// Following the model, and its properties; inside the judge too.
    Model,
}

const SECTIONS: usize = 4;

thread_local! {
    static CLOCK: Cell<Option<Clock>> = const { Cell::new(None) };
    static SPENT: Cell<[u64; SECTIONS]> = const { Cell::new([0; SECTIONS]) };
}

/// Turns the probe of this thread on and its sums to zero. Executions that begin from now on are timed.
pub fn start(clock: Clock) {
    SPENT.set([0; SECTIONS]);
    CLOCK.set(Some(clock));
}

/// Turns the probe off and returns the nanoseconds spent in each section, in the order of [`Section`].
pub fn stop() -> [u64; SECTIONS] {
    CLOCK.set(None);
    SPENT.get()
}

/// Whether the probe is on.
pub(crate) fn is_on() -> bool {
    CLOCK.get().is_some()
}

/// Calls `act`, and times it where `timed` says so.
#[expect(clippy::inline_always, reason = "several at every step, each nothing but a branch")]
#[inline(always)]
pub(crate) fn section<R>(timed: bool, section: Section, act: impl FnOnce() -> R) -> R {
    let started = if timed { begin() } else { None };
    let result = act();
    if let Some(started) = started {
        end(section, started);
    }
    result
}

/// The clock, and two readings of it.
type Started = (Clock, u64, u64);

#[cold]
#[inline(never)]
fn begin() -> Option<Started> {
    CLOCK.get().map(|clock| (clock, clock(), clock()))
}

#[cold]
#[inline(never)]
fn end(section: Section, (clock, before, start): Started) {
    let (end, reading) = (clock(), start - before);
    let mut spent = SPENT.get();
    // Wraps where single readings make it negative; the sum over many does not stay so.
    let own = (end - start).wrapping_sub(reading);
    spent[section as usize] = spent[section as usize].wrapping_add(own);
    SPENT.set(spent);
}

#[cfg(test)]
mod tests {
    use super::{Section, section, start, stop};
    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    /// Each reading takes a nanosecond.
    fn clock() -> u64 {
        NOW.set(NOW.get() + 1);
        NOW.get()
    }

    #[test]
    fn sections_are_summed_where_the_probe_is_on() {
        section(true, Section::View, || ());
        start(clock);
        section(false, Section::View, || ());
        section(true, Section::View, || NOW.set(NOW.get() + 10));
        section(true, Section::View, || NOW.set(NOW.get() + 20));
        section(true, Section::Judge, || ());
        assert_eq!(stop(), [0, 30, 0, 0]);
    }
}

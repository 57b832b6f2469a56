//! Where the time of a step goes: sections of a step, timed with a clock of the caller's.
//!
//! For the bench of the engine's parts only. The world asks once an execution whether a probe is on; where none
//! is, a section costs a branch. A section's own time contains about one reading of the clock, which
//! [`overhead`] measures; what a panic cuts short is not counted.

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

/// What was spent in a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Nanoseconds, the clock's own included.
    pub nanoseconds: u64,
    /// How often the section was entered.
    pub count: u64,
}

thread_local! {
    static CLOCK: Cell<Option<Clock>> = const { Cell::new(None) };
    static SPENT: Cell<[Spent; SECTIONS]> = const { Cell::new([Spent { nanoseconds: 0, count: 0 }; SECTIONS]) };
}

/// Turns the probe of this thread on and its sums to zero. Executions that begin from now on are timed.
pub fn start(clock: Clock) {
    SPENT.set([Spent::default(); SECTIONS]);
    CLOCK.set(Some(clock));
}

/// Turns the probe off and returns the sums, in the order of [`Section`].
pub fn stop() -> [Spent; SECTIONS] {
    CLOCK.set(None);
    SPENT.get()
}

/// Whether the probe is on.
pub(crate) fn is_on() -> bool {
    CLOCK.get().is_some()
}

/// Calls `act`, and times it where `timed` says so.
pub(crate) fn section<R>(timed: bool, section: Section, act: impl FnOnce() -> R) -> R {
    let start = if timed { CLOCK.get().map(|clock| (clock, clock())) } else { None };
    let result = act();
    if let Some((clock, start)) = start {
        let mut spent = SPENT.get();
        let of = &mut spent[section as usize];
        of.nanoseconds += clock().saturating_sub(start);
        of.count += 1;
        SPENT.set(spent);
    }
    result
}

/// What an empty section counts, in thousandths of a nanosecond: the lowest mean of some rounds.
pub fn overhead(clock: Clock) -> u64 {
    const SECTIONS_TIMED: u64 = 20_000;
    let round = || {
        start(clock);
        for _ in 0..SECTIONS_TIMED {
            section(true, Section::Target, || std::hint::black_box(()));
        }
        stop()[Section::Target as usize].nanoseconds * 1000 / SECTIONS_TIMED
    };
    (0..5).map(|_| round()).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Section, Spent, overhead, section, start, stop};
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
        let spent = stop();
        assert_eq!(spent[Section::View as usize], Spent { nanoseconds: 32, count: 2 });
        assert_eq!(spent[Section::Target as usize], Spent::default());
        assert_eq!(overhead(clock), 1000);
    }
}

//! Simulated time: what the contract promises about it, and which timers may fire now.
//!
//! Each node has a clock that runs too fast or too slow by a bounded part, so a timer that is set at time s for d ticks
//! fires between s + d / (1 + drift) and s + d / (1 - drift). Time is the earliest at which what happened can have
//! happened: it moves when a timer fires, to the beginning of the timer's window. A timer must not fire where another
//! one, or a message with a bounded delay, would come too late then.

use crate::menu::bits;
use crate::vocabulary::TIMERS_MAX;
use misrule_models::NodeId;
use std::collections::VecDeque;
use std::fmt;

/// What the environment promises about time. Text form: `clock=drift-10,delay=5`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockContract {
    /// By how many percent a node's clock may run too fast or too slow, 0 to 90. `None` where timers are free: they
    /// fire at any time and in any order.
    pub drift: Option<u8>,
    /// Ticks within which a message is delivered that can be, 1 to 1,000,000; `None` for any time.
    pub delay: Option<u32>,
}

/// Words of contracts.
pub(crate) const WORDS: [&str; 3] = ["clock=free", "clock=drift-0..90", "delay=1..1000000"];

impl ClockContract {
    /// Puts a word over the contract; `None` when it is not one of these. Naming the clock also resets the delay.
    pub(crate) fn put(&mut self, word: &str) -> Option<()> {
        if word == "clock=free" {
            *self = Self::default();
        } else if let Some(percent) = word.strip_prefix("clock=drift-") {
            *self = Self { drift: Some(number(percent, 0, 90)? as u8), delay: None };
        } else {
            self.delay = Some(number(word.strip_prefix("delay=")?, 1, 1_000_000)?);
        }
        Some(())
    }

    /// Why the fields cannot hold together.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let lacks = self.delay.is_some() && self.drift.is_none();
        lacks.then_some("`delay` bounds ticks, and with `clock=free` there are none")
    }
}

impl fmt::Display for ClockContract {
    /// The words with a comma in front of each; nothing where timers are free.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(drift) = self.drift {
            write!(f, ",clock=drift-{drift}")?;
        }
        self.delay.map_or(Ok(()), |delay| write!(f, ",delay={delay}"))
    }
}

fn number(text: &str, min: u32, max: u32) -> Option<u32> {
    text.parse().ok().filter(|number| (min..=max).contains(number))
}

/// Units of time in a tick: integers fine enough for parts of ticks.
const TICK: u64 = 1_000_000;

/// When a timer may fire, in units.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    earliest: u64,
    latest: u64,
}

/// The simulated time of one execution.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    drift: u64,
    delay: Option<u64>,
    now: u64,
    /// Whether time stands still, and every timer that is set may fire.
    stopped: bool,
    /// For each node, bit set of timers that are set, whether they may fire now or not.
    set: Vec<u32>,
    /// For each node, the windows of its timers.
    windows: Vec<[Window; TIMERS_MAX]>,
    /// For each link, the latest moments of the messages that wait there, in their order; empty without `delay`.
    latest: Vec<VecDeque<u64>>,
}

impl Clock {
    /// The clock of a contract that has one.
    pub(crate) fn new(nodes: NodeId, contract: ClockContract) -> Option<Box<Self>> {
        let nodes = usize::from(nodes);
        Some(Box::new(Self {
            drift: contract.drift?.into(),
            delay: contract.delay.map(|ticks| u64::from(ticks) * TICK),
            now: 0,
            stopped: false,
            set: vec![0; nodes],
            windows: vec![[Window::default(); TIMERS_MAX]; nodes],
            latest: vec![VecDeque::new(); nodes * nodes],
        }))
    }

    pub(crate) fn clear(&mut self) {
        (self.now, self.stopped) = (0, false);
        self.set.fill(0);
        self.latest.iter_mut().for_each(VecDeque::clear);
    }

    /// Time stands still from now on, and orders nothing any more: a recovery has rounds instead.
    pub(crate) fn stop_time(&mut self) {
        self.stopped = true;
    }

    /// Bit set of the timers of a node that are set.
    pub(crate) fn timers(&self, node: NodeId) -> u32 {
        self.set[usize::from(node)]
    }

    /// Takes over what a call did: the timers that are set after it, and the ticks of those that it set.
    pub(crate) fn take(&mut self, node: NodeId, timers: u32, timed: &mut Vec<(u8, u32)>) {
        for (timer, ticks) in timed.drain(..).filter(|(timer, _)| timers & (1 << timer) != 0) {
            let units = u64::from(ticks) * TICK * 100;
            self.windows[usize::from(node)][usize::from(timer)] = Window {
                earliest: self.now.saturating_add(units / (100 + self.drift)),
                latest: self.now.saturating_add(units.div_ceil(100 - self.drift)),
            };
        }
        self.set[usize::from(node)] = timers;
    }

    /// A node has stopped: its timers are gone.
    pub(crate) fn stop(&mut self, node: NodeId) {
        self.set[usize::from(node)] = 0;
    }

    /// A timer fires; whether time is told.
    pub(crate) fn fire(&mut self, node: NodeId, timer: u8) -> bool {
        self.set[usize::from(node)] &= !(1 << timer);
        if !self.stopped {
            self.now = self.now.max(self.windows[usize::from(node)][usize::from(timer)].earliest);
        }
        !self.stopped
    }

    /// A message was put onto a link, at a position counted from 1.
    pub(crate) fn sent(&mut self, link: usize, at: u16) {
        if let Some(delay) = self.delay {
            self.latest[link].insert(usize::from(at) - 1, self.now.saturating_add(delay));
        }
    }

    /// A message was taken off a link, from a position counted from 1.
    pub(crate) fn taken(&mut self, link: usize, at: u16) {
        if self.delay.is_some() {
            self.latest[link].remove(usize::from(at) - 1);
        }
    }

    /// The moment beyond which time cannot move before something else has happened: the latest of a timer that is set, or
    /// of a message that can be delivered.
    pub(crate) fn limit(&self, deliverable: &[u16]) -> u64 {
        if self.stopped {
            return u64::MAX;
        }
        let windows = self
            .set
            .iter()
            .zip(&self.windows)
            .flat_map(|(set, windows)| bits(*set).map(|timer| windows[usize::from(timer)].latest));
        let open = self.latest.iter().zip(deliverable).filter(|(_, count)| **count > 0);
        windows.chain(open.flat_map(|(latest, _)| latest.iter().copied())).min().unwrap_or(u64::MAX)
    }

    /// Bit set of the timers of a node that may fire now.
    pub(crate) fn may_fire(&self, node: NodeId, limit: u64) -> u32 {
        let windows = &self.windows[usize::from(node)];
        bits(self.timers(node))
            .filter(|timer| self.now.max(windows[usize::from(*timer)].earliest) <= limit)
            .fold(0, |set, timer| set | 1 << timer)
    }
}

impl fmt::Display for Clock {
    /// The time in ticks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.now / TICK, self.now % TICK / (TICK / 1000))
    }
}

//! Where the time of a campaign goes, in nanoseconds a step.
//!
//! The *whole* is a campaign as users run it, timed from outside with nothing timed inside. The parts are
//! measured apart from it: the same campaign is recorded once, and its executions are replayed with one part more
//! each time; a part is the difference. Inside a step, target, view, oracles and model are timed one by one
//! ([`misrule_world::probe`]), less what reading the clock costs. What LibAFL adds is what its loop takes beyond
//! the calls of ours that it makes. Whole and passes take turns, and the fastest of some rounds counts, so that
//! other work on the machine disturbs little.
//!
//! The engine reads no clock: the caller gives one.

mod passes;
mod record;

use crate::EngineError;
use crate::campaign::{Campaign, Observer, Options, Progress, campaign};
use crate::finding::Finding;
use crate::minimise::Budget;
use misrule_world::probe::{self, Clock, Section};
use misrule_world::{Setup, Target};
use passes::{Pass, replayed};
pub(crate) use record::Laps;
use record::{Recording, record};
use std::time::Duration;

/// What to split.
#[derive(Clone, Debug)]
pub struct SplitOptions {
    /// What the campaign does. Budgets other than `stop_after_steps` are ignored; findings are not minimised.
    pub campaign: Options,
    /// How often everything is measured.
    pub rounds: u32,
}

/// A part of a campaign's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// What belongs to it.
    pub what: &'static str,
    /// Nanoseconds a step. A difference of two measurements, so that noise may make it negative.
    pub nanoseconds: f64,
}

/// Where the time of a campaign goes.
#[derive(Clone, Debug)]
pub struct Split {
    /// The parts.
    pub parts: Vec<Part>,
    /// The whole campaign, measured independently of the parts: nanoseconds a step.
    pub whole: f64,
    /// Executions of the campaign.
    pub executions: u64,
    /// Executed steps of the campaign.
    pub steps: u64,
}

impl Split {
    /// The sum of the parts.
    pub fn sum(&self) -> f64 {
        self.parts.iter().map(|part| part.nanoseconds).sum()
    }

    /// By how many parts in 100 of the whole the sum differs from it.
    pub fn difference(&self) -> f64 {
        (self.sum() - self.whole) * 100.0 / self.whole
    }
}

/// Measures the parts of a campaign.
///
/// # Errors
/// A target that cannot be opened or a strategy that does not exist, before anything is measured; an internal
/// error.
pub fn split(
    target: &Target,
    setup: &Setup,
    options: &SplitOptions,
    clock: Clock,
) -> Result<Split, EngineError> {
    let steps = options.campaign.stop_after_steps.unwrap_or(500_000).max(1);
    let campaign = Options {
        stop_after_executions: None,
        stop_after_steps: Some(steps),
        stop_after_time: None,
        stop_after_findings: 0,
        minimise: Budget { stop_after_steps: 0, stop_after_executions: 0 },
        ..options.campaign.clone()
    };
    let overhead = probe::overhead(clock);
    let mut best: Option<Measured> = None;
    let recording = record(target, setup, &campaign, None)?;
    for _ in 0..options.rounds.max(1) {
        let measured = Measured::round(target, setup, &campaign, &recording, clock, overhead)?;
        best = Some(best.map_or(measured, |best| best.fastest(&measured)));
    }
    let best = best.unwrap_or_default();
    Ok(best.split(&recording))
}

/// One round of measurements, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    whole: u64,
    /// LibAFL's loop without the calls of ours that it makes.
    libafl: u64,
    /// Planning and learning.
    planning: u64,
    /// Ways of cells: reading and replacing them.
    settling: u64,
    plain: u64,
    model: u64,
    keys: u64,
    set: u64,
    picks: u64,
    target: u64,
    view: u64,
    oracles: u64,
    following: u64,
}

impl Measured {
    fn round(
        target: &Target,
        setup: &Setup,
        options: &Options,
        recording: &Recording,
        clock: Clock,
        overhead: u64,
    ) -> Result<Self, EngineError> {
        let mut measured = Self { whole: whole(target, setup, options, clock)?, ..Self::default() };
        let laps = record(target, setup, options, Some(clock))?.laps;
        measured.planning = laps.planning;
        measured.settling = laps.settling;
        measured.libafl = laps.all.saturating_sub(laps.executing + laps.planning + laps.settling);
        let mut run = target.open(setup)?;
        let mut pass = |pass| replayed(&mut *run, setup, options, recording, pass, clock);
        measured.plain = pass(Pass::Plain);
        measured.model = pass(Pass::Model);
        measured.keys = pass(Pass::Keys);
        measured.set = pass(Pass::Set);
        measured.picks = pass(Pass::Picks);
        let mut timed = |which| {
            probe::start(clock);
            pass(which);
            let spent = probe::stop();
            move |section: Section| {
                let spent = spent[section as usize];
                spent.nanoseconds.saturating_sub(spent.count * overhead / 1000)
            }
        };
        let plain = timed(Pass::Plain);
        measured.target = plain(Section::Target);
        measured.view = plain(Section::View);
        measured.oracles = plain(Section::Judge);
        measured.following = timed(Pass::Model)(Section::Model);
        Ok(measured)
    }

    /// The lower of each two measurements.
    fn fastest(self, other: &Self) -> Self {
        Self {
            whole: self.whole.min(other.whole),
            libafl: self.libafl.min(other.libafl),
            planning: self.planning.min(other.planning),
            settling: self.settling.min(other.settling),
            plain: self.plain.min(other.plain),
            model: self.model.min(other.model),
            keys: self.keys.min(other.keys),
            set: self.set.min(other.set),
            picks: self.picks.min(other.picks),
            target: self.target.min(other.target),
            view: self.view.min(other.view),
            oracles: self.oracles.min(other.oracles),
            following: self.following.min(other.following),
        }
    }

    fn split(&self, recording: &Recording) -> Split {
        let steps = recording.steps.max(1);
        let part = |name, what, more: u64, less: u64| Part {
            name,
            what,
            nanoseconds: per_step(more, steps) - per_step(less, steps),
        };
        let world = self.target + self.view + self.oracles;
        let parts = vec![
            part("target", "the system: starts, inputs, drops, its use of the disk", self.target, 0),
            part("world", "menu, links, disks, guards, and the loop", self.plain, world),
            part("view", "refreshing views", self.view, 0),
            part("oracles", "the target's own oracles", self.oracles, 0),
            part(
                "mapping",
                "steps to actions, copies for it, comparison",
                self.model,
                self.plain + self.following,
            ),
            part("model", "taking actions, properties", self.following, 0),
            part("lens", "keys, with the projection behind them", self.keys, self.model),
            part("set", "cells met, ways of cells", self.set + self.settling, self.keys),
            part("guidance", "plans, mutants, picks, learning", self.picks + self.planning, self.set),
            part("LibAFL", "its loop, feedbacks, scheduler and corpus", self.libafl, 0),
        ];
        let whole = per_step(self.whole, steps);
        Split { parts, whole, executions: recording.executions, steps }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 nanoseconds")]
fn per_step(nanoseconds: u64, steps: u64) -> f64 {
    nanoseconds as f64 / steps as f64
}

/// Times the campaign from outside.
fn whole(target: &Target, setup: &Setup, options: &Options, clock: Clock) -> Result<u64, EngineError> {
    struct Blind;
    impl Observer for Blind {
        fn elapsed(&mut self) -> Duration {
            Duration::ZERO
        }
        fn progress(&mut self, _: &Progress) -> bool {
            false
        }
        fn found(&mut self, _: &Finding) {}
    }
    let start = clock();
    campaign(&Campaign { target, setup, options, corpus: &[] }, &mut Blind)?;
    Ok(clock() - start)
}

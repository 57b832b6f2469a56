//! Where the time of a campaign goes, in nanoseconds a step.
//!
//! The *whole* is a campaign as users run it, timed from outside, but that it returns by replay and never by snapshots:
//! the clock is read once an execution. The parts are measured apart from it: the same campaign is recorded once, and
//! its executions are replayed with one part more each time; a part is the difference. Inside a step, target, view,
//! oracles and model are timed, each in a replay of its own ([`misrule_world::probe`]). What LibAFL adds is what its
//! loop takes beyond the calls of ours that it makes. Everything takes turns for some rounds, and of each execution the
//! fastest round counts, so that other work on the machine disturbs little.
//!
//! The engine reads no clock: the caller gives one.

mod passes;
mod record;

use crate::EngineError;
use crate::campaign::{Campaign, Observer, Options, Progress, campaign};
use crate::finding::Finding;
use crate::minimise::Budget;
use crate::sample::RecoveryWhen;
use crate::signal::open;
use misrule_world::probe::{Clock, Section};
use misrule_world::{Setup, Target};
use passes::{Pass, replayed};
pub(crate) use record::Laps;
use record::{Recording, record};
use std::time::Duration;

/// What to split.
#[derive(Clone, Debug)]
pub struct SplitOptions {
    /// What the campaign does. Budgets other than `stop_after_steps` are ignored; findings are not minimised,
    /// and no execution ends in a recovery.
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
        recovery: RecoveryWhen::Never,
        snapshots: false,
        minimise: Budget { stop_after_steps: 0, stop_after_executions: 0 },
        ..options.campaign.clone()
    };
    let recording = record(target, setup, &campaign, None)?;
    let mut measured = Measured::default();
    for _ in 0..options.rounds.max(1) {
        measured.round(target, setup, &campaign, &recording, clock)?;
    }
    Ok(measured.split(&recording))
}

/// What is measured in each round.
#[derive(Clone, Copy, Debug)]
enum Row {
    Whole,
    /// LibAFL's loop without the calls of ours that it makes.
    LibAfl,
    /// Planning and learning.
    Planning,
    /// Ways of cells: reading and replacing them.
    Settling,
    Plain,
    Model,
    Keys,
    Set,
    Picks,
    Target,
    View,
    Oracles,
    Following,
}

const ROWS: usize = 13;

/// Nanoseconds of each execution in each row. Executions are the same in every round.
#[derive(Debug, Default)]
struct Measured([Vec<u64>; ROWS]);

impl Measured {
    fn round(
        &mut self,
        target: &Target,
        setup: &Setup,
        options: &Options,
        recording: &Recording,
        clock: Clock,
    ) -> Result<(), EngineError> {
        self.take(Row::Whole, whole(target, setup, options, clock)?);
        let laps = record(target, setup, options, Some(clock))?.laps;
        self.take(Row::Planning, laps.iter().map(|laps| laps.planning).collect());
        self.take(Row::Settling, laps.iter().map(|laps| laps.settling).collect());
        let libafl = |laps: &Laps| laps.all.saturating_sub(laps.executing + laps.planning + laps.settling);
        self.take(Row::LibAfl, laps.iter().map(libafl).collect());
        let mut run = open(target, setup)?;
        let mut replay = |pass, probed| replayed(&mut *run, setup, options, recording, pass, clock, probed);
        for (row, pass) in [
            (Row::Plain, Pass::Plain),
            (Row::Model, Pass::Model),
            (Row::Keys, Pass::Keys),
            (Row::Set, Pass::Set),
            (Row::Picks, Pass::Picks),
        ] {
            self.take(row, replay(pass, None));
        }
        self.take(Row::Target, replay(Pass::Plain, Some(Section::Target)));
        self.take(Row::View, replay(Pass::Plain, Some(Section::View)));
        self.take(Row::Oracles, replay(Pass::Plain, Some(Section::Judge)));
        self.take(Row::Following, replay(Pass::Model, Some(Section::Model)));
        Ok(())
    }

    /// Keeps the lower of each two measurements.
    fn take(&mut self, row: Row, times: Vec<u64>) {
        let best = &mut self.0[row as usize];
        if best.is_empty() {
            *best = times;
            return;
        }
        for (best, time) in best.iter_mut().zip(times) {
            *best = time.min(*best);
        }
    }

    fn sum(&self, row: Row) -> u64 {
        self.0[row as usize].iter().sum()
    }

    fn split(&self, recording: &Recording) -> Split {
        let steps = recording.steps.max(1);
        let part = |name, what, more: u64, less: u64| Part {
            name,
            what,
            nanoseconds: per_step(more, steps) - per_step(less, steps),
        };
        let sum = |row| self.sum(row);
        let (plain, following) = (sum(Row::Plain), sum(Row::Following));
        let timed = sum(Row::Target) + sum(Row::View) + sum(Row::Oracles);
        let parts = vec![
            part("target", "the system: starts, inputs, drops, its use of the disk", sum(Row::Target), 0),
            part("world", "menu, links, disks, guards, and the loop", plain, timed),
            part("view", "refreshing views", sum(Row::View), 0),
            part("oracles", "the target's own oracles", sum(Row::Oracles), 0),
            part(
                "mapping",
                "steps to actions, copies for it, comparison",
                sum(Row::Model),
                plain + following,
            ),
            part("model", "taking actions, properties", following, 0),
            part("lens", "keys, with the projection behind them", sum(Row::Keys), sum(Row::Model)),
            part("set", "cells met, ways of cells", sum(Row::Set) + sum(Row::Settling), sum(Row::Keys)),
            part(
                "guidance",
                "plans, mutants, picks, learning",
                sum(Row::Picks) + sum(Row::Planning),
                sum(Row::Set),
            ),
            part("LibAFL", "its loop, feedbacks, scheduler and corpus", sum(Row::LibAfl), 0),
        ];
        let whole = per_step(self.sum(Row::Whole), steps);
        Split { parts, whole, executions: recording.executions, steps }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 nanoseconds")]
fn per_step(nanoseconds: u64, steps: u64) -> f64 {
    nanoseconds as f64 / steps as f64
}

/// Times the executions of the campaign from outside: between two calls of its observer.
fn whole(target: &Target, setup: &Setup, options: &Options, clock: Clock) -> Result<Vec<u64>, EngineError> {
    struct Outside(Clock, u64, Vec<u64>);
    impl Observer for Outside {
        fn elapsed(&mut self) -> Duration {
            Duration::ZERO
        }
        fn progress(&mut self, _: &Progress) -> bool {
            let before = std::mem::replace(&mut self.1, (self.0)());
            self.2.push(self.1 - before);
            false
        }
        fn found(&mut self, _: &Finding) {}
    }
    let mut outside = Outside(clock, clock(), Vec::new());
    campaign(&Campaign { target, setup, options, corpus: &[] }, &mut outside)?;
    Ok(outside.2)
}

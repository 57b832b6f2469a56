//! The world's side of a recovery: what begins it, and what is told of it between two rounds.

use super::World;
use super::failures::panic_failure;
use crate::choice::{Choice, ChoiceKind};
use crate::judge::Judge;
use crate::menu::bits;
use crate::panics::{Unwound, guard};
use crate::recovery::{Core, Recovering, Standing, waiting_text, whole_core};
use crate::report::{Effect, Failure, Report};
use crate::run::FaultCount;
use crate::system::System;
use std::fmt::Write as _;

/// A recovery that goes on.
pub(super) struct Ongoing {
    core: u32,
    /// The next value that no request had used when it began.
    fresh: u32,
    /// Counts when it began: what a recovery does by itself is no fault that was drawn.
    pub(super) faults: [FaultCount; ChoiceKind::COUNT],
    pub(super) overflow: u64,
}

impl<S: System, J: Judge<S>> World<S, J> {
    /// Heals the links inside the core, cuts all others, undoes clogs, stops simulated time, and disarms what choices
    /// have decided about next calls.
    pub(super) fn begin_recovery(&mut self, core: u32, report: &mut Report) {
        self.begin_step(report);
        let core = core & whole_core(self.vocabulary.nodes);
        report.choice = Choice::Recover { core };
        report.effect = Effect::Applied;
        let (faults, overflow) = (self.faults, self.overflow);
        self.recovery = Some(Box::new(Ongoing { core, fresh: self.menu.fresh, faults, overflow }));
        let inside = |node| core & 1_u32.checked_shl(u32::from(node)).unwrap_or(0) != 0;
        for from in 0..self.vocabulary.nodes {
            for to in 0..self.vocabulary.nodes {
                let link = self.menu.link(from, to);
                if self.menu.clogged[link] {
                    self.clog(from, to, false);
                    if self.watch.trace {
                        self.recorder.effect(format!("unclogged {}->{}", from + 1, to + 1));
                    }
                }
                let is_cut = self.menu.cut[link];
                let open = inside(from) && inside(to);
                if open == is_cut {
                    self.cut(from, to, !open);
                    if self.watch.trace {
                        let verb = if open { "healed" } else { "cut" };
                        self.recorder.effect(format!("{verb} {}->{}", from + 1, to + 1));
                    }
                }
            }
        }
        for disk in self.disks.iter_mut().flatten() {
            disk.faults().clear();
        }
        // Rounds are the time of a recovery. Two orders of timers would block each other.
        if let Some(clock) = &mut self.clock {
            clock.stop_time();
        }
        self.offer_timers();
        self.finish(None, false, report);
    }

    fn recovering<'a>(&'a self, ongoing: &Ongoing) -> Recovering<'a, S> {
        Recovering {
            system: &self.system,
            core: ongoing.core,
            fresh: ongoing.fresh,
            views: &self.views,
            links: &self.cx.links,
        }
    }

    /// How the recovery stands; a failure where the judge panics.
    pub(super) fn recovery_standing(&self) -> Result<Standing, Failure> {
        let (Some(ongoing), Some(recovers)) = (&self.recovery, self.judge.recovers()) else {
            return Ok(Standing::default());
        };
        let now = self.recovering(ongoing);
        let disks = Core(ongoing.core).nodes().filter_map(|node| self.disks.get(usize::from(node))?.as_ref());
        let disk_bytes = disks.map(|disk| disk.bytes() as u64).sum();
        let judged = guard(|| {
            let up = Core(ongoing.core).nodes().filter(|node| self.menu.is_up(*node));
            let stopped =
                up.filter(|node| recovers.stopped(&now, *node)).fold(0, |set, node| set | 1 << node);
            // Of no node at all, each has made progress.
            (ongoing.core != 0 && recovers.progressed(&now), stopped)
        });
        match judged.map_err(|unwound| *unwound) {
            Ok((progressed, stopped)) => {
                Ok(Standing { progressed, stopped, overflow: self.overflow - ongoing.overflow, disk_bytes })
            }
            Err(Unwound::Panicked(place)) => {
                let mut failure = panic_failure(place);
                failure.oracle = "judge";
                Err(failure)
            }
            Err(Unwound::Thrown(_)) => {
                Err(Failure::new("judge", "no-panic", "the judge unwound without a panic"))
            }
        }
    }

    /// Which node of the core waits for what, which messages wait, and which timers are set.
    pub(super) fn stall_text(&self) -> String {
        let (Some(ongoing), Some(recovers)) = (&self.recovery, self.judge.recovers()) else {
            return String::new();
        };
        let now = self.recovering(ongoing);
        let (mut out, mut timers) = (String::new(), String::new());
        for node in Core(ongoing.core).nodes() {
            let told = guard(|| recovers.waits_for(&now, node))
                .unwrap_or_else(|_| "what its judge panics about".to_owned());
            // Writing to a string cannot fail.
            let _ = write!(out, "node {} waits for {told}; ", node + 1);
            for timer in bits(self.menu.timers[usize::from(node)]) {
                let name = self.vocabulary.timers.get(usize::from(timer)).copied().unwrap_or("a timer");
                let _ = write!(timers, ", {name} of node {}", node + 1);
            }
        }
        let timers = timers.strip_prefix(", ").unwrap_or("none");
        let waiting = waiting_text(&self.cx.links, &self.vocabulary, ongoing.core);
        format!("{out}{waiting}; timers set: {timers}")
    }
}

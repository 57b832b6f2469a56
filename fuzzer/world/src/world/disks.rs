//! What the world does about disks: crashes, crash points, outcomes, and what is told of operations.

use super::World;
use super::failures::panic_failure;
use crate::choice::{Choice, ChoiceKind};
use crate::disk::DiskWatch;
use crate::judge::Judge;
use crate::keep::Keep;
use crate::panics::{Unwound, guard};
use crate::probe::{self, Section};
use crate::report::{Effect, Report};
use crate::system::System;
use misrule_models::NodeId;

impl<S: System, J: Judge<S>> World<S, J> {
    /// Readies the disk of a node for a call; a start sees what the last crash kept.
    #[inline]
    pub(super) fn begin_disk(&mut self, node: NodeId, start: bool) {
        let Some(disk) = self.disks[usize::from(node)].as_mut() else { return };
        if start {
            disk.recover();
        }
        disk.start_step(match self.watch {
            watch if watch.trace => DiskWatch::Lines,
            watch if watch.model => DiskWatch::Operations,
            _ => DiskWatch::Nothing,
        });
        self.cx.has_crash_point = disk.faults().begin();
    }

    /// Takes note of what a call did to its disk. Returns what the crash keeps where the call has passed its crash
    /// point.
    #[inline]
    pub(super) fn after_disk(&mut self, node: NodeId) -> Option<Keep> {
        let disk = self.disks[usize::from(node)].as_ref()?;
        if disk.is_idle() { None } else { self.after_operations(node) }
    }

    #[inline(never)]
    fn after_operations(&mut self, node: NodeId) -> Option<Keep> {
        let at = usize::from(node);
        let disk = self.disks[at].as_mut()?;
        self.menu.unsynced[at] = disk.pending().min(usize::from(u16::MAX)) as u16;
        if disk.changes() > 0 {
            self.menu.changes[at] = disk.changes().min(u32::from(u16::MAX)) as u16;
        }
        if disk.has_files() {
            self.menu.files |= 1 << node;
        }
        for line in disk.lines() {
            self.recorder.effect(format!("disk {line}"));
        }
        let struck = disk.faults().end()?;
        self.faults[ChoiceKind::Disk as usize].applied += u64::from(struck.outcomes);
        self.menu.media_faults += struck.media;
        struck.crash
    }

    /// Decides about a node's next call.
    pub(super) fn arm(&mut self, choice: Choice) -> Result<Option<NodeId>, Effect> {
        let (Choice::CrashAt { node, .. } | Choice::Disk { node, .. }) = choice else { return Ok(None) };
        let Some(disk) = self.disks[usize::from(node)].as_mut() else { return Ok(None) };
        match choice {
            Choice::CrashAt { at, keep, .. } => disk.faults().arm_crash(at, keep),
            Choice::Disk { outcome, at, .. } => {
                disk.faults().arm(outcome, at).map_err(Effect::Skipped)?;
            }
            _ => {}
        }
        Ok(None)
    }

    /// Stops a node between two calls.
    pub(super) fn crash(&mut self, node: NodeId, keep: Keep, report: &mut Report) {
        let at = usize::from(node);
        let (running, timed) = (self.nodes[at].take(), self.timed);
        if let Err(unwound) = guard(|| probe::section(timed, Section::Target, || drop(running)))
            && let Unwound::Panicked(place) = *unwound
        {
            report.failure = Some(panic_failure(place));
        }
        if let Some(disk) = self.disks[at].as_mut() {
            disk.start_step(DiskWatch::Nothing);
        }
        report.choice = Choice::Crash { node, keep: self.stop(node, keep) };
    }

    /// Stops a node; only its disk survives. Returns the one form of what the crash keeps of that.
    pub(super) fn stop(&mut self, node: NodeId, keep: Keep) -> Keep {
        let at = usize::from(node);
        let running = self.nodes[at].take();
        // A node that is dropped in the middle of a call may panic; a dead process would not.
        let _ = guard(|| drop(running));
        let mut kept = keep;
        if let Some(disk) = self.disks[at].as_mut() {
            kept = disk.crash(keep);
            if self.watch.trace {
                disk.tell_crash(|line| self.recorder.effect(line));
            }
        }
        self.menu.unsynced[at] = 0;
        if let Some(clock) = &mut self.clock {
            clock.stop(node);
        }
        self.menu.set_timers(node, 0, 0);
        self.set_up(node, false);
        self.touched |= 1 << node;
        kept
    }
}

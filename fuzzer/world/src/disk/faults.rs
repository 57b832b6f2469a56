//! What choices have decided about a node's next call: outcomes of its disk operations, and a crash point.

use super::outcome::{Class, DiskOutcome};
use crate::keep::Keep;

/// Outcomes that may wait for one call.
pub(crate) const OUTCOMES_MAX: usize = 16;

/// Operations that a node may try after its crash point before it is unwound.
const REFUSALS_MAX: u32 = 1_000;

/// Decisions that wait for the next call, and what became of them.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Outcomes, each with how many operations that it can befall come before.
    outcomes: Vec<(DiskOutcome, u16)>,
    /// Operations before the crash point, and what the crash keeps.
    point: Option<(u16, Keep)>,
    /// Whether the call that runs has decisions waiting.
    armed: bool,
    crashed: bool,
    done: u32,
    refused: u32,
    struck: u32,
    struck_media: u32,
}

crate::clone_in_place!(Faults { outcomes, point, armed, crashed, done, refused, struck, struck_media });

/// What became of the decisions about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Struck {
    /// Outcomes that operations met.
    pub(crate) outcomes: u32,
    /// Those of them that are media faults.
    pub(crate) media: u32,
    /// What the crash keeps, where the node has passed its crash point.
    pub(crate) crash: Option<Keep>,
}

impl Faults {
    /// Forgets what waits for the next call.
    pub(crate) fn clear(&mut self) {
        self.outcomes.clear();
        self.point = None;
        (self.armed, self.crashed) = (false, false);
    }

    /// Decides how the `at`-th operation that the outcome can befall ends, counted from 1.
    pub(crate) fn arm(&mut self, outcome: DiskOutcome, at: u16) -> Result<(), &'static str> {
        if self.outcomes.len() >= OUTCOMES_MAX {
            return Err("too many outcomes wait for the node's next call");
        }
        let before = at.checked_sub(1).ok_or("operations count from 1")?;
        self.outcomes.push((outcome, before));
        Ok(())
    }

    /// Sets the crash point after `at` operations; a former one is forgotten.
    pub(crate) fn arm_crash(&mut self, at: u16, keep: Keep) {
        self.point = Some((at, keep));
    }

    /// A call begins. Returns whether it has a crash point.
    pub(crate) fn begin(&mut self) -> bool {
        if self.point.is_none() && self.outcomes.is_empty() {
            return false;
        }
        self.armed = true;
        (self.crashed, self.done, self.refused) = (false, 0, 0);
        (self.struck, self.struck_media) = (0, 0);
        self.reach();
        self.point.is_some()
    }

    /// The call has ended; what it did not meet is forgotten. `None` where nothing was decided about it.
    pub(crate) fn end(&mut self) -> Option<Struck> {
        if !self.armed {
            return None;
        }
        let crash = self.point.filter(|_| self.crashed).map(|(_, keep)| keep);
        self.clear();
        Some(Struck { outcomes: self.struck, media: self.struck_media, crash })
    }

    pub(super) fn is_armed(&self) -> bool {
        self.armed
    }

    pub(super) fn has_crashed(&self) -> bool {
        self.crashed
    }

    /// Counts an operation after the crash point; false when the node is to be unwound.
    pub(super) fn refuse_again(&mut self) -> bool {
        self.refused += 1;
        self.refused <= REFUSALS_MAX
    }

    /// The outcome of an operation of that class, if one was decided.
    pub(super) fn strike(&mut self, class: Class) -> Option<DiskOutcome> {
        let mut found = None;
        self.outcomes.retain_mut(|(outcome, before)| {
            if !outcome.befalls(class) {
                return true;
            }
            if *before == 0 && found.is_none() {
                found = Some(*outcome);
                return false;
            }
            *before = before.saturating_sub(1);
            true
        });
        self.struck += u32::from(found.is_some());
        self.struck_media += u32::from(found.is_some_and(DiskOutcome::is_media));
        found
    }

    /// The media fault that struck last had nothing to spoil after all.
    pub(super) fn missed(&mut self) {
        self.struck = self.struck.saturating_sub(1);
        self.struck_media = self.struck_media.saturating_sub(1);
    }

    /// An operation was done, or failed.
    pub(super) fn did(&mut self, class: Class) {
        if !class.is_read() {
            self.done += 1;
            self.reach();
        }
    }

    fn reach(&mut self) {
        self.crashed = self.point.is_some_and(|(at, _)| self.done >= u32::from(at));
    }
}

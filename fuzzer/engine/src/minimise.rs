//! Minimises a failing schedule: fewer choices, simpler choices, the same finding.
//!
//! After Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002), section 3.2, with
//! the order of DEMi (Scott et al. 2016): external choices first, then deliveries. Each candidate is executed
//! and counts only as a legal execution with the same fingerprint; what is kept is what was executed.

use crate::execute::{Execution, Misfit, Mode, execute_explicit};
use crate::fingerprint::Fingerprint;
use misrule_world::{Choice, ChoiceKind, Run, Watch};

/// How much work a minimisation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Stop after so many executed steps in all.
    pub stop_after_steps: u64,
    /// Stop after so many executions.
    pub stop_after_executions: u64,
}

impl Default for Budget {
    /// 40 million steps or 100,000 executions: some seconds on most targets.
    fn default() -> Self {
        Self { stop_after_steps: 40_000_000, stop_after_executions: 100_000 }
    }
}

/// A minimised schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimised {
    /// The choices: executed without a skip, the last one fails.
    pub choices: Vec<Choice>,
    /// Executions that it took.
    pub executions: u64,
    /// Whether no single choice can be left out any more. False when the budget ran out first.
    pub minimal: bool,
}

/// Minimises `choices`, which fail with `fingerprint` on `run`, or returns `None` when they do not.
pub fn minimise(
    run: &mut dyn Run,
    seed: u64,
    watch: Watch,
    choices: &[Choice],
    fingerprint: Fingerprint,
    budget: Budget,
) -> Option<Minimised> {
    let mut search = Search {
        run,
        mode: Mode { seed, watch, misfit: Misfit::Repair },
        fingerprint,
        budget,
        steps: 0,
        executions: 0,
        best: Vec::new(),
        execution: Execution::default(),
        candidate: Vec::new(),
    };
    if !search.fails(choices) {
        return None;
    }
    search.best.clone_from(&search.execution.choices);
    loop {
        let before = search.best.clone();
        search.drop_kinds();
        search.delete(is_external);
        search.delete(|_| true);
        search.simplify();
        if search.best == before || search.exhausted() {
            break;
        }
    }
    // Replays skip what does not fit instead of repairing it, so the last word is theirs.
    search.mode.misfit = Misfit::Skip;
    let minimal = search.delete_singly();
    Some(Minimised { choices: search.best, executions: search.executions, minimal })
}

struct Search<'a> {
    run: &'a mut dyn Run,
    mode: Mode,
    fingerprint: Fingerprint,
    budget: Budget,
    steps: u64,
    executions: u64,
    best: Vec<Choice>,
    execution: Execution,
    candidate: Vec<Choice>,
}

/// Choices that come from outside the protocol; deliveries and timers follow from them.
fn is_external(choice: Choice) -> bool {
    choice.kind().is_fault()
        || matches!(choice.kind(), ChoiceKind::Request | ChoiceKind::Draw | ChoiceKind::Local)
}

impl Search<'_> {
    fn exhausted(&self) -> bool {
        self.steps >= self.budget.stop_after_steps || self.executions >= self.budget.stop_after_executions
    }

    fn fails(&mut self, choices: &[Choice]) -> bool {
        execute_explicit(self.run, self.mode, choices, &mut self.execution);
        self.executions += 1;
        self.steps += u64::from(self.execution.steps()) + 1;
        self.execution.fingerprint() == Some(self.fingerprint)
    }

    /// Executes `self.candidate` and keeps what was executed when it fails the same way and is better: shorter,
    /// or as long and different where `simpler` is set.
    fn attempt(&mut self, simpler: bool) -> bool {
        let candidate = std::mem::take(&mut self.candidate);
        let fails = self.fails(&candidate);
        self.candidate = candidate;
        let shorter = self.execution.choices.len() < self.best.len();
        let other =
            simpler && self.execution.choices.len() == self.best.len() && self.execution.choices != self.best;
        if fails && (shorter || other) {
            self.best.clone_from(&self.execution.choices);
            return true;
        }
        false
    }

    /// Leaves out every choice of one kind at once: cheap, and often right for faults that play no part.
    fn drop_kinds(&mut self) {
        for (kind, _) in ChoiceKind::ALL {
            if self.exhausted() || !self.best.iter().any(|choice| choice.kind() == kind) {
                continue;
            }
            self.candidate.clear();
            self.candidate.extend(self.best.iter().filter(|choice| choice.kind() != kind));
            self.attempt(false);
        }
    }

    /// Deletes chunks of the choices that `among` selects, halving the chunk until it is one choice. A chunk
    /// that could be deleted is followed by the next one at the same place.
    fn delete(&mut self, among: fn(Choice) -> bool) {
        let count = self.best.iter().filter(|choice| among(**choice)).count();
        let mut chunk = count.next_power_of_two().max(1);
        while chunk >= 1 {
            let mut from = 0;
            loop {
                if self.exhausted() {
                    return;
                }
                let mut at = 0;
                let mut deleted = 0;
                self.candidate.clear();
                for choice in &self.best {
                    let selected = among(*choice);
                    if selected && at >= from && at < from + chunk {
                        deleted += 1;
                    } else {
                        self.candidate.push(*choice);
                    }
                    at += usize::from(selected);
                }
                if deleted == 0 {
                    break;
                }
                if !self.attempt(false) {
                    from += chunk;
                }
            }
            chunk /= 2;
        }
    }

    /// Deletes single choices, last first, until none can be deleted; returns whether it got that far.
    fn delete_singly(&mut self) -> bool {
        loop {
            let before = self.best.len();
            let mut at = self.best.len();
            while at > 0 {
                at = at.min(self.best.len()) - 1;
                if self.exhausted() {
                    return false;
                }
                self.candidate.clear();
                self.candidate.extend_from_slice(&self.best[..at]);
                self.candidate.extend_from_slice(&self.best[at + 1..]);
                self.attempt(false);
            }
            if self.best.len() == before {
                return true;
            }
        }
    }

    /// Makes single choices simpler: smaller arguments, crashes that lose everything, the first message of a
    /// link instead of a later one, a drop or a duplicate left to a plain delivery.
    fn simplify(&mut self) {
        let mut at = 0;
        while at < self.best.len() {
            for simpler in simpler(self.best[at], self.rank_of_argument(at)) {
                if self.exhausted() {
                    return;
                }
                self.candidate.clone_from(&self.best);
                self.candidate[at] = simpler;
                if self.attempt(true) {
                    break;
                }
            }
            at += 1;
        }
    }

    /// How many different smaller arguments there are among the requests, plus one: renumbers fresh values.
    fn rank_of_argument(&self, at: usize) -> u32 {
        let Choice::Request { argument, .. } = self.best[at] else { return 0 };
        let mut smaller: Vec<u32> = self
            .best
            .iter()
            .filter_map(|choice| match choice {
                Choice::Request { argument: other, .. } if *other < argument => Some(*other),
                _ => None,
            })
            .collect();
        smaller.sort_unstable();
        smaller.dedup();
        smaller.len() as u32 + 1
    }
}

/// Simpler forms of a choice, simplest first; none when it is simple already.
fn simpler(choice: Choice, rank: u32) -> Vec<Choice> {
    match choice {
        Choice::Request { node, operation, argument } if argument > 0 => [0, rank]
            .into_iter()
            .filter(|simple| *simple < argument)
            .map(|argument| Choice::Request { node, operation, argument })
            .collect(),
        Choice::Crash { node, keep } if keep > 0 => vec![Choice::Crash { node, keep: 0 }],
        Choice::Draw { node, name, value } if value > 0 => vec![Choice::Draw { node, name, value: 0 }],
        Choice::Drop(slot) | Choice::Duplicate(slot) => vec![Choice::Deliver(slot)],
        Choice::Deliver(slot) if slot.at > 1 => {
            vec![Choice::Deliver(misrule_world::Slot { at: misrule_world::Slot::FIRST_OF_KIND, ..slot })]
        }
        _ => Vec::new(),
    }
}

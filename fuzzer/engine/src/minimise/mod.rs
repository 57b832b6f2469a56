//! Minimises a failing schedule: fewer choices, simpler choices, the same finding.
//!
//! After Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002), section 3.2, with
//! the order of DEMi (Scott et al. 2016): the causal past first, then external choices, then deliveries. Each
//! candidate is executed and counts only as a legal execution with the same fingerprint; what is kept is what
//! was executed.

mod item;

use crate::execute::{Execution, Misfit, Mode, execute_explicit};
use crate::fingerprint::Fingerprint;
use item::{Item, ItemRun, Substitute, cone, unnamed};
use misrule_world::{Choice, ChoiceKind, NodeId, Run, Slot, Watch};

/// How much work a minimisation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Stop after so many executed steps in all.
    pub stop_after_steps: u64,
    /// Stop after so many executions.
    pub stop_after_executions: u64,
}

impl Default for Budget {
    /// 20 million steps or 100,000 executions: some seconds on most targets.
    fn default() -> Self {
        Self { stop_after_steps: 20_000_000, stop_after_executions: 100_000 }
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
    let items = ItemRun::new(run.menu().nodes);
    let mut search =
        Search { run, seed, watch, fingerprint, budget, steps: 0, executions: 0, best: Vec::new(), items };
    if !search.fails(&unnamed(choices), Substitute::Nothing) {
        return None;
    }
    search.best = search.items.renumbered();
    loop {
        let before = search.choices();
        search.keep_cone();
        search.drop_kinds();
        search.delete(is_external);
        search.keep_cone();
        search.delete(|_| true);
        search.simplify();
        if search.choices() == before || search.exhausted() {
            break;
        }
    }
    let minimal = search.delete_singly();
    Some(Minimised { choices: search.choices(), executions: search.executions, minimal })
}

struct Search<'a> {
    run: &'a mut dyn Run,
    seed: u64,
    watch: Watch,
    fingerprint: Fingerprint,
    budget: Budget,
    steps: u64,
    executions: u64,
    best: Vec<Item>,
    items: ItemRun,
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

    fn choices(&self) -> Vec<Choice> {
        self.best.iter().map(|item| item.choice).collect()
    }

    fn fails(&mut self, items: &[Item], substitute: Substitute) -> bool {
        let failure = self.items.execute(self.run, self.seed, self.watch, items, substitute);
        self.executions += 1;
        self.steps += self.items.executed.len() as u64 + 1;
        failure.is_some_and(|failure| Fingerprint::of(&failure) == self.fingerprint)
    }

    /// Executes a candidate, without and with substitutes for messages that are gone, and keeps what was
    /// executed when it fails the same way and `better` says so.
    fn attempt(&mut self, candidate: &[Item], better: fn(&[Item], &[Item]) -> bool) -> bool {
        for substitute in [Substitute::Nothing, Substitute::Similar] {
            if self.fails(candidate, substitute) && better(&self.items.executed, &self.best) {
                self.best = self.items.renumbered();
                return true;
            }
        }
        false
    }

    /// Keeps the causal past of the failing step, or that together with the past of another node's last step.
    fn keep_cone(&mut self) {
        let nodes = self.run.menu().nodes;
        for also in std::iter::once(None).chain((0..nodes).map(Some)) {
            if self.exhausted() || self.attempt_cone(also) {
                return;
            }
        }
    }

    fn attempt_cone(&mut self, also: Option<NodeId>) -> bool {
        let kept = cone(&self.best, also);
        if kept.len() == self.best.len() {
            return false;
        }
        let candidate: Vec<Item> = kept.into_iter().map(|at| self.best[at]).collect();
        self.attempt(&candidate, shorter)
    }

    /// Leaves out every choice of one kind at once: cheap, and often right for faults that play no part.
    fn drop_kinds(&mut self) {
        for (kind, _) in ChoiceKind::ALL {
            if self.exhausted() || !self.best.iter().any(|item| item.choice.kind() == kind) {
                continue;
            }
            let candidate: Vec<Item> =
                self.best.iter().filter(|item| item.choice.kind() != kind).copied().collect();
            self.attempt(&candidate, shorter);
        }
    }

    /// Deletes chunks of the choices that `among` selects, halving the chunk until it is one choice. A chunk
    /// that could be deleted is followed by the next one at the same place.
    fn delete(&mut self, among: fn(Choice) -> bool) {
        let count = self.best.iter().filter(|item| among(item.choice)).count();
        let mut chunk = count.next_power_of_two().max(1);
        let mut candidate = Vec::new();
        while chunk >= 1 {
            let mut from = 0;
            loop {
                if self.exhausted() {
                    return;
                }
                let (mut at, mut deleted) = (0, 0);
                candidate.clear();
                for item in &self.best {
                    let selected = among(item.choice);
                    if selected && at >= from && at < from + chunk {
                        deleted += 1;
                    } else {
                        candidate.push(*item);
                    }
                    at += usize::from(selected);
                }
                if deleted == 0 {
                    break;
                }
                if !self.attempt(&candidate, shorter) {
                    from += chunk;
                }
            }
            chunk /= 2;
        }
    }

    /// Deletes single choices, last first, until none can be deleted; returns whether it got that far. Here
    /// candidates are executed as a replay executes a file: positions as they stand, misfits skipped.
    fn delete_singly(&mut self) -> bool {
        let mut best = self.choices();
        let mut execution = Execution::default();
        let mode = Mode { seed: self.seed, watch: self.watch, misfit: Misfit::Skip };
        let minimal = loop {
            let before = best.len();
            let mut at = best.len();
            while at > 0 && !self.exhausted() {
                at = at.min(best.len()) - 1;
                let mut candidate = best.clone();
                candidate.remove(at);
                execute_explicit(self.run, mode, &candidate, &mut execution);
                self.executions += 1;
                self.steps += u64::from(execution.steps()) + 1;
                if execution.fingerprint() == Some(self.fingerprint) && execution.choices.len() < best.len() {
                    best.clone_from(&execution.choices);
                }
            }
            if self.exhausted() || best.len() == before {
                break !self.exhausted();
            }
        };
        self.best = unnamed(&best);
        minimal
    }

    /// Makes single choices simpler: smaller arguments, crashes that lose everything, the first message of a
    /// kind instead of a later one, a plain delivery instead of a loss or a duplicate.
    fn simplify(&mut self) {
        let mut at = 0;
        while at < self.best.len() {
            for choice in simpler(self.best[at].choice, self.rank_of_argument(at)) {
                if self.exhausted() {
                    return;
                }
                let mut candidate = self.best.clone();
                candidate[at].choice = choice;
                if choice.slot().is_some_and(|slot| slot.at == Slot::FIRST_OF_KIND) {
                    candidate[at].source = None;
                }
                if self.attempt(&candidate, not_longer_and_other) {
                    break;
                }
            }
            at += 1;
        }
    }

    /// How many different smaller arguments there are among the requests, plus one: renumbers fresh values.
    fn rank_of_argument(&self, at: usize) -> u32 {
        let Choice::Request { argument, .. } = self.best[at].choice else { return 0 };
        let smaller: std::collections::BTreeSet<u32> = self
            .best
            .iter()
            .filter_map(|item| match item.choice {
                Choice::Request { argument: other, .. } if other < argument => Some(other),
                _ => None,
            })
            .collect();
        smaller.len() as u32 + 1
    }
}

fn shorter(candidate: &[Item], best: &[Item]) -> bool {
    candidate.len() < best.len()
}

fn not_longer_and_other(candidate: &[Item], best: &[Item]) -> bool {
    let same = || candidate.iter().zip(best).all(|(a, b)| a.choice == b.choice);
    candidate.len() < best.len() || (candidate.len() == best.len() && !same())
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
            vec![Choice::Deliver(Slot { at: Slot::FIRST_OF_KIND, ..slot })]
        }
        _ => Vec::new(),
    }
}

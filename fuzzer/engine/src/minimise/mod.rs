//! Minimises a failing schedule: fewer choices, simpler choices, the same finding.
//!
//! After Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002), section 3.2, with
//! the order of DEMi (Scott et al. 2016): the causal past first, then external choices, then deliveries. Each
//! candidate is executed and counts only as a legal execution with the same fingerprint; what is kept is what
//! was executed.

mod item;
mod simpler;

use crate::draw::Drawer;
use crate::execute::{Execution, Misfit, Mode, execute_explicit};
use crate::fingerprint::Fingerprint;
use item::{Item, ItemRun, Substitute, cone, renumber, unnamed};
use misrule_world::{Choice, ChoiceKind, FaultProfile, NodeId, Rng, Run, Slot, Watch, whole_core};
use simpler::{is_simpler, renamed, simpler};
use std::collections::BTreeSet;

/// How much work a minimisation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Stop after so many executed steps in all.
    pub stop_after_steps: u64,
    /// Stop after so many executions.
    pub stop_after_executions: u64,
}

impl Budget {
    /// Nothing is minimised: a finding stays as it was found.
    pub const NONE: Self = Self { stop_after_steps: 0, stop_after_executions: 0 };
}

impl Default for Budget {
    /// 50 million steps or 500,000 executions: some seconds on most targets.
    fn default() -> Self {
        Self { stop_after_steps: 50_000_000, stop_after_executions: 500_000 }
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
    let faulty = choices.iter().any(|choice| choice.kind().is_fault());
    let faults = if faulty { FaultProfile::Default } else { FaultProfile::None };
    let mut search = Search {
        run,
        seed,
        watch,
        fingerprint,
        budget,
        steps: 0,
        executions: 0,
        best: Vec::new(),
        items,
        faults,
    };
    if !search.fails(&unnamed(choices), Substitute::InFront) {
        return None;
    }
    search.best = search.items.renumbered();
    search.widen_core();
    search.reduce();
    search.search_nearby();
    let minimal = search.delete_singly();
    Some(Minimised { choices: search.choices(), executions: search.executions, minimal })
}

/// Chunks of up to so many choices are tried in every size.
const SMALL_CHUNK: usize = 6;

/// In the first rounds a chunk is at least this part of the schedule; later rounds go as much finer.
const GRAIN: usize = 16;

/// The search nearby ends after so many steps for each choice beyond [`SHORT`], when none of them helped.
const WALK_STEPS: u64 = 1_000_000;

/// Lengths of walks that start afresh: no length fits all targets.
const WALK_LENGTHS: [usize; 3] = [100, 200, 400];

/// A schedule of so many choices is short enough not to be searched for a shorter one.
const SHORT: usize = 32;

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
    /// Faults of walks: none where the schedule that was found had none.
    faults: FaultProfile,
}

/// Choices that come from outside the protocol; deliveries and timers follow from them.
fn is_external(choice: Choice) -> bool {
    choice.kind().is_fault()
        || matches!(
            choice.kind(),
            ChoiceKind::Request
                | ChoiceKind::Draw
                | ChoiceKind::Local
                | ChoiceKind::Retry
                | ChoiceKind::Abandon
        )
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
        self.spend();
        failure.is_some_and(|failure| Fingerprint::of(&failure) == self.fingerprint)
    }

    /// Counts the steps of the last execution of items.
    fn spend(&mut self) {
        self.steps += self.items.executed.len() as u64 + u64::from(self.items.recovering) + 1;
    }

    /// Executes a candidate, with two ways to make up for messages that are gone, and keeps what was
    /// executed when it fails the same way and `better` says so.
    fn attempt(&mut self, candidate: &[Item], better: fn(&[Item], &[Item]) -> bool) -> bool {
        for substitute in [Substitute::InFront, Substitute::Similar] {
            if self.fails(candidate, substitute) && better(&self.items.executed, &self.best) {
                self.best = self.items.renumbered();
                return true;
            }
        }
        false
    }

    /// Deletes and simplifies until nothing helps. Coarse first: while the schedule is long, candidates are
    /// dear, and large chunks may still go.
    fn reduce(&mut self) {
        let mut grain = GRAIN;
        loop {
            let before = self.choices();
            let smallest = (before.len() / grain).max(1);
            self.keep_cone();
            self.drop_kinds();
            self.delete(is_external, smallest);
            self.keep_cone();
            self.delete(|_| true, smallest);
            self.delete_groups(smallest);
            if smallest == 1 {
                self.simplify();
            }
            if self.exhausted() || (smallest == 1 && self.choices() == before) {
                return;
            }
            if smallest > 1 && self.best.len() * 10 > before.len() * 9 {
                grain *= GRAIN;
            }
        }
    }

    /// Has all nodes come back in a recovery: a stall in spite of that says more than a short schedule does.
    fn widen_core(&mut self) {
        let mut candidate = self.best.clone();
        if let Some(Item { choice: Choice::Recover { core }, .. }) = candidate.last_mut() {
            *core = whole_core(self.run.menu().nodes);
            self.attempt(&candidate, is_simpler);
        }
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

    /// Deletes within each group of like choices: the timers of one node, the deliveries of one link. Targets
    /// count ticks, and what happens every fifth tick needs five deleted at once to stay in step.
    fn delete_groups(&mut self, smallest: usize) {
        let groups: BTreeSet<_> = self.best.iter().map(|item| group(item.choice)).collect();
        for wanted in groups {
            self.delete(|choice| group(choice) == wanted, smallest);
        }
    }

    /// Deletes chunks of the choices that `among` selects, large ones first, down to `smallest`.
    fn delete(&mut self, among: impl Fn(Choice) -> bool, smallest: usize) {
        let mut chunk = self.selected(&among).max(1);
        while chunk >= smallest.max(1) {
            // A chunk that went is followed by its neighbour at the same place.
            let mut passed = 0;
            while passed < self.selected(&among) {
                if self.exhausted() {
                    return;
                }
                if !self.attempt(&self.without(&among, passed, chunk), shorter) {
                    passed += chunk;
                }
            }
            // Halves, then every small size: see `delete_groups`.
            chunk = if chunk > 2 * SMALL_CHUNK { chunk / 2 } else { (chunk - 1).min(SMALL_CHUNK) };
        }
    }

    fn selected(&self, among: &impl Fn(Choice) -> bool) -> usize {
        self.best.iter().filter(|item| among(item.choice)).count()
    }

    /// The best schedule without `chunk` of the choices that `among` selects, from the `from`-th on.
    fn without(&self, among: &impl Fn(Choice) -> bool, from: usize, chunk: usize) -> Vec<Item> {
        let mut at = 0;
        let mut kept = Vec::with_capacity(self.best.len());
        for item in &self.best {
            let selected = among(item.choice);
            if !selected || at < from || at >= from + chunk {
                kept.push(*item);
            }
            at += usize::from(selected);
        }
        kept
    }

    /// Deleting is greedy and gets stuck. Moving choices about and walking from some step on sometimes help; then
    /// deleting goes on from there. Schedules that a person can take in are left as they are.
    fn search_nearby(&mut self) {
        let mut rng = Rng::new(self.fingerprint.0);
        let mut drawer = Drawer::new(self.faults);
        let mut spent = self.steps;
        while self.steps - spent < WALK_STEPS * self.best.len().saturating_sub(SHORT) as u64
            && !self.exhausted()
        {
            let before = self.best.len();
            if rng.chance(1, 2) {
                self.shake(&mut rng);
            } else {
                self.walk(&mut drawer, &mut rng);
            }
            if self.best.len() < before {
                spent = self.steps;
            }
        }
    }

    /// Moves up to two choices elsewhere and leaves out up to three. What fails the same way and is no longer is the
    /// new best, so that one move may prepare the next.
    fn shake(&mut self, rng: &mut Rng) {
        let mut candidate = self.best.clone();
        let (moves, deletions) = (rng.below(3), rng.below(4));
        for _ in 0..deletions.min(candidate.len() as u32 - 1) {
            candidate.remove(rng.below(candidate.len() as u32) as usize);
        }
        for _ in 0..moves {
            let item = candidate.remove(rng.below(candidate.len() as u32) as usize);
            candidate.insert(rng.below(candidate.len() as u32 + 1) as usize, item);
        }
        renumber(&mut candidate);
        if self.fails(&candidate, Substitute::InFront) && self.items.executed.len() <= self.best.len() {
            let shorter = self.items.executed.len() < self.best.len();
            self.best = self.items.renumbered();
            if shorter {
                self.reduce();
            }
        }
    }

    /// Leaves the schedule at some step and goes on at random for less than what is left of it, or starts afresh and
    /// goes on for not long.
    fn walk(&mut self, drawer: &mut Drawer, rng: &mut Rng) {
        let afresh = rng.chance(1, 2);
        let cut = if afresh { 0 } else { rng.below(self.best.len() as u32) as usize };
        let afresh_room = WALK_LENGTHS[rng.below(WALK_LENGTHS.len() as u32) as usize];
        let room = if afresh { afresh_room } else { self.best.len() - 1 - cut };
        let prefix: Vec<Item> = self.best[..cut].to_vec();
        if self.items.execute(self.run, self.seed, self.watch, &prefix, Substitute::InFront).is_some() {
            return;
        }
        drawer.reset(self.run.menu(), rng);
        let mut failure = self.items.walk(self.run, room, |menu| drawer.pick(menu, rng));
        if let (None, Some(Item { choice: Choice::Recover { core }, .. })) = (&failure, self.best.last()) {
            failure = self.items.recover(self.run, *core);
        }
        self.executions += 1;
        self.spend();
        if failure.is_some_and(|failure| Fingerprint::of(&failure) == self.fingerprint) {
            let before = std::mem::replace(&mut self.best, self.items.renumbered());
            self.reduce();
            if self.best.len() >= before.len() {
                self.best = before;
            }
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
                let recovering = execution.recovery.map_or(0, |recovered| recovered.steps);
                self.steps += u64::from(execution.steps()) + u64::from(recovering) + 1;
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
    /// kind instead of a later one, a plain delivery instead of a loss or a duplicate, fewer sessions.
    fn simplify(&mut self) {
        let renamed = renamed(&self.best, &self.run.menu().operations);
        if renamed != self.best {
            self.attempt(&renamed, is_simpler);
        }
        let mut at = 0;
        while at < self.best.len() && !self.exhausted() {
            // As long as some form helps: each is simpler than the last.
            if !self.simplify_at(at) {
                at += 1;
            }
        }
    }

    /// Makes the choice at `at` simpler by one step, if that fails the same way.
    fn simplify_at(&mut self, at: usize) -> bool {
        simpler(&self.best, at, &self.run.menu().operations).into_iter().any(|choice| {
            let mut candidate = self.best.clone();
            candidate[at].choice = choice;
            if choice.slot().is_some_and(|slot| slot.at == Slot::FIRST_OF_KIND) {
                candidate[at].source = None;
            }
            !self.exhausted() && self.attempt(&candidate, is_simpler)
        })
    }
}

/// The group of a choice: its kind, and the node, timer or link it is about.
fn group(choice: Choice) -> (ChoiceKind, NodeId, u8) {
    let kind = choice.kind();
    match choice {
        Choice::Deliver(slot) | Choice::Drop(slot) | Choice::Duplicate(slot) => (kind, slot.from, slot.to),
        Choice::Timer { node, timer } => (kind, node, timer),
        Choice::Local { node, step } => (kind, node, step),
        Choice::Request { node, operation, .. } => (kind, node, operation),
        Choice::Retry { node, session } => (kind, node, session),
        Choice::Abandon { session } => (kind, 0, session),
        Choice::Crash { node, .. } | Choice::CrashAt { node, .. } | Choice::Restart { node } => {
            (kind, node, 0)
        }
        Choice::Disk { node, outcome, .. } => (kind, node, outcome as u8),
        Choice::Cut { from, to }
        | Choice::Heal { from, to }
        | Choice::Clog { from, to }
        | Choice::Unclog { from, to } => (kind, from, to),
        Choice::Draw { node, name, .. } => (kind, node, name),
        Choice::Recover { .. } => (kind, 0, 0),
    }
}

fn shorter(candidate: &[Item], best: &[Item]) -> bool {
    candidate.len() < best.len()
}

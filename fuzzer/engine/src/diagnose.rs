//! Whether a lens points at a known bug before it fails: how rare the rarest key is that executions of the bug meet
//! until a few steps before the failure, against other executions at the same step (`notes/frontier.md`, section 5).

use crate::execute::{Execution, Misfit, Mode, TailChooser, Watcher, execute};
use crate::guidance::Ladder;
use misrule_world::{Choice, Failure, FaultProfile, Key, Report, Run, Schedule, Tail, Watch, mix};
use rustc_hash::FxHashMap;

/// What to diagnose with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagnoseOptions {
    /// Seed of all executions.
    pub seed: u64,
    /// Which faults are drawn.
    pub faults: FaultProfile,
    /// Whether the model follows and is compared, so that it finds the bug where it can.
    pub conformance: bool,
    /// Keys are only looked at until so many steps before the failure.
    pub before: u32,
    /// Steps of random executions that say how rare each key is.
    pub learn: u64,
    /// Stop looking for the bug after so many steps more.
    pub search: u64,
    /// Stop looking for the bug after so many executions that show it.
    pub bugs: usize,
    /// Other executions, against which those are compared.
    pub others: usize,
    /// Longest execution, in steps.
    pub steps_max: u32,
}

/// What was found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnosis {
    /// Executions that showed the bug: the step that failed, counted from 1, and the property.
    pub bugs: Vec<(u32, String)>,
    /// Steps that were spent on looking for the bug.
    pub searched: u64,
    /// For each lens of the setup.
    pub lenses: Vec<LensDiagnosis>,
    /// For each bug, how many executions it was compared with.
    pub others: Vec<usize>,
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

/// What was found out about a lens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LensDiagnosis {
    /// Different keys among the executions that say how rare each is.
    pub keys: usize,
    /// For each bug, the share of other executions that had met a rarer key by the same step, those that had met an
    /// equally rare one counted half: 0 where none had, 0.5 where the lens tells nothing.
    pub percentiles: Vec<f64>,
}

/// What is looked for.
pub enum Wanted<'a> {
    /// Random executions that fail like this.
    Failing(&'a dyn Fn(&Failure) -> bool),
    /// These schedules, as far as they fail.
    Schedules(&'a [(u64, Schedule)]),
}

/// Diagnoses the `lenses` lenses that `run` computes. `go_on` is asked after each execution; when it says no, nothing
/// is compared any more.
pub fn diagnose(
    run: &mut dyn Run,
    lenses: usize,
    options: DiagnoseOptions,
    wanted: &Wanted<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Diagnosis {
    let mut work = Work {
        run,
        options,
        lenses,
        number: 0,
        visits: FxHashMap::default(),
        report: Report::default(),
        execution: Execution::default(),
    };
    let mut diagnosis = Diagnosis { lenses: vec![LensDiagnosis::default(); lenses], ..Diagnosis::default() };
    let found = work.learn(go_on).and_then(|()| work.find(wanted, &mut diagnosis, go_on));
    let compared = found.and_then(|bugs| work.compare(&bugs, &mut diagnosis, go_on));
    diagnosis.interrupted = compared.is_none();
    for (position, lens) in diagnosis.lenses.iter_mut().enumerate() {
        lens.keys = work.visits.keys().filter(|key| usize::from(key.lens) == position).count();
    }
    diagnosis
}

/// Counts how often each key is entered.
struct Learning<'a>(&'a mut FxHashMap<Key, u64>);

impl Watcher for Learning<'_> {
    fn saw(&mut self, _step: u32, _run: &dyn Run, report: &Report) -> bool {
        for key in &report.keys {
            *self.0.entry(*key).or_default() += 1;
        }
        false
    }
}

/// For each lens, how often its rarest key so far was entered while learning; told whenever it changes.
struct Rarest<'a> {
    visits: &'a FxHashMap<Key, u64>,
    now: Vec<u64>,
    /// Step, lens and the new value.
    changes: Vec<(u32, u8, u64)>,
}

impl<'a> Rarest<'a> {
    fn new(visits: &'a FxHashMap<Key, u64>, lenses: usize) -> Self {
        Self { visits, now: vec![u64::MAX; lenses], changes: Vec::new() }
    }
}

impl Watcher for Rarest<'_> {
    fn saw(&mut self, step: u32, _run: &dyn Run, report: &Report) -> bool {
        for key in &report.keys {
            let visits = self.visits.get(key).copied().unwrap_or(0);
            let now = &mut self.now[usize::from(key.lens)];
            if visits < *now {
                *now = visits;
                self.changes.push((step, key.lens, visits));
            }
        }
        false
    }
}

/// The value of each lens after `step`.
fn rarest_at(changes: &[(u32, u8, u64)], lenses: usize, step: u32) -> Vec<u64> {
    let mut values = vec![u64::MAX; lenses];
    for (_, lens, value) in changes.iter().take_while(|(at, ..)| *at <= step) {
        values[usize::from(*lens)] = *value;
    }
    values
}

/// An execution that showed the bug: the step until which keys count, and the rarest key of each lens until then.
struct Shown {
    step: u32,
    rarest: Vec<u64>,
}

struct Work<'a> {
    run: &'a mut dyn Run,
    options: DiagnoseOptions,
    lenses: usize,
    /// Random executions so far.
    number: u64,
    visits: FxHashMap<Key, u64>,
    report: Report,
    execution: Execution,
}

impl Work<'_> {
    /// The next random execution, of so many steps.
    fn random(&mut self, steps: u32) -> (u64, Schedule) {
        self.number += 1;
        let seed = mix(self.options.seed ^ mix(self.number));
        let tail = Tail { seed, steps, faults: self.options.faults };
        (mix(self.options.seed), Schedule { choices: Vec::new(), tail: Some(tail) })
    }

    fn execute(&mut self, seed: u64, schedule: &Schedule, watcher: &mut dyn Watcher) {
        let conformance = self.options.conformance;
        let watch = Watch { keys: true, model: true, conformance, trace: false };
        let choices = match schedule.choices.split_last() {
            Some((Choice::Recover { .. }, before)) => before,
            _ => &schedule.choices[..],
        };
        let mut chooser = TailChooser::of(schedule);
        execute(
            self.run,
            Mode { seed, watch, misfit: Misfit::Skip },
            choices,
            chooser.as_mut().map(|chooser| chooser as _),
            watcher,
            &mut self.report,
            &mut self.execution,
        );
    }

    /// Executes with the rarest keys told; returns their changes.
    fn told(&mut self, seed: u64, schedule: &Schedule) -> Vec<(u32, u8, u64)> {
        let visits = std::mem::take(&mut self.visits);
        let mut rarest = Rarest::new(&visits, self.lenses);
        self.execute(seed, schedule, &mut rarest);
        let changes = rarest.changes;
        self.visits = visits;
        changes
    }

    fn learn(&mut self, go_on: &mut dyn FnMut() -> bool) -> Option<()> {
        let (mut ladder, mut steps) = (Ladder::new(self.options.steps_max), 0);
        let mut visits = FxHashMap::default();
        while steps < self.options.learn {
            let (seed, schedule) = self.random(ladder.next());
            self.execute(seed, &schedule, &mut Learning(&mut visits));
            ladder.charge(u64::from(self.execution.steps()));
            steps += u64::from(self.execution.steps()).max(1);
            go_on().then_some(())?;
        }
        self.visits = visits;
        Some(())
    }

    /// Executions of the bug.
    fn find(
        &mut self,
        wanted: &Wanted<'_>,
        diagnosis: &mut Diagnosis,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<Vec<Shown>> {
        let mut shown = Vec::new();
        match wanted {
            Wanted::Schedules(schedules) => {
                for (seed, schedule) in *schedules {
                    let changes = self.told(*seed, schedule);
                    self.note(&changes, &|_| true, diagnosis, &mut shown);
                    go_on().then_some(())?;
                }
            }
            Wanted::Failing(like) => {
                let mut ladder = Ladder::new(self.options.steps_max);
                while diagnosis.searched < self.options.search && shown.len() < self.options.bugs {
                    let (seed, schedule) = self.random(ladder.next());
                    let changes = self.told(seed, &schedule);
                    let steps = u64::from(self.execution.steps());
                    ladder.charge(steps);
                    diagnosis.searched += steps.max(1);
                    self.note(&changes, like, diagnosis, &mut shown);
                    go_on().then_some(())?;
                }
            }
        }
        Some(shown)
    }

    /// Notes the last execution where it failed as is wanted.
    fn note(
        &self,
        changes: &[(u32, u8, u64)],
        like: &dyn Fn(&Failure) -> bool,
        diagnosis: &mut Diagnosis,
        shown: &mut Vec<Shown>,
    ) {
        let Some(failure) = self.execution.failure.as_ref().filter(|failure| like(failure)) else { return };
        let failed = self.execution.steps();
        let step = failed.saturating_sub(self.options.before);
        diagnosis.bugs.push((failed, failure.property.clone()));
        shown.push(Shown { step, rarest: rarest_at(changes, self.lenses, step) });
    }

    /// Compares them with other random executions that are as long and have not failed by then.
    fn compare(
        &mut self,
        shown: &[Shown],
        diagnosis: &mut Diagnosis,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<()> {
        let longest = shown.iter().map(|bug| bug.step).max().unwrap_or(0);
        let mut others = vec![0_usize; shown.len()];
        // For each lens and bug, twice the executions with a rarer key, and once those with an equally rare one.
        let mut rarer = vec![vec![0_usize; shown.len()]; self.lenses];
        for _ in 0..if shown.is_empty() { 0 } else { self.options.others } {
            let (seed, schedule) = self.random(longest + 1);
            let changes = self.told(seed, &schedule);
            let steps = self.execution.steps();
            for (at, bug) in shown.iter().enumerate().filter(|(_, bug)| bug.step < steps) {
                others[at] += 1;
                for (lens, value) in rarest_at(&changes, self.lenses, bug.step).into_iter().enumerate() {
                    rarer[lens][at] += match value.cmp(&bug.rarest[lens]) {
                        std::cmp::Ordering::Less => 2,
                        std::cmp::Ordering::Equal => 1,
                        std::cmp::Ordering::Greater => 0,
                    };
                }
            }
            go_on().then_some(())?;
        }
        for (lens, rarer) in diagnosis.lenses.iter_mut().zip(rarer) {
            lens.percentiles = rarer.iter().zip(&others).map(|(rarer, all)| share(*rarer, 2 * all)).collect();
        }
        diagnosis.others = others;
        Some(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "some hundred executions")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.5 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::{rarest_at, share};

    #[test]
    fn the_rarest_key_until_a_step_counts() {
        let changes = [(0, 0, 90), (0, 1, 50), (3, 0, 7), (8, 0, 0), (8, 1, 1)];
        assert_eq!(rarest_at(&changes, 2, 0), [90, 50]);
        assert_eq!(rarest_at(&changes, 2, 7), [7, 50]);
        assert_eq!(rarest_at(&changes, 3, 8), [0, 1, u64::MAX]);
        assert!((share(1, 4) - 0.25).abs() < 1e-9 && (share(0, 0) - 0.5).abs() < 1e-9);
    }
}

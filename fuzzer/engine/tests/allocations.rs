//! Steps allocate nothing once buffers have grown: the loop, the guidance that chooses, the archive that enters
//! keys, and all that the world does below them.

mod common;

use allocation_counter::measure;
use common::{setup, two_phase_commit};
use misrule_engine::{
    Archive, Chooser, Execution, Guidance, Misfit, Mode, STRATEGIES, Unwatched, Watcher, execute, open,
    strategy,
};
use misrule_world::{Choice, FaultProfile, Report, Rng, Run, Setup, Target, Watch};

/// Steps that are counted.
const STEPS: u64 = 100_000;
/// Steps of one execution.
const LENGTH: u32 = 1_000;

struct Guided<'a> {
    guidance: &'a mut dyn Guidance,
    rng: &'a mut Rng,
    left: u32,
    /// Tells of news so often, whatever is seen.
    news_every: Option<u32>,
}

impl Chooser for Guided<'_> {
    fn next(&mut self, run: &dyn Run, report: &Report, news: bool) -> Option<Choice> {
        let news = self.news_every.map_or(news, |every| self.left.is_multiple_of(every));
        self.left = self.guidance.saw(report, news, self.left).checked_sub(1)?;
        self.guidance.pick(run, self.rng)
    }
}

/// Enters keys as the campaign does; cells that are new have no way yet.
struct Entering<'a> {
    archive: &'a mut Archive,
    new: u64,
}

impl Watcher for Entering<'_> {
    fn saw(&mut self, step: u32, _run: &dyn Run, report: &Report) -> bool {
        let before = self.archive.cells().len();
        for key in &report.keys {
            self.archive.meet(*key, step);
        }
        let new = self.archive.cells().len() - before;
        self.new += new as u64;
        new > 0
    }
}

/// All that executions use, made once.
struct Bench {
    run: Box<dyn Run>,
    guidance: Box<dyn Guidance>,
    archive: Archive,
    report: Report,
    execution: Execution,
}

impl Bench {
    fn new(target: &Target, setup: &Setup, guidance: &str) -> Self {
        let lenses = setup.lenses.len();
        Self {
            run: open(target, setup).expect("a valid setup"),
            guidance: strategy(guidance, FaultProfile::Default, lenses, 30_000).expect("a strategy"),
            archive: Archive::new(lenses),
            report: Report::default(),
            execution: Execution::default(),
        }
    }

    /// Executes so many steps drawn from `seed`. Returns the executed steps and the new cells.
    fn execute(&mut self, seed: u64, conformance: bool) -> (u64, u64) {
        // Plans have a generator of their own: how often they draw depends on what ran before.
        let (mut rng, mut planning, mut steps, mut new) = (Rng::new(seed), Rng::new(seed), 0, 0);
        let watch = Watch { keys: true, model: true, conformance, trace: false };
        while steps < STEPS {
            let plan = self.guidance.plan(&self.archive, &mut planning);
            self.archive.start_run();
            let mut chooser =
                Guided { guidance: &mut *self.guidance, rng: &mut rng, left: LENGTH, news_every: None };
            let mut entering = Entering { archive: &mut self.archive, new: 0 };
            execute(
                &mut *self.run,
                Mode { seed, watch, misfit: Misfit::Skip },
                &[],
                Some(&mut chooser),
                &mut entering,
                &mut self.report,
                &mut self.execution,
            );
            new += entering.new;
            assert_eq!(self.execution.failure, None);
            steps += u64::from(self.execution.steps());
            let _ = self.guidance.learn(&plan, &self.execution);
        }
        (steps, new)
    }
}

fn counted(target: &Target, setup: &Setup, conformance: bool, guidance: &str) {
    let mut bench = Bench::new(target, setup, guidance);
    // The same executions twice: the first time grows what the second one needs.
    bench.execute(3, conformance);
    let mut again = (0, 0);
    let found = measure(|| again = bench.execute(3, conformance));
    assert!(again.0 >= STEPS, "{again:?}");
    assert_eq!(again.1, 0, "every cell was met before");
    assert_eq!(found.count_total, 0, "allocations in {} steps", again.0);
}

#[test]
fn two_phase_commit_with_model_and_default_lenses() {
    let target = two_phase_commit();
    let setup = setup(&target, &[], &["pairs@model", "waiting@impl"]);
    counted(&target, &setup, true, "frontier");
    counted(&target, &setup, false, "frontier");
}

#[test]
fn two_phase_commit_with_every_lens() {
    let target = two_phase_commit();
    let lenses = target.lenses.clone();
    // Lenses of whole states meet new cells for ever: the archive stops keeping them, and still allocates nothing.
    counted(&target, &setup(&target, &[], &lenses), true, "frontier");
}

/// Learns and picks as in a campaign; keys are made and shown to the strategy, but no archive grows.
fn unarchived(bench: &mut Bench, rng: &mut Rng) -> u64 {
    let (mut steps, mut planning) = (0, Rng::new(rng.next()));
    let watch = Watch { keys: true, ..Watch::default() };
    while steps < STEPS / 4 {
        let plan = bench.guidance.plan(&bench.archive, &mut planning);
        let left = plan.tail.min(LENGTH);
        let mut chooser = Guided { guidance: &mut *bench.guidance, rng, left, news_every: Some(97) };
        execute(
            &mut *bench.run,
            Mode { seed: 3, watch, misfit: Misfit::Skip },
            &[],
            Some(&mut chooser),
            &mut Unwatched,
            &mut bench.report,
            &mut bench.execution,
        );
        steps += u64::from(bench.execution.steps());
        let _ = bench.guidance.learn(&plan, &bench.execution);
    }
    steps
}

#[test]
fn no_strategy_and_no_signal_allocates_step_by_step() {
    let target = two_phase_commit();
    for strategy in STRATEGIES {
        let setup = setup(&target, &[], &["pairs@impl", "happens-before", "trace"]);
        let mut bench = Bench::new(&target, &setup, strategy.name);
        let mut rng = Rng::new(3);
        (0..3).for_each(|_| {
            unarchived(&mut bench, &mut rng);
        });
        let mut steps = 0;
        let found = measure(|| steps = unarchived(&mut bench, &mut rng));
        // Executions differ, so that now and then a buffer grows.
        let many = found.count_total * 1_000 > steps;
        assert!(!many, "{}: {} allocations in {steps} steps", strategy.name, found.count_total);
    }
}

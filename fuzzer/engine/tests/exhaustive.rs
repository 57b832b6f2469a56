//! `exhaustive` runs each schedule of its scope once, says when it is done, and finds what lies in the scope.

mod common;

use common::{setup, two_phase_commit};
use misrule_engine::{Campaign, Finding, Observer, Options, Progress, campaign, execute_explicit};
use misrule_engine::{Execution, Misfit, Mode};
use misrule_world::{
    BootError, Choice, Context, FaultProfile, Fields, Input, Judge, Report, Seen, Setup, System, Target,
    Vocabulary, Watch, target,
};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

/// Three nodes with a timer each that fires once. Two timers may run in any order; nothing else ever happens.
struct Three(Vocabulary);

#[derive(Clone, Copy, Debug, Default)]
struct Nothing;

impl Fields for Nothing {
    fn fields(&self, _visit: &mut dyn FnMut(&str, &dyn Display)) {}
}

impl System for Three {
    type Node = ();
    type Message = u8;
    type View = Nothing;

    fn vocabulary(&self) -> &Vocabulary {
        &self.0
    }
    fn boot(&self, cx: &mut Context<u8>) -> Result<(), BootError> {
        cx.set_timer(0);
        Ok(())
    }
    fn handle(&self, _node: &mut (), _input: Input<u8>, _cx: &mut Context<u8>) {}
    fn view(&self, _node: &(), _out: &mut Nothing) {}
    fn kind(&self, _message: &u8) -> u8 {
        0
    }
}

struct Silent;

impl Judge<Three> for Silent {
    fn reset(&mut self, _seen: &Seen<'_, Three>, _report: &mut Report) {}
    fn after(&mut self, _seen: &Seen<'_, Three>, _report: &mut Report) {}
}

fn three() -> Target {
    target("three", |_: &Setup| {
        let vocabulary = Vocabulary { nodes: 3, timers: vec!["once"], ..Vocabulary::default() };
        Ok((Three(vocabulary), Silent))
    })
}

/// Counts executions, and their choices where they are told by another campaign.
#[derive(Default)]
struct Counting(u64, Vec<Finding>);

impl Observer for Counting {
    fn elapsed(&mut self) -> Duration {
        Duration::ZERO
    }
    fn progress(&mut self, progress: &Progress) -> bool {
        self.0 = progress.executions;
        progress.executions > 2_000_000
    }
    fn found(&mut self, finding: &Finding) {
        self.1.push(finding.clone());
    }
}

fn options(faults: FaultProfile, stop_after_findings: usize) -> Options {
    Options { guidance: "exhaustive".to_owned(), faults, stop_after_findings, ..Options::default() }
}

#[test]
fn as_many_schedules_as_counted_by_hand_and_then_the_end() {
    // Of the six orders of three timers only 2 0 1 - two delays - has none left for a third one, which would make 2 1 0:
    // 012, 021, 120, 102, 201, where the round goes on after the node that ran.
    let target = three();
    let setup = setup(&target, &[], &[]);
    let options = options(FaultProfile::None, 0);
    let mut counting = Counting::default();
    let work = Campaign { target: &target, setup: &setup, options: &options, corpus: &[] };
    let outcome = campaign(&work, &mut counting).unwrap();
    assert!(outcome.summary.exhausted && !outcome.interrupted);
    assert_eq!((outcome.summary.executions, counting.0, outcome.summary.steps), (5, 5, 15));
}

#[test]
fn each_schedule_runs_once() {
    use misrule_engine::{Archive, strategy};
    let target = three();
    let setup = setup(&target, &[], &[]);
    let mut world = target.open(&setup).unwrap();
    let mut guidance = strategy("exhaustive", FaultProfile::None, 0, 100).unwrap();
    let (archive, mut rng) = (Archive::new(0), misrule_world::Rng::new(1));
    let mut orders = BTreeSet::new();
    loop {
        let plan = guidance.plan(&archive, &mut rng);
        let mut report = Report::default();
        world.reset(1, Watch::default(), &mut report);
        let mut choices = Vec::new();
        while let Some(choice) = guidance.pick(&*world, &mut rng) {
            world.step(choice, &mut report);
            choices.push(choice);
        }
        assert!(choices.iter().all(|choice| matches!(choice, Choice::Timer { .. })));
        assert!(orders.insert(choices.clone()), "{choices:?} ran twice");
        let mut execution = Execution::default();
        let mode = Mode { seed: 1, watch: Watch::default(), misfit: Misfit::Skip };
        execute_explicit(&mut *world, mode, &choices, &mut execution);
        if guidance.learn(&plan, &execution).is_break() {
            break;
        }
    }
    assert_eq!(orders.len(), 5);
}

#[test]
fn a_planted_bug_within_the_scope_is_found() {
    let target = two_phase_commit();
    let setup = setup(&target, &[("bug", "presume-commit-in-doubt")], &[]);
    let options = options(FaultProfile::Default, 1);
    let work = Campaign { target: &target, setup: &setup, options: &options, corpus: &[] };
    let mut counting = Counting::default();
    let outcome = campaign(&work, &mut counting).unwrap();
    assert_eq!(outcome.findings.len(), 1, "{} executions", outcome.summary.executions);
}

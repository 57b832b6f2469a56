//! Whole campaigns: reproducible, and what they find replays.

mod common;

use common::{run, setup, two_phase_commit};
use misrule_engine::{
    Class, Conformance, EngineError, Execution, Misfit, Mode, Options, STRATEGIES, execute_explicit, replay,
};
use misrule_world::{Schedule, Watch, mix};

fn options(seed: u64, guidance: &str, executions: u64) -> Options {
    Options {
        seed,
        guidance: guidance.to_owned(),
        stop_after_executions: Some(executions),
        stop_after_findings: 0,
        steps_max: 300,
        ..Options::default()
    }
}

#[test]
fn equal_seeds_give_equal_campaigns_and_other_seeds_others() {
    let target = two_phase_commit();
    for guidance in STRATEGIES.iter().map(|strategy| strategy.name) {
        let lenses = if guidance == "random" { vec![] } else { vec!["pairs@model", "waiting@impl", "trace"] };
        let setup = setup(&target, &[], &lenses);
        let first = run(&target, &setup, &options(7, guidance, 300)).summary;
        let second = run(&target, &setup, &options(7, guidance, 300)).summary;
        let other = run(&target, &setup, &options(8, guidance, 300)).summary;
        assert_eq!((first.corpus_digest, first.steps), (second.corpus_digest, second.steps), "{guidance}");
        // In `exhaustive` only what the target draws depends on the seed.
        assert_ne!(first.corpus_digest, other.corpus_digest, "{guidance}");
        assert_eq!(first.executions, 300);
    }
}

#[test]
fn frontier_keeps_cells_returns_to_them_and_leaves_a_share_to_random() {
    let target = two_phase_commit();
    let setup = setup(&target, &[], &["pairs@impl"]);
    let summary = run(&target, &setup, &options(1, "frontier-without-snapshots", 20_000)).summary;
    assert!(summary.cells[0] > 50, "{:?}", summary.cells);
    assert!(summary.kept > 10, "{}", summary.kept);
    assert!(summary.steps_returning > 0);
    // Half of the steps never return, and ways are at most twice as long as what is explored behind them.
    assert!(summary.steps_returning * 3 <= summary.steps, "{summary:?}");
    assert!(summary.mutators.iter().all(|row| row.executions > 0), "{:?}", summary.mutators);
}

#[test]
fn findings_are_minimal_classified_and_replay() {
    let target = two_phase_commit();
    let setup = setup(&target, &[("bug", "presume-commit-in-doubt")], &["pairs@impl"]);
    let outcome =
        run(&target, &setup, &Options { stop_after_findings: 1, ..options(3, "frontier", 100_000) });
    let finding = outcome.findings.first().expect("the planted bug is found");
    assert_eq!(finding.class, Class::Implementation, "{}", finding.evidence);
    assert!(finding.minimal && finding.minimised.len() <= finding.found.len());

    let mut world = target.open(&setup).unwrap();
    let watch = Watch { model: true, conformance: true, ..Watch::default() };
    let schedule = Schedule { choices: finding.minimised.clone(), tail: None };
    let told = replay(&mut *world, mix(3), &schedule, watch, true, &mut |_, _| {});
    let untold = replay(&mut *world, mix(3), &schedule, watch, false, &mut |_, _| {});
    assert_eq!(told.trace_hash, untold.trace_hash);
    assert_eq!((told.fingerprint(), told.skipped), (Some(finding.fingerprint), 0));
    assert_eq!(told.choices, finding.minimised);
    assert_eq!(told.trace.steps.len(), finding.minimised.len() + 1);

    // No single choice can be left out.
    let mode = Mode { seed: mix(3), watch: Watch::default(), misfit: Misfit::Skip };
    let mut execution = Execution::default();
    for at in 0..finding.minimised.len() {
        let mut choices = finding.minimised.clone();
        choices.remove(at);
        execute_explicit(&mut *world, mode, &choices, &mut execution);
        assert_ne!(execution.fingerprint(), Some(finding.fingerprint), "choice {at} can be left out");
    }
}

#[test]
fn duplicates_are_counted_not_stored() {
    let target = two_phase_commit();
    let setup = setup(&target, &[("bug", "commit-on-first-yes")], &[]);
    let off = Options { conformance: Conformance::Off, ..options(1, "random", 800) };
    let outcome = run(&target, &setup, &off);
    let total: u64 = outcome.findings.iter().map(|finding| finding.count).sum();
    assert!(
        outcome.findings.len() <= 3 && total > 30,
        "{} findings, {total} failures",
        outcome.findings.len()
    );
}

/// Fails the test when anything runs.
struct Never;
impl misrule_engine::Observer for Never {
    fn elapsed(&mut self) -> std::time::Duration {
        panic!("the clock was read")
    }
    fn progress(&mut self, _: &misrule_engine::Progress) -> bool {
        panic!("something ran")
    }
    fn found(&mut self, _: &misrule_engine::Finding) {}
}

#[test]
fn an_unknown_strategy_is_an_error_before_anything_runs() {
    let target = two_phase_commit();
    let setup = setup(&target, &[], &[]);
    let campaign = misrule_engine::Campaign {
        target: &target,
        setup: &setup,
        options: &options(1, "fronteer", 1),
        corpus: &[],
    };
    let result = misrule_engine::campaign(&campaign, &mut Never);
    assert!(matches!(result, Err(EngineError::Guidance(name)) if name == "fronteer"));
}

#[test]
fn edges_are_refused_by_a_program_that_counts_none() {
    let target = two_phase_commit();
    let setup = setup(&target, &[], &["pairs@impl", "edges"]);
    let refused = misrule_engine::open(&target, &setup).err().expect("these tests are built without");
    assert!(refused.0.contains("RUSTC_WRAPPER=$PWD/fuzzer/edges/rustc"), "{}", refused.0);
}

//! The cycle workload: what single keys do not show, transactions on a ring of keys do.

mod campaigns;

use campaigns::{options, run, setup};
use misrule_engine::Options;
use misrule_world::{DiskPreset, FaultProfile};

/// Executions of each campaign.
const EXECUTIONS: u64 = 50;
const SEEDS: u64 = 20;

/// The failures of a campaign from each seed.
fn found(given: &[(&str, &str)], faults: FaultProfile) -> Vec<String> {
    let setup = setup(given, "explicit-sync", &[]);
    let outcomes = (1..=SEEDS).map(|seed| {
        let options = Options {
            seed,
            faults,
            steps_max: 1_000,
            stop_after_steps: None,
            stop_after_executions: Some(EXECUTIONS),
            ..options("random", 0)
        };
        run(&setup, &options).findings
    });
    outcomes.flatten().map(|finding| finding.failure.property).collect()
}

#[test]
fn transactions_on_a_ring_show_what_single_keys_do_not() {
    let bug = ("bug", "validated-before-commit");
    let cycle = [bug, ("workload", "cycle"), ("keys", "5")];
    assert_eq!(found(&cycle, FaultProfile::None), vec!["ring-intact"; SEEDS as usize]);
    for faults in [FaultProfile::None, FaultProfile::Default, FaultProfile::Heavy] {
        let single = [bug, ("keys", "5")];
        assert_eq!(found(&single, faults), Vec::<String>::new(), "{faults:?}");
    }
}

#[test]
fn the_ring_stays_whole_without_a_bug() {
    let presets = DiskPreset::ALL.into_iter().filter(|(preset, _)| *preset != DiskPreset::LyingDisk);
    for (_, disk) in presets {
        let given = [("workload", "cycle"), ("keys", "8"), ("snapshot-every", "2")];
        let outcome = run(&setup(&given, disk, &[]), &options("random", 100_000));
        let failure = outcome.findings.first().map(|finding| &finding.failure);
        assert_eq!(failure, None, "{disk}");
        let (calls, recovery) = (&outcome.summary.calls, &outcome.summary.recovery);
        // Some transactions came too late, and others did not.
        assert!(calls.failed > 100 && calls.answered > 5 * calls.failed / 4, "{disk}: {calls:?}");
        assert!(recovery.progressed > 5 && recovery.stalled == 0, "{disk}: {recovery:?}");
    }
}

#[test]
#[should_panic(expected = "needs keys=4 or more")]
fn a_ring_that_cannot_break_is_refused() {
    run(&setup(&[("workload", "cycle")], "explicit-sync", &[]), &options("random", 1));
}

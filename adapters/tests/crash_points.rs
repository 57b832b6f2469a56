//! Nodes of targets with a model stop in the middle of calls, and the model goes on.

#![allow(clippy::unwrap_used, reason = "a test")]

use misrule_engine::Drawer;
use misrule_world::{CRASH_POINT, Choice, FaultProfile, Keep, Report, Rng, Target, Watch};

const STEPS: u64 = 200_000;

/// Drives a target at random, with crash points at any node. Returns how often one was passed.
fn drive(target: &Target, contract: &str, given: &[(&str, &str)]) -> u64 {
    let mut run = target.open(&target.setup(given, contract, &[]).unwrap()).unwrap();
    let watch = Watch { model: true, conformance: true, ..Watch::default() };
    let (mut report, mut rng) = (Report::default(), Rng::new(1));
    let mut drawer = Drawer::new(FaultProfile::Default);
    let (mut steps, mut execution) = (0, 0);
    while steps < STEPS {
        execution += 1;
        run.reset(execution, watch, &mut report);
        drawer.reset(run.menu(), &mut rng);
        for _ in 0..1_000 {
            let choice = if rng.chance(1, 50) {
                let node = rng.below(u32::from(run.menu().nodes)) as u8;
                let keep = Keep::prefix(rng.below(3) as u16);
                Choice::CrashAt { node, at: rng.below(4) as u16, keep }
            } else {
                drawer.pick(run.menu(), &mut rng).unwrap()
            };
            run.step(choice, &mut report);
            assert_eq!(report.failure, None, "{} {contract} {given:?} {execution}", target.name);
            steps += 1;
        }
    }
    let tally = run.about().tally;
    assert_eq!(tally.deviations.len(), 1, "{:?}", tally.deviations);
    assert_eq!(tally.deviations[0].0, CRASH_POINT);
    assert_eq!(tally.steps_followed - tally.steps_walked, tally.deviations[0].1);
    tally.deviations[0].1
}

#[test]
fn models_go_on_after_crash_points() {
    let omnipaxos = misrule_omnipaxos::omnipaxos();
    let commit = misrule_two_phase_commit::two_phase_commit();
    for disk in ["explicit-sync", "immediate", "ordered"] {
        let deviations =
            drive(&omnipaxos, &format!("fifo,{disk}"), &[("trim", "off")]) + drive(&commit, disk, &[]);
        // Each crash point that is passed counts once, and so does the start after it.
        assert!(deviations > 1_000, "{disk}: {deviations}");
    }
}

//! Mapping, model, comparison and the lenses at the model allocate next to nothing once buffers have grown.

#![allow(clippy::unwrap_used, reason = "tests")]

use misrule_engine::Drawer;
use misrule_raft::raft;
use misrule_world::{FaultProfile, Report, Rng, Run, Watch};

const STEPS: u64 = 100_000;

/// Executions of 1,000 steps.
fn drive(run: &mut dyn Run, watch: Watch) {
    let (mut report, mut rng) = (Report::default(), Rng::new(3));
    let mut drawer = Drawer::new(FaultProfile::Default);
    for step in 0..STEPS {
        if step % 1_000 == 0 {
            run.reset(step, watch, &mut report);
            drawer.reset(run.menu(), &mut rng);
        }
        run.step(drawer.pick(run.menu(), &mut rng).unwrap(), &mut report);
        assert_eq!(report.failure, None);
    }
}

#[test]
fn following_allocates_next_to_nothing() {
    let count = |watch: Watch| {
        let target = raft();
        let setup = target.setup(&[], "", &["pairs@model", "delivery@model", "detailed@model"]).unwrap();
        let mut run = target.open(&setup).unwrap();
        // The same executions twice: the first time grows what the second one needs.
        drive(&mut *run, watch);
        allocation_counter::measure(|| drive(&mut *run, watch)).count_total
    };
    let plain = count(Watch::default());
    let watched = count(Watch { keys: true, model: true, conformance: false, trace: false });
    let followed = count(Watch { keys: true, model: true, conformance: true, trace: false });
    assert!(followed - watched < STEPS / 1_000, "comparing allocates: {watched} and {followed}");
    // The crate allocates. What is added is a copy of each delivered message, since the world keeps the input for the
    // model while the crate consumes it; `models/tests/raft_allocation.rs` has the model alone.
    assert!(watched - plain < STEPS / 5, "{plain} and {watched}");
}

//! In the steady state steps allocate nothing but what the disk does for names, and starts for what they read.

use misrule_engine::Drawer;
use misrule_kv::kv;
use misrule_world::{FaultProfile, Report, Rng, Run, Watch};

/// Executions of a thousand steps without faults.
fn drive(run: &mut dyn Run, executions: u64, report: &mut Report) {
    for seed in 0..executions {
        let (mut drawer, mut rng) = (Drawer::new(FaultProfile::None), Rng::new(seed));
        run.reset(seed, Watch { keys: true, ..Watch::default() }, report);
        drawer.reset(run.menu(), &mut rng);
        for _ in 0..1_000 {
            let Some(choice) = drawer.pick(run.menu(), &mut rng) else { break };
            run.step(choice, report);
            assert_eq!(report.failure, None);
        }
    }
}

#[test]
fn steps_allocate_little() {
    let target = kv();
    let count = |snapshot_every: &str| {
        let lenses = ["pairs@impl", "waiting@impl", "durable@impl"];
        let setup = target.setup(&[("snapshot-every", snapshot_every)], "", &lenses).unwrap();
        let mut run = target.open(&setup).unwrap();
        let mut report = Report::default();
        // The same executions twice: the first time grows what the second one needs.
        drive(run.as_mut(), 20, &mut report);
        allocation_counter::measure(|| drive(run.as_mut(), 20, &mut report)).count_total
    };
    // Starts, and the logs of nodes that grow from nothing in each execution: some dozens an execution.
    let without = count("1000");
    assert!(without < 20 * 100, "{without} allocations in 20 executions");
    // A snapshot names files.
    let with = count("6");
    assert!(with < 20 * 1_000, "{with} allocations in 20,000 steps");
}

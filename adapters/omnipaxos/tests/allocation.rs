//! Mapping, model, comparison and the lenses at the model allocate nothing once buffers have grown.

#[allow(dead_code, reason = "the tests of the target use the rest")]
mod driver;
#[allow(dead_code, reason = "the tests of the model use the rest")]
mod follow;

use misrule_world::Watch;

#[test]
fn following_allocates_nothing() {
    let steps = 200_000;
    let count = |watch: Watch| {
        let lenses = ["pairs@model", "delivery@model", "detailed@model"];
        let mut run = driver::open(&[("trim", "off"), ("batch", "2")], "fifo", &lenses);
        // The same executions twice: the first time grows what the second one needs.
        follow::follow(&mut *run, 3, 1000, steps, watch);
        allocation_counter::measure(|| drop(follow::follow(&mut *run, 3, 1000, steps, watch))).count_total
    };
    let plain = count(Watch::default());
    let followed = count(Watch { keys: true, model: true, conformance: true, trace: false });
    // The crate allocates. What is added is one copy of each delivered list of entries, since the world keeps
    // the input for the model while the crate consumes it.
    let added = followed - plain;
    assert!(added < steps / 20, "{added} allocations in {steps} steps, {plain} without a model");
}

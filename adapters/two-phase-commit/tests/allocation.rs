//! Steps allocate nothing once buffers have grown: system, judge, mapping, model and every lens.

mod driver;

use driver::{ALL, open, random};
use misrule_two_phase_commit::two_phase_commit;

#[test]
fn steady_state_allocates_nothing() {
    let lenses = two_phase_commit().lenses;
    let mut run = open(&[], "", &lenses);
    // The same executions twice: the first time grows what the second one needs.
    let grown = random(run.as_mut(), 3, 100_000, ALL);
    let mut again = (0, None);
    let found = allocation_counter::measure(|| again = random(run.as_mut(), 3, 100_000, ALL));
    assert_eq!(again, grown);
    // The one is the driver's own: room for the keys in its report.
    assert_eq!(found.count_total, 1, "in {} steps", again.0);
}

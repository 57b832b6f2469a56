//! Steps allocate nothing once buffers have grown: system, judge, mapping, model and every lens.

mod driver;

use driver::{ALL, open, random_into};
use misrule_two_phase_commit::two_phase_commit;
use misrule_world::Report;

#[test]
fn steady_state_allocates_nothing() {
    let lenses = two_phase_commit().lenses;
    let mut run = open(&[], "", &lenses);
    // The same executions twice: the first time grows what the second one needs.
    let mut report = Report::default();
    let grown = random_into(run.as_mut(), 3, 100_000, ALL, &mut report);
    let mut again = (0, None);
    let found = allocation_counter::measure(|| {
        again = random_into(run.as_mut(), 3, 100_000, ALL, &mut report);
    });
    assert_eq!(again, grown);
    assert_eq!(found.count_total, 0, "in {} steps", again.0);
}

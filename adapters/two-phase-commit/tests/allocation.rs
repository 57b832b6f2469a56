//! Steps allocate nothing once buffers have grown: system, judge, mapping, model and every lens.

mod driver;

use driver::{ALL, open, random_into};
use misrule_two_phase_commit::two_phase_commit;
use misrule_world::Report;

#[test]
fn steady_state_allocates_nothing() {
    let lenses = two_phase_commit().lenses;
    let mut run = open(&[], "", &lenses);
    // The same executions again: the first time grows what they need.
    let mut report = Report::default();
    let grown = random_into(run.as_mut(), 3, 100_000, ALL, &mut report);
    // Once more: where two buffers change places, each has its turn.
    assert_eq!(random_into(run.as_mut(), 3, 100_000, ALL, &mut report), grown);
    let mut again = (0, None);
    let found = allocation_counter::measure(|| {
        again = random_into(run.as_mut(), 3, 100_000, ALL, &mut report);
    });
    assert_eq!(again, grown);
    assert_eq!(found.count_total, 0, "in {} steps", again.0);
}

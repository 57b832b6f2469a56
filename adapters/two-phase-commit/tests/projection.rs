//! The projection of the views onto the model, from which a lost walk would go on, agrees with the views.

mod driver;

use driver::{ALL, pick};
use misrule_models::Model;
use misrule_two_phase_commit::model::{State, Transactions};
use misrule_two_phase_commit::{Bug, Steps, TwoPhaseCommit, TwoPhaseJudge, two_phase_commit};
use misrule_world::{Failure, Judge, Mapping, Report, Rng, Run, Seen, World};

/// Projects after every step.
struct Projecting {
    judge: TwoPhaseJudge,
    mapping: Steps,
    state: State,
}

impl Judge<TwoPhaseCommit> for Projecting {
    fn reset(&mut self, seen: &Seen<'_, TwoPhaseCommit>, report: &mut Report) {
        self.judge.reset(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, TwoPhaseCommit>, report: &mut Report) {
        self.judge.after(seen, report);
        self.mapping.project(seen, &mut self.state, None);
        if let Some(what) = self.mapping.compare(seen, &self.state, true) {
            report.failure.get_or_insert(Failure::new("projection", "agrees", what));
        }
    }
}

#[test]
fn projection_agrees_with_the_views() {
    for (managers, transactions) in [(2, 1), (3, 2), (5, 4)] {
        let mut states = Vec::new();
        Transactions::new(managers, transactions).unwrap().initial(&mut states);
        let judge = Projecting {
            judge: TwoPhaseJudge::new(managers, transactions, &[]).unwrap(),
            mapping: Steps::default(),
            state: states[0],
        };
        let system = TwoPhaseCommit::new(managers, transactions, Bug::None);
        let mut world = World::new(system, judge, two_phase_commit().contract);
        let (mut rng, mut report) = (Rng::new(4), Report::default());
        for step in 0..100_000 {
            if step % 1_000 == 0 {
                world.reset(step, ALL, &mut report);
            }
            let choice = pick(world.menu(), &mut rng);
            world.step(choice, &mut report);
            assert_eq!(report.failure, None, "step {step}, {choice:?}");
        }
    }
}

//! A twin of the mapping that hides changes of membership from the model, which goes on by the first one. The library then
//! commits by other majorities than the model knows, which the model must refuse.

use super::{Events, Steps, model};
use crate::openraft;
use crate::system::Openraft;
use misrule_engine::Drawer;
use misrule_models::raft::{Action, Change, Message, Raft, State};
use misrule_models::{Event, LensSet, NodeId};
use misrule_world::{
    Choice, Failure, FaultProfile, Follower, Judge, Mapping, NO_SESSION, Report, Rng, Seen, Watch, target,
};

struct Twin {
    steps: Steps,
    hides: bool,
}

/// The number of an entry that is no change.
fn hide(value: &mut u32) {
    *value |= u32::from(Change::of(*value).is_some());
}

impl Mapping<Openraft> for Twin {
    type Model = Raft;

    fn reset(&mut self, seen: &Seen<'_, Openraft>) {
        self.steps.reset(seen);
    }

    fn events(&mut self, seen: &Seen<'_, Openraft>, out: &mut Events) {
        self.steps.events(seen, out);
        for event in out.iter_mut().filter(|_| self.hides) {
            match event {
                Event::Action(Action::Propose { value, .. }) => hide(value),
                Event::Action(Action::Deliver(envelope) | Action::Send(envelope)) => {
                    if let Message::Append { entries, .. } = &mut envelope.message {
                        for entry in entries.iter_mut() {
                            hide(&mut entry.value);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn project(&self, seen: &Seen<'_, Openraft>, state: &mut State, only: Option<NodeId>) {
        self.steps.project(seen, state, only);
    }

    /// What is hidden is another entry, which is not what is to be noticed.
    fn compare(&self, seen: &Seen<'_, Openraft>, state: &State, full: bool) -> Option<String> {
        self.steps.compare(seen, state, full && !self.hides)
    }
}

struct Follows(Follower<Openraft, Twin>);

impl Judge<Openraft> for Follows {
    fn reset(&mut self, seen: &Seen<'_, Openraft>, report: &mut Report) {
        self.0.reset(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, Openraft>, report: &mut Report) {
        self.0.after(seen, report);
    }
}

/// Ten executions with changes of membership, until a failure.
fn found(hides: bool) -> Option<Failure> {
    let setup = openraft().setup(&[("membership", "joint"), ("snapshots", "off")], "reorder", &[]).unwrap();
    let twin = target("twin", move |setup| {
        let steps = Steps::new(setup);
        let follower = Follower::new(model(setup).unwrap(), Twin { steps, hides }, LensSet::default());
        Ok((Openraft::new(setup)?, Follows(follower)))
    });
    let mut run = twin.open(&setup).unwrap();
    let (mut report, mut rng) = (Report::default(), Rng::new(1));
    let mut drawer = Drawer::new(FaultProfile::Default);
    let watch = Watch { keys: false, model: true, conformance: true, trace: false };
    for step in 0..20_000 {
        if step % 2_000 == 0 {
            run.reset(step, watch, &mut report);
            drawer.reset(run.menu(), &mut rng);
        }
        let choice = if rng.chance(1, 50) {
            let (node, operation) = (rng.below(3) as u8, 4 + rng.below(6) as u8);
            Choice::Request { node, operation, session: NO_SESSION, argument: rng.below(3) }
        } else {
            drawer.pick(run.menu(), &mut rng).unwrap()
        };
        run.step(choice, &mut report);
        if let Some(failure) = report.failure.take() {
            return Some(failure);
        }
    }
    None
}

#[test]
fn a_commit_by_another_configuration_is_refused() {
    assert_eq!(found(false), None);
    let failure = found(true).unwrap();
    let refused = (failure.oracle, failure.property.as_str());
    assert_eq!(refused, ("model", "no-majority-has-a-further-entry-of-this-term"), "{}", failure.message);
}

//! The model follows the target: every step, under every contract and setting, and before every finding.

#[allow(dead_code, reason = "the tests of the target use the rest")]
mod driver;
mod follow;

use driver::open;
use follow::{Followed, follow};
use misrule_models::Outcome;
use misrule_world::{Choice, Keep, Report, Run, Slot, Tally, Watch};

const FULL: Watch = Watch { keys: false, model: true, conformance: true, trace: false };

fn drive(settings: &[(&str, &str)], contract: &str, steps: u64) -> (Followed, Tally) {
    let mut run = open(settings, contract, &[]);
    let done = follow(&mut *run, 1, 1000, steps, FULL);
    let tally = run.about().tally;
    assert_eq!(tally.steps_walked, tally.steps_followed, "{settings:?} {contract}");
    assert_eq!(tally.deviations, []);
    for (outcome, name) in Outcome::ALL {
        let expected = matches!(outcome, Outcome::Accepted | Outcome::Ignored);
        assert_eq!(tally.events.count(outcome) > 0, expected, "{settings:?} {contract}: {name}");
    }
    for (name, seen) in &tally.sometimes {
        assert!(*seen > 0, "{settings:?} {contract}: {name} was never seen");
    }
    (done, tally)
}

#[test]
fn every_step_over_ordered_links_is_followed() {
    for settings in [
        [("trim", "off"), ("nodes", "3")],
        [("trim", "off"), ("nodes", "5")],
        [("trim", "off"), ("batch", "4")],
        [("trim", "off"), ("resend", "1")],
    ] {
        for contract in ["fifo", "fifo+loss"] {
            let (done, tally) = drive(&settings, contract, 150_000);
            assert_eq!(done.first.len(), 0, "{settings:?} {contract}: {:?}", done.first);
            assert_eq!(tally.steps_followed, done.steps);
        }
    }
}

/// Trimming is invisible to the protocol until the crate panics for want of a trimmed entry.
#[test]
fn every_step_with_trimming_is_followed() {
    for batch in ["1", "4"] {
        let (done, _) = drive(&[("trim", "on"), ("batch", batch)], "fifo", 300_000);
        assert!(done.failures.keys().all(|(oracle, ..)| *oracle == "panic"), "{:?}", done.first);
    }
}

/// The oracle is what fires, and the model says at the same step that the protocol itself is broken.
#[test]
fn what_reordering_breaks_is_broken_in_the_model() {
    let (mut found, mut run) = (0, open(&[("trim", "off")], "reorder", &[]));
    for contract in ["reorder", "reorder+loss+dup", "fifo+dup"] {
        for batch in ["1", "4"] {
            let (done, _) = drive(&[("trim", "off"), ("batch", batch)], contract, 200_000);
            for ((oracle, property, model), count) in &done.failures {
                assert_eq!((*oracle, property.as_str()), ("invariant", "decided-logs-agree"));
                assert!(model.is_some(), "{contract}: {:?}", done.first);
                found += count;
            }
        }
    }
    assert!(found > 0, "a finding");
    let done = follow(&mut *run, 1, 10_000, 1_000_000, FULL);
    assert!(
        done.failures.keys().all(|(_, property, model)| property == "decided-logs-agree" && model.is_some())
    );
}

#[test]
fn watching_the_model_changes_nothing() {
    let found = |watch| {
        let mut run = open(&[("trim", "off")], "reorder", &["pairs@model"]);
        let done = follow(&mut *run, 3, 10_000, 300_000, watch);
        let failures: Vec<_> = done.failures.into_iter().map(|((o, p, _), count)| (o, p, count)).collect();
        (done.steps, failures)
    };
    assert_eq!(found(FULL), found(Watch { model: false, conformance: false, ..FULL }));
}

#[test]
fn lenses_at_the_model_make_keys() {
    for lens in ["pairs@model", "delivery@model", "message@model", "detailed@model"] {
        let watch = Watch { keys: true, ..FULL };
        let done = driver::drive(&mut *open(&[("trim", "off")], "fifo", &[lens]), 1, 500, 2000, watch);
        assert!(done.keys > 100, "{lens}: {}", done.keys);
    }
}

/// Executes choices one by one; each must apply and break nothing.
struct Script {
    run: Box<dyn Run>,
    report: Report,
}

impl Script {
    fn new() -> Self {
        let mut script = Self { run: open(&[("trim", "off")], "fifo", &[]), report: Report::default() };
        script.run.reset(1, FULL, &mut script.report);
        script
    }

    fn step(&mut self, choice: Choice) {
        self.run.step(choice, &mut self.report);
        assert_eq!(self.report.effect, misrule_world::Effect::Applied, "{choice:?}");
        assert_eq!(self.report.failure, None, "{choice:?}");
    }

    /// Delivers until nothing waits.
    fn settle(&mut self) {
        loop {
            let menu = self.run.menu();
            let Some(link) = menu.deliverable.iter().position(|count| *count > 0) else { break };
            let nodes = usize::from(menu.nodes);
            let (from, to) = ((link / nodes) as u8, (link % nodes) as u8);
            self.step(Choice::Deliver(Slot { from, to, at: 1, kind: Slot::ANY_KIND }));
        }
    }

    fn tick(&mut self, nodes: &[u8], times: usize) {
        for _ in 0..times {
            for &node in nodes {
                self.step(Choice::Timer { node, timer: 0 });
            }
            self.settle();
        }
    }

    fn append(&mut self, node: u8, argument: u32) {
        self.step(Choice::Request { node, operation: 0, argument, session: misrule_world::NO_SESSION });
        self.settle();
    }

    fn seen(&self, property: &str) -> u64 {
        let tally = self.run.about().tally;
        tally.sometimes.iter().find(|(name, _)| *name == property).expect("a property of the model").1
    }
}

#[test]
fn a_crash_of_the_leader_is_followed() {
    let mut script = Script::new();
    script.tick(&[0, 1, 2], 4);
    assert_eq!(script.seen("leader-elected"), 1);
    script.append(0, 1);
    script.append(1, 2);
    assert_eq!(script.seen("entry-decided"), 1);
    let up = script.run.menu().up;
    assert_eq!(up, 0b111);
    // Which node leads is the crate's choice; with equal ballots it is the last.
    script.step(Choice::Crash { node: 2, keep: Keep::NONE });
    script.tick(&[0, 1], 6);
    script.append(0, 3);
    script.step(Choice::Restart { node: 2 });
    script.settle();
    script.tick(&[0, 1, 2], 6);
    assert_eq!(script.seen("recovered"), 1);
    script.append(2, 4);
    let tally = script.run.about().tally;
    assert_eq!((tally.steps_walked, tally.events.count(Outcome::Refused)), (tally.steps_followed, 0));
}

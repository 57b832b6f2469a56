//! Faults of links and time in campaigns: a bug that swizzles find and losses do not, swarms, own profiles, bounded
//! distances, and a clock.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::{run, setup};
use misrule_engine::{
    Drawer, Execution, Misfit, Mode, Options, Outcome, TailChooser, Unwatched, execute, execute_explicit,
};
use misrule_world::{
    BootError, Choice, ChoiceKind, Context, Failure, FaultKind, FaultProfile, FaultWeights, Fields, Input,
    Judge, NodeId, Report, Rng, Run, Schedule, Seen, Setting, System, Tail, Target, Vocabulary, Watch,
    target,
};
use std::fmt::Display;

/// A server lends a lease to its clients in turn. It takes the lease back before it lends it again and repeats itself
/// until it is answered, so losses do no harm. The bug: terms are counted modulo the number of clients, so an answer
/// of the last round is taken for one of this round, if it was held that long.
struct Leases {
    vocabulary: Vocabulary,
    clients: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Grant,
    Revoke(u8),
    Released(u8),
}

#[derive(Debug)]
enum Node {
    Server { term: u8, revoking: bool },
    Client { holds: bool },
}

#[derive(Clone, Default)]
struct Holds(bool);

impl Fields for Holds {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("holds", &self.0);
    }
}

const SERVER: NodeId = 0;

impl System for Leases {
    type Node = Node;
    type Message = Message;
    type View = Holds;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Message>) -> Result<Node, BootError> {
        if cx.me() != SERVER {
            return Ok(Node::Client { holds: false });
        }
        cx.set_timer(0);
        cx.send(1, Message::Grant);
        Ok(Node::Server { term: 0, revoking: false })
    }

    fn handle(&self, node: &mut Node, input: Input<Message>, cx: &mut Context<Message>) {
        match (node, input) {
            (Node::Server { term, revoking }, Input::Timer(_)) => {
                *revoking = true;
                cx.send(1 + *term, Message::Revoke(*term));
                cx.set_timer(0);
            }
            (Node::Server { term, revoking }, Input::Message { message, .. })
                if *revoking && message == Message::Released(*term) =>
            {
                (*term, *revoking) = ((*term + 1) % self.clients, false);
                cx.send(1 + *term, Message::Grant);
            }
            (Node::Client { holds }, Input::Message { message: Message::Grant, .. }) => *holds = true,
            (Node::Client { holds }, Input::Message { message: Message::Revoke(term), .. }) => {
                *holds = false;
                cx.send(SERVER, Message::Released(term));
            }
            _ => {}
        }
    }

    fn view(&self, node: &Node, out: &mut Holds) {
        out.0 = matches!(node, Node::Client { holds: true });
    }

    fn kind(&self, message: &Message) -> u8 {
        match message {
            Message::Grant => 0,
            Message::Revoke(_) => 1,
            Message::Released(_) => 2,
        }
    }
}

struct OneHolder;

impl Judge<Leases> for OneHolder {
    fn reset(&mut self, _seen: &Seen<'_, Leases>, _report: &mut Report) {}

    fn after(&mut self, seen: &Seen<'_, Leases>, report: &mut Report) {
        if seen.views.iter().filter(|view| view.0).count() > 1 {
            report.failure.get_or_insert(Failure::new("leases", "one-holder", "two clients hold the lease"));
        }
    }
}

fn leases() -> Target {
    target("leases", |setup| {
        let clients = setup.settings.integer("clients") as u8;
        let vocabulary = Vocabulary {
            nodes: clients + 1,
            kinds: vec!["Grant", "Revoke", "Released"],
            timers: vec!["repeat"],
            ..Vocabulary::default()
        };
        Ok((Leases { vocabulary, clients }, OneHolder))
    })
    .setting(Setting::integer("clients", 2, 20, 6, "how many"))
    .contract("fifo+loss")
}

/// No faults but this one, and what ends it.
fn only(kind: FaultKind, weight: u16) -> FaultProfile {
    FaultProfile::Custom(FaultProfile::None.weights(&mut Rng::new(0)).with(kind, weight))
}

fn lease_campaign(seed: u64, clients: &str, faults: FaultProfile, steps: u64) -> Outcome {
    let target = leases();
    let setup = setup(&target, &[("clients", clients)], &[]);
    let options = Options {
        seed,
        guidance: "random".to_owned(),
        faults,
        stop_after_steps: Some(steps),
        steps_max: 3_000,
        ..Options::default()
    };
    run(&target, &setup, &options)
}

/// In how many of 20 campaigns over eight clients the bug is found.
fn found(faults: FaultProfile) -> usize {
    let campaigns = (1..=20).map(|seed| lease_campaign(seed, "8", faults, 300_000));
    campaigns.filter(|outcome| !outcome.findings.is_empty()).count()
}

#[test]
fn a_swizzle_finds_what_losses_do_not() {
    let (swizzled, lost, none) =
        (found(only(FaultKind::Swizzle, 150)), found(only(FaultKind::Drop, 400)), found(FaultProfile::None));
    assert!(swizzled >= 18, "found in {swizzled} of 20 campaigns with swizzles");
    assert!(lost + none <= 1, "found in {lost} of 20 campaigns with losses, in {none} without faults");
}

#[test]
fn the_minimiser_takes_a_swizzle_apart() {
    let outcome = lease_campaign(1, "4", only(FaultKind::Swizzle, 150), 300_000);
    let finding = &outcome.findings[0];
    assert_eq!((finding.failure.property.as_str(), finding.minimal), ("one-holder", true));
    let clogs = |choices: &[Choice]| choices.iter().filter(|c| c.kind() == ChoiceKind::Clog).count();
    assert!(clogs(&finding.found) >= 2, "{:?}", finding.found);
    assert_eq!(clogs(&finding.minimised), 0, "held messages need no clog once others are chosen by hand");
    assert!(outcome.summary.choices[ChoiceKind::Clog as usize].applied > 0);
    assert!(outcome.summary.choices[ChoiceKind::Unclog as usize].applied > 0);
}

fn replay_tail(run: &mut dyn Run, faults: FaultProfile, seed: u64, steps: u32) -> Execution {
    let schedule = Schedule { choices: Vec::new(), tail: Some(Tail { seed, steps, faults }) };
    let mut chooser = TailChooser::of(&schedule).unwrap();
    let mut execution = Execution::default();
    let mode = Mode { seed: 1, watch: Watch::default(), misfit: Misfit::Skip };
    let mut report = Report::default();
    execute(run, mode, &[], Some(&mut chooser), &mut Unwatched, &mut report, &mut execution);
    execution
}

fn open(target: &Target, contract: &str) -> Box<dyn Run> {
    let mut setup = setup(target, &[], &[]);
    setup.contract = setup.contract.overridden(contract).unwrap();
    target.open(&setup).unwrap()
}

#[test]
fn tails_of_every_profile_replay() {
    let target = common::two_phase_commit();
    let mut run = open(&target, "reorder+loss+dup");
    let own =
        FaultProfile::of(FaultWeights::default().with(FaultKind::Swizzle, 90).with(FaultKind::Slow, 3_000));
    for (faults, _) in FaultProfile::ALL.into_iter().chain([(own, "own")]) {
        for seed in 0..20 {
            let first = replay_tail(&mut *run, faults, seed, 500);
            assert_eq!(replay_tail(&mut *run, faults, seed, 500).choices, first.choices, "{faults}");
            let mut explicit = Execution::default();
            let mode = Mode { seed: 1, watch: Watch::default(), misfit: Misfit::Skip };
            execute_explicit(&mut *run, mode, &first.choices, &mut explicit);
            assert_eq!((explicit.choices, explicit.skipped), (first.choices, 0), "{faults}");
        }
    }
}

#[test]
fn executions_of_a_swarm_have_different_faults() {
    let target = common::two_phase_commit();
    let mut run = open(&target, "reorder+loss+dup");
    for kind in
        [ChoiceKind::Drop, ChoiceKind::Duplicate, ChoiceKind::Crash, ChoiceKind::Cut, ChoiceKind::Clog]
    {
        let mut with = |faults| {
            let tails = (0..100).map(|seed| replay_tail(&mut *run, faults, seed, 2_000));
            tails.filter(|tail| tail.choices.iter().any(|choice| choice.kind() == kind)).count()
        };
        let (swarm, default) = (with(FaultProfile::Swarm), with(FaultProfile::Default));
        assert!((20..80).contains(&swarm) && default > 80, "{kind:?}: {swarm} and {default} of 100");
    }
}

#[test]
fn slow_links_deliver_less_and_end_nothing() {
    let target = common::two_phase_commit();
    let mut run = open(&target, "fifo");
    let mut deliveries = |faults| {
        (0..20).fold(0, |sum, seed| {
            let tail = replay_tail(&mut *run, faults, seed, 2_000);
            assert_eq!(tail.steps() + tail.skipped, 2_000);
            sum + tail.choices.iter().filter(|choice| choice.kind() == ChoiceKind::Deliver).count()
        })
    };
    let (none, third, all) = (
        deliveries(FaultProfile::None),
        deliveries(only(FaultKind::Slow, 3_333)),
        deliveries(only(FaultKind::Slow, FaultWeights::MAX)),
    );
    assert!(
        all > 0 && all * 2 < third && third < none,
        "{all} with slow links only, {third}, {none} with none"
    );
}

#[test]
fn bounded_distances_are_kept_by_whatever_draws() {
    let target = common::two_phase_commit();
    for (contract, reach) in [("reorder=3+loss+dup=2", 3), ("fifo+dup=1", 1), ("reorder+dup", u16::MAX)] {
        let mut run = open(&target, contract);
        let mut farthest = 0;
        for seed in 0..20 {
            let tail = replay_tail(&mut *run, FaultProfile::Heavy, seed, 1_000);
            assert!(
                tail.skipped < 50,
                "{contract}: {} skipped, more than duplicates on full links",
                tail.skipped
            );
            farthest =
                tail.choices.iter().filter_map(Choice::slot).map(|slot| slot.at).fold(farthest, u16::max);
        }
        assert!(farthest <= reach && (farthest == reach || farthest > 4), "{contract}: {farthest}");
    }
}

#[test]
fn findings_under_bounded_distances_are_minimised_within_them() {
    let target = common::two_phase_commit();
    let mut setup = setup(&target, &[("bug", "stale-vote-counted")], &[]);
    setup.contract = setup.contract.overridden("reorder=2+loss+dup=1").unwrap();
    let options =
        Options { guidance: "random".to_owned(), stop_after_steps: Some(3_000_000), ..Options::default() };
    let outcome = run(&target, &setup, &options);
    let finding = outcome.findings.first().expect("a stale vote counts under this contract too");
    assert!(finding.minimised.len() < finding.found.len() && finding.minimal);
    let mut world = target.open(&setup).unwrap();
    let mut execution = Execution::default();
    let mode = Mode { seed: misrule_world::mix(1), watch: Watch::default(), misfit: Misfit::Skip };
    execute_explicit(&mut *world, mode, &finding.minimised, &mut execution);
    assert_eq!((execution.skipped, execution.choices), (0, finding.minimised.clone()));
    assert!(finding.minimised.iter().filter_map(Choice::slot).all(|slot| slot.at <= 2));
}

/// How often a server of omnipaxos becomes leader in so many steps, and how many entries all of them decide.
fn elections(contract: &str, faults: FaultProfile, steps: u32) -> (usize, usize) {
    let target = misrule_omnipaxos::omnipaxos();
    let mut setup = setup(&target, &[("trim", "off")], &[]);
    setup.contract = setup.contract.overridden(contract).unwrap();
    let mut run = target.open(&setup).unwrap();
    let (mut report, mut rng, mut drawer) = (Report::default(), Rng::new(1), Drawer::new(faults));
    run.reset(1, Watch { trace: true, ..Watch::default() }, &mut report);
    drawer.reset(run.menu(), &mut rng);
    let (mut elections, mut decided) = (0, 0);
    for _ in 0..steps {
        let choice = drawer.pick(run.menu(), &mut rng).unwrap();
        run.step(choice, &mut report);
        assert_eq!(report.failure, None, "{contract}");
        for change in report.trace.iter().flat_map(|step| &step.changes) {
            elections += usize::from(change.field == "role" && change.after == "leading");
            decided += usize::from(change.field == "decided");
        }
    }
    (elections, decided)
}

#[test]
fn leaders_change_less_often_where_clocks_and_delays_are_bounded() {
    let bounded = "fifo,clock=drift-10,delay=3";
    let ((free, few), (stable, many)) =
        (elections("fifo", FaultProfile::None, 30_000), elections(bounded, FaultProfile::None, 30_000));
    assert!(stable == 1 && free > 1, "the first leader stays: {stable} with a clock, {free} without");
    assert!(many > 10 * few, "decided {many} times with a clock, {few} times without");
    // With faults leaders change, but more is decided under each of them.
    let ((free, few), (bounded, many)) =
        (elections("fifo", FaultProfile::Default, 30_000), elections(bounded, FaultProfile::Default, 30_000));
    assert!(many * free > 4 * few * bounded, "{many} decisions under {bounded} leaders, {few} under {free}");
}

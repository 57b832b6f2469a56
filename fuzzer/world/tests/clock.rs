//! Simulated time: which timers may fire is what the contract's clock lets happen.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use misrule_world::{
    Argument, BootError, Choice, Context, Contract, Effect, Fields, Input, Judge, Keep, NO_SESSION,
    Operation, Report, Rng, Run, Seen, Settings, Setup, Slot, System, Vocabulary, Watch, nth_bit, target,
};
use std::fmt::Display;

/// Three nodes with timers that requests set; timer 3 is set again whenever it fires.
struct Timers(Vocabulary);

const REPEATS: u8 = 3;

#[derive(Clone, Default)]
struct Fired(Vec<u8>);

impl Fields for Fired {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("fired", &format!("{:?}", self.0));
    }
}

impl System for Timers {
    type Node = Vec<u8>;
    type Message = ();
    type View = Fired;

    fn vocabulary(&self) -> &Vocabulary {
        &self.0
    }

    fn boot(&self, _cx: &mut Context<()>) -> Result<Vec<u8>, BootError> {
        Ok(Vec::new())
    }

    fn handle(&self, node: &mut Vec<u8>, input: Input<()>, cx: &mut Context<()>) {
        match input {
            Input::Request { operation: 0, argument, .. } if argument < 4 => cx.set_timer(argument as u8),
            Input::Request { operation: 0, argument, .. } => {
                cx.set_timer_after((argument % 4) as u8, argument / 4);
            }
            Input::Request { operation: 1, argument, .. } => cx.cancel_timer(argument as u8),
            Input::Request { .. } => cx.send(1, ()),
            Input::Timer(timer) => {
                node.push(timer);
                if timer == REPEATS {
                    cx.set_timer(timer);
                }
            }
            Input::Message { .. } | Input::Local(_) => {}
        }
    }

    fn view(&self, node: &Vec<u8>, out: &mut Fired) {
        out.0.clone_from(node);
    }

    fn kind(&self, (): &()) -> u8 {
        0
    }
}

struct Unjudged;

impl Judge<Timers> for Unjudged {
    fn reset(&mut self, _seen: &Seen<'_, Timers>, _report: &mut Report) {}
    fn after(&mut self, _seen: &Seen<'_, Timers>, _report: &mut Report) {}
}

/// An execution under a contract.
struct Timed {
    run: Box<dyn Run>,
    report: Report,
}

impl Timed {
    fn new(contract: &str) -> Self {
        let target = target("timers", |_| {
            let operation = |name| Operation { name, argument: Argument::Fresh, weight: 1 };
            let operations = vec![operation("set"), operation("cancel"), operation("send")];
            let timers = vec!["a", "b", "c", "repeats"];
            let vocabulary = Vocabulary {
                nodes: 3,
                kinds: vec!["M"],
                timers,
                timer_ticks: vec![1, 1, 1, 2],
                operations,
                ..Vocabulary::default()
            };
            Ok((Timers(vocabulary), Unjudged))
        });
        let contract = Contract::default().overridden(contract).unwrap();
        let setup = Setup { settings: Settings::default(), contract, lenses: Vec::new() };
        let mut timed = Self { run: target.open(&setup).unwrap(), report: Report::default() };
        timed.reset();
        timed
    }

    fn reset(&mut self) {
        self.run.reset(1, Watch { trace: true, ..Watch::default() }, &mut self.report);
    }

    fn step(&mut self, choice: Choice) -> Result<(), &'static str> {
        self.run.step(choice, &mut self.report);
        match self.report.effect {
            Effect::Applied => Ok(()),
            Effect::Skipped(why) => Err(why),
            Effect::Drift { .. } => Err("drift"),
        }
    }

    fn ask(&mut self, node: u8, operation: u8, argument: u32) {
        self.step(Choice::Request { node, operation, session: NO_SESSION, argument }).unwrap();
    }

    /// Sets a timer that takes so many ticks.
    fn set(&mut self, node: u8, timer: u8, ticks: u32) {
        self.ask(node, 0, ticks * 4 + u32::from(timer));
    }

    fn fire(&mut self, node: u8, timer: u8) -> Result<(), &'static str> {
        self.step(Choice::Timer { node, timer })
    }

    /// The time in the trace of the last step.
    fn time(&self) -> Option<&str> {
        self.report.trace.as_ref()?.effects.iter().find_map(|effect| effect.strip_prefix("time "))
    }

    /// Fires any timer that may fire.
    fn fire_any(&mut self, rng: &mut Rng) -> (u8, u8) {
        let menu = self.run.menu();
        let all = (0..3).flat_map(|node| (0..4).map(move |timer| (node, timer)));
        let may = all.filter(|(node, timer)| menu.timers[usize::from(*node)] & (1 << timer) != 0);
        let may: Vec<(u8, u8)> = may.collect();
        assert_eq!(may.len() as u32, menu.timers_set);
        let (node, timer) = may[rng.below(menu.timers_set) as usize];
        self.fire(node, timer).unwrap();
        (node, timer)
    }
}

const LATER: Result<(), &str> = Err("another timer or message comes first");

/// Fires timers of all nodes, each of which is set again, and says whether none ran ahead of another.
fn takes_turns(contract: &str) -> bool {
    let (mut timed, mut rng) = (Timed::new(contract), Rng::new(1));
    (0..3).for_each(|node| timed.ask(node, 0, REPEATS.into()));
    (0..200).all(|_| {
        let mut nodes: Vec<u8> = (0..3).map(|_| timed.fire_any(&mut rng).0).collect();
        nodes.sort_unstable();
        nodes == [0, 1, 2]
    })
}

#[test]
fn without_drift_equal_timers_fire_in_the_order_in_which_they_were_set() {
    assert!(takes_turns("clock=drift-0"));
    assert!(!takes_turns("clock=drift-50"));
    assert!(!takes_turns("clock=free"));
}

/// How often of 500 times a timer of 300 ticks fires before one of 100 that was set at the same time.
fn inversions(contract: &str) -> u32 {
    let (mut timed, mut rng) = (Timed::new(contract), Rng::new(1));
    (0..500).fold(0, |count, _| {
        timed.reset();
        timed.set(0, 0, 100);
        timed.set(1, 1, 300);
        count + u32::from(timed.fire_any(&mut rng) == (1, 1))
    })
}

#[test]
fn timers_are_inverted_where_the_drift_is_large_enough() {
    // 300 / (1 + r) is before 100 / (1 - r) from a half on.
    for (contract, inverted) in [
        ("clock=drift-0", false),
        ("clock=drift-10", false),
        ("clock=drift-49", false),
        ("clock=drift-50", true),
        ("clock=drift-60", true),
        ("clock=free", true),
    ] {
        assert_eq!(inversions(contract) > 0, inverted, "{contract}");
    }
}

#[test]
fn time_moves_with_timers_and_is_told() {
    let mut timed = Timed::new("clock=drift-0");
    timed.set(0, 0, 100);
    timed.ask(0, 0, 1);
    assert_eq!(timed.fire(0, 0), LATER);
    timed.fire(0, 1).unwrap();
    assert_eq!(timed.time(), Some("1.000"), "the vocabulary has one tick");
    timed.set(0, 1, 99);
    timed.fire(0, 1).unwrap();
    assert_eq!(timed.time(), Some("100.000"));
    timed.fire(0, 0).unwrap();
    assert_eq!(timed.time(), Some("100.000"));
    assert_eq!(timed.fire(0, 0), Err("the timer is not set"));
    let mut timed = Timed::new("clock=drift-25");
    timed.set(0, 0, 100);
    timed.fire(0, 0).unwrap();
    assert_eq!(timed.time(), Some("80.000"), "the earliest");
    let mut free = Timed::new("clock=free");
    free.set(0, 0, 100);
    free.ask(0, 0, 1);
    free.fire(0, 0).unwrap();
    assert_eq!(free.time(), None);
}

#[test]
fn setting_again_starts_anew_and_cancelled_timers_hold_nothing_up() {
    let mut timed = Timed::new("clock=drift-0");
    timed.set(0, 0, 10);
    timed.set(1, 1, 30);
    assert_eq!(timed.fire(1, 1), LATER);
    timed.set(0, 0, 40);
    timed.fire(1, 1).unwrap();
    timed.set(1, 1, 20);
    assert_eq!(timed.fire(1, 1), LATER);
    timed.ask(0, 1, 0);
    timed.fire(1, 1).unwrap();
    assert_eq!(timed.time(), Some("50.000"));
}

#[test]
fn the_timers_of_a_stopped_node_are_gone() {
    let mut timed = Timed::new("clock=drift-0");
    timed.set(0, 0, 10);
    timed.set(1, 1, 30);
    timed.step(Choice::Crash { node: 0, keep: Keep::NONE }).unwrap();
    timed.fire(1, 1).unwrap();
    timed.step(Choice::Restart { node: 0 }).unwrap();
    assert_eq!((timed.run.menu().timers_set, timed.fire(0, 0)), (0, Err("the timer is not set")));
    timed.set(0, 0, 1);
    timed.fire(0, 0).unwrap();
    assert_eq!(timed.time(), Some("31.000"));
}

#[test]
fn messages_with_a_bounded_delay_come_before_timers_that_are_later() {
    let deliver = Choice::Deliver(Slot { from: 0, to: 1, at: 1, kind: Slot::ANY_KIND });
    let mut timed = Timed::new("clock=drift-0,delay=5");
    timed.ask(0, 0, REPEATS.into());
    timed.ask(0, 2, 0);
    timed.fire(0, REPEATS).unwrap();
    timed.ask(0, 2, 0);
    timed.fire(0, REPEATS).unwrap();
    assert_eq!(timed.fire(0, REPEATS), LATER, "time 6 is too late for the first message");
    timed.step(deliver).unwrap();
    timed.fire(0, REPEATS).unwrap();
    assert_eq!(timed.time(), Some("6.000"));
    assert_eq!(timed.fire(0, REPEATS), LATER);
    // What cannot be delivered holds nothing up; afterwards it is due at once.
    timed.step(Choice::Clog { from: 0, to: 1 }).unwrap();
    timed.fire(0, REPEATS).unwrap();
    timed.step(Choice::Unclog { from: 0, to: 1 }).unwrap();
    assert_eq!((timed.run.menu().timers_set, timed.fire(0, REPEATS)), (0, LATER));
    timed.step(Choice::Crash { node: 1, keep: Keep::NONE }).unwrap();
    timed.fire(0, REPEATS).unwrap();
    timed.step(Choice::Restart { node: 1 }).unwrap();
    assert_eq!(timed.fire(0, REPEATS), LATER);
    timed.step(deliver).unwrap();
    timed.fire(0, REPEATS).unwrap();
}

#[test]
fn something_may_always_fire_while_a_timer_is_set() {
    for contract in ["clock=drift-0", "clock=drift-10", "clock=drift-90", "clock=free"] {
        let (mut timed, mut rng) = (Timed::new(contract), Rng::new(7));
        timed.ask(0, 0, REPEATS.into());
        for _ in 0..2_000 {
            if rng.chance(1, 2) {
                timed.set(rng.below(3) as u8, rng.below(3) as u8, 1 + rng.below(50));
            }
            assert!(timed.run.menu().timers_set > 0, "{contract}");
            let (node, timer) = timed.fire_any(&mut rng);
            assert!(nth_bit(timed.run.menu().up, node.into()).is_some() && timer < 4);
        }
    }
}

#[test]
fn a_recovery_has_rounds_and_no_simulated_time() {
    let deliver = Choice::Deliver(Slot { from: 0, to: 1, at: 1, kind: Slot::ANY_KIND });
    let mut timed = Timed::new("clock=drift-0,delay=5");
    timed.set(0, 0, 10);
    timed.set(1, 1, 30);
    timed.set(2, 2, 20);
    timed.ask(0, 2, 0);
    assert_eq!((timed.fire(0, 0), timed.fire(1, 1), timed.run.menu().timers_set), (LATER, LATER, 0));
    timed.run.recover(0b011, &mut timed.report);
    timed.fire(1, 1).unwrap();
    assert_eq!(timed.time(), None);
    timed.set(1, 1, 30);
    timed.fire(1, 1).unwrap();
    timed.fire(0, 0).unwrap();
    timed.step(deliver).unwrap();
    timed.reset();
    timed.set(0, 0, 10);
    timed.set(1, 1, 30);
    assert_eq!(timed.fire(1, 1), LATER, "the next execution has its time");
    timed.fire(0, 0).unwrap();
    assert_eq!(timed.time(), Some("10.000"));
}

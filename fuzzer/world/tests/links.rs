//! What links do: cuts lose, clogs hold, contracts bound how far messages are reordered and duplicates go.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use misrule_world::{
    Argument, BootError, Choice, ChoiceKind, Context, Contract, Effect, FaultCount, Fields, Input, Judge,
    NO_SESSION, Operation, Report, Run, Seen, Settings, Setup, Slot, System, Target, Vocabulary, Watch,
    target,
};
use std::fmt::Display;

/// Two nodes; a request lets a node send the number to the other one, which remembers it.
struct Sender(Vocabulary);

/// The numbers that came, in order.
#[derive(Clone, Default)]
struct Got(Vec<u32>);

impl Fields for Got {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("got", &format!("{:?}", self.0));
    }
}

impl System for Sender {
    type Node = Vec<u32>;
    type Message = u32;
    type View = Got;

    fn vocabulary(&self) -> &Vocabulary {
        &self.0
    }

    fn boot(&self, _cx: &mut Context<u32>) -> Result<Vec<u32>, BootError> {
        Ok(Vec::new())
    }

    fn handle(&self, node: &mut Vec<u32>, input: Input<u32>, cx: &mut Context<u32>) {
        match input {
            Input::Request { argument, .. } => cx.send(1 - cx.me(), argument),
            Input::Message { message, .. } => node.push(message),
            Input::Timer(_) | Input::Local(_) => {}
        }
    }

    fn view(&self, node: &Vec<u32>, out: &mut Got) {
        out.0.clone_from(node);
    }

    fn kind(&self, _message: &u32) -> u8 {
        0
    }
}

struct Unjudged;

impl Judge<Sender> for Unjudged {
    fn reset(&mut self, _seen: &Seen<'_, Sender>, _report: &mut Report) {}
    fn after(&mut self, _seen: &Seen<'_, Sender>, _report: &mut Report) {}
}

fn sender() -> Target {
    target("sender", |_| {
        let send = Operation { name: "send", argument: Argument::Fresh, weight: 1 };
        Ok((
            Sender(Vocabulary {
                nodes: 2,
                kinds: vec!["N"],
                operations: vec![send],
                ..Vocabulary::default()
            }),
            Unjudged,
        ))
    })
}

/// An execution under a contract, told step by step.
struct Told {
    run: Box<dyn Run>,
    report: Report,
    got: String,
}

impl Told {
    fn new(contract: &str) -> Self {
        let contract = Contract::default().overridden(contract).unwrap();
        let setup = Setup { settings: Settings::default(), contract, lenses: Vec::new() };
        let mut run = sender().open(&setup).unwrap();
        let mut report = Report::default();
        run.reset(1, Watch { trace: true, ..Watch::default() }, &mut report);
        Self { run, report, got: "[]".to_owned() }
    }

    /// Executes one choice; the reason where it is skipped.
    fn step(&mut self, choice: Choice) -> Result<(), &'static str> {
        self.run.step(choice, &mut self.report);
        let changes = self.report.trace.iter().flat_map(|step| &step.changes);
        if let Some(change) = changes.last().filter(|change| change.after != "[]") {
            self.got.clone_from(&change.after);
        }
        match self.report.effect {
            Effect::Applied => Ok(()),
            Effect::Skipped(why) => Err(why),
            Effect::Drift { .. } => Err("drift"),
        }
    }

    fn send(&mut self, number: u32) {
        self.step(Choice::Request { node: 0, operation: 0, session: NO_SESSION, argument: number }).unwrap();
    }

    fn deliver(&mut self, at: u16) -> Result<(), &'static str> {
        self.step(Choice::Deliver(slot(at)))
    }

    fn count(&self, kind: ChoiceKind) -> (u64, u64) {
        let FaultCount { drawn, applied } = self.run.about().faults[kind as usize];
        (drawn, applied)
    }
}

fn slot(at: u16) -> Slot {
    Slot { from: 0, to: 1, at, kind: Slot::ANY_KIND }
}

const CUT: Choice = Choice::Cut { from: 0, to: 1 };
const HEAL: Choice = Choice::Heal { from: 0, to: 1 };
const CLOG: Choice = Choice::Clog { from: 0, to: 1 };
const UNCLOG: Choice = Choice::Unclog { from: 0, to: 1 };

#[test]
fn a_clog_holds_what_waits_and_what_is_sent() {
    let mut told = Told::new("fifo");
    told.send(1);
    told.step(CLOG).unwrap();
    told.send(2);
    assert_eq!(told.run.menu().waiting, 0, "nothing is offered");
    assert_eq!(told.deliver(1), Err("the link is clogged"));
    assert_eq!(told.step(CLOG), Err("the link is clogged already"));
    told.step(UNCLOG).unwrap();
    assert_eq!(told.run.menu().waiting, 2);
    assert_eq!(told.step(UNCLOG), Err("the link is not clogged"));
    told.deliver(1).unwrap();
    told.deliver(1).unwrap();
    assert_eq!(told.got, "[1, 2]");
    assert_eq!((told.count(ChoiceKind::Clog), told.count(ChoiceKind::Unclog)), ((1, 1), (1, 1)));
}

#[test]
fn a_clogged_link_that_is_full_loses_the_rest() {
    let mut told = Told::new("fifo,capacity=2");
    told.step(CLOG).unwrap();
    (1..=3).for_each(|number| told.send(number));
    told.step(UNCLOG).unwrap();
    told.deliver(1).unwrap();
    told.deliver(1).unwrap();
    assert_eq!(told.deliver(1), Err("no such message"));
    assert_eq!((told.got.as_str(), told.run.about().overflow), ("[1, 2]", 1));
}

#[test]
fn a_link_may_be_cut_and_clogged() {
    let mut told = Told::new("fifo");
    told.send(1);
    told.step(CUT).unwrap();
    told.step(CLOG).unwrap();
    told.send(2);
    told.step(HEAL).unwrap();
    assert_eq!((told.run.menu().waiting, told.deliver(1)), (0, Err("the link is clogged")));
    told.step(CUT).unwrap();
    told.step(UNCLOG).unwrap();
    assert_eq!((told.run.menu().waiting, told.deliver(1)), (0, Err("the link is cut")));
    told.step(HEAL).unwrap();
    told.deliver(1).unwrap();
    assert_eq!(told.deliver(1), Err("no such message"), "the second was cut off");
    assert_eq!(told.got, "[1]");
}

#[test]
fn clogs_outlive_a_crash_and_end_with_the_execution() {
    let mut told = Told::new("fifo");
    told.step(CLOG).unwrap();
    told.send(1);
    told.step(Choice::Crash { node: 1, keep: misrule_world::Keep::NONE }).unwrap();
    told.step(Choice::Restart { node: 1 }).unwrap();
    assert_eq!(told.deliver(1), Err("the link is clogged"));
    let mut report = Report::default();
    told.run.reset(1, Watch::default(), &mut report);
    assert_eq!((told.run.menu().clogs, told.run.menu().clogged.contains(&true)), (0, false));
    assert_eq!(told.step(UNCLOG), Err("the link is not clogged"));
}

#[test]
fn a_recovery_undoes_clogs() {
    let mut told = Told::new("fifo");
    told.send(1);
    told.step(CLOG).unwrap();
    told.step(CUT).unwrap();
    let before = told.run.about().faults;
    told.run.recover(0b11, &mut told.report);
    assert_eq!((told.run.menu().clogs, told.run.menu().cuts, told.run.menu().waiting), (0, 0, 1));
    let effects = told.report.trace.iter().flat_map(|step| &step.effects);
    assert!(effects.clone().any(|effect| effect == "unclogged 1->2"));
    told.deliver(1).unwrap();
    assert_eq!(
        (told.got.as_str(), told.run.about().faults),
        ("[1]", before),
        "it is no fault that was drawn"
    );
}

#[test]
fn a_clog_that_holds_nothing_is_drawn_but_not_applied() {
    let mut told = Told::new("fifo");
    told.step(CLOG).unwrap();
    told.step(UNCLOG).unwrap();
    assert_eq!((told.count(ChoiceKind::Clog), told.count(ChoiceKind::Unclog)), ((1, 0), (1, 0)));
}

#[test]
fn a_message_overtakes_no_more_than_the_contract_says() {
    let mut told = Told::new("reorder=3+loss+dup");
    (1..=5).for_each(|number| told.send(number));
    for choice in [Choice::Deliver(slot(4)), Choice::Drop(slot(4)), Choice::Duplicate(slot(5))] {
        assert_eq!(told.step(choice), Err("the contract does not let a message overtake so many"));
    }
    told.deliver(3).unwrap();
    told.deliver(3).unwrap();
    told.step(Choice::Drop(slot(3))).unwrap();
    told.deliver(1).unwrap();
    told.deliver(1).unwrap();
    assert_eq!((told.got.as_str(), told.run.menu().waiting), ("[3, 4, 1, 2]", 0));
    let mut told = Told::new("fifo");
    (1..=2).for_each(|number| told.send(number));
    assert_eq!(told.deliver(2), Err("the contract keeps the order of links"));
}

#[test]
fn a_duplicate_goes_as_far_behind_as_the_contract_says() {
    for (contract, at, expected, places) in [
        ("fifo+dup", 1, "[1, 2, 3, 4, 1]", [(0, 1, 5)]),
        ("fifo+dup=1", 1, "[1, 1, 2, 3, 4]", [(0, 1, 2)]),
        ("fifo+dup=2", 1, "[1, 2, 1, 3, 4]", [(0, 1, 3)]),
        ("reorder+dup=2", 2, "[1, 2, 3, 2, 4]", [(0, 1, 4)]),
        ("reorder+dup=2", 3, "[1, 2, 3, 4, 3]", [(0, 1, 5)]),
        ("reorder+dup=4096", 4, "[1, 2, 3, 4, 4]", [(0, 1, 5)]),
    ] {
        let mut told = Told::new(contract);
        (1..=4).for_each(|number| told.send(number));
        told.step(Choice::Duplicate(slot(at))).unwrap();
        assert_eq!(told.report.pushed, places, "{contract}");
        while told.deliver(1).is_ok() {}
        assert_eq!(told.got, expected, "{contract}");
    }
}

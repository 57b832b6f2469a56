//! Sessions of clients: what they may do, and what is told of it.

use misrule_world::{
    Answer, Argument, BootError, Call, CallCounts, Choice, ChoiceKind, ClientEvent, Context, Contract,
    Effect, Fields, Input, Judge, Keep, Keyed, KeyedValues, NO_SESSION, Operation, Report, Run, Seen, Slot,
    System, Vocabulary, Watch, World,
};
use std::fmt::Display;

/// Two nodes without a replica: node 1 passes each call on to node 2, which answers it from what it holds. Node 2
/// writes to its log before and after it answers a put.
struct Relay(Vocabulary);

const GET: u8 = 0;
const PUT: u8 = 1;
const TWICE: u8 = 2;

impl Relay {
    fn new(sessions: u8) -> Self {
        let keyed = |values| Argument::Keyed { keys: 2, values };
        let operation = |name, argument| Operation { name, argument, weight: 1 };
        Self(Vocabulary {
            nodes: 2,
            kinds: vec!["Pass"],
            operations: vec![
                operation("get", keyed(KeyedValues::None)),
                operation("put", keyed(KeyedValues::Fresh)),
                operation("twice", Argument::None),
            ],
            sessions,
            ..Vocabulary::default()
        })
    }
}

#[derive(Clone, Debug)]
struct Pass {
    operation: u8,
    argument: u32,
    call: Option<Call>,
}

#[derive(Clone, Default)]
struct Held([u16; 2]);

impl Fields for Held {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("held", &format_args!("{:?}", self.0));
    }
}

impl System for Relay {
    type Node = Held;
    type Message = Pass;
    type View = Held;

    fn vocabulary(&self) -> &Vocabulary {
        &self.0
    }

    fn boot(&self, _cx: &mut Context<Pass>) -> Result<Held, BootError> {
        Ok(Held::default())
    }

    fn handle(&self, node: &mut Held, input: Input<Pass>, cx: &mut Context<Pass>) {
        let Pass { operation, argument, call } = match input {
            Input::Request { operation, argument, call } if cx.me() == 0 => {
                return cx.send(1, Pass { operation, argument, call });
            }
            Input::Request { operation, argument, call } => Pass { operation, argument, call },
            Input::Message { message, .. } => message,
            Input::Timer(_) | Input::Local(_) => return,
        };
        let Keyed { key, value, .. } = Keyed::of(argument);
        let answer = match operation {
            GET => match node.0[usize::from(key)] {
                0 => Answer::Nothing,
                value => Answer::Number(u32::from(value)),
            },
            PUT => {
                node.0[usize::from(key)] = value;
                let _ = cx.disk().append(b"x");
                Answer::Nothing
            }
            _ => Answer::Failed,
        };
        let Some(call) = call else { return };
        cx.answer(call, answer);
        match operation {
            PUT => drop(cx.disk().append(b"acknowledged")),
            TWICE => cx.answer(call, Answer::Bool(true)),
            _ => {}
        }
    }

    fn view(&self, node: &Held, out: &mut Held) {
        out.0 = node.0;
    }

    fn kind(&self, _message: &Pass) -> u8 {
        0
    }
}

/// Keeps what it is shown of clients, and shows it in the place of a model's state.
#[derive(Default)]
struct Listener(Vec<ClientEvent>);

impl Judge<Relay> for Listener {
    fn reset(&mut self, seen: &Seen<'_, Relay>, _report: &mut Report) {
        assert!(seen.clients.is_empty());
    }

    fn after(&mut self, seen: &Seen<'_, Relay>, _report: &mut Report) {
        self.0.clear();
        self.0.extend_from_slice(seen.clients);
    }

    fn model_fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("heard", &format_args!("{:?}", self.0));
    }
}

struct Fixture {
    run: World<Relay, Listener>,
    report: Report,
}

impl Fixture {
    fn new(sessions: u8) -> Self {
        let mut run = World::new(Relay::new(sessions), Listener::default(), Contract::default());
        let mut report = Report::default();
        run.reset(0, Watch { trace: true, ..Watch::default() }, &mut report);
        Self { run, report }
    }

    /// Executes a choice; returns what clients did and saw, and the lines about them.
    fn step(&mut self, choice: Choice) -> (Vec<ClientEvent>, Vec<String>) {
        self.run.step(choice, &mut self.report);
        assert_eq!(self.report.effect, Effect::Applied, "{choice:?}");
        let trace = self.report.trace.take().expect("traces are on");
        if let Some(heard) = trace.model.first() {
            assert_eq!(heard.after, format!("{:?}", trace.clients), "judge and trace are told the same");
        }
        let about = |line: &String| line.starts_with("s1#") || line.starts_with("s2#");
        (trace.clients, trace.effects.into_iter().filter(about).collect())
    }

    fn lines(&mut self, choice: Choice) -> Vec<String> {
        self.step(choice).1
    }

    fn skipped(&mut self, choice: Choice) -> &'static str {
        self.run.step(choice, &mut self.report);
        match self.report.effect {
            Effect::Skipped(why) => why,
            other => panic!("{choice:?} was not skipped but {other:?}"),
        }
    }

    fn calls(&self) -> CallCounts {
        self.run.about().calls
    }

    fn waiting(&self) -> (u64, u64) {
        (self.run.menu().sessions_waiting, self.run.menu().sessions_free())
    }
}

fn ask(node: u8, operation: u8, key: u8, value: u16, session: u8) -> Choice {
    Choice::Request { node, operation, argument: Keyed { key, from: 0, value }.argument(), session }
}

const DELIVER: Choice = Choice::Deliver(Slot { from: 0, to: 1, at: 1, kind: Slot::ANY_KIND });

#[test]
fn a_session_asks_waits_and_is_answered() {
    let mut fixture = Fixture::new(2);
    assert_eq!(fixture.waiting(), (0b00, 0b11));
    let put = ask(0, PUT, 1, 7, 1);
    let call = Call::new(1, 1).expect("a call");
    let Choice::Request { argument, .. } = put else { unreachable!() };
    assert_eq!(
        fixture.step(put),
        (vec![ClientEvent::Asked { call, node: 0, operation: PUT, argument }], vec!["s2#1 asked".to_owned()])
    );
    assert_eq!(fixture.waiting(), (0b10, 0b01));
    assert_eq!(fixture.skipped(ask(1, GET, 1, 0, 1)), "the session waits for an answer");
    assert_eq!(
        fixture.step(DELIVER),
        (
            vec![ClientEvent::Answered { call, answer: Answer::Nothing }],
            vec!["s2#1 answered nothing".to_owned()]
        )
    );
    assert_eq!(fixture.waiting(), (0b00, 0b11));
    // Asked and answered in one step; the next number, whichever session asks.
    assert_eq!(fixture.lines(ask(1, GET, 1, 0, 0)), ["s1#2 asked", "s1#2 answered 7"]);
    assert_eq!(fixture.lines(ask(1, GET, 0, 0, 1)), ["s2#3 asked", "s2#3 answered nothing"]);
    let counts = CallCounts { asked: 3, answered: 3, ..CallCounts::default() };
    assert_eq!(fixture.calls(), counts);
    assert_eq!((fixture.run.menu().fresh, fixture.run.menu().recent.as_slice()), (8, &[0, 7][..]));
}

#[test]
fn a_retry_is_the_same_call_and_only_one_answer_counts() {
    let mut fixture = Fixture::new(1);
    let retry = Choice::Retry { node: 1, session: 0 };
    assert_eq!(fixture.skipped(retry), "the session has no call open");
    fixture.step(ask(0, PUT, 0, 9, 0));
    assert_eq!(fixture.lines(retry), ["s1#1 asked again", "s1#1 answered nothing"]);
    assert_eq!(fixture.lines(DELIVER), ["s1#1 answered nothing (ignored: not open)"]);
    // The second of two answers in one step is too late as well.
    assert_eq!(
        fixture.lines(Choice::Request { node: 1, operation: TWICE, argument: 0, session: 0 }),
        ["s1#2 asked", "s1#2 answered failed", "s1#2 answered true (ignored: not open)"]
    );
    let counts =
        CallCounts { asked: 2, retried: 1, answered: 2, failed: 1, ignored: 2, ..CallCounts::default() };
    assert_eq!(fixture.calls(), counts);
    assert_eq!(fixture.run.about().faults[ChoiceKind::Retry as usize].applied, 1);
}

#[test]
fn an_abandoned_call_is_never_answered_and_the_session_goes_on() {
    let mut fixture = Fixture::new(1);
    let abandon = Choice::Abandon { session: 0 };
    assert_eq!(fixture.skipped(abandon), "the session has no call open");
    fixture.step(ask(0, PUT, 0, 9, 0));
    let call = Call::new(0, 1).expect("a call");
    assert_eq!(
        fixture.step(abandon),
        (vec![ClientEvent::Abandoned { call }], vec!["s1#1 abandoned".to_owned()])
    );
    assert_eq!(fixture.waiting(), (0, 1));
    fixture.step(ask(0, PUT, 0, 10, 0));
    assert_eq!(fixture.lines(DELIVER), ["s1#1 answered nothing (ignored: not open)"]);
    assert_eq!(fixture.lines(DELIVER), ["s1#2 answered nothing"]);
}

#[test]
fn a_node_beyond_its_crash_point_answers_nothing() {
    for (at, answered) in [(0, false), (1, false), (2, true)] {
        let mut fixture = Fixture::new(1);
        fixture.step(Choice::CrashAt { node: 1, at, keep: Keep::NONE });
        let lines = fixture.lines(ask(1, PUT, 0, 9, 0));
        assert_eq!(lines.len(), 1 + usize::from(answered), "crash point {at}: {lines:?}");
        assert_eq!(fixture.waiting().0, u64::from(!answered));
        assert!(!fixture.run.menu().is_up(1));
        // The call survives the node: another one may answer.
        if !answered {
            fixture.step(Choice::Restart { node: 1 });
            let lines = fixture.lines(Choice::Retry { node: 1, session: 0 });
            assert_eq!(lines, ["s1#1 asked again", "s1#1 answered nothing"]);
        }
    }
}

#[test]
fn what_cannot_apply_is_skipped() {
    let mut fixture = Fixture::new(2);
    fixture.step(ask(0, PUT, 0, 9, 0));
    fixture.step(Choice::Crash { node: 1, keep: Keep::NONE });
    for (choice, why) in [
        (ask(0, PUT, 0, 9, 2), "no such session"),
        (ask(1, PUT, 0, 9, 1), "the node is down"),
        (ask(0, PUT, 2, 9, 1), "the operation does not take the argument"),
        (ask(0, PUT, 0, 0, 1), "the operation does not take the argument"),
        (ask(0, GET, 0, 1, 1), "the operation does not take the argument"),
        (Choice::Retry { node: 1, session: 0 }, "the node is down"),
        (Choice::Retry { node: 2, session: 0 }, "no such node"),
        (Choice::Retry { node: 0, session: 2 }, "no such session"),
        (Choice::Retry { node: 0, session: NO_SESSION }, "no such session"),
        (Choice::Abandon { session: NO_SESSION }, "no such session"),
    ] {
        assert_eq!(fixture.skipped(choice), why, "{choice:?}");
    }
    let menu = fixture.run.menu();
    assert_eq!(menu.fitted(ask(0, PUT, 0, 9, 0)), ask(0, PUT, 0, 9, 1), "another session is free");
    assert_eq!(menu.fitted(ask(0, PUT, 0, 9, 1)), ask(0, PUT, 0, 9, 1));
}

#[test]
fn without_sessions_nobody_waits() {
    let mut fixture = Fixture::new(0);
    assert_eq!(fixture.step(ask(0, PUT, 0, 9, NO_SESSION)), (Vec::new(), Vec::new()));
    assert_eq!(fixture.skipped(ask(0, PUT, 0, 9, 0)), "no such session");
    assert_eq!(fixture.step(DELIVER), (Vec::new(), Vec::new()));
    assert_eq!((fixture.calls(), fixture.waiting()), (CallCounts::default(), (0, 0)));
    // A vocabulary with sessions takes such requests too: schedules from before it had any still mean the same.
    let mut fixture = Fixture::new(2);
    assert_eq!(fixture.step(ask(1, PUT, 0, 9, NO_SESSION)), (Vec::new(), Vec::new()));
}

#[test]
fn a_new_execution_knows_no_call_of_the_last() {
    let mut fixture = Fixture::new(64);
    let first = fixture.step(ask(0, PUT, 0, 9, 63));
    assert_eq!(fixture.waiting(), (1 << 63, u64::MAX >> 1));
    fixture.run.reset(0, Watch { trace: true, ..Watch::default() }, &mut fixture.report);
    assert_eq!(fixture.waiting(), (0, u64::MAX));
    assert_eq!(fixture.step(ask(0, PUT, 0, 9, 63)), first);
    assert_eq!(fixture.run.menu().recent, [9, 0]);
}

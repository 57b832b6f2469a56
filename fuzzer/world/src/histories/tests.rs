//! Events against the histories that they are.

use super::{Linearizable, Repeats, Writes, history};
use crate::clients::{Answer, Call, ClientEvent};
use crate::report::Report;
use crate::rng::Rng;
use crate::vocabulary::{Argument, Keyed, KeyedValues, Operation, Vocabulary};
use misrule_history::specifications::{Cell, Named};
use misrule_history::{Limits, Order, Verdict, print, read};

const GET: u8 = 0;
const PUT: u8 = 1;
const CAS: u8 = 2;

fn vocabulary() -> Vocabulary {
    let operation =
        |name, values| Operation { name, argument: Argument::Keyed { keys: 2, values }, weight: 1 };
    Vocabulary {
        nodes: 1,
        operations: vec![
            operation("get", KeyedValues::None),
            operation("put", KeyedValues::Fresh),
            operation("cas", KeyedValues::FromTo),
        ],
        sessions: 3,
        ..Vocabulary::default()
    }
}

fn call(session: u8, number: u32) -> Call {
    Call::new(session, number).expect("a call")
}

fn asked(call: Call, operation: u8, keyed: Keyed) -> ClientEvent {
    ClientEvent::Asked { call, node: 0, operation, argument: keyed.argument() }
}

#[test]
fn a_history_in_a_file_says_what_clients_saw() {
    let events = [
        asked(call(0, 1), PUT, Keyed { key: 1, from: 0, value: 7 }),
        ClientEvent::Retried { call: call(0, 1), node: 0 },
        asked(call(2, 2), GET, Keyed { key: 1, from: 0, value: 0 }),
        ClientEvent::Answered { call: call(2, 2), answer: Answer::Number(7) },
        ClientEvent::Abandoned { call: call(0, 1) },
        asked(call(0, 3), CAS, Keyed { key: 0, from: 0, value: 9 }),
        ClientEvent::Answered { call: call(0, 3), answer: Answer::Bool(false) },
        asked(call(1, 4), PUT, Keyed { key: 0, from: 0, value: 10 }),
        ClientEvent::Answered { call: call(1, 4), answer: Answer::Failed },
    ];
    let text = print(&history(&vocabulary(), &events).expect("in order"));
    let again = read(&text).expect("what was printed");
    let operations: Vec<String> = again.operations().iter().map(ToString::to_string).collect();
    let expected = [
        "process 0: put 1 7 -> unknown",
        "process 2: get 1 -> 7",
        "process 3: cas 0 [null,9] -> false",
        "process 1: put 0 10 -> fail",
    ];
    assert_eq!(operations, expected, "{text}");
    assert!(text.contains("\"error\":\"refused\""), "a refusal is no comparison that failed");
}

/// Random events of a store that now and then forgets, answers from before, or fails what it did.
fn random(rng: &mut Rng, faulty: bool) -> Vec<ClientEvent> {
    let mut held = [0_u16; 2];
    let mut open: [Option<(Call, u8, Keyed)>; 3] = [None; 3];
    let (mut events, mut number) = (Vec::new(), 0);
    for _ in 0..30 {
        let session = rng.below(3) as u8;
        let Some((call, operation, Keyed { key, from, value })) = open[usize::from(session)] else {
            number += 1;
            let key = rng.below(2) as u8;
            let (operation, keyed) = match rng.below(3) {
                0 => (GET, Keyed { key, from: 0, value: 0 }),
                1 => (PUT, Keyed { key, from: 0, value: number as u16 }),
                _ => (CAS, Keyed { key, from: held[usize::from(key)], value: number as u16 }),
            };
            let call = call(session, number);
            open[usize::from(session)] = Some((call, operation, keyed));
            events.push(asked(call, operation, keyed));
            continue;
        };
        open[usize::from(session)] = None;
        let before = held[usize::from(key)];
        let cell = &mut held[usize::from(key)];
        let answer = match operation {
            GET if *cell == 0 => Answer::Nothing,
            GET => Answer::Number(u32::from(*cell)),
            PUT => {
                *cell = value;
                Answer::Nothing
            }
            _ if *cell == from => {
                *cell = value;
                Answer::Bool(true)
            }
            _ => Answer::Bool(false),
        };
        if faulty && rng.chance(1, 10) {
            held[usize::from(key)] = if rng.chance(1, 2) { before } else { 0 };
        }
        if rng.chance(1, 6) {
            events.push(ClientEvent::Abandoned { call });
        } else {
            events.push(ClientEvent::Answered { call, answer });
        }
    }
    events
}

#[test]
fn the_oracle_agrees_with_the_checker_of_files_after_every_answer() {
    let (vocabulary, mut rng) = (vocabulary(), Rng::new(5));
    let mut oracle = Linearizable::new(&vocabulary, Cell::key_value());
    let mut verdicts = [0, 0];
    for round in 0..2_000 {
        let events = random(&mut rng, round % 2 == 0);
        let mut report = Report::default();
        oracle.reset();
        for (at, event) in events.iter().enumerate() {
            oracle.after(&[*event], &mut report);
            let last = at + 1 == events.len() || report.failure.is_some();
            if !last {
                continue;
            }
            let seen = history(&vocabulary, &events[..=at]).expect("in order");
            let text = print(&seen);
            let limits = Limits { stop_after_steps: 1_000_000, expired: &mut || false };
            let again = read(&text).expect("what was printed");
            let checked = Named::KeyValue.check(&again, Order::RealTime, limits).expect("a store");
            let broken = report.failure.is_some();
            assert_eq!(checked.verdict == Verdict::Fail, broken, "round {round}\n{text}");
            verdicts[usize::from(broken)] += 1;
            if broken {
                // Without the last answer it was linearizable.
                let before = history(&vocabulary, &events[..at]).expect("in order");
                let limits = Limits { stop_after_steps: 1_000_000, expired: &mut || false };
                let checked = Named::KeyValue.check(&before, Order::RealTime, limits).expect("a store");
                assert_eq!(checked.verdict, Verdict::Pass, "round {round}\n{text}");
                break;
            }
        }
    }
    assert!(verdicts[0] > 900 && verdicts[1] > 300, "{verdicts:?}");
    assert_eq!(oracle.undecided(), ("linearizable", 0));
}

#[test]
fn beyond_its_limit_the_oracle_does_not_know() {
    let vocabulary = vocabulary();
    let mut oracle = Linearizable::within(&vocabulary, Cell::key_value(), 0);
    // Three writes at once, then a read of the first: some order must be given up.
    let mut events: Vec<ClientEvent> = (0..2)
        .map(|s| asked(call(s, 1 + u32::from(s)), PUT, Keyed { key: 0, from: 0, value: 1 + u16::from(s) }))
        .collect();
    for session in [0, 1] {
        events.push(ClientEvent::Answered {
            call: call(session, 1 + u32::from(session)),
            answer: Answer::Nothing,
        });
    }
    for (number, value) in [(3, 1), (4, 9)] {
        events.push(asked(call(2, number), GET, Keyed::default()));
        events.push(ClientEvent::Answered { call: call(2, number), answer: Answer::Number(value) });
    }
    for executions in 1..=2 {
        let mut report = Report::default();
        oracle.reset();
        oracle.after(&events, &mut report);
        assert_eq!(report.failure, None);
        assert_eq!(oracle.undecided(), ("linearizable", executions));
    }
}

#[test]
fn what_the_specification_does_not_have_is_said() {
    let vocabulary = vocabulary();
    let mut oracle = Linearizable::new(&vocabulary, Cell::register());
    let mut report = Report::default();
    oracle.after(&[asked(call(0, 1), GET, Keyed::default())], &mut report);
    let failure = report.failure.expect("a failure");
    assert_eq!(failure.property, "fits-specification");
    assert!(failure.message.ends_with("expected read, write, found `get`"), "{}", failure.message);
}

#[test]
fn acknowledged_writes_are_looked_for() {
    let value = |value| Keyed { key: 0, from: 0, value };
    let events = [
        asked(call(0, 1), PUT, value(1)),
        ClientEvent::Retried { call: call(0, 1), node: 0 },
        ClientEvent::Answered { call: call(0, 1), answer: Answer::Nothing },
        asked(call(0, 2), PUT, value(2)),
        ClientEvent::Abandoned { call: call(0, 2) },
        asked(call(0, 3), PUT, value(3)),
        ClientEvent::Answered { call: call(0, 3), answer: Answer::Failed },
        asked(call(1, 4), PUT, value(4)),
        asked(call(2, 5), GET, value(0)),
    ];
    for (repeats, contents, property) in [
        (Repeats::Never, &[1][..], None),
        (Repeats::Never, &[2, 1, 4], None),
        (Repeats::Never, &[], Some("acknowledged-writes-survive")),
        (Repeats::Never, &[1, 3], Some("writes-were-asked-for")),
        (Repeats::Never, &[1, 1], Some("writes-are-not-repeated")),
        (Repeats::Never, &[1, 2, 2], Some("writes-are-not-repeated")),
        (Repeats::AsOftenAsAsked, &[1, 1], None),
        (Repeats::AsOftenAsAsked, &[1, 1, 1], Some("writes-are-not-repeated")),
    ] {
        let mut writes = Writes::new(&[PUT], repeats);
        let mut report = Report::default();
        for _ in 0..2 {
            writes.reset();
            writes.after(&events);
        }
        assert_eq!(writes.acknowledged(), [1]);
        writes.check(contents, &mut report);
        let found = report.failure.map(|failure| failure.property);
        assert_eq!(found.as_deref(), property, "{repeats:?} {contents:?}");
    }
}

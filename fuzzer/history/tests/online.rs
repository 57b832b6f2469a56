//! Judged event by event: as the check of every prefix says, in the same memory, within the limit.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and prints its figures")]

mod common;

use common::{Draw, any_result, changed, execution, small};
use misrule_history::specifications::{AppendLog, Cell, Named, Queue};
use misrule_history::{
    Checked, History, Limits, Online, OnlineVerdict, Operation, Order, Outcome, Specification, Value,
    Verdict, print,
};

/// An event of a history: the operation's position, and whether it ends.
fn events(history: &History) -> Vec<(usize, bool)> {
    let operations = history.operations().iter().enumerate();
    let mut events: Vec<(u64, usize, bool)> = operations
        .flat_map(|(at, operation)| {
            let end = operation.returned.map(|returned| (returned, at, true));
            [(operation.invoked, at, false)].into_iter().chain(end)
        })
        .collect();
    events.sort_unstable();
    events.into_iter().map(|(_, at, ends)| (at, ends)).collect()
}

fn as_open(operation: &Operation) -> Operation {
    Operation { outcome: Outcome::Unknown, returned: None, ..operation.clone() }
}

/// The history up to an answer: what is answered later is open.
fn prefix(history: &History, events: &[(usize, bool)]) -> History {
    let mut prefix = History::new();
    for (at, ends) in events {
        let operation = &history.operations()[*at];
        // Each operation by a client of its own: whoever abandoned one has another open.
        let process = *at as u64;
        if *ends {
            prefix.complete(process, operation.outcome.clone()).unwrap();
        } else {
            let (key, argument) = (operation.key.clone(), operation.argument.clone());
            prefix.invoke(process, operation.function.clone(), key, argument).unwrap();
        }
    }
    prefix
}

fn check(named: Named, history: &History) -> Checked {
    let limits = Limits { stop_after_steps: 1_000_000, expired: &mut || false };
    named.check(history, Order::RealTime, limits).unwrap()
}

/// Judges a history; the event at which it breaks, if it does, and whether all was decided.
fn judge<S: Specification>(online: &mut Online<S>, history: &History) -> (OnlineVerdict, usize) {
    online.reset();
    let events = events(history);
    let mut numbers = vec![usize::MAX; history.operations().len()];
    for (place, (at, ends)) in events.iter().enumerate() {
        let operation = &history.operations()[*at];
        if *ends {
            let verdict = online.answer(numbers[*at], operation).unwrap();
            if verdict != OnlineVerdict::Holds {
                return (verdict, place);
            }
        } else {
            numbers[*at] = online.invoke(&as_open(operation)).unwrap();
        }
    }
    (OnlineVerdict::Holds, events.len())
}

/// Every prefix that ends in an answer is judged as the check judges it.
fn agrees<S: Specification>(online: &mut Online<S>, named: Named, history: &History) -> bool {
    let events = events(history);
    let (verdict, broken) = judge(online, history);
    assert_ne!(verdict, OnlineVerdict::Unknown);
    for (place, _) in events.iter().enumerate().filter(|(_, (_, ends))| *ends) {
        let checked = check(named, &prefix(history, &events[..=place])).verdict;
        let wanted = if place < broken { Verdict::Pass } else { Verdict::Fail };
        assert_eq!(checked, wanted, "{named:?} event {place}, broken at {broken}:\n{}", print(history));
    }
    verdict == OnlineVerdict::Broken
}

/// How many histories in all; `MISRULE_CASES` sets how many of each specification.
fn cases() -> u64 {
    std::env::var("MISRULE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

fn agrees_everywhere<S: Specification>(specification: S, named: Named) {
    let mut online = Online::new(specification, 1_000_000);
    let mut broken = 0;
    for case in 0..cases() {
        let mut draw = Draw::new(2 << 40 | case << 3 | named as u64);
        let shape = small(&mut draw);
        let mut history = execution(&mut draw, named, &shape);
        if case % 4 != 0 {
            let rarely = 1 + draw.below(4);
            let real = history.clone();
            history = changed(&real, |at, _| {
                draw.one_in(rarely).then(|| any_result(&mut draw, &real.operations()[at]))
            });
        }
        broken += u64::from(agrees(&mut online, named, &history));
    }
    eprintln!("{}: {broken} of {} are broken", named.name(), cases());
    assert!(broken * 4 > cases() && broken * 4 < cases() * 3, "{named:?}: {broken}");
}

#[test]
fn registers_are_judged_as_the_check_judges_them() {
    agrees_everywhere(Cell::register(), Named::Register);
}

#[test]
fn cas_registers_are_judged_as_the_check_judges_them() {
    agrees_everywhere(Cell::cas_register(), Named::CasRegister);
}

#[test]
fn key_value_stores_are_judged_as_the_check_judges_them() {
    agrees_everywhere(Cell::key_value(), Named::KeyValue);
}

#[test]
fn queues_are_judged_as_the_check_judges_them() {
    agrees_everywhere(Queue, Named::Queue);
}

#[test]
fn logs_are_judged_as_the_check_judges_them() {
    agrees_everywhere(AppendLog, Named::Log);
}

/// Whatever is said to be allowed is: with that answer, the history up to there passes.
#[test]
fn allowed_answers_are_allowed() {
    let mut online = Online::new(Cell::register(), 1_000_000);
    let mut count = 0;
    for case in 0..2_000 {
        let mut draw = Draw::new(3 << 40 | case);
        let shape = small(&mut draw);
        let real = execution(&mut draw, Named::Register, &shape);
        let history =
            changed(&real, |at, _| draw.one_in(3).then(|| any_result(&mut draw, &real.operations()[at])));
        let (verdict, place) = judge(&mut online, &history);
        if verdict == OnlineVerdict::Holds {
            continue;
        }
        let events = events(&history);
        let (misplaced, _) = events[place];
        let allowed = online.allowed();
        assert!(!allowed.is_empty());
        for answer in allowed {
            let value = answer.parse::<i64>().map_or(Value::Nil, Value::Integer);
            let other = changed(&history, |at, _| (at == misplaced).then(|| Outcome::Ok(value.clone())));
            let checked = check(Named::Register, &prefix(&other, &events[..=place]));
            assert_eq!(checked.verdict, Verdict::Pass, "case {case}, {answer}:\n{}", print(&history));
            count += 1;
        }
    }
    assert!(count > 500, "{count}");
}

fn operation(function: &'static str, argument: Value) -> Operation {
    let (key, outcome, invoked, returned) = (None, Outcome::Unknown, 0, None);
    Operation { process: 0, function: function.into(), key, argument, outcome, invoked, returned }
}

/// Beyond the limit nothing is known, until the reset; a pass is never claimed.
#[test]
fn the_limit_ends_in_unknown() {
    let mut online = Online::new(Cell::register(), 3);
    for _ in 0..2 {
        for value in 0..8 {
            online.invoke(&operation("write", Value::Integer(value))).unwrap();
        }
        let reads = [operation("read", Value::Nil), operation("read", Value::Nil)];
        let numbers = reads.each_ref().map(|read| online.invoke(read).unwrap());
        let answer = |value| Operation { outcome: Outcome::Ok(value), ..reads[0].clone() };
        assert_eq!(online.answer(numbers[0], &answer(Value::Integer(4))), Ok(OnlineVerdict::Holds));
        assert_eq!(online.answer(numbers[0], &answer(Value::Integer(9))), Ok(OnlineVerdict::Holds), "twice");
        assert_eq!(online.given_up(), 0);
        // One that nobody wrote is seen at once; it takes more to see that all were overwritten.
        for number in 0..8_u32 {
            let value = Value::Integer(number.into());
            let written = Operation { outcome: Outcome::Ok(Value::Nil), ..operation("write", value) };
            assert_eq!(online.answer(number as usize, &written), Ok(OnlineVerdict::Holds));
        }
        let read = online.invoke(&reads[0]).unwrap();
        assert_eq!(online.answer(read, &answer(Value::Nil)), Ok(OnlineVerdict::Unknown));
        assert_eq!(online.answer(numbers[1], &answer(Value::Integer(4))), Ok(OnlineVerdict::Unknown));
        assert_eq!((online.verdict(), online.given_up()), (OnlineVerdict::Unknown, 3));
        assert!(online.allowed().is_empty());
        online.reset();
        assert_eq!((online.verdict(), online.given_up()), (OnlineVerdict::Holds, 0));
    }
}

#[test]
fn what_does_not_exist_is_refused_and_changes_nothing() {
    let mut online = Online::new(Cell::cas_register(), 100);
    assert_eq!(online.invoke(&operation("push", Value::Nil)).unwrap_err().field, "f");
    let pair = || Value::List(vec![Value::Nil, Value::Integer(1)]);
    assert_eq!(online.invoke(&operation("cas", pair())), Ok(0));
    let strange = Operation { outcome: Outcome::Ok(Value::Integer(5)), ..operation("cas", pair()) };
    assert_eq!(online.answer(0, &strange).unwrap_err().field, "value");
    let failed = Operation { outcome: Outcome::Failed { error: None }, ..operation("cas", pair()) };
    assert_eq!(online.answer(0, &failed), Ok(OnlineVerdict::Broken));
    assert_eq!(online.allowed(), ["ok: the value is null"]);
}

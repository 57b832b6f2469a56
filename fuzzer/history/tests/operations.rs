//! What each specification takes and refuses.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use misrule_history::specifications::Named;
use misrule_history::{Limits, Order, Verdict, read};
use std::fmt::Write;

/// Operations of one client after another: function, argument, result; a result of `fail` failed.
fn history(operations: &[(&str, &str, &str)]) -> String {
    let mut text = String::new();
    for (function, argument, result) in operations {
        let head = format!("{{\"process\":0,\"key\":\"k\",\"f\":\"{function}\"");
        let answer = match *result {
            "fail" => "\"type\":\"fail\"".to_owned(),
            result => format!("\"type\":\"ok\",\"value\":{result}"),
        };
        let _ = write!(text, "{head},\"type\":\"invoke\",\"value\":{argument}}}\n{head},{answer}}}\n");
    }
    text
}

fn check(named: Named, operations: &[(&str, &str, &str)]) -> Result<Verdict, String> {
    let limits = Limits { stop_after_steps: 10_000, expired: &mut || false };
    let history = read(&history(operations)).unwrap();
    named.check(&history, Order::RealTime, limits).map(|c| c.verdict).map_err(|misfit| misfit.to_string())
}

#[test]
fn each_specification_does_as_documented() {
    let pass = |named, operations: &[(&str, &str, &str)]| {
        assert_eq!(check(named, operations), Ok(Verdict::Pass), "{operations:?}");
    };
    pass(Named::Register, &[("read", "null", "null"), ("write", "3", "3"), ("read", "null", "3")]);
    let set = [("cas", "[null,1]", "[null,1]"), ("cas", "[2,3]", "fail"), ("cas", "[2,3]", "false")];
    pass(Named::CasRegister, &[&set[..], &[("cas", "[1,2]", "true"), ("read", "null", "2")]].concat());
    let kv = [("get", "null", "null"), ("append", "\"a\"", "null"), ("put", "\"b\"", "fail")];
    pass(Named::KeyValue, &[&kv[..], &[("append", "\"b\"", "null"), ("get", "null", "\"ab\"")]].concat());
    pass(Named::KeyValue, &[("put", "5", "null"), ("delete", "null", "null"), ("get", "null", "\"\"")]);
    let queue = [("dequeue", "null", "null"), ("enqueue", "1", "null"), ("enqueue", "2", "2")];
    pass(Named::Queue, &[&queue[..], &[("dequeue", "null", "1"), ("dequeue", "null", "2")]].concat());
    let log = [("append", "5", "[0,5]"), ("append", "6", "6"), ("read", "null", "[5,6]")];
    pass(Named::Log, &[&log[..], &[("read", "1", "6"), ("read", "2", "null")]].concat());
}

#[test]
fn wrong_answers_fail() {
    for (named, operations) in [
        (Named::Register, [("write", "3", "null"), ("read", "null", "null")]),
        (Named::CasRegister, [("write", "3", "null"), ("cas", "[3,4]", "fail")]),
        (Named::CasRegister, [("write", "3", "null"), ("cas", "[4,5]", "null")]),
        (Named::KeyValue, [("put", "\"a\"", "null"), ("get", "null", "\"b\"")]),
        (Named::KeyValue, [("put", "\"a\"", "fail"), ("get", "null", "\"a\"")]),
        (Named::Queue, [("enqueue", "1", "null"), ("dequeue", "null", "null")]),
        (Named::Log, [("append", "1", "[1,1]"), ("read", "null", "[1]")]),
        (Named::Log, [("append", "1", "null"), ("read", "0", "null")]),
    ] {
        assert_eq!(check(named, &operations), Ok(Verdict::Fail), "{operations:?}");
    }
}

#[test]
fn operations_that_do_not_exist_are_refused_with_their_line() {
    for (named, operation, says) in [
        (Named::Register, ("cas", "[1,2]", "null"), "event 1: expected read, write, found `cas`"),
        (Named::CasRegister, ("cas", "[1]", "null"), "event 1: `cas` takes a list of two values, found [1]"),
        (
            Named::CasRegister,
            ("cas", "[1,2]", "7"),
            "event 2: `cas` answers nothing, its argument, true or false",
        ),
        (Named::KeyValue, ("append", "1", "null"), "event 1: `append` takes a text, found 1"),
        (Named::Queue, ("enqueue", "null", "null"), "event 1: `enqueue` takes a value other than null"),
        (Named::Log, ("append", "1", "[-1,1]"), "event 2: `append` answers nothing, its argument, or a list"),
        (Named::Log, ("read", "\"x\"", "1"), "event 1: `read` takes a position or nothing, found \"x\""),
        (Named::Log, ("read", "null", "1"), "event 2: `read` answers a list of all entries, found 1"),
    ] {
        let error = check(named, &[operation]).unwrap_err();
        assert!(error.starts_with(says), "{error}");
    }
    let text = "{\"process\":0,\"type\":\"invoke\",\"f\":\"get\"}";
    let limits = Limits { stop_after_steps: 1, expired: &mut || false };
    let error = Named::KeyValue.check(&read(text).unwrap(), Order::RealTime, limits).unwrap_err();
    assert_eq!((error.field, error.text.as_str()), ("key", "expected a key for `get`"));
}

//! The text form: what is read, what is refused, what is written.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Draw, Shape, execution};
use misrule_history::specifications::Named;
use misrule_history::{History, Limits, Order, OrderError, Outcome, Value, Verdict, column, print, read};

#[test]
fn what_is_written_reads_back() {
    for (number, named) in Named::ALL.into_iter().enumerate() {
        for seed in 0..50 {
            let mut draw = Draw::new(seed << 3 | number as u64);
            let shape = Shape { clients: 4, operations: 30, keys: 2, values: None, abandoned: 0 };
            let history = execution(&mut draw, named, &shape);
            assert_eq!(read(&print(&history)), Ok(history));
        }
    }
}

#[test]
fn lines_are_the_numbers_of_events() {
    let text = "\u{feff}{\"process\":7,\"type\":\"invoke\",\"f\":\"get\",\"key\":\"\u{e9}\"}\r\n\r\n \
                {\"process\":7,\"type\":\"ok\",\"f\":\"get\",\"value\":[true,\"x\\n\",null]}";
    let history = read(text).unwrap();
    let operation = &history.operations()[0];
    assert_eq!((operation.invoked, operation.returned), (1, Some(3)));
    let list = vec![Value::Bool(true), Value::from("x\n"), Value::Nil];
    assert_eq!(operation.outcome, Outcome::Ok(Value::List(list)));
    assert_eq!(operation.to_string(), "process 7: get \"\u{e9}\" -> [true,\"x\\n\",null]");
    assert_eq!((column(text, 1, "f"), column(text, 3, "value"), column(text, 9, "f")), (34, 45, 1));
}

/// Whatever the text, the reader answers; where a line was cut, it says which.
#[test]
fn damaged_texts_are_refused_without_a_panic() {
    let shape = Shape { clients: 3, operations: 12, keys: 2, values: Some(3), abandoned: 4 };
    let text = print(&execution(&mut Draw::new(3), Named::KeyValue, &shape));
    for at in 0..text.len() {
        if let Err(error) = read(&text[..at]) {
            assert_eq!(error.line, text[..at].matches('\n').count() + 1);
        }
        for with in ["\"", "{", "}", "9", "\u{e9}", "\0", "\n", ",", "[[", "-"] {
            let damaged = format!("{}{with}{}", &text[..at], &text[at + 1..]);
            let _ = read(&damaged);
        }
    }
    let deep =
        format!("{{\"process\":0,\"type\":\"invoke\",\"f\":\"read\",\"value\":{}", "[".repeat(100_000));
    assert!(read(&deep).is_err());
}

#[test]
fn events_out_of_order_are_not_recorded() {
    let mut history = History::new();
    assert_eq!(history.complete(1, Outcome::Unknown), Err(OrderError::NothingOpen { process: 1 }));
    history.invoke(1, "write", None, Value::from(1)).unwrap();
    let again = history.invoke(1, "read", None, Value::Nil);
    assert_eq!(again, Err(OrderError::Open { process: 1, since: 1 }));
    assert_eq!(history.operations().len(), 1);
    // Abandoned, the client goes on; its write may take effect later.
    history.complete(1, Outcome::Unknown).unwrap();
    for result in [Value::Nil, Value::from(1)] {
        history.invoke(1, "read", None, Value::Nil).unwrap();
        history.complete(1, Outcome::Ok(result)).unwrap();
    }
    for order in [Order::RealTime, Order::PerClient] {
        let limits = Limits { stop_after_steps: 1_000, expired: &mut || false };
        let checked = Named::Register.check(&history, order, limits).unwrap();
        assert_eq!((checked.verdict, checked.orders), (Verdict::Pass, vec![vec![1, 0, 2]]));
    }
}

#[test]
fn sequential_consistency_is_judged_over_all_keys() {
    // Each key alone is sequentially consistent, both together are not (Herlihy and Wing 1990, figure 5).
    let text = r#"{"process":0,"type":"invoke","f":"put","key":"x","value":"a"}
{"process":0,"type":"ok","f":"put"}
{"process":0,"type":"invoke","f":"get","key":"y"}
{"process":0,"type":"ok","f":"get","value":""}
{"process":1,"type":"invoke","f":"put","key":"y","value":"b"}
{"process":1,"type":"ok","f":"put"}
{"process":1,"type":"invoke","f":"get","key":"x"}
{"process":1,"type":"ok","f":"get","value":""}
"#;
    let history = read(text).unwrap();
    let limits = Limits { stop_after_steps: 1_000, expired: &mut || false };
    let checked = Named::KeyValue.check(&history, Order::PerClient, limits).unwrap();
    assert_eq!((checked.verdict, checked.partitions), (Verdict::Fail, 1));
    let lines: Vec<&str> = text.lines().collect();
    let one = [lines[0], lines[1], lines[6], lines[7]].join("\n");
    let limits = Limits { stop_after_steps: 1_000, expired: &mut || false };
    let checked = Named::KeyValue.check(&read(&one).unwrap(), Order::PerClient, limits).unwrap();
    assert_eq!(checked.verdict, Verdict::Pass);
}

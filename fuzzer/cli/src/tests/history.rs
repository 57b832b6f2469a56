//! `history`: verdicts, explanation, bad input.

use super::Sandbox;

const STALE: &str = r#"{"process":0,"type":"invoke","f":"write","value":1}
{"process":0,"type":"ok","f":"write"}
{"process":0,"type":"invoke","f":"write","value":2}
{"process":0,"type":"ok","f":"write"}
{"process":1,"type":"invoke","f":"read"}
{"process":1,"type":"ok","f":"read","value":1}
"#;

#[test]
fn a_stale_read_is_not_linearizable_but_sequential() {
    let sandbox = Sandbox::new();
    sandbox.write("stale.jsonl", STALE);
    let ran = sandbox.run("history stale.jsonl --spec register");
    assert_eq!((ran.code, ran.last("verdict"), ran.last("operations")), (1, "fail", "3"), "{ran:?}");
    assert!(ran.out.starts_with("2 of 3 operations can be explained:\n"), "{}", ran.out);
    assert!(ran.out.contains("> line 5-6         process 1: read -> 1\n"), "{}", ran.out);
    assert!(ran.out.contains("> cannot be placed; in this order it is answered 2\n"), "{}", ran.out);
    let ran = sandbox.run("history stale.jsonl --spec register --sequential");
    assert_eq!((ran.code, ran.last("verdict"), ran.last("partitions")), (0, "pass", "1"), "{ran:?}");
}

#[test]
fn json_is_one_object() {
    let sandbox = Sandbox::new();
    sandbox.write("stale.jsonl", STALE);
    let value = sandbox.run("history stale.jsonl --spec register --json").json();
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    let expected = ["explanation", "file", "operations", "partitions", "seconds", "spec", "steps", "verdict"];
    assert_eq!(keys, expected);
    assert_eq!(value["explanation"]["misplaced"]["operation"], "process 1: read -> 1");
    assert_eq!(value["explanation"]["allowed"][0], "2");
    assert_eq!(value["explanation"]["order"].as_array().unwrap().len(), 2);
    let pass = sandbox.run("history stale.jsonl --spec register --sequential --json").json();
    assert_eq!((&pass["verdict"], pass["explanation"].is_null()), (&"pass".into(), true));
}

#[test]
fn what_is_not_decided_in_the_budget_is_unknown() {
    let sandbox = Sandbox::new();
    sandbox.write("stale.jsonl", STALE);
    for limit in ["--steps 1", "--time 0"] {
        let ran = sandbox.run(&format!("history stale.jsonl --spec register {limit}"));
        assert_eq!((ran.code, ran.last("verdict")), (2, "unknown"), "{ran:?}");
    }
}

#[test]
fn bad_histories_exit_with_65_and_a_position() {
    let sandbox = Sandbox::new();
    let ask = r#"{"process":0,"type":"invoke","f":"write","value":1}"#;
    for (text, says) in [
        ("hello", "x.jsonl:1:1: expected a JSON object: expected value"),
        ("\n{\"process\":0", "x.jsonl:2:12: expected a JSON object: EOF"),
        ("[]", "x.jsonl:1:1: expected a JSON object: "),
        (r#"{"process":"a","type":"ok","f":"read"}"#, "x.jsonl:1:12: expected the client, a whole number"),
        (r#"{"process":0,"f":"read"}"#, "x.jsonl:1:24: expected a field `type`"),
        (
            r#"{"process":0,"type":"done","f":"read"}"#,
            "x.jsonl:1:21: expected `invoke`, `ok`, `fail` or `info`",
        ),
        (r#"{"process":0,"type":"ok","f":"read"}"#, "x.jsonl:1:12: an answer before its question"),
        (&format!("{ask}\n{ask}"), "x.jsonl:2:12: process 0 has an operation open since line 1"),
        (
            &format!("{ask}\n{}", r#"{"process":0,"type":"ok","f":"read"}"#),
            "x.jsonl:2:30: expected the answer to `write` of line 1",
        ),
        (&ask.replace(":1}", ":1.5}"), "x.jsonl:1:50: expected null, a whole number"),
        (&ask.replace(":1}", ":{}}"), "x.jsonl:1:50: expected null, a whole number"),
        (&ask.replace("value", "vlaue"), "x.jsonl:1:50: unknown field `vlaue`"),
        (&ask.replace("write", "wrote"), "x.jsonl:1:34: expected read, write, found `wrote`"),
    ] {
        sandbox.write("x.jsonl", text);
        let ran = sandbox.run("history x.jsonl --spec register");
        assert_eq!(ran.code, 65, "{text}: {ran:?}");
        assert!(ran.err.contains(says), "{text}: {}", ran.err);
    }
    std::fs::write(sandbox.0.join("x.jsonl"), b"\n{\"\xff").unwrap();
    assert!(sandbox.run("history x.jsonl --spec kv").err.contains("x.jsonl:2:3: expected UTF-8"));
    let ran = sandbox.run("history missing.jsonl --spec kv");
    assert!(ran.code == 65 && ran.err.contains("missing.jsonl"), "{ran:?}");
    let ran = sandbox.run("history x.jsonl --spec regster");
    assert!(ran.code == 64 && ran.err.contains("(did you mean `register`?)"), "{ran:?}");
}

//! Targets with clients: what two sessions see together is found, minimised, replayed and kept as a history.

use super::{Ran, Sandbox};
use crate::toy_register::register;

fn run(sandbox: &Sandbox, line: &str) -> Ran {
    sandbox.run_with(&[register()], line)
}

#[test]
fn what_only_two_sessions_see_is_found_and_kept_as_a_history() {
    let sandbox = Sandbox::new();
    let line = "fuzz register --set bug=by-session --faults none --seed 1 --json";
    let ran = run(&sandbox, &format!("{line} --out r"));
    let object = ran.json();
    let finding = &object["findings"][0];
    assert_eq!((ran.code, finding["oracle"].as_str()), (1, Some("history")), "{object}");
    assert_eq!(finding["property"], "linearizable");
    // A write, perhaps by way of node 2; a read that asks what it needs, is told nothing, and is answered.
    let steps = finding["steps_minimized"].as_u64().unwrap();
    assert!((4..=5).contains(&steps), "{finding}");
    assert_eq!(finding["replayed"].as_u64(), Some(3));

    let path = finding["path"].as_str().unwrap();
    let schedule = sandbox.read(path);
    let (_, body) = schedule.split_once("\n\n").unwrap();
    let requests: Vec<_> = body.lines().filter_map(|line| line.strip_prefix("request ")).collect();
    assert_eq!(requests.len(), 2, "{schedule}");
    let written = requests[0][2..].strip_prefix("write ").and_then(|rest| rest.strip_suffix(" session=1"));
    let written = written.unwrap_or_else(|| panic!("{schedule}"));
    assert_eq!(requests[1], "2 read session=2");
    let message = format!("process 1: read -> ok cannot be placed; in this order it is answered {written}");
    assert_eq!(finding["message"], message);
    let replayed = run(&sandbox, &format!("replay {path}"));
    assert_eq!((replayed.code, replayed.last("verdict")), (1, "fail"), "{replayed:?}");
    assert_eq!(run(&sandbox, &format!("minimize {path} --json")).json()["steps_minimized"], steps);

    let folder = path.strip_suffix("/minimized.schedule").unwrap();
    let history = sandbox.read(&format!("{folder}/history.jsonl"));
    assert_eq!(history.lines().count(), 4, "{history}");
    let checked = run(&sandbox, &format!("history {folder}/history.jsonl --spec register --json"));
    assert_eq!((checked.code, checked.json()["verdict"].as_str()), (1, Some("fail")), "{checked:?}");
    let explained = &checked.json()["explanation"];
    assert_eq!(explained["misplaced"]["operation"], "process 1: read -> ok");
    assert_eq!(explained["allowed"], serde_json::json!([written]));

    let again = run(&sandbox, &format!("{line} --out again")).json();
    assert_eq!(again["corpus_digest"], object["corpus_digest"]);
}

#[test]
fn the_command_that_checks_the_history_is_shown() {
    let sandbox = Sandbox::new();
    let ran = run(&sandbox, "fuzz register --set bug=by-session --faults none --seed 1 --out r");
    let command = ran.out.lines().find_map(|line| line.strip_prefix("history    misrule ")).expect("shown");
    assert!(command.ends_with("/history.jsonl --spec register"), "{command}");
    assert_eq!(run(&sandbox, command).code, 1);
    assert!(ran.out.contains("\ncalls      "), "{}", ran.out);
}

#[test]
fn one_session_alone_sees_nothing_and_without_the_bug_nobody_does() {
    let sandbox = Sandbox::new();
    for (number, settings) in
        ["--set bug=by-session --set sessions=1", "--set sessions=1", "--set sessions=4"].iter().enumerate()
    {
        let line =
            format!("fuzz register {settings} --faults none --seed 3 --executions 2000 --steps-max 200");
        let ran = run(&sandbox, &format!("{line} --json --out r{number}"));
        let object = ran.json();
        assert_eq!(ran.code, 0, "{settings}: {object}");
        let calls = &object["calls"];
        for what in ["asked", "retried", "answered", "abandoned", "ignored"] {
            assert!(calls[what].as_u64().unwrap() > 100, "{settings}: {what} in {calls}");
        }
        assert_eq!((&calls["failed"], &object["undecided"]), (&0.into(), &serde_json::json!([])));
    }
}

#[test]
fn what_the_oracle_could_not_decide_is_said_and_strict_campaigns_do_not_pass() {
    let sandbox = Sandbox::new();
    let line =
        "fuzz register --set bug=by-session --set limit=0 --faults none --seed 1 --executions 300 --json";
    let ran = run(&sandbox, &format!("{line} --out a"));
    let object = ran.json();
    assert_eq!((ran.code, &object["undecided"][0]["name"]), (0, &"linearizable".into()), "{object}");
    assert!(object["undecided"][0]["executions"].as_u64().unwrap() > 0, "{object}");
    assert!(ran.err.contains("the oracle `linearizable` could not decide in "), "{}", ran.err);
    let strict = run(&sandbox, &format!("{line} --strict --out b"));
    assert_eq!((strict.code, strict.json()["verdict"].as_str()), (2, Some("unknown")));
}

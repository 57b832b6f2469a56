//! `replay`, `show`, `minimize`, `check`, `list` and `model`.

use super::Sandbox;

#[test]
fn replay_has_the_documented_fields_and_one_hash() {
    let sandbox = Sandbox::new();
    let path = sandbox.found();
    let ran = sandbox.run(&format!("replay {path} --json"));
    let object = ran.json();
    for field in ["file", "verdict", "fingerprint", "trace_hash", "steps", "skipped", "drift"] {
        assert!(!object[field].is_null(), "{field}: {object}");
    }
    assert_eq!((ran.code, object["verdict"].as_str()), (1, Some("fail")));
    let hash = object["trace_hash"].as_str().unwrap();
    for options in ["", "--no-trace", "--log", "--full", "--until 1", "--break 2"] {
        let ran = sandbox.run(&format!("replay {path} {options}"));
        assert_eq!((ran.last("trace_hash"), ran.code), (hash, 1), "{options}");
    }
    assert!(sandbox.run(&format!("replay {path} --log")).out.contains("n2  counted 1"));
    let until = sandbox.run(&format!("replay {path} --until 1")).out;
    assert!(until.contains("views after step 1\n") && until.contains("  n2.count = 1\n"), "{until}");
    assert!(!until.contains("violates"));
    let both = sandbox.run(&format!("replay {path} {path} --json")).json();
    assert_eq!(both["files"].as_array().unwrap().len(), 2);
}

#[test]
fn verdicts_follow_the_header() {
    let sandbox = Sandbox::new();
    let text = sandbox.read(&sandbox.found());
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
    let (expect, trace, contract) = (line("expect"), line("trace"), line("contract"));
    let last = text.trim_end().lines().last().unwrap();
    let without_trace = text.replace(&format!("{trace}\n"), "");
    for (name, text, verdict, code) in [
        ("as recorded", text.clone(), "fail", 1),
        ("no expectation", text.replace(&format!("{expect}\n"), ""), "fail", 1),
        ("expects to pass", text.replace(expect, "expect pass"), "fail", 1),
        ("another finding", text.replace(expect, "expect fail no-panic 0123456789abcdef"), "other", 1),
        ("fixed", text.replace(contract, &format!("set safe=on\n{contract}")), "pass", 0),
        (
            "fixed, hash left out",
            without_trace.replace(contract, &format!("set safe=on\n{contract}")),
            "pass",
            0,
        ),
        ("cannot apply", without_trace.replace(last, "restart 1"), "drift", 3),
        ("another trace", text.replace(trace, "trace 0123456789abcdef"), "diverged", 3),
        (
            "another version",
            text.replace("toy 1.0.0", "toy 0.9.0").replace(trace, "trace 0123456789abcdef"),
            "fail",
            1,
        ),
    ] {
        sandbox.write("x.schedule", &text);
        let ran = sandbox.run("replay x.schedule --json");
        assert_eq!((ran.json()["verdict"].as_str(), ran.code), (Some(verdict), code), "{name}: {ran:?}");
        assert_eq!(sandbox.run("replay x.schedule").last("verdict"), verdict, "{name}");
    }
    sandbox.write("x.schedule", &text.replace("#1 Low", "#1 High"));
    let ran = sandbox.run("replay x.schedule --json");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("drift: `deliver 1->2 #1 High` expects High and finds Low"), "{}", ran.err);
    assert_eq!(ran.json()["drift"][0]["found"], "Low");
}

#[test]
fn show_tells_steps_and_why() {
    let sandbox = Sandbox::new();
    let path = sandbox.found();
    let ran = sandbox.run(&format!("show {path}"));
    assert_eq!((ran.code, ran.last("verdict")), (0, "fail"));
    assert!(ran.out.contains("n2.count 0 -> 1") && ran.out.contains("<- violates"), "{}", ran.out);
    let steps: usize = ran.last("steps").parse().unwrap();
    let ran = sandbox.run(&format!("show {path} --why {steps}"));
    assert!(ran.code == 0 && ran.out.starts_with(&format!("step {steps} follows from {steps} of {steps}")));
    assert!(sandbox.run(&format!("show {path} --full")).out.contains("got 1->2 1"));
}

#[test]
fn minimize_writes_a_schedule_that_fails_the_same_way() {
    let sandbox = Sandbox::new();
    let path = sandbox.found();
    let found = path.replace("minimized", "found");
    let ran = sandbox.run(&format!("minimize {found} --out small.schedule --json"));
    let object = ran.json();
    assert_eq!((ran.code, object["verdict"].as_str()), (0, Some("fail")), "{object}");
    assert!(object["steps_minimized"].as_u64() < object["steps_before"].as_u64());
    assert_eq!(sandbox.run("replay small.schedule").code, 1);
    assert_eq!(sandbox.run(&format!("minimize {found} --out small.schedule")).code, 64, "never overwrites");
    sandbox.write("pass.schedule", "misrule schedule 1\ntarget toy 1.0.0\ncontract fifo\nseed 1\n");
    let ran = sandbox.run("minimize pass.schedule");
    assert_eq!((ran.code, ran.last("verdict")), (0, "pass"));
    assert!(!sandbox.0.join("pass.minimized.schedule").exists());
    sandbox.write(
        "tail.schedule",
        "misrule schedule 1\ntarget toy 1.0.0\ncontract fifo\nseed 1\n\ntail seed=1 steps=500 faults=none\n",
    );
    let ran = sandbox.run("minimize tail.schedule");
    assert_eq!((ran.code, ran.last("steps_minimized")), (0, "5"), "{ran:?}");
}

#[test]
fn check_list_and_model_answer_in_words_and_json() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("check toy --executions 5 --steps 100");
    assert_eq!((ran.code, ran.last("verdict"), ran.last("processes")), (0, "pass", "1"), "{ran:?}");
    let object = sandbox.run("check toy --executions 5 --steps 100 --json").json();
    assert_eq!(object["digest"].as_str(), Some(ran.last("digest")));
    let hashes = sandbox.run("check toy --executions 5 --steps 100 --fresh 0").out;
    assert_eq!(hashes.lines().count(), 5);

    assert_eq!(sandbox.run("list").last("targets"), "1");
    let full = sandbox.run("list toy").out;
    for text in
        ["bound=4", "[1..100]", "pairs@impl  (default)", "sends for ever", "delivery   yes", "disk       no"]
    {
        assert!(full.contains(text), "{text}: {full}");
    }
    let object = sandbox.run("list --json").json();
    let settings = &object["targets"][0]["settings"];
    assert_eq!((&settings[0]["min"], &settings[0]["default"]), (&1.into(), &"4".into()));

    let ran = sandbox.run("model check two-phase-commit --size 3 --json");
    let object = ran.json();
    assert_eq!((ran.code, &object["states"], &object["transitions"]), (0, &288.into(), &1146.into()));
    assert_eq!(sandbox.run("model check two-phase-commit --states-max 10").code, 2);
    assert!(sandbox.run("model list").out.contains("two-phase-commit"));
    let graph = sandbox.run("model graph two-phase-commit --size 1").out;
    assert!(graph.starts_with("digraph") && graph.lines().last().unwrap().starts_with("// model="));
    assert_eq!(sandbox.run("model graph two-phase-commit --size 1 --out g.dot").code, 0);
    assert!(sandbox.read("g.dot").starts_with("digraph"));
}

#[test]
fn check_names_the_first_difference() {
    let sandbox = Sandbox::new();
    let line = "check toy --set safe=on --set bug=drifts --executions 5 --steps 100";
    let ran = sandbox.run(line);
    assert_eq!((ran.code, ran.last("verdict")), (3, "diverged"), "{ran:?}");
    assert!(ran.out.contains("two worlds in one process differ in execution 1, step "), "{}", ran.out);
    let object = sandbox.run(&format!("{line} --json")).json();
    let difference = &object["difference"];
    assert!(difference["first"] != difference["second"] && difference["step"].is_u64(), "{object}");
}

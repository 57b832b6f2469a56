//! `lens`: what runs tell of their lenses.

use super::Sandbox;
use serde_json::json;

#[test]
fn a_run_tells_what_its_lenses_were_worth() {
    let sandbox = Sandbox::new();
    let fuzz = "fuzz toy --set safe=on --seed 1 --steps 1100000 --stop-after 0 --recovery never --quiet";
    let ran = sandbox.run(&format!("{fuzz} --lens pairs,trace --out r --json"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let (counted, file) = (ran.json(), sandbox.read("r/lenses.jsonl"));
    assert!(file.len() < 64 << 10, "{}", file.len());
    let report = sandbox.run("lens report r --json").json();
    let run = &report["runs"][0];
    for field in ["target", "guidance", "executions", "steps"] {
        assert_eq!(run[field], counted[field], "{field}");
    }
    for lens in run["lenses"].as_array().unwrap() {
        assert_eq!(lens["cells"], counted["cells"][lens["lens"].as_str().unwrap()], "{lens}");
        let executions = lens["facets"][0]["executions"].as_array().unwrap();
        let cells: u64 = executions.iter().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(json!(cells), lens["cells"], "each cell is counted once");
    }
    let told = sandbox.run("lens report r r");
    assert_eq!((told.code, told.last("runs"), told.last("lenses")), (0, "2", "4"), "{told:?}");
    assert!(told.out.contains("pairs@impl: "), "{}", told.out);
    assert!(!told.out.contains("model "), "the toy has no model: {}", told.out);

    // The same seed gives the same file but for the clock.
    sandbox.run(&format!("{fuzz} --lens pairs,trace --out again"));
    let without_clock = |text: &str| {
        let mut lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &mut lines {
            line.as_object_mut().unwrap().remove("seconds");
        }
        lines
    };
    assert_eq!(without_clock(&sandbox.read("again/lenses.jsonl")), without_clock(&file));
}

#[test]
fn a_run_without_lenses_and_a_short_one_say_so() {
    let sandbox = Sandbox::new();
    sandbox.run("fuzz toy --set safe=on --seed 1 --executions 5 --guidance random --out none");
    sandbox.run("fuzz toy --set safe=on --seed 1 --executions 5 --out short");
    let told = sandbox.run("lens report none short");
    assert!(told.out.contains("no lens was on"), "{}", told.out);
    assert_eq!((told.last("lenses"), told.last("unknown")), ("1", "1"), "{}", told.out);
}

#[test]
fn what_is_no_run_is_one_clear_error() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("lens report nowhere");
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.err.contains("nowhere/lenses.jsonl: there is none"), "{}", ran.err);
    sandbox.write("r/lenses.jsonl", "{\"type\":\"run\"}\n");
    let ran = sandbox.run("lens report r");
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.err.contains("r/lenses.jsonl:1:"), "{}", ran.err);
    assert_eq!(sandbox.run("lens report").code, 64);
}

#[test]
fn diagnosing_compares_executions_of_a_bug_with_others_at_the_same_step() {
    let sandbox = Sandbox::new();
    let line = "lens diagnose toy --until count-bounded --learn 20000 --steps 20000 --bugs 8 --before 2 --steps-max 30";
    let ran = sandbox.run(&format!("{line} --lens pairs,trace --json"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let object = ran.json();
    let bugs = object["bugs"].as_array().unwrap();
    assert_eq!(bugs.len(), 8);
    assert!(bugs.iter().all(|bug| bug["property"] == "count-bounded"), "{object}");
    let others = bugs.iter().map(|bug| bug["others"].as_u64().unwrap());
    assert!(others.clone().filter(|others| *others >= 20).count() >= 5, "{object}");
    assert!(others.clone().all(|others| others <= 300), "{object}");
    for lens in object["lenses"].as_array().unwrap() {
        let percentiles = lens["percentiles"].as_array().unwrap();
        assert!(percentiles.iter().all(|p| (0.0..=1.0).contains(&p.as_f64().unwrap())), "{lens}");
        assert_eq!(percentiles.len(), 8);
        assert!(lens["keys"].as_u64() > Some(3), "{lens}");
    }
    assert_eq!(
        sandbox.run(&format!("{line} --lens pairs,trace --json")).out,
        ran.out,
        "same seed, same words"
    );
    let told = sandbox.run(line);
    assert_eq!((told.last("bugs"), told.last("lenses"), told.last("unknown")), ("8", "1", "0"), "{told:?}");
    assert!(told.out.contains("How far to trust it"), "{}", told.out);
}

#[test]
fn diagnosing_takes_schedules_and_says_when_there_are_too_few() {
    let sandbox = Sandbox::new();
    let minimised = sandbox.found();
    let ran = sandbox.run(&format!("lens diagnose toy --schedule {minimised} --learn 5000 --others 30"));
    assert_eq!((ran.code, ran.last("bugs"), ran.last("unknown")), (2, "1", "1"), "{ran:?}");
    let none =
        sandbox.run("lens diagnose toy --set safe=on --until nothing --learn 500 --steps 500 --others 5");
    assert_eq!((none.code, none.last("bugs")), (2, "0"), "{none:?}");
}

#[test]
fn diagnosing_what_does_not_exist_is_an_error() {
    let sandbox = Sandbox::new();
    for (line, code, text) in [
        ("toy", 64, "which bug? Name it with --bug, --until or --schedule"),
        ("toy --bug panic", 64, "unknown bug `panic` (did you mean `panics`?)"),
        ("toy --bug panics --set bug=loops", 64, "the bug is named twice"),
        ("toy --bug panics --lens piars", 64, "unknown lens `piars`"),
        ("toy --schedule nowhere", 65, "nowhere: "),
        ("toy --schedule nowhere --bug panics", 64, "cannot be used with"),
    ] {
        let ran = sandbox.run(&format!("lens diagnose {line}"));
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.err.contains(text), "{}", ran.err);
    }
}

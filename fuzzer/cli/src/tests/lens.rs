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

//! Recoveries on the command line.

use super::Sandbox;

const STALLS: &str = "misrule schedule 1\ntarget toy 1.0.0\nset safe=on\nset promises=on\nset bug=silent\n\
    contract reorder+loss+dup\nseed 0\n\ndrop 1->2 #1\nrecover 1,2\n";

#[test]
fn a_stall_is_found_minimised_and_replayed() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("fuzz toy --seed 1 --set safe=on --set promises=on --set bug=silent --out r");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("recovery    sampled\n"), "{}", ran.out);
    assert!(ran.out.contains("violation  recovers-after-heal: no progress in 50 rounds"), "{}", ran.out);
    assert!(ran.out.contains("node 1 waits for the count after "), "{}", ran.out);
    assert!(ran.out.contains(" ~ timer "), "steps of the recovery are marked: {}", ran.out);
    assert!(ran.out.contains(" of recovery, in "), "{}", ran.out);
    assert!(ran.out.contains("\nrecovery   "), "{}", ran.out);
    let command = ran.out.lines().find_map(|line| line.strip_prefix("replay     misrule ")).unwrap();
    let replayed = sandbox.run(command);
    assert_eq!((replayed.code, replayed.last("verdict")), (1, "fail"), "{replayed:?}");
    assert_eq!((replayed.last("recovery"), replayed.last("rounds")), ("stalled", "50"));
    let folder = command.strip_prefix("replay ").unwrap().strip_suffix("/minimized.schedule").unwrap();
    assert!(sandbox.read(&format!("{folder}/minimized.schedule")).ends_with("\nrecover 1,2\n"));
    let trace = sandbox.read(&format!("{folder}/trace.jsonl"));
    assert!(trace.lines().last().unwrap().contains("\"recovery\":true"), "{trace}");
    let found = sandbox.run(&format!("minimize {folder}/found.schedule --json"));
    assert_eq!(
        (found.code, found.json()["property"].as_str()),
        (0, Some("recovers-after-heal")),
        "{found:?}"
    );
    let shown = sandbox.run(&format!("show {folder}/minimized.schedule --why 2"));
    assert_eq!(shown.code, 0, "{shown:?}");
}

#[test]
fn recoveries_are_counted_apart() {
    let sandbox = Sandbox::new();
    let run = |when: &str, out: &str| {
        let settings = "--set safe=on --set promises=on --stop-after 0";
        let line =
            format!("fuzz toy --seed 1 {settings} --executions 100 --recovery {when} --out {out} --json");
        let ran = sandbox.run(&line);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()
    };
    let (never, always) = (run("never", "a"), run("always", "b"));
    assert_eq!(never["steps"], always["steps"]);
    assert_eq!((&never["recovery"]["executions"], &never["recovery"]["steps"]), (&0.into(), &0.into()));
    let counted = &always["recovery"];
    assert_eq!((&counted["when"], &counted["executions"]), (&"always".into(), &100.into()));
    assert_eq!((&counted["progressed"], &counted["stalled"]), (&100.into(), &0.into()));
    assert!(counted["steps"].as_u64().unwrap() > 100, "{counted}");
    assert_eq!(sandbox.run("fuzz toy --recovery often").code, 64);
}

#[test]
fn a_perpetual_partition_is_unknown() {
    let sandbox = Sandbox::new();
    let without = |words: &str| STALLS.replace(words, "");
    for (name, text, verdict, code, note) in [
        ("stalls", STALLS.to_owned(), "fail", 1, ""),
        ("progresses", without("set bug=silent\n"), "pass", 0, ""),
        (
            "one node",
            STALLS.replace("recover 1,2", "recover 2"),
            "unknown",
            2,
            "a perpetual partition refutes nothing: the core 2 leaves out 1 nodes, and at most 0 may stay away",
        ),
        ("no promise", without("set promises=on\n"), "unknown", 2, "toy promises no progress"),
    ] {
        sandbox.write("x.schedule", &text);
        let ran = sandbox.run("replay x.schedule");
        assert_eq!((ran.last("verdict"), ran.code), (verdict, code), "{name}: {ran:?}");
        assert!(ran.err.contains(note), "{name}: {}", ran.err);
        let json = sandbox.run("replay x.schedule --json").json();
        assert!(json["recovery"]["end"].is_string(), "{json}");
    }
    sandbox.write("y.schedule", &without("set bug=silent\n"));
    let both = sandbox.run("replay x.schedule y.schedule --no-trace");
    assert_eq!(both.code, 2, "unknown wins over a pass: {both:?}");
}

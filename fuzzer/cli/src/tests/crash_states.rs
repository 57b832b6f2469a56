//! `crash-states` and `audit`.

use super::Sandbox;

/// The toy's schedule that fails, and the same under the setting that mends it.
fn workloads(sandbox: &Sandbox) -> String {
    let failing = sandbox.read(&sandbox.found());
    sandbox.write("failing.schedule", &failing);
    failing
}

#[test]
fn every_call_of_a_workload_is_crashed() {
    let sandbox = Sandbox::new();
    workloads(&sandbox);
    // The toy keeps nothing: one state after each call, and the setting `safe` mends it.
    let ran = sandbox.run("crash-states toy --schedule failing.schedule --set safe=on --json");
    let object = ran.json();
    assert_eq!((ran.code, object["verdict"].as_str()), (0, Some("pass")), "{ran:?}");
    assert_eq!(object["points"], object["states"]);
    assert_eq!((&object["complete"], object["findings"].as_array().unwrap().len()), (&true.into(), 0));
    assert_eq!(object["settings"]["safe"], "on");
    let text = sandbox.run("crash-states toy --schedule failing.schedule --set safe=on");
    assert_eq!(text.last("points"), object["points"].to_string());
    assert!(!sandbox.0.join("runs/toy").join("crash").exists());
    let bounded = sandbox.run("crash-states toy --schedule failing.schedule --set safe=on --executions 3");
    assert_eq!((bounded.last("verdict"), bounded.last("complete"), bounded.code), ("unknown", "false", 2));
}

#[test]
fn a_workload_must_exist_belong_to_the_target_and_pass() {
    let sandbox = Sandbox::new();
    let failing = workloads(&sandbox);
    sandbox.write("other.schedule", &failing.replace("target toy", "target canary"));
    for (line, code, says) in [
        ("toy --schedule failing.schedule", 65, "the workload fails without any crash of ours"),
        ("toy --schedule none.schedule", 65, "none.schedule: "),
        ("toy --schedule other.schedule", 65, "other.schedule:2:8: unknown target `canary`"),
        ("tou --schedule failing.schedule", 64, "did you mean `toy`?"),
        ("toy --schedule failing.schedule --set safe=maybe", 64, "safe"),
        ("toy --schedule failing.schedule --contract fife", 64, "fife"),
        ("toy --schedule failing.schedule --crashes 9", 64, "--crashes"),
        ("toy", 64, "--schedule"),
    ] {
        let ran = sandbox.run(&format!("crash-states {line}"));
        assert_eq!(ran.code, code, "{line}: {ran:?}");
        assert!(ran.err.contains(says), "{line}: {ran:?}");
    }
}

#[test]
fn an_audit_tells_shares_for_each_contract() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("audit toy --executions 20 --steps 50 --disks immediate,posix-min --out a --json");
    let object = ran.json();
    assert_eq!((ran.code, object["verdict"].as_str()), (1, Some("fail")), "{ran:?}");
    let appears = object["rows"][0]["appears"].as_array().unwrap();
    assert_eq!(appears.len(), 2);
    for (at, disk) in ["immediate", "posix-min"].iter().enumerate() {
        // The toy has no disk: both show the same.
        assert_eq!(appears[at]["disk"], *disk);
        assert_eq!(appears[at]["executions"], appears[0]["executions"]);
        let (low, high) = (appears[at]["low"].as_f64().unwrap(), appears[at]["high"].as_f64().unwrap());
        assert!(low < appears[at]["share"].as_f64().unwrap() && high <= 1.0, "{object}");
    }
    let path = object["rows"][0]["finding"]["path"].as_str().unwrap();
    assert_eq!(sandbox.run(&format!("replay {path}")).last("verdict"), "fail");
    let text = sandbox.run("audit toy --executions 20 --steps 50 --disks immediate,posix-min --out b");
    assert!(text.out.contains("  posix-min "), "{text:?}");
    let safe = sandbox.run("audit toy --executions 20 --steps 50 --set safe=on");
    assert_eq!((safe.code, safe.last("verdict"), safe.last("contracts")), (0, "pass", "8"));
    for (line, says) in [
        ("toy --disks posix", "unknown disk preset `posix`"),
        ("toy --disks ordered,ordered", "twice"),
        ("toy --disks ,", "no disk preset"),
        ("toy --contract posix-min", "name presets with --disks"),
        ("toy --contract block=0", "block=0"),
    ] {
        let ran = sandbox.run(&format!("audit {line}"));
        assert!(ran.code == 64 && ran.err.contains(says), "{line}: {ran:?}");
    }
}

//! `fuzz`: what it finds, saves and says.

use super::Sandbox;

#[test]
fn a_finding_is_shown_saved_and_replayable() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("fuzz toy --seed 1 --out r");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("seed        1\n"), "{}", ran.out);
    assert!(ran.out.contains("violation  count-bounded: a node counts 5, more than 4"), "{}", ran.out);
    assert!(ran.out.contains("replayed 3 of 3 times"), "{}", ran.out);
    assert!(ran.out.contains("no budget was given: runs until a finding or Ctrl-C"), "{}", ran.out);
    assert_eq!((ran.last("verdict"), ran.last("findings"), ran.last("run")), ("fail", "1", "r"));
    let command = ran.out.lines().find_map(|line| line.strip_prefix("replay     misrule ")).unwrap();
    let replayed = sandbox.run(command);
    assert_eq!((replayed.code, replayed.last("verdict")), (1, "fail"), "{replayed:?}");
    let folder = command.strip_prefix("replay ").unwrap().strip_suffix("/minimized.schedule").unwrap();
    for file in ["found.schedule", "finding.json", "trace.jsonl", "log.txt", "finding.html"] {
        assert!(!sandbox.read(&format!("{folder}/{file}")).is_empty(), "{file}");
    }
    assert!(sandbox.read(&format!("{folder}/log.txt")).contains("n2  counted 1"));
    assert_eq!(sandbox.run(&format!("replay {folder}/found.schedule")).code, 1);
    let manifest: serde_json::Value = serde_json::from_str(&sandbox.read("r/manifest.json")).unwrap();
    assert_eq!((&manifest["verdict"], &manifest["seed"]), (&"fail".into(), &1.into()));
    assert!(manifest["end"].is_string());
}

#[test]
fn json_is_one_object_with_the_documented_fields() {
    let ran = Sandbox::new().run("fuzz toy --seed 1 --stop-after 0 --executions 50 --out r --json");
    let object = ran.json();
    for field in [
        "command",
        "target",
        "build",
        "seed",
        "guidance",
        "lens",
        "contract",
        "settings",
        "executions",
        "steps",
        "steps_skipped",
        "seconds",
        "cells",
        "events",
        "faults",
        "sometimes",
        "findings",
        "corpus_digest",
        "run",
        "verdict",
    ] {
        assert!(!object[field].is_null(), "{field}: {object}");
    }
    for field in ["accepted", "ignored", "unmapped", "refused", "ambiguous", "out_of_bounds"] {
        assert!(object["events"][field].is_u64(), "{field}");
    }
    assert!(object["events"].get("walked_share").is_some());
    let fault = &object["faults"][0];
    assert!(fault["kind"].is_string() && fault["drawn"].is_u64() && fault["applied"].is_u64());
    let finding = &object["findings"][0];
    for field in [
        "fingerprint",
        "oracle",
        "property",
        "class",
        "count",
        "execution_found",
        "steps_found",
        "steps_minimized",
        "path",
        "known",
    ] {
        assert!(!finding[field].is_null(), "{field}: {finding}");
    }
    assert!(finding["count"].as_u64().unwrap() > 1, "duplicates are counted");
    assert_eq!(object["findings"].as_array().unwrap().len(), 1);
    assert_eq!(object["corpus_digest"].as_str().unwrap().len(), 16);
    assert_eq!((object["executions"].as_u64(), ran.code), (Some(50), 1));
}

#[test]
fn the_digest_depends_on_the_seed_only() {
    let sandbox = Sandbox::new();
    let digest = |line: &str| {
        let ran = sandbox.run(&format!("fuzz toy --set safe=on --executions 300 --json {line}"));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()["corpus_digest"].as_str().unwrap().to_owned()
    };
    let first = digest("--seed 7 --out a");
    assert_eq!(first, digest("--seed 7 --out b --quiet"));
    assert_ne!(first, digest("--seed 8 --out c"));
    let commit = "0000000000000007ffffffffffffffffffffffff";
    assert_eq!(first, digest(&format!("--seed {commit} --out d")));
}

#[test]
fn broken_targets_are_findings_and_never_our_crash() {
    let sandbox = Sandbox::new();
    for (bug, oracle) in [("panics", "panic"), ("loops", "step-budget"), ("strays", "unknown-receiver")] {
        let ran = sandbox.run(&format!("fuzz toy --set safe=on --set bug={bug} --seed 1 --out {bug} --json"));
        let object = ran.json();
        assert_eq!((ran.code, object["findings"][0]["oracle"].as_str()), (1, Some(oracle)), "{object}");
        let path = object["findings"][0]["path"].as_str().unwrap();
        let again = sandbox.run(&format!("replay {path} --json"));
        assert_eq!(again.json()["fingerprint"], object["findings"][0]["fingerprint"]);
    }
}

#[test]
fn the_corpus_makes_findings_known_and_is_replayed_first() {
    let sandbox = Sandbox::new();
    let text = sandbox.read(&sandbox.found());
    sandbox.write("corpus/toy/count.schedule", &text);
    let ran = sandbox.run("fuzz toy --seed 1 --executions 20 --out known --json");
    let object = ran.json();
    assert_eq!((ran.code, object["findings"][0]["known"].as_bool()), (1, Some(true)), "{object}");
    assert_eq!(object["executions"], 20, "a known finding does not stop the campaign");

    let expects = text.lines().find(|line| line.starts_with("expect")).unwrap();
    sandbox.write("corpus/toy/count.schedule", &text.replace(expects, "expect pass"));
    let ran = sandbox.run("fuzz toy --seed 1 --out regression --json");
    let object = ran.json();
    assert_eq!((ran.code, object["executions"].as_u64()), (1, Some(0)), "{object}");
    assert_eq!(object["findings"][0]["oracle"], "regression");
    let path = object["findings"][0]["path"].as_str().unwrap();
    assert_eq!(sandbox.run(&format!("replay {path}")).code, 1);

    sandbox.write("corpus/toy/count.schedule", &text.replace("contract", "set safe=on\ncontract"));
    let object = sandbox.run("fuzz toy --seed 1 --out fixed --json").json();
    assert_eq!(object["findings"][0]["property"], "behaves-as-recorded");
}

#[test]
fn runs_are_kept_apart_and_latest_points_to_the_last() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        assert_eq!(sandbox.run("fuzz toy --seed 1 --quiet").code, 1);
    }
    let latest = sandbox.run("fuzz toy --seed 2 --json").json()["run"].as_str().unwrap().to_owned();
    let folder = sandbox.0.join("runs/toy");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 4, "three runs and latest");
    #[cfg(unix)]
    assert!(latest.ends_with(std::fs::read_link(folder.join("latest")).unwrap().to_str().unwrap()));
    let parts = |path: std::path::PathBuf| {
        let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".part")).count()
    };
    assert_eq!(parts(sandbox.0.join(latest)), 0);
}

#[test]
fn a_campaign_ends_with_the_finding_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let wanted = sandbox.run("fuzz toy --seed 1 --out a --until count-bounded --json").json();
    assert_eq!(wanted["findings"][0]["property"], "count-bounded");
    let fingerprint = wanted["findings"][0]["fingerprint"].as_str().unwrap();
    let line =
        format!("fuzz toy --seed 1 --until other --until {fingerprint} --executions 500 --minimize no");
    let ran = sandbox.run(&format!("{line} --out b --json"));
    let object = ran.json();
    assert_eq!(object["executions"], wanted["executions"], "the fingerprint ends it as well");
    let finding = &object["findings"][0];
    assert!(finding["seconds_found"].is_number() && finding.get("cpu_seconds_found").is_some(), "{finding}");
    assert!(finding["seconds_found"].as_f64().unwrap() <= object["seconds"].as_f64().unwrap());
    assert_eq!(finding["steps_minimized"], finding["steps_execution"], "nothing was minimised");
    let ran = sandbox.run("fuzz toy --seed 1 --out c --until other --executions 50 --json");
    assert_eq!((ran.code, &ran.json()["executions"]), (1, &50.into()), "another finding does not end it");
    let text = sandbox.run("fuzz toy --seed 1 --out d --until other --executions 5").out;
    assert!(text.contains("stop_after  5 executions, 1 new finding(s) of other, or Ctrl-C"), "{text}");
}

#[test]
fn coverage_is_told_over_time() {
    let ran = Sandbox::new().run("fuzz toy --seed 1 --set safe=on --executions 300 --out r --json");
    let object = ran.json();
    let samples = object["coverage"].as_array().unwrap();
    assert!(samples.len() > 10 && samples.len() < 60, "{}", samples.len());
    for pair in samples.windows(2) {
        let at = |sample: &serde_json::Value, field: usize| sample[field].as_f64().unwrap();
        for field in 0..4 {
            assert!(at(&pair[0], field) <= at(&pair[1], field), "{pair:?}");
        }
    }
    assert_eq!(samples[0][0], 1);
}

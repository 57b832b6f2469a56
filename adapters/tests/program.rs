//! The binary as a process: streams, signals, fresh processes.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::{Folder, json, text};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn the_harness_tells_the_canaries_apart() {
    let folder = Folder::new("canaries");
    let fails = folder.run("fuzz canary-fails --seed 1 --steps 1e5 --json");
    assert_eq!((fails.status.code(), json(&fails)["verdict"].as_str()), (Some(1), Some("fail")));
    let passes = folder.run("fuzz canary-passes --seed 1 --steps 1e5 --json");
    assert_eq!((passes.status.code(), json(&passes)["verdict"].as_str()), (Some(0), Some("pass")));
}

#[test]
fn every_target_is_the_same_in_a_fresh_process() {
    let folder = Folder::new("check");
    let targets = json(&folder.run("list --json"));
    for target in targets["targets"].as_array().unwrap() {
        let name = target["target"].as_str().unwrap();
        let output = folder.run(&format!("check {name} --executions 5 --steps 300 --json"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(json(&output)["processes"], 2);
    }
}

#[test]
fn a_replay_has_one_hash_in_every_process() {
    let folder = Folder::new("replay");
    let found = json(&folder.run("fuzz canary-fails --seed 1 --json"));
    let path = found["findings"][0]["path"].as_str().unwrap();
    let hashes: Vec<Value> =
        (0..3).map(|_| json(&folder.run(&format!("replay {path} --json")))["trace_hash"].clone()).collect();
    assert!(hashes[0].is_string() && hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
}

#[test]
fn colours_come_only_when_asked_for() {
    let folder = Folder::new("colours");
    let plain = folder.run("fuzz canary-fails --seed 1");
    assert!(!plain.stdout.contains(&0x1b) && !plain.stderr.contains(&0x1b));
    let forced = folder.command("fuzz canary-fails --seed 1").env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(forced.stdout.contains(&0x1b));
    let line = text(&forced.stdout).trim_end().lines().last().unwrap().to_owned();
    assert!(line.starts_with("target=canary-fails verdict=fail "), "{line}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_finishes_and_saves() {
    let folder = Folder::new("interrupt");
    let mut child = folder
        .command("fuzz canary-passes --seed 1 --out r")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    // The line about the missing budget is the last one before the campaign.
    while !line.starts_with("no budget was given") {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "the campaign never began");
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("verdict=interrupted"), "{rest}");
    let manifest = std::fs::read(folder.path().join(Path::new("r/manifest.json"))).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert!(manifest["verdict"] == "interrupted" && manifest["end"].is_string(), "{manifest}");
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let folder = Folder::new("pipe");
    let mut child = folder
        .command("model graph two-phase-commit --size 3")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

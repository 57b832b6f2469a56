//! Every oracle has a schedule that it must fail and one that it must pass: `oracles/<oracle>/fails.schedule` and
//! `passes.schedule`. Where no target of ours can fail an oracle, the example `misbehaves` does.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders below `oracles/` and the oracle that each is about.
const PAIRS: [(&str, &str); 57] = [
    ("atomicity", "atomicity"),
    ("boot", "boot"),
    ("conformance", "conformance"),
    ("durability", "durability"),
    ("invariant-decided-index-monotone", "invariant"),
    ("invariant-decided-logs-agree", "invariant"),
    ("judge", "judge"),
    ("kv-acknowledged-writes-survive", "durability"),
    ("kv-applied-logs-agree", "invariant"),
    ("kv-disk-readable", "durability"),
    ("kv-linearizable", "history"),
    ("kv-one-vote-per-term", "invariant"),
    ("kv-ring-intact", "history"),
    ("kv-snapshot-kept", "durability"),
    ("kv-synced-log-survives", "durability"),
    ("model", "model"),
    ("model-property", "model-property"),
    ("openraft-commit-has-quorum", "invariant"),
    ("openraft-commit-of-a-minority", "invariant"),
    ("openraft-leader-has-committed", "invariant"),
    ("openraft-leader-has-quorum", "invariant"),
    ("openraft-linearizable", "history"),
    ("openraft-no-deadlock", "invariant"),
    ("openraft-node-runs", "invariant"),
    ("openraft-restarted-reads", "history"),
    ("openraft-snapshot-stops", "invariant"),
    ("openraft-stale-append", "invariant"),
    ("panic", "panic"),
    ("progress", "progress"),
    ("raft-commit-monotone", "durability"),
    ("raft-election-safety", "invariant"),
    ("raft-leader-completeness", "invariant"),
    ("raft-linearizable", "history"),
    ("raft-log-matching", "invariant"),
    ("raft-one-vote-per-term", "durability"),
    ("raft-pre-vote-quorum", "invariant"),
    ("raft-reads-never-stale", "model-property"),
    ("raft-state-machine-safety", "invariant"),
    ("raft-term-monotone", "durability"),
    ("rate-disk", "rate"),
    ("rate-messages", "rate"),
    ("redb-acknowledged-commits-survive", "durability"),
    ("redb-commits-rolled-back-by-repair", "durability"),
    ("redb-integrity-check-passes", "integrity"),
    ("redb-opens-after-crash", "opening"),
    ("redb-transactions-are-atomic", "atomicity"),
    ("regression", "regression"),
    ("small-raft-committed-entries-stay", "state-machine-safety"),
    ("small-raft-committed-logs-agree", "state-machine-safety"),
    ("small-raft-election-safety", "election-safety"),
    ("small-raft-leader-completeness", "leader-completeness"),
    ("small-raft-reads", "stale-read"),
    ("small-raft-term-monotone", "durability"),
    ("step-budget-disk", "step-budget"),
    ("step-budget-sends", "step-budget"),
    ("unknown-receiver", "unknown-receiver"),
    ("vote-respected", "vote-respected"),
];

/// Not replayed as they stand: one is an entry of a corpus, the others fail only on omnipaxos 0.2.3, openraft 0.9.24, raft
/// 0.3.0 and redb 4.1.0, whose binaries are not built here and which `.ci/run history` replays.
const ELSEWHERE: [&str; 5] = [
    "regression",
    "invariant-decided-index-monotone",
    "openraft-commit-of-a-minority",
    "raft-pre-vote-quorum",
    "redb-commits-rolled-back-by-repair",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles")
}

/// The program that has the target of a schedule: the binary, or an example beside it.
fn program(schedule: &Path) -> PathBuf {
    let ours = Path::new(env!("CARGO_BIN_EXE_misrule"));
    let text = std::fs::read_to_string(schedule).unwrap();
    let examples = [("misbehaves", "misrule-adapters"), ("openraft", "misrule-openraft")];
    for (example, package) in examples {
        if text.contains(&format!("\ntarget {example} ")) {
            let program = ours.parent().unwrap().join("examples").join(example);
            assert!(program.exists(), "not built: cargo build -p {package} --example {example}");
            return program;
        }
    }
    ours.to_owned()
}

/// What a command prints as JSON.
fn json(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn replay(schedule: &Path) -> Value {
    json(Command::new(program(schedule)).args(["replay", "--json"]).arg(schedule))
}

#[test]
fn every_folder_is_a_pair() {
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, PAIRS.map(|(name, _)| name));
    for name in found {
        for kind in ["fails.schedule", "passes.schedule"] {
            assert!(folder().join(&name).join(kind).exists(), "{name} has no {kind}");
        }
    }
}

#[test]
fn oracles_fail_what_they_must() {
    for (name, oracle) in PAIRS.into_iter().filter(|(name, _)| !ELSEWHERE.contains(name)) {
        let shown = replay(&folder().join(name).join("fails.schedule"));
        assert_eq!(
            (shown["verdict"].as_str(), shown["oracle"].as_str()),
            (Some("fail"), Some(oracle)),
            "{shown:#}"
        );
        assert_eq!(
            (shown["skipped"].as_u64(), &shown["notes"]),
            (Some(0), &Value::from([""; 0])),
            "{shown:#}"
        );
    }
}

#[test]
fn oracles_pass_what_they_must() {
    for (name, _) in PAIRS {
        let shown = replay(&folder().join(name).join("passes.schedule"));
        assert_eq!((shown["verdict"].as_str(), &shown["oracle"]), (Some("pass"), &Value::Null), "{shown:#}");
        assert_eq!(
            (shown["skipped"].as_u64(), &shown["notes"]),
            (Some(0), &Value::from([""; 0])),
            "{shown:#}"
        );
    }
}

/// The oracle `regression` judges entries of the corpus, which is below the working directory.
#[test]
fn a_corpus_entry_that_behaves_otherwise_is_a_finding() {
    for (kind, findings) in [("fails", 1), ("passes", 0)] {
        let work = std::env::temp_dir().join(format!("misrule-oracles-{}-{kind}", std::process::id()));
        std::fs::create_dir_all(work.join("corpus/canary-passes")).unwrap();
        let schedule = folder().join("regression").join(format!("{kind}.schedule"));
        std::fs::copy(schedule, work.join("corpus/canary-passes/entry.schedule")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_misrule"));
        let words = "fuzz canary-passes --seed 1 --executions 1 --json --quiet".split(' ');
        let shown = json(command.args(words).current_dir(&work));
        let found = shown["findings"].as_array().unwrap();
        assert_eq!(found.len(), findings, "{shown:#}");
        assert!(found.iter().all(|finding| finding["oracle"] == "regression"), "{shown:#}");
        std::fs::remove_dir_all(&work).unwrap();
    }
}

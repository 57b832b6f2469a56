//! The target `kv` through the program: crash states that were counted by hand, and the histories of findings.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the program in a folder of its own; its exit code and JSON.
fn run(folder: &Path, words: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_misrule"));
    let output = command.args(words).arg("--json").current_dir(folder).output().unwrap();
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.status.code(), json)
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("misrule-kv-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn crash_states(folder: &Path, workload: &str, contract: &str, bug: &str) -> (Option<i32>, Value) {
    let workloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("kv/workloads");
    let file = workloads.join(format!("{workload}.schedule"));
    let (contract, bug) = (format!("{contract},block=64"), format!("bug={bug}"));
    let file = file.to_string_lossy();
    let words = ["crash-states", "kv", "--schedule", &*file, "--contract", &*contract, "--set", &*bug];
    run(folder, &words)
}

/// States behind each disk operation of a call, and once more behind the call.
fn points(after_operations: &[u64]) -> Vec<u64> {
    let last = after_operations.last().copied().unwrap_or(1);
    after_operations.iter().copied().chain([last]).collect()
}

/// Below a durable name n blocks that wait for a sync leave 2^n states. In blocks of 64 bytes, as
/// `adapters/kv/tests/storage.rs` adds up the bytes: a promise and an entry without a value take 1, a put takes 2, a
/// snapshot of two keys and the first record of a log that has one put take 3.
#[test]
fn crash_states_are_as_counted_by_hand() {
    let waiting = |blocks: u32| 1_u64 << blocks;
    let (promise, noop, put, snapshot, opening) = (1, 1, 2, 3, 3);
    let lead = [
        points(&[]),
        points(&[]),
        // A promise is written and synced, and the first entry written; a flush.
        points(&[waiting(promise), 1, waiting(noop)]),
        points(&[1]),
        // Two puts, and a flush.
        points(&[waiting(put)]),
        points(&[waiting(2 * put)]),
        points(&[1]),
        points(&[waiting(put)]),
    ];
    let append = lead.iter().cloned().chain([points(&[1])]).collect::<Vec<_>>();
    // While the snapshot is made a put waits, in the old log file.
    let old = waiting(put);
    let snapshot = points(&[
        // Created: not there, or empty. Written: not there, or any set of blocks. Synced: not there, or whole.
        old * 2,
        old * (1 + waiting(snapshot)),
        old * 2,
        // Renamed: not there, below the first name, or below the second. The directory is synced.
        old * 3,
        old,
        // The next log file, the same way, without a rename.
        old * 2,
        old * (1 + waiting(opening)),
        old * 2,
        old,
        // The old one is removed: gone, or there with what it had. Then it is gone.
        1 + old,
        1,
    ]);
    let snapshot: Vec<_> =
        lead.into_iter().chain([snapshot, points(&[waiting(put)]), points(&[1])]).collect();
    let folder = folder("states");
    for (workload, calls, sum) in [("append", append, 63), ("snapshot", snapshot, 202)] {
        let (code, told) = crash_states(&folder, workload, "posix-min", "none");
        assert_eq!((code, &told["complete"], &told["failing"]), (Some(0), &true.into(), &0.into()));
        let states: u64 = calls.iter().flatten().sum();
        let points: usize = calls.iter().map(Vec::len).sum();
        assert_eq!((states, &told["states"]), (sum, &states.into()), "{workload}: {told:#}");
        assert_eq!(told["points"], points, "{workload}: {told:#}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Of the bugs that one crash of one node shows. The whole matrix is in `adapters/kv/tests/matrix.rs`.
#[test]
fn crash_states_have_a_bugs_state_where_the_contract_permits_it() {
    let folder = folder("bugs");
    for (bug, permitted) in [
        ("none", [false; 4]),
        ("ack-before-sync", [false, true, true, true]),
        ("no-dir-sync", [false, true, true, true]),
        ("rename-before-data", [false, true, true, true]),
        ("torn-tail", [false, false, false, true]),
        ("prefix-order", [false, false, true, true]),
        ("atomic-multi-block", [false, false, false, true]),
    ] {
        for (disk, wanted) in
            ["immediate", "explicit-sync", "reorder-writes", "posix-min"].iter().zip(permitted)
        {
            let fails = ["append", "snapshot"].map(|workload| {
                let (code, told) = crash_states(&folder, workload, disk, bug);
                assert_eq!(code == Some(1), told["failing"].as_u64().unwrap() > 0, "{told:#}");
                code == Some(1)
            });
            assert_eq!(fails.contains(&true), wanted, "{bug} under {disk}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_history_of_a_finding_is_judged_alone() {
    let folder = folder("history");
    let fuzz = "fuzz kv --set bug=stale-read --contract explicit-sync --seed 1 --steps 1e6";
    let (code, told) = run(&folder, &fuzz.split(' ').collect::<Vec<_>>());
    let finding = &told["findings"][0];
    assert_eq!((code, finding["property"].as_str()), (Some(1), Some("linearizable")), "{told:#}");
    let specification = finding["specification"].as_str().unwrap();
    let path = finding["path"].as_str().unwrap().replace("minimized.schedule", "history.jsonl");
    let (code, told) = run(&folder, &["history", &path, "--spec", specification]);
    assert_eq!((code, told["verdict"].as_str()), (Some(1), Some("fail")), "{told:#}");
    // The oracle and the checker of files name the same operation.
    let misplaced = told["explanation"]["misplaced"]["operation"].as_str().unwrap();
    let message = finding["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("{misplaced} cannot be placed")), "{misplaced}: {message}");

    // What clients do to a ring no specification describes.
    let fuzz =
        "fuzz kv --set bug=validated-before-commit --set workload=cycle --set keys=5 --seed 1 --steps 1e6";
    let (code, told) = run(&folder, &fuzz.split(' ').collect::<Vec<_>>());
    let finding = &told["findings"][0];
    assert_eq!((code, finding["property"].as_str()), (Some(1), Some("ring-intact")), "{told:#}");
    assert!(finding["specification"].is_null(), "{finding:#}");
    std::fs::remove_dir_all(&folder).unwrap();
}

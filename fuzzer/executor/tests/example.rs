//! The example as a process: each planted bug is found, the code without one is silent, and runs repeat.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::PathBuf;
use std::process::Command;

fn example() -> Command {
    let test = std::env::current_exe().unwrap();
    let path: PathBuf = test.parent().unwrap().parent().unwrap().join("examples/two-tasks");
    assert!(path.exists(), "not built: cargo build -p misrule-executor --example two-tasks");
    Command::new(path)
}

/// The exit code of a campaign, and what it printed.
fn fuzz(bug: &str) -> (Option<i32>, String) {
    let folder = std::env::temp_dir().join(format!("misrule-two-tasks-{}-{bug}", std::process::id()));
    let output = example()
        .args(["fuzz", "--seed", "1", "--steps", "50000", "--set", &format!("bug={bug}"), "--out"])
        .arg(&folder)
        .output()
        .unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn planted_bugs_are_found_and_nothing_else() {
    let (code, text) = fuzz("none");
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = fuzz("no-lock");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("adds-up"), "{text}");
    let (code, text) = fuzz("lock-order");
    assert_eq!(code, Some(1), "{text}");
    let told = "adds-1 waits for a channel or a lock; adds-2 waits for a channel or a lock";
    assert!(text.contains(told), "{text}");
}

#[test]
fn executions_repeat() {
    let output = example().args(["check", "two-tasks", "--executions", "200"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("verdict=pass executions=200"), "{text}");
}

//! Every strategy and every signal on every target, as a process.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn json(folder: &Folder, line: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_misrule"));
    let output = command.args(line.split_whitespace()).current_dir(&folder.0).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{line}: {error}: {output:?}"))
}

fn names(list: &Value, of: &str, name: &str) -> Vec<String> {
    list[of].as_array().unwrap().iter().map(|row| row[name].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_strategy_runs_on_every_target_and_is_the_same_twice() {
    let folder = Folder(std::env::temp_dir().join(format!("misrule-strategies-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let list = json(&folder, "list --json");
    let (targets, strategies) = (names(&list, "targets", "target"), names(&list, "strategies", "name"));
    assert!(targets.len() >= 5 && strategies.len() >= 10, "{targets:?} {strategies:?}");
    for target in &targets {
        let mut digests = Vec::new();
        for strategy in &strategies {
            let line =
                format!("fuzz {target} --guidance {strategy} --seed 7 --steps 2000 --stop-after 0 --json");
            let (first, second) = (json(&folder, &line), json(&folder, &line));
            assert_eq!(first["corpus_digest"], second["corpus_digest"], "{line}");
            assert_eq!(first["steps"], second["steps"], "{line}");
            let done = first["steps"].as_u64().unwrap() >= 2_000 || first["exhausted"] == true;
            assert!(done, "{line}: {} steps", first["steps"]);
            digests.push(first["corpus_digest"].as_str().unwrap().to_owned());
        }
        // Where there is anything to choose, all strategies choose otherwise.
        if target == "omnipaxos" {
            let all = digests.len();
            digests.sort();
            digests.dedup();
            assert_eq!(digests.len(), all, "two strategies do the same");
        }
        let own = list["targets"].as_array().unwrap().iter().find(|own| own["target"] == **target).unwrap();
        for view in ["impl", "model"] {
            if !own["lenses"].as_array().unwrap().contains(&format!("pairs@{view}").into()) {
                continue;
            }
            let lens = format!("role+commit@{view}");
            let line = format!("fuzz {target} --lens {lens} --seed 7 --steps 2000 --stop-after 0 --json");
            assert!(json(&folder, &line)["cells"][&lens].as_u64().unwrap() > 0, "{line}");
        }
        // Edges need a build of their own.
        for signal in names(&list, "signals", "name").into_iter().filter(|signal| signal != "edges") {
            let line = format!(
                "fuzz {target} --guidance frontier --lens {signal} --seed 7 --steps 2000 --stop-after 0 --json"
            );
            let (first, second) = (json(&folder, &line), json(&folder, &line));
            assert_eq!(first["corpus_digest"], second["corpus_digest"], "{line}");
            assert!(first["cells"][&signal].as_u64().unwrap() > 0, "{line}: {}", first["cells"]);
        }
    }
}

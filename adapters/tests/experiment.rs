//! Experiments through the binary: rows, resuming, refusals, campaigns that die.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::{Folder, json, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

const TINY: &str = "question = \"Which is sooner?\"\nseed = 7\ncampaigns = 3\nbudget = \"20s\"\n\n\
    [[bug]]\ntarget = \"canary-fails\"\nuntil = \"count-bounded\"\n\n\
    [[bug]]\ntarget = \"two-phase-commit\"\nset = { bug = \"commit-on-first-yes\" }\ntier = \"seconds\"\n\n\
    [[arm]]\nguidance = \"random\"\n\n[[arm]]\nguidance = \"frontier\"\n";

fn write(folder: &Folder, name: &str, text: &str) {
    std::fs::write(folder.path().join(name), text).unwrap();
}

fn lines(folder: &Folder, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Names of the cell and number of a campaign.
fn key(row: &Value) -> (String, String, u64) {
    let text = |field: &str| row[field].as_str().unwrap().to_owned();
    (text("bug"), text("arm"), row["campaign"].as_u64().unwrap())
}

#[test]
fn every_campaign_leaves_a_row() {
    let folder = Folder::new("experiment");
    write(&folder, "tiny.toml", TINY);
    let output = folder.run("experiment tiny.toml --json --workers 1");
    let told = json(&output);
    assert_eq!((output.status.code(), told["verdict"].as_str()), (Some(0), Some("complete")), "{output:?}");
    let rows = lines(&folder, "runs/experiment/tiny/results.jsonl");
    assert_eq!(rows.iter().map(key).collect::<BTreeSet<_>>().len(), 12);
    // One worker: the order is the plan's, the first campaign of each cell first.
    assert_eq!(rows[..4].iter().map(|row| row["campaign"].as_u64().unwrap()).collect::<Vec<_>>(), [1; 4]);
    for row in &rows {
        assert_eq!((&row["end"], &row["registration"]), (&"found".into(), &told["registration"]), "{row}");
        assert!(row["seconds"].as_f64().unwrap() < 20.0 && row["steps"].as_u64().unwrap() > 0, "{row}");
        assert!(row["cpu_seconds"].is_number() || !cfg!(target_os = "linux"), "{row}");
    }
    // A row's command shows what the row has.
    let row = &rows[3];
    let command = row["command"].as_str().unwrap().strip_prefix("misrule ").unwrap();
    let again = json(&folder.run(&format!("{command} --json --out again")));
    assert_eq!(again["findings"][0]["steps_found"], row["steps"], "{row}");
}

#[test]
fn what_has_a_row_is_not_run_again() {
    let folder = Folder::new("resume");
    write(&folder, "tiny.toml", TINY);
    let line = "experiment tiny.toml --out r --json";
    assert_eq!(json(&folder.run(&format!("{line} --tier seconds")))["cells"].as_array().unwrap().len(), 2);
    let first = lines(&folder, "r/results.jsonl");
    assert_eq!(first.len(), 6);
    // As if it had been killed while it wrote.
    let path = folder.path().join("r/results.jsonl");
    let mut torn = std::fs::read_to_string(&path).unwrap();
    torn.truncate(torn.len() - 5);
    std::fs::write(&path, torn).unwrap();
    assert_eq!(json(&folder.run(line))["campaigns_left"], 0);
    let all = lines(&folder, "r/results.jsonl");
    assert_eq!((all.len(), &all[..5]), (12, &first[..5]), "rows stay as they are");
    assert_eq!(all.iter().map(key).collect::<BTreeSet<_>>().len(), 12);
    // More campaigns, one more arm: only what is new runs, under a registration of its own.
    let more = TINY.replace("campaigns = 3", "campaigns = 4")
        + "\n[[arm]]\nname = \"again\"\nguidance = \"random\"\n";
    write(&folder, "tiny.toml", &more);
    let told = json(&folder.run(line));
    let extended = lines(&folder, "r/results.jsonl");
    assert_eq!((extended.len(), &extended[..12]), (24, &all[..]));
    assert_ne!(told["registration"], all[0]["registration"]);
    assert!(extended[12..].iter().all(|row| row["registration"] == told["registration"]));
    assert_eq!(lines(&folder, "r/environment.jsonl").len(), 3);
}

#[test]
fn a_file_that_is_no_extension_is_refused() {
    let folder = Folder::new("refusal");
    write(&folder, "tiny.toml", TINY);
    let line = "experiment tiny.toml --out r --tier seconds";
    assert_eq!(folder.run(line).status.code(), Some(0));
    for (from, to, expected) in [
        ("campaigns = 3", "campaigns = 2", "`campaigns` was 3 and is 2"),
        ("seed = 7", "seed = 8", "`seed` has changed"),
        ("Which", "Who", "`question` has changed"),
        (
            "20s",
            "21s",
            "bug `canary-fails`: `budget` was {\"milliseconds\":20000} and is {\"milliseconds\":21000}",
        ),
        ("\n[[arm]]\nguidance = \"frontier\"\n", "", "arm `frontier` is gone"),
    ] {
        write(&folder, "tiny.toml", &TINY.replace(from, to));
        let output = folder.run(line);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{error}");
        assert!(error.contains(expected) && error.contains("name another folder with --out"), "{error}");
    }
    assert_eq!(lines(&folder, "r/results.jsonl").len(), 6);
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = Folder::new("dry-run");
    write(&folder, "tiny.toml", TINY);
    let output = folder.run("experiment tiny.toml --dry-run --workers 1");
    let out = text(&output.stdout);
    // 12 campaigns of 20 seconds.
    assert!(out.contains("12 campaigns to go: at most 0.07 CPU hours, 0.07 hours on this machine"), "{out}");
    assert!(out.contains("verdict=planned cells=4 campaigns=0 left=12"), "{out}");
    assert!(text(&output.stderr).contains("commit it before the first run"), "{output:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the file itself");
}

#[test]
fn what_no_program_understands_is_refused_with_its_place() {
    let folder = Folder::new("places");
    for (from, to, expected) in [
        (
            "two-phase-commit",
            "two-phase-comit",
            "tiny.toml: line 10, column 1: bug `commit-on-first-yes`, arm `random`: unknown target `two-phase-comit` (did you mean `two-phase-commit`?)",
        ),
        (
            "\"frontier\"",
            "\"fronteir\"",
            "line 18, column 1: bug `canary-fails`, arm `fronteir`: unknown guidance `fronteir`",
        ),
        ("commit-on-first-yes", "no-such", "line 10, column 1: bug `no-such`, arm `random`: "),
        (
            "tier = ",
            "version = \"9.9.9\"\ntier = ",
            "line 10, column 1: bug `commit-on-first-yes`: `version` is 9.9.9, and two-phase-commit is 0.1.0",
        ),
        ("seed = 7", "sed = 7", "line 2, column 1: unknown key `sed` (did you mean `seed`?)"),
    ] {
        write(&folder, "tiny.toml", &TINY.replace(from, to));
        let output = folder.run("experiment tiny.toml --dry-run");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{error}");
        assert!(error.contains(expected), "{error}");
    }
    let nowhere = folder.run("experiment nowhere.toml");
    assert_eq!(nowhere.status.code(), Some(65));
    write(&folder, "tiny.toml", TINY);
    assert_eq!(folder.run("experiment tiny.toml --workers 0").status.code(), Some(64));
    assert_eq!(folder.run("experiment tiny.toml --tier beyond").status.code(), Some(64));
}

#[test]
fn a_bug_whose_program_is_not_built_is_left_out() {
    let folder = Folder::new("absent");
    write(&folder, "tiny.toml", &TINY.replace("tier = ", "program = \"nowhere\"\ntier = "));
    let output = folder.run("experiment tiny.toml --out r --json");
    assert_eq!((output.status.code(), json(&output)["cells"].as_array().unwrap().len()), (Some(0), 2));
    let warned = text(&output.stderr);
    assert!(
        warned.contains("bug `commit-on-first-yes` is left out: there is no program nowhere"),
        "{warned}"
    );
    assert_eq!(folder.run("experiment tiny.toml --out r --tier seconds").status.code(), Some(64));
}

#[test]
fn a_report_says_what_was_found_out_and_what_is_missing() {
    let folder = Folder::new("report");
    write(&folder, "tiny.toml", TINY);
    assert_eq!(folder.run("experiment tiny.toml --out r --tier seconds").status.code(), Some(0));
    let output = folder.run("report r");
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for expected in [
        "missing             canary-fails: `frontier` against `random`: 0 and 0 of 3 campaigns have been run.",
        "not enough to tell  commit-on-first-yes: `frontier` against `random`: 3 and 3 campaigns are too few for a test (",
        "comparisons=2 sooner=0 later=0 unknown=1 missing=1 campaigns=6 page=r/report.html",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join("r").join(name)).unwrap();
    let page = read("report.html");
    for expected in [
        "Which is sooner?",
        "class=\"curve c1 d1\"",
        "class=\"missing\"",
        "misrule experiment tiny.toml --out r",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("<script"), "no network");
    let (cells, comparisons) = (read("cells.csv"), read("comparisons.csv"));
    assert_eq!((cells.lines().count(), comparisons.lines().count()), (5, 3));
    // The same rows make the same page, and JSON has the figures of the CSV files.
    let told = json(&folder.run("report r --json"));
    assert_eq!((read("report.html"), read("cells.csv")), (page, cells));
    assert_eq!(
        (&told["cells"][2]["found"], &told["cells"][0]["campaigns_run"]),
        (&3.into(), &0.into()),
        "{told}"
    );
    let median = told["cells"][2]["median"].to_string();
    assert!(read("cells.csv").contains(&median) && median != "null", "{median}");
    let empty = folder.run("report nowhere");
    assert_eq!(empty.status.code(), Some(65), "{empty:?}");
}

/// What a dry run of a file of this repository says.
fn dry_run(file: &str) -> Value {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = Folder::new("registered");
    let output = folder.run(&format!("experiment {} --dry-run --json", root.join(file).display()));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    json(&output)
}

#[test]
fn the_ladder_has_every_planted_bug() {
    let ladder = dry_run("benches/ladder.toml");
    let cells = ladder["cells"].as_array().unwrap();
    // Two targets may have a bug of the same name.
    let has = |target: &str, bug: &str| {
        let names = [bug.to_owned(), format!("{target} {bug}")];
        cells.iter().any(|cell| cell["target"] == target && names.iter().any(|name| cell["bug"] == **name))
    };
    let listed = json(&Folder::new("ladder").run("list --json"));
    let mut planted = 0;
    for target in listed["targets"].as_array().unwrap() {
        let name = target["target"].as_str().unwrap();
        for bug in target["bugs"].as_array().unwrap() {
            let bug = bug["name"].as_str().unwrap();
            assert!(has(name, bug), "{name}: {bug} is not in benches/ladder.toml");
            planted += 1;
        }
    }
    assert!(planted >= 23 && has("omnipaxos", "reordered-accept-sync"), "{planted}");
}

#[test]
fn comparisons_are_as_they_were_registered() {
    // Cells, seconds that all campaigns may take, and the hash.
    let registered = [
        ("first", 10, 16_000.0, "bf2449f7f0b785cf"),
        ("second", 10, 16_000.0, "c21d85d5ba52ed94"),
        ("third", 10, 16_000.0, "f5d5854d9dc6dc03"),
        ("fourth", 14, 14_000.0, "d3d62659de2984f7"),
        ("fifth", 14, 14_000.0, "6762b29592ca7a76"),
        ("sixth", 14, 14_000.0, "1c2f132116535400"),
        ("granularity", 24, 4_800.0, "97e5d7e5894297b8"),
        ("granularity-persistence", 4, 800.0, "2fac0d23d630db51"),
        ("ablation", 14, 5_600.0, "1b2e90b127f2f33d"),
        ("strategies", 36, 2_160.0, "4e645af30e1e7046"),
        ("directed", 9, 1_500.0, "6f7198cf67c90f3a"),
    ];
    for (file, cells, seconds, registration) in registered {
        let planned = dry_run(&format!("benches/experiments/{file}.toml"));
        assert_eq!(planned["cells"].as_array().unwrap().len(), cells, "{file}");
        let hours = planned["cpu_hours_left"].as_f64().unwrap();
        assert!((hours - seconds / 3_600.0).abs() < 1e-9, "{file}: {hours}");
        // Results of another one could not be compared with these.
        assert_eq!(planned["registration"], registration, "{file}");
    }
}

#[test]
fn other_findings_are_not_the_bug() {
    let folder = Folder::new("others");
    let text = TINY.replace("count-bounded", "never-broken").replace("budget = \"20s\"", "executions = 40");
    write(&folder, "tiny.toml", &text.replace("\n[[bug]]\ntarget = \"two-phase-commit\"\nset = { bug = \"commit-on-first-yes\" }\ntier = \"seconds\"\n", ""));
    assert_eq!(folder.run("experiment tiny.toml --out r").status.code(), Some(0));
    let rows = lines(&folder, "r/results.jsonl");
    assert_eq!(rows.len(), 6);
    for row in rows {
        assert_eq!(
            (&row["end"], &row["executions"], &row["others"]),
            (&"censored".into(), &40.into(), &1.into()),
            "{row}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_campaign_that_dies_is_lost() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("lost");
    // Understands everything, and dies as soon as it has work to do.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *\"--executions 0\"*) exec {} \"$@\";; esac\necho 'out of memory' >&2\nkill -9 $$\n",
        env!("CARGO_BIN_EXE_misrule")
    );
    write(&folder, "dies", &script);
    std::fs::set_permissions(folder.path().join("dies"), std::fs::Permissions::from_mode(0o755)).unwrap();
    write(&folder, "tiny.toml", &TINY.replace("tier = ", "program = \"dies\"\ntier = "));
    let output = folder.run("experiment tiny.toml --out r");
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(out.contains("found=6 censored=0 lost=6"), "{out}");
    let rows = lines(&folder, "r/results.jsonl");
    let lost: Vec<&Value> = rows.iter().filter(|row| row["end"] == "lost").collect();
    assert_eq!(lost.len(), 6);
    for row in lost {
        let reason = row["reason"].as_str().unwrap();
        assert!(reason.contains("signal: 9") && reason.contains("out of memory"), "{reason}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_what_is_there() {
    let folder = Folder::new("stop");
    // The second target has no bug now.
    let text = TINY.replace("set = { bug = \"commit-on-first-yes\" }\n", "");
    write(&folder, "tiny.toml", &text.replace("20s", "60s"));
    let mut child = folder
        .command("experiment tiny.toml --out r")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The first target's rows come within milliseconds.
    while !std::fs::read_to_string(folder.path().join("r/results.jsonl"))
        .is_ok_and(|text| text.contains('\n'))
    {
        assert!(child.try_wait().unwrap().is_none(), "it ended without a row");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let code = child.wait().unwrap().code();
    let mut out = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut out).unwrap();
    assert_eq!(code, Some(130), "{out}");
    assert!(out.contains("interrupted; goes on with\n  misrule experiment tiny.toml --out r\n"), "{out}");
    assert!(lines(&folder, "r/results.jsonl").iter().all(|row| row["end"] == "found"));
}

//! Checks what linters do not: sizes of files, pages, manifests, and the boundaries of ARCHITECTURE.md.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines of a Rust file.
const LINES_MAX: usize = 500;

/// Folders that are not ours to check.
const SKIPPED: [&str; 4] = ["target", "runs", ".git", "node_modules"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// All files with one of these endings: path from the root, and text.
fn files(endings: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)) {
                let from_root = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.insert(from_root, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// Fails with one line for each problem.
fn none(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// The lines of a page that are not inside a fenced block.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

#[test]
fn rust_files_are_short() {
    let mut problems = Vec::new();
    for (path, text) in files(&["rs"]) {
        let lines = text.lines().count();
        if lines > LINES_MAX {
            problems.push(format!("{path}: {lines} lines"));
        }
    }
    none(&problems);
}

#[test]
fn pages_have_one_title_and_links_that_resolve() {
    let pages = files(&["md"]);
    let mut problems = Vec::new();
    for (path, text) in &pages {
        let titles = prose(text).filter(|line| line.starts_with("# ")).count();
        if titles != 1 {
            problems.push(format!("{path}: {titles} titles"));
        }
        for link in prose(text).flat_map(|line| line.split("](").skip(1)) {
            let Some((link, _)) = link.split_once(')') else { continue };
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if link.contains("://") {
                continue;
            }
            let folder = Path::new(path).parent().unwrap();
            let file = if file.is_empty() { PathBuf::from(path) } else { folder.join(file) };
            if !root().join(&file).exists() {
                problems.push(format!("{path}: link to {link}, which is not there"));
            } else if !anchor.is_empty() && !anchors(&pages[&*file.to_string_lossy()]).any(|a| a == anchor) {
                problems.push(format!("{path}: link to {link}: no such heading"));
            }
        }
    }
    none(&problems);
}

/// The anchors that headings get.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    prose(page).filter(|line| line.starts_with('#')).map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        heading.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
    })
}

#[test]
fn manifests_name_the_licence() {
    let manifests = files(&["toml"]).into_iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
    let lacking = manifests.filter(|(_, text)| {
        text.contains("[package]")
            && !text.contains("license.workspace = true")
            && !text.contains("license = \"MIT OR Apache-2.0\"")
    });
    none(&lacking.map(|(path, _)| format!("{path}: no licence")).collect::<Vec<_>>());
}

#[test]
fn no_paths_of_one_machine() {
    let mut problems = Vec::new();
    let private = ["/home/", "/root/", "/Users/", "/work/", "C:\\"];
    for (path, text) in files(&["rs", "md", "toml", "schedule", "json", "jsonl", "html", "csv", "txt", "py"])
    {
        for (at, line) in text.lines().enumerate() {
            // A test of how paths are normalised needs one.
            let example = line.contains("/home/x/") || path.ends_with("tests/tidy.rs");
            if !example && private.iter().any(|private| line.contains(private)) {
                problems.push(format!("{path}:{}: {line}", at + 1));
            }
        }
    }
    none(&problems);
}

#[test]
fn models_say_what_they_leave_out() {
    let mut models = 0;
    let mut problems = Vec::new();
    for (path, text) in files(&["rs"]) {
        let is_model = text.lines().any(|line| line.starts_with("impl") && line.contains("Model for "));
        if is_model && path.contains("src/") && !path.ends_with("fixtures.rs") {
            models += 1;
            let said =
                text.lines().any(|line| line.starts_with("//! #") && line.contains("this model leaves out"));
            if !said {
                problems.push(format!("{path}: no section `What this model leaves out`"));
            }
        }
    }
    assert!(models >= 3, "only {models} models found");
    none(&problems);
}

#[test]
fn boundaries_hold() {
    let mut problems = Vec::new();
    let pure = [
        "fuzzer/world/src/",
        "fuzzer/executor/src/",
        "fuzzer/engine/src/",
        "fuzzer/report/src/",
        "fuzzer/history/src/",
        "fuzzer/statistics/src/",
        "models/src/",
    ];
    let outside = ["std::fs", "std::net", "std::process", "std::env", "Instant::now", "SystemTime::now"];
    for (path, text) in files(&["rs"]) {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            if pure.iter().any(|start| path.starts_with(start))
                && outside.iter().any(|word| line.contains(word))
            {
                problems.push(format!("{path}: does input or output, or reads the clock: {line}"));
            }
            let libafl = line.contains("libafl::") || line.contains("libafl_bolts::");
            if libafl && !path.starts_with("fuzzer/engine/src/afl/") && !path.ends_with("tests/tidy.rs") {
                problems.push(format!("{path}: names LibAFL: {line}"));
            }
        }
    }
    let allowed = [
        ("models", &[][..]),
        ("fuzzer/report", &[]),
        ("fuzzer/history", &[]),
        ("fuzzer/statistics", &[]),
        ("fuzzer/world", &["misrule-history", "misrule-models"]),
        ("fuzzer/engine", &["misrule-edges", "misrule-models", "misrule-world"]),
        ("fuzzer/edges", &[]),
    ];
    for (package, allowed) in allowed {
        let manifest = std::fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        let (_, dependencies) = manifest.split_once("[dependencies]").unwrap();
        let dependencies = dependencies.split("\n[").next().unwrap();
        for line in dependencies.lines().filter(|line| line.starts_with("misrule")) {
            let name = line.split(['.', ' ', '=']).next().unwrap();
            if !allowed.contains(&name) {
                problems.push(format!("{package} depends on {name}"));
            }
        }
    }
    none(&problems);
}

#[test]
fn the_example_in_contributing_is_the_one_that_is_built() {
    let page = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let (_, block) = page.split_once("```rust\n").expect("a block of Rust");
    let (block, _) = block.split_once("```").unwrap();
    let built = include_str!("../examples/ping-pong.rs");
    assert!(block == built, "CONTRIBUTING.md and adapters/examples/ping-pong.rs differ");
}

/// What `misrule WORDS --help` prints, or nothing where it refuses.
fn help(words: &[&str]) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_misrule")).args(words).arg("--help").output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// The lines of a page's shell blocks.
fn shell(page: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        if fence {
            inside = line.ends_with("```sh") || line.ends_with("```console");
        }
        inside && !fence
    })
}

/// The commands of ours that stand on a page, each as words behind the program's name.
fn commands(page: &str) -> Vec<Vec<&str>> {
    let spans = prose(page).flat_map(|line| line.split('`').skip(1).step_by(2));
    let lines = shell(page).map(|line| line.trim().trim_start_matches("$ "));
    let all = spans.chain(lines).filter_map(|text| {
        let text = text.split(" #").next().unwrap_or(text);
        let behind_dashes = || text.strip_prefix("cargo run").and_then(|text| text.split_once(" -- "));
        text.strip_prefix("misrule ").or_else(|| behind_dashes().map(|(_, text)| text))
    });
    all.map(|text| text.split_whitespace().collect()).collect()
}

#[test]
fn commands_on_the_pages_exist() {
    let mut problems = Vec::new();
    let mut checked = 0;
    for (path, text) in files(&["md"]).into_iter().filter(|(path, _)| path != "docs/formats.md") {
        for words in commands(&text) {
            // A line of output, such as the program's version.
            if words[0].starts_with(|c: char| c.is_ascii_digit()) || words[0] == "schedule" {
                continue;
            }
            let depth = if ["model", "lens"].contains(&words[0]) { 2 } else { 1 };
            let Some(help) = help(&words[..depth.min(words.len())]) else {
                problems.push(format!("{path}: no command `{}`", words.join(" ")));
                continue;
            };
            checked += 1;
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let option = option.split('=').next().unwrap_or(option);
                if !help.split(|c: char| c.is_whitespace() || c == ',').any(|word| word == option) {
                    problems.push(format!("{path}: `{}` has no option {option}", words.join(" ")));
                }
            }
        }
    }
    assert!(checked >= 15, "only {checked} commands found");
    none(&problems);
}

#[test]
fn the_schedule_on_the_page_about_formats_is_canonical() {
    use misrule::world::{Argument, DrawName, KeyedValues, Operation, Vocabulary, text};
    let page = std::fs::read_to_string(root().join("docs/formats.md")).unwrap();
    let (_, block) = page.split_once("```schedule\n").expect("an example");
    let (block, _) = block.split_once("```").unwrap();
    let operation = |name, argument| Operation { name, argument, weight: 1 };
    let vocabulary = Vocabulary {
        nodes: 3,
        kinds: vec!["HeartbeatRequest", "AcceptSync", "Prepare", "Promise"],
        timers: vec!["tick"],
        locals: vec!["flush"],
        operations: vec![
            operation("append", Argument::Fresh),
            operation("read", Argument::None),
            operation("transfer", Argument::Peer),
            operation("put", Argument::Keyed { keys: 2, values: KeyedValues::Fresh }),
            operation("cas", Argument::Keyed { keys: 2, values: KeyedValues::FromTo }),
        ],
        draws: vec![DrawName { name: "backoff", below: 10 }],
        sessions: 2,
        ..Vocabulary::default()
    };
    let (header, body) = text::parse_header(block).unwrap();
    let file = text::parse_body(header, body, &vocabulary).unwrap();
    assert_eq!(text::print(&file, &vocabulary), block);
}

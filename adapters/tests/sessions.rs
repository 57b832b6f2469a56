//! Runs the sessions in the Markdown pages: what stands in a `console` block behind `$ misrule …` must print
//! what follows it.
//!
//! A line `...` stands for any lines, `…` inside a line for any text, and numbers stand for any numbers: figures
//! and hashes on a page are real, but the next build may show others. White space is not compared, since columns
//! move with the figures.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

const PAGES: [&str; 3] = ["README.md", "CONTRIBUTING.md", "docs/kv.md"];

/// A command and the lines that it must print.
struct Session<'a> {
    command: &'a str,
    expected: Vec<&'a str>,
}

/// The sessions of a page that call one of our programs, in the order of the page.
fn sessions(page: &str) -> Vec<Session<'_>> {
    let mut sessions: Vec<Session<'_>> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            sessions.push(Session { command, expected: Vec::new() });
        } else if let Some(session) = sessions.last_mut().filter(|_| inside) {
            session.expected.push(line);
        }
    }
    sessions.retain(|s| s.command.starts_with("misrule ") || s.command.starts_with("ping-pong "));
    sessions
}

/// The line with numbers and hashes replaced, and its white space made single.
fn normal(line: &str) -> String {
    let mut out = String::new();
    let mut run = String::new();
    for c in line.split_whitespace().collect::<Vec<_>>().join(" ").chars().chain(['\n']) {
        if c.is_ascii_digit() || matches!(c, 'a'..='f' | ',' | '.') {
            run.push(c);
            continue;
        }
        if run.contains(|c: char| c.is_ascii_digit()) {
            out.push('#');
            out.push_str(&run[run.trim_end_matches([',', '.']).len()..]);
        } else {
            out.push_str(&run);
        }
        run.clear();
        out.push(c);
    }
    out.trim_end().to_owned()
}

/// Whether `line` fits `pattern`, in which `…` stands for any text.
fn fits(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('…') else { return pattern == line };
    let Some(line) = line.strip_prefix(start) else { return false };
    (0..=line.len()).filter(|at| line.is_char_boundary(*at)).any(|at| fits(rest, &line[at..]))
}

/// Whether all of `lines` fit `patterns`, in which `...` stands for any lines.
fn all_fit(patterns: &[String], lines: &[String]) -> bool {
    match patterns.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => (0..=lines.len()).any(|at| all_fit(rest, &lines[at..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, lines)| fits(first, line) && all_fit(rest, lines))
        }
    }
}

/// Normal forms, without blank lines.
fn normal_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    lines.map(normal).filter(|line| !line.is_empty()).collect()
}

/// A search path on which our programs come first.
fn search_path() -> std::ffi::OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_misrule"));
    let folder = program.parent().unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let ours: [PathBuf; 2] = [folder.to_owned(), folder.join("examples")];
    std::env::join_paths(ours.into_iter().chain(std::env::split_paths(&others))).unwrap()
}

#[test]
fn sessions_print_what_the_pages_show() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for page in PAGES {
        let name = format!("misrule-sessions-{}-{}", std::process::id(), page.replace('/', "-"));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        let sessions = sessions(&text);
        assert!(!sessions.is_empty(), "{page} has no session");
        for Session { command, expected } in sessions {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).env("PATH", search_path()).current_dir(&folder);
            let output = shell.env_remove("CLICOLOR_FORCE").output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                all_fit(&normal_lines(expected.iter().copied()), &normal_lines(printed.lines())),
                "{page}: `{command}` should print\n{}\nand printed\n{printed}\n{errors}",
                expected.join("\n")
            );
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn numbers_and_ellipses_stand_for_others() {
    assert_eq!(normal("from 4,414 to 29 steps,  run-1f3a."), "from # to # steps, run-#.");
    assert!(fits("replay misrule … x", "replay misrule replay a/b x") && !fits("a…", "ba"));
    let lines = |text: &str| normal_lines(text.lines());
    assert!(all_fit(&lines("a\n...\nc"), &lines("a\nb\n\nb\nc")));
    assert!(!all_fit(&lines("a\n...\nc"), &lines("a\nb\nc\nd")));
}

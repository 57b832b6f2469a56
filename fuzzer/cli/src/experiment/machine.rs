//! Where an experiment ran, and whether its file was committed before.

use super::Experiment;
use crate::build;
use crate::clock;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::process::Command;

/// One invocation: a line of `environment.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) start: String,
    pub(crate) command: String,
    pub(crate) file: String,
    /// What git says of the file: `committed`, `changed since its commit`, `not committed`, `unknown: no git`.
    pub(crate) file_state: String,
    /// The commit that last changed the file.
    pub(crate) file_commit: Option<String>,
    pub(crate) registration: String,
    pub(crate) build: String,
    pub(crate) workers: usize,
    /// Whether campaigns are bound to cores.
    pub(crate) pinned: bool,
    pub(crate) cores: usize,
    pub(crate) machine: String,
    pub(crate) kernel: String,
    pub(crate) load: Option<f64>,
    /// What was asked for, defaults filled in.
    pub(crate) experiment: Experiment,
}

impl Record {
    /// What is known before the first campaign.
    pub(crate) fn now(
        experiment: &Experiment,
        file: &Path,
        command: String,
        workers: usize,
        pinned: bool,
    ) -> Self {
        let (file_state, file_commit) = committed(file);
        Self {
            start: clock::utc(clock::since_1970()),
            command,
            file: file.display().to_string(),
            file_state,
            file_commit,
            registration: experiment.registration(),
            build: build::version(),
            workers,
            pinned,
            cores: cores().len(),
            machine: processor(),
            kernel: first_line("/proc/sys/kernel/osrelease")
                .unwrap_or_else(|| std::env::consts::OS.to_owned()),
            load: load(),
            experiment: experiment.clone(),
        }
    }
}

/// The numbers of the cores that this process may use.
pub(crate) fn cores() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cores = list.map(|list| parse_cores(list.trim())).unwrap_or_default();
    if cores.is_empty() {
        (0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get)).collect()
    } else {
        cores
    }
}

/// `0-2,5` as the kernel writes it.
fn parse_cores(list: &str) -> Vec<usize> {
    let ranges = list.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    });
    ranges.flatten().collect()
}

/// Whether there is a program that binds others to cores.
pub(crate) fn can_pin() -> bool {
    Command::new("taskset").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// How many processes want to run, over the last minute.
pub(crate) fn load() -> Option<f64> {
    first_line("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

fn first_line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.lines().next()?.trim().to_owned())
}

/// What git says of a file.
fn committed(file: &Path) -> (String, Option<String>) {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(words).arg("--").args(file.file_name());
        let output = git.output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()
    };
    let Some(changes) = git(&["status", "--porcelain"]) else {
        return ("unknown: no git".to_owned(), None);
    };
    let commit = git(&["log", "-1", "--format=%H"]).map(|text| text.trim().to_owned());
    match (commit.filter(|commit| !commit.is_empty()), changes.trim().is_empty()) {
        (Some(commit), true) => ("committed".to_owned(), Some(commit)),
        (Some(commit), false) => ("changed since its commit".to_owned(), Some(commit)),
        (None, _) => ("not committed".to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_cores;

    #[test]
    fn lists_of_cores_are_read() {
        assert_eq!(parse_cores("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(parse_cores("7"), [7]);
        assert!(parse_cores("").is_empty());
    }
}

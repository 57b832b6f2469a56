//! Where and on what a result was measured.

use std::process::Command;

/// Command, date, machine and commit, one a line.
pub fn place(command: &str) -> String {
    let commit = said("git", &["describe", "--always", "--dirty", "--abbrev=12"]);
    let date = said("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]);
    let compiler = said("rustc", &["--version"]);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    format!(
        "command  {command}\ndate     {date}\nmachine  {model}, {cores} cores, load {load}\ncommit   {commit}\n\
         built    {compiler}\n"
    )
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

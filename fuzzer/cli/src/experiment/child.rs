//! One campaign as a child process.

use super::probe::{Resolved, last_line};
use super::row::{End, Row};
use super::{Budget, machine};
use crate::clock::{self, Stopwatch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A campaign with a budget of time is lost when it takes this much longer, and half of its budget.
const GRACE: Duration = Duration::from_secs(30);
/// A campaign with a budget of executions is lost after so much time.
const TIME_MAX: Duration = Duration::from_hours(1);

/// Which campaign of which cell.
#[derive(Clone, Copy)]
pub(crate) struct Planned<'a> {
    pub(crate) cell: &'a Resolved<'a>,
    pub(crate) campaign: u32,
    pub(crate) seed: u64,
}

/// A campaign that runs.
pub(crate) struct Running<'a> {
    pub(crate) planned: Planned<'a>,
    core: Option<usize>,
    child: Child,
    folder: PathBuf,
    stopwatch: Stopwatch,
    start: String,
    load: Option<f64>,
}

impl<'a> Running<'a> {
    /// Starts it in `folder`, which is its own and where it finds no corpus.
    pub(crate) fn start(planned: Planned<'a>, core: Option<usize>, folder: PathBuf) -> io::Result<Self> {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let program = &planned.cell.program;
        let mut command = match core {
            Some(core) => {
                let mut pinned = Command::new("taskset");
                pinned.arg("--cpu-list").arg(core.to_string()).arg(program);
                pinned
            }
            None => Command::new(program),
        };
        command.args(words(&planned)).args(["--json", "--quiet", "--out", "run"]);
        // Files, so that nobody has to read while it runs.
        command.stdin(Stdio::null()).current_dir(&folder);
        command.stdout(File::create(folder.join("stdout"))?).stderr(File::create(folder.join("stderr"))?);
        let (start, load) = (clock::utc(clock::since_1970()), machine::load());
        Ok(Self {
            planned,
            core,
            child: command.spawn()?,
            folder,
            stopwatch: Stopwatch::start(),
            start,
            load,
        })
    }

    /// Its row once it has ended or hangs; none while it runs.
    pub(crate) fn poll(&mut self, registration: &str) -> io::Result<Option<Row>> {
        let limit = match self.planned.cell.cell.bug.budget.time() {
            Some(time) => time + time / 2 + GRACE,
            None => TIME_MAX,
        };
        let row = match self.child.try_wait()? {
            Some(status) => self.ended(status, registration),
            None if self.stopwatch.elapsed() > limit => {
                self.stop();
                let text = format!("it did not end within {} s", limit.as_secs());
                self.lost(registration, text)
            }
            None => return Ok(None),
        };
        let _ = fs::remove_dir_all(&self.folder);
        Ok(Some(row))
    }

    /// Ends it; there is no row.
    pub(crate) fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn ended(&self, status: ExitStatus, registration: &str) -> Row {
        let read = |name: &str| fs::read(self.folder.join(name)).unwrap_or_default();
        let said: Result<Value, _> = serde_json::from_slice(&read("stdout"));
        match said {
            Ok(said) if matches!(status.code(), Some(0 | 1)) && said["executions"].is_u64() => {
                judged(&self.planned, &said, self.lost(registration, String::new()))
            }
            _ => self.lost(registration, format!("{status}: {}", last_line(&read("stderr")))),
        }
    }

    /// The row of a campaign that says nothing.
    fn lost(&self, registration: &str, reason: String) -> Row {
        let (cell, planned) = (self.planned.cell, &self.planned);
        Row {
            registration: registration.to_owned(),
            bug: cell.cell.bug.name.clone(),
            arm: cell.cell.arm.name.clone(),
            campaign: planned.campaign,
            seed: planned.seed,
            end: End::Lost,
            reason: Some(reason),
            seconds: self.stopwatch.elapsed().as_secs_f64(),
            cpu_seconds: None,
            executions: 0,
            steps: 0,
            steps_returning: 0,
            property: None,
            fingerprint: None,
            steps_execution: None,
            others: 0,
            cells: BTreeMap::new(),
            coverage: Vec::new(),
            target: cell.cell.bug.target.clone(),
            target_version: cell.target_version.clone(),
            build: cell.build.clone(),
            contract: cell.contract.clone(),
            lens: cell.lens.clone(),
            core: self.core,
            load: self.load,
            start: self.start.clone(),
            command: command(planned),
        }
    }
}

/// What `fuzz` is asked, but for the folder.
fn words(planned: &Planned<'_>) -> Vec<String> {
    let mut words = planned.cell.cell.words();
    words.extend(["--seed".to_owned(), planned.seed.to_string()]);
    words.extend(planned.cell.cell.bug.budget.words());
    words
}

/// The command that runs it again, away from any corpus.
fn command(planned: &Planned<'_>) -> String {
    let own = Path::new("misrule").to_owned();
    let program = planned.cell.cell.bug.program.as_ref().map_or(own, PathBuf::from);
    let quoted = |word: &String| crate::findings::quoted(word);
    let words: Vec<String> = words(planned).iter().map(quoted).collect();
    format!("{} {}", crate::findings::quoted(&program.display().to_string()), words.join(" "))
}

/// The row of a campaign that said what it saw; `row` has what does not depend on that.
fn judged(planned: &Planned<'_>, said: &Value, row: Row) -> Row {
    let bug = planned.cell.cell.bug;
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let is_bug = |finding: &&Value| {
        let named = |field: &str| bug.until.iter().any(|name| finding[field] == name.as_str());
        bug.until.is_empty() || named("property") || named("fingerprint")
    };
    let findings = said["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let within = |finding: &&Value| match bug.budget {
        Budget::Milliseconds(time) => finding["seconds_found"]
            .as_f64()
            .is_some_and(|found| Duration::from_secs_f64(found) <= Duration::from_millis(time)),
        Budget::Executions(count) => number(&finding["execution_found"]) <= count,
    };
    let found = findings.iter().find(|finding| is_bug(finding) && within(finding));
    let cells = said["cells"].as_object().into_iter().flatten();
    let coverage = said["coverage"].as_array().into_iter().flatten();
    let sample = |sample: &Value| {
        (number(&sample[0]), number(&sample[1]), sample[2].as_f64().unwrap_or_default(), number(&sample[3]))
    };
    let row = Row {
        reason: None,
        end: End::Censored,
        seconds: said["seconds"].as_f64().unwrap_or_default(),
        cpu_seconds: said["cpu_seconds"].as_f64(),
        executions: number(&said["executions"]),
        steps: number(&said["steps"]),
        steps_returning: number(&said["steps_returning"]),
        others: findings.iter().filter(|finding| !is_bug(finding)).count() as u64,
        cells: cells.map(|(lens, count)| (lens.clone(), number(count))).collect(),
        coverage: coverage.map(sample).collect(),
        ..row
    };
    let Some(found) = found else {
        // The last execution may end beyond the budget: all are censored at the same time.
        return match bug.budget {
            Budget::Milliseconds(time) => Row { seconds: Duration::from_millis(time).as_secs_f64(), ..row },
            Budget::Executions(count) => Row { executions: count, ..row },
        };
    };
    let text = |field: &str| found[field].as_str().map(str::to_owned);
    Row {
        end: End::Found,
        seconds: found["seconds_found"].as_f64().unwrap_or_default(),
        cpu_seconds: found["cpu_seconds_found"].as_f64(),
        executions: number(&found["execution_found"]),
        steps: number(&found["steps_found"]),
        property: text("property"),
        fingerprint: text("fingerprint"),
        steps_execution: found["steps_execution"].as_u64(),
        ..row
    }
}

//! Saves findings: each gets a folder with its schedules, trace, log and page.

use crate::build;
use crate::exit::Error;
use crate::folder::{Folder, write};
use crate::resolve::changed;
use crate::schedules::{self, Loaded};
use crate::shown;
use misrule_engine::{Finding, Replay, replay_recorded};
use misrule_history::specifications::Named;
use misrule_history::{History, Limits, Order};
use misrule_report::{self as report, Field, Step};
use misrule_world::{Header, Run, Schedule, Setup, Target, histories};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// How often a finding is replayed when it is saved.
const REPLAYS: u32 = 3;

/// A saved finding.
pub(crate) struct Saved {
    /// As reports show it.
    pub(crate) report: report::Finding,
    /// Its `finding.json`, without the count.
    pub(crate) json: Value,
}

/// What findings of a campaign share.
pub(crate) struct Saver<'a> {
    pub(crate) target: &'a Target,
    pub(crate) setup: &'a Setup,
    /// The schedules' seed of draws.
    pub(crate) seed: u64,
    pub(crate) corpus: &'a [Loaded<'a>],
    pub(crate) folder: &'a Folder,
    /// The program's name, for commands to paste.
    pub(crate) program: &'a str,
}

impl Saver<'_> {
    /// Replays a finding, writes its folder, and tells what to show.
    pub(crate) fn save(&self, finding: &Finding, number: usize) -> Result<Saved, Error> {
        let recorded = self.recorded(finding);
        let setup = recorded.map_or(self.setup, |entry| &entry.setup);
        let mut run =
            misrule_engine::open(self.target, setup).map_err(|error| Error::Internal(error.to_string()))?;
        let mut header = match recorded {
            Some(entry) => entry.file.header.clone(),
            None => self.header(finding),
        };
        let fingerprint = finding.fingerprint.to_string();
        let schedule = Schedule { choices: finding.minimised.clone(), tail: None };
        let wanted = if recorded.is_some() { None } else { Some(fingerprint.as_str()) };
        let mut replays = Vec::new();
        for at in 0..REPLAYS {
            let keep = at == 0;
            replays.push(replay_recorded(&mut *run, header.seed, &schedule, wanted, keep, &mut |_, _| {}));
        }
        let first = &replays[0];
        let same = |replay: &&Replay| {
            replay.trace_hash == first.trace_hash
                && wanted.is_none_or(|wanted| replay.fingerprint().is_some_and(|f| f.to_string() == wanted))
        };
        let replayed = (replays.iter().filter(same).count() as u32, REPLAYS);
        if recorded.is_none() {
            header.trace_hash = Some(first.trace_hash.clone());
        }
        let history = history(first, &*run)?;
        let name = format!("{number:04}-{}-{}", safe(&finding.failure.property), &fingerprint[..8]);
        let within = Path::new("findings").join(&name);
        let path = self.folder.shown.join(&within).join("minimized.schedule").display().to_string();
        let mut report = self.report(finding, name, &path, first, replayed, &*run, header.seed);
        let specification = history.as_ref().and_then(|history| self.specification(history));
        if let Some(specification) = specification {
            let path = self.folder.shown.join(&within).join(HISTORY).display().to_string();
            let words = format!("{} history {} --spec {}", self.program, quoted(&path), specification.name());
            report.commands.push(("history".to_owned(), words));
        }
        report.settings = setup.settings.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let mut json = finding_json(finding, &report, &path);
        json["specification"] = specification.map(Named::name).into();
        let saved = Saved { report, json };
        let folder = self.folder.path.join(&within);
        write_folder(&folder, finding, header, &*run, &saved)?;
        if let Some(history) = history {
            write(&folder.join(HISTORY), &misrule_history::print(&history))?;
        }
        Ok(saved)
    }

    /// The corpus entry that a finding of the regression replay is about.
    fn recorded(&self, finding: &Finding) -> Option<&Loaded<'_>> {
        let about = |entry: &&Loaded<'_>| entry.path == finding.failure.detail;
        self.corpus.iter().find(about).filter(|_| finding.failure.oracle == "regression")
    }

    /// The specification that the history is of: the target's, unless its clients did something else.
    fn specification(&self, history: &History) -> Option<Named> {
        let limits = Limits { stop_after_steps: 0, expired: &mut || true };
        self.target.specification.filter(|named| named.check(history, Order::RealTime, limits).is_ok())
    }

    fn header(&self, finding: &Finding) -> Header {
        Header {
            target: self.target.name.to_owned(),
            version: self.target.version.to_owned(),
            settings: changed(self.target, &self.setup.settings),
            contract: self.setup.contract.to_string(),
            seed: self.seed,
            expect: schedules::expects(&finding.failure.property, finding.fingerprint),
            trace_hash: None,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "plain values, each used once")]
    fn report(
        &self,
        finding: &Finding,
        name: String,
        path: &str,
        replay: &Replay,
        replayed: (u32, u32),
        run: &dyn Run,
        seed: u64,
    ) -> report::Finding {
        let program = self.program;
        let command = |word: &str| (word.to_owned(), format!("{program} {word} {}", quoted(path)));
        let steps = shown::steps(&replay.trace, run.about().vocabulary);
        report::Finding {
            name,
            oracle: finding.failure.oracle.to_owned(),
            property: finding.failure.property.clone(),
            message: finding.failure.message.clone(),
            fingerprint: finding.fingerprint.to_string(),
            class: finding.class.name().to_owned(),
            evidence: finding.evidence.clone(),
            known: finding.known,
            target: format!("{} {}", self.target.name, self.target.version),
            build: build::version(),
            contract: run.menu().contract.to_string(),
            settings: Vec::new(),
            seed,
            nodes: run.menu().nodes,
            steps_found: finding.found.len(),
            executions_minimise: finding.executions_minimise,
            minimal: finding.minimal,
            replayed,
            violates: replay.failure.as_ref().and(steps.last()).map(|step| step.number),
            steps,
            commands: vec![command("replay"), command("show")],
        }
    }

    /// Writes `finding.json` once more, with the final count, and returns its content.
    pub(crate) fn finish(&self, saved: &Saved, count: u64) -> Result<Value, Error> {
        let mut json = saved.json.clone();
        json["count"] = count.into();
        let folder = self.folder.path.join("findings").join(&saved.report.name);
        write(&folder.join("finding.json"), &pretty(&json))?;
        Ok(json)
    }
}

/// What clients saw, in the folder of a finding.
const HISTORY: &str = "history.jsonl";

/// What the clients of a replay saw; none where the target has no sessions.
fn history(replay: &Replay, run: &dyn Run) -> Result<Option<History>, Error> {
    let vocabulary = run.about().vocabulary;
    if vocabulary.sessions == 0 {
        return Ok(None);
    }
    let events = replay.trace.steps.iter().flat_map(|step| &step.told.clients);
    histories::history(vocabulary, events).map(Some).map_err(|error| Error::Internal(error.to_string()))
}

/// Writes the folder of a finding; the minimised schedule comes last.
fn write_folder(
    folder: &Path,
    finding: &Finding,
    header: Header,
    run: &dyn Run,
    saved: &Saved,
) -> Result<(), Error> {
    fs::create_dir_all(folder)?;
    let found = Header { trace_hash: None, ..header.clone() };
    let schedule = |choices: &[_]| Schedule { choices: choices.to_vec(), tail: None };
    let texts = [
        ("found.schedule", schedules::print(run, found, schedule(&finding.found))),
        ("trace.jsonl", trace_lines(&saved.report.steps)),
        ("log.txt", log_lines(&saved.report.steps)),
        ("finding.html", report::html_page(&saved.report)),
        ("finding.json", pretty(&saved.json)),
        ("minimized.schedule", schedules::print(run, header, schedule(&finding.minimised))),
    ];
    texts.iter().try_for_each(|(name, text)| write(&folder.join(name), text))
}

fn finding_json(finding: &Finding, report: &report::Finding, path: &str) -> Value {
    json!({
        "fingerprint": report.fingerprint,
        "oracle": report.oracle,
        "property": report.property,
        "detail": finding.failure.detail,
        "message": report.message,
        "class": report.class,
        "evidence": report.evidence,
        "known": report.known,
        "count": finding.count,
        "execution_found": finding.execution_found,
        "steps_found": finding.steps_found,
        "steps_execution": report.steps_found,
        "steps_minimized": finding.minimised.len(),
        "executions_minimize": report.executions_minimise,
        "minimal": report.minimal,
        "replayed": report.replayed.0,
        "target": report.target,
        "build": report.build,
        "path": path,
    })
}

/// A property as part of a file name.
fn safe(property: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    property.chars().map(safe).take(60).collect()
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// A JSON value as it stands in a file.
pub(crate) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// One JSON object a step.
fn trace_lines(steps: &[Step]) -> String {
    let fields = |fields: &[Field]| -> Vec<Value> {
        let one = |f: &Field| json!({ "field": f.name, "before": f.before, "after": f.after });
        fields.iter().map(one).collect()
    };
    steps.iter().fold(String::new(), |mut out, step| {
        let line = json!({
            "step": step.number,
            "node": step.node.map(|node| u32::from(node) + 1),
            "choice": step.choice,
            "recovery": step.recovery,
            "effects": step.effects,
            "changes": fields(&step.changes),
            "model": fields(&step.model),
        });
        let _ = writeln!(out, "{line}");
        out
    })
}

/// The target's own log by step and node.
pub(crate) fn log_lines(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        let node = step.node.map_or_else(|| "-".to_owned(), |node| format!("n{}", u32::from(node) + 1));
        for line in &step.log {
            let _ = writeln!(out, "{:>4}  {node:<3} {}", step.number, report::terminal::clean(line));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{quoted, safe};

    #[test]
    fn names_and_paths_are_safe() {
        assert_eq!(safe("a/../b c"), "a____b_c");
        assert_eq!(safe(&"x".repeat(500)).len(), 60);
        assert_eq!(quoted("runs/a-1/x.schedule"), "runs/a-1/x.schedule");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}

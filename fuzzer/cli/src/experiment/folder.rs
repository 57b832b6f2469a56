//! The folder of an experiment: rows, and what was registered. Both only grow.

use super::Experiment;
use super::machine::Record;
use super::row::Row;
use crate::exit::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Rows, one a line.
pub(crate) const RESULTS: &str = "results.jsonl";
/// What each invocation registered and where it ran, one a line.
pub(crate) const ENVIRONMENT: &str = "environment.jsonl";

/// The folder of an experiment.
pub(crate) struct ExperimentFolder {
    /// As shown to people.
    pub(crate) shown: PathBuf,
    pub(crate) path: PathBuf,
}

impl ExperimentFolder {
    /// All rows so far, in the order in which campaigns ended.
    pub(crate) fn rows(&self) -> Result<Vec<Row>, Error> {
        self.read(RESULTS)
    }

    /// One record for each invocation so far.
    pub(crate) fn records(&self) -> Result<Vec<Record>, Error> {
        self.read(ENVIRONMENT)
    }

    pub(crate) fn make(&self) -> Result<(), Error> {
        let problem = |error| Error::Usage(format!("output folder {}: {error}", self.shown.display()));
        fs::create_dir_all(&self.path).map_err(problem)
    }

    pub(crate) fn add_row(&self, row: &Row) -> Result<(), Error> {
        self.append(RESULTS, row)
    }

    pub(crate) fn add_record(&self, record: &Record) -> Result<(), Error> {
        self.append(ENVIRONMENT, record)
    }

    /// The lines of a file. A last line without end was being written when the program was killed; it does not count.
    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, Error> {
        let text = match fs::read_to_string(self.path.join(name)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::Input(format!("{}: {error}", self.shown.join(name).display()))),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().enumerate().filter(|(_, line)| !line.is_empty());
        lines
            .map(|(at, line)| {
                let place = || format!("{}: line {}", self.shown.join(name).display(), at + 1);
                serde_json::from_str(line).map_err(|error| Error::Input(format!("{}, {error}", place())))
            })
            .collect()
    }

    fn append(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let path = self.path.join(name);
        let shown = self.shown.join(name);
        let problem =
            |error: std::io::Error| Error::Write(format!("cannot write {}: {error}", shown.display()));
        cut_torn_line(&path).map_err(problem)?;
        let mut line = serde_json::to_string(value).map_err(|error| Error::Internal(error.to_string()))?;
        line.push('\n');
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(problem)
    }
}

/// Removes a last line without end. The whole file is read only where there is one.
fn cut_torn_line(path: &Path) -> std::io::Result<()> {
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last != [b'\n'] {
        let bytes = fs::read(path)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64)?;
    }
    Ok(())
}

/// What keeps `new` from being an extension of `old`; none where it is one. More campaigns, more bugs and more arms
/// extend; whatever was there before stays as it was.
pub(crate) fn contradiction(old: &Experiment, new: &Experiment) -> Option<String> {
    if new.campaigns < old.campaigns {
        return Some(format!("`campaigns` was {} and is {}", old.campaigns, new.campaigns));
    }
    let fixed = |of: &Experiment| (of.question.clone(), of.seed, of.against.clone());
    let (before, now) = (fixed(old), fixed(new));
    for (name, same) in
        [("question", before.0 == now.0), ("seed", before.1 == now.1), ("against", before.2 == now.2)]
    {
        if !same {
            return Some(format!("`{name}` has changed"));
        }
    }
    let bugs = old.bugs.iter().map(|bug| {
        ("bug", &bug.name, value(bug), new.bugs.iter().find(|now| now.name == bug.name).map(value))
    });
    let arms = old.arms.iter().map(|arm| {
        ("arm", &arm.name, value(arm), new.arms.iter().find(|now| now.name == arm.name).map(value))
    });
    bugs.chain(arms).find_map(|(what, name, before, now)| match now {
        None => Some(format!("{what} `{name}` is gone")),
        Some(now) => difference(&before, &now).map(|text| format!("{what} `{name}`: {text}")),
    })
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

/// The first field in which two objects differ.
fn difference(before: &Value, now: &Value) -> Option<String> {
    let (Some(before), Some(now)) = (before.as_object(), now.as_object()) else { return None };
    let (name, old) = before.iter().find(|(name, old)| now.get(*name) != Some(old))?;
    Some(format!("`{name}` was {old} and is {}", now.get(name).unwrap_or(&Value::Null)))
}

//! `lenses.jsonl`, format 1 (`docs/formats.md`): cells over time, and what each stands for.

use crate::exit::Error;
use misrule_engine::Summary;
use misrule_world::Setup;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The file in a run's folder.
pub(crate) const LENSES: &str = "lenses.jsonl";
/// The format that this build writes, and the newest that it reads.
const FORMAT: u32 = 1;
/// Larger files are none of ours: a hundred samples or so, of at most some hundred facets.
const BYTES_MAX: u64 = 64 << 20;

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Run(Run),
    Sample(Sample),
    Facet(Facet),
}

/// The first line: the run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) format: u32,
    pub(crate) target: String,
    pub(crate) guidance: String,
    /// Lenses by full name; positions here are the `lens` of other lines.
    pub(crate) lens: Vec<String>,
    /// For each lens, keys that were not kept because it was full.
    pub(crate) keys_beyond: Vec<u64>,
    pub(crate) executions: u64,
    /// Executions that could enter cells: those that lenses looked at, and those of the corpus that fed the campaign.
    pub(crate) executions_entering: u64,
    pub(crate) steps: u64,
    /// Steps that the model was asked to follow.
    pub(crate) steps_followed: u64,
    /// Transitions of the model, and how often each was taken.
    pub(crate) transitions: Vec<(String, u64)>,
}

/// How far the run was at some moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) executions: u64,
    pub(crate) steps: u64,
    pub(crate) seconds: f64,
    /// Lens, facet and cells of each facet that has any.
    pub(crate) cells: Vec<(u8, u8, u64)>,
}

/// The cells of a facet at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facet {
    pub(crate) lens: u8,
    /// Its position in its lens.
    #[serde(rename = "facet")]
    pub(crate) number: u8,
    pub(crate) cells: u64,
    /// The median number of executions that entered a cell, and the largest.
    pub(crate) median: u64,
    pub(crate) max: u64,
    /// At position `i`, the cells that `2^i` to `2^(i+1) - 1` executions entered.
    pub(crate) executions: Vec<u64>,
}

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) run: Run,
    /// By growing steps; the last one is the end.
    pub(crate) samples: Vec<Sample>,
    pub(crate) facets: Vec<Facet>,
}

impl Record {
    /// What a campaign has counted.
    pub(crate) fn of(target: &str, guidance: &str, setup: &Setup, summary: &Summary) -> Self {
        let transitions = summary.tally.transitions.iter().map(|(name, n)| ((*name).to_owned(), *n));
        let sample = |sample: &misrule_engine::Sample| Sample {
            executions: sample.executions,
            steps: sample.steps,
            seconds: sample.elapsed.as_secs_f64(),
            cells: sample.cells.iter().map(|((lens, facet), cells)| (*lens, *facet, *cells)).collect(),
        };
        let facets = summary.keys.iter().map(|((lens, facet), keys)| Facet {
            lens: *lens,
            number: *facet,
            cells: keys.cells,
            median: keys.median,
            max: keys.max,
            executions: keys.executions.clone(),
        });
        Self {
            run: Run {
                format: FORMAT,
                target: target.to_owned(),
                guidance: guidance.to_owned(),
                lens: setup.lenses.clone(),
                keys_beyond: summary.keys_beyond.clone(),
                executions: summary.executions,
                executions_entering: summary.executions_entering,
                steps: summary.steps,
                steps_followed: summary.tally.steps_followed,
                transitions: transitions.collect(),
            },
            samples: summary.samples.iter().map(sample).collect(),
            facets: facets.collect(),
        }
    }

    /// The text of the file.
    pub(crate) fn text(self) -> Result<String, Error> {
        let samples = self.samples.into_iter().map(Line::Sample);
        let facets = self.facets.into_iter().map(Line::Facet);
        let mut text = String::new();
        for line in std::iter::once(Line::Run(self.run)).chain(samples).chain(facets) {
            text += &serde_json::to_string(&line).map_err(|error| Error::Internal(error.to_string()))?;
            text.push('\n');
        }
        Ok(text)
    }

    /// Reads the file of a run. `shown` is the folder as people call it.
    pub(crate) fn read(folder: &Path, shown: &Path) -> Result<Self, Error> {
        let place = shown.join(LENSES).display().to_string();
        let missing = |error: std::io::Error| {
            let text = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    "there is none: no folder of a run, or the run was killed before its end".to_owned()
                }
                _ => error.to_string(),
            };
            Error::Input(format!("{place}: {text}"))
        };
        let path = folder.join(LENSES);
        if fs::metadata(&path).map_err(missing)?.len() > BYTES_MAX {
            return Err(Error::Input(format!("{place}: larger than {} MiB", BYTES_MAX >> 20)));
        }
        let bytes = fs::read(&path).map_err(missing)?;
        let text = misrule_world::text::utf8(&bytes).map_err(|error| Error::parse(&place, &error))?;
        Self::parse(text)
            .map_err(|(line, column, text)| Error::Input(format!("{place}:{line}:{column}: {text}")))
    }

    /// Reads the text of a file; an error has line, column and what is wrong there.
    fn parse(text: &str) -> Result<Self, (usize, usize, String)> {
        let mut record = Self::default();
        let mut last = 0;
        for (at, line) in text.lines().enumerate() {
            last = at + 1;
            let wrong = |text: &str| (last, 1, text.to_owned());
            let parsed = serde_json::from_str(line).map_err(|error| {
                let text = error.to_string();
                let text = text.rsplit_once(" at line").map_or(text.as_str(), |(text, _)| text);
                (last, error.column().max(1), text.to_owned())
            })?;
            match parsed {
                Line::Run(run) if at == 0 => record.run = run,
                Line::Run(_) => return Err(wrong("a second line of type `run`")),
                _ if at == 0 => return Err(wrong("the first line must be of type `run`")),
                Line::Sample(sample) => record.samples.push(sample),
                Line::Facet(facet) => record.facets.push(facet),
            }
            record.problem().map_or(Ok(()), |text| Err(wrong(text)))?;
        }
        if record.samples.is_empty() {
            return Err((last + 1, 1, "the file ends before its first sample".to_owned()));
        }
        Ok(record)
    }

    /// What is wrong with what was read last.
    fn problem(&self) -> Option<&'static str> {
        let lenses = self.run.lens.len();
        if self.run.format > FORMAT {
            return Some("a newer misrule has written this");
        }
        if self.run.keys_beyond.len() != lenses {
            return Some("`keys_beyond` and `lens` are not of the same length");
        }
        let strange = |lens: u8| usize::from(lens) >= lenses;
        let in_sample = self.samples.last().is_some_and(|s| s.cells.iter().any(|(lens, ..)| strange(*lens)));
        if in_sample || self.facets.last().is_some_and(|facet| strange(facet.lens)) {
            return Some("there is no lens of that position");
        }
        match &self.samples[..] {
            [.., before, last] if last.steps < before.steps => Some("steps go back"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Facet, Record, Run, Sample};

    fn record() -> Record {
        let run =
            Run { format: 1, lens: vec!["pairs@impl".to_owned()], keys_beyond: vec![0], ..Run::default() };
        let sample = |steps, cells| Sample { steps, cells: vec![(0, 0, cells)], ..Sample::default() };
        let facet = Facet { cells: 5, median: 2, max: 9, executions: vec![1, 2, 1, 1], ..Facet::default() };
        Record { run, samples: vec![sample(10, 2), sample(40, 5)], facets: vec![facet] }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = record().text().unwrap();
        assert_eq!(text.lines().count(), 4);
        assert_eq!(Record::parse(&text), Ok(record()));
    }

    #[test]
    fn the_first_error_is_told_with_its_place() {
        let text = record().text().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let error = |lines: &[&str]| Record::parse(&lines.join("\n")).unwrap_err();
        assert_eq!(error(&[]), (1, 1, "the file ends before its first sample".to_owned()));
        assert_eq!(error(&lines[..1]).0, 2);
        assert_eq!(error(&lines[1..]), (1, 1, "the first line must be of type `run`".to_owned()));
        assert_eq!(error(&[lines[0], lines[0]]).0, 2);
        assert_eq!(error(&[lines[0], lines[2], lines[1]]), (3, 1, "steps go back".to_owned()));
        let strange = lines[3].replace("\"lens\":0", "\"lens\":7");
        assert_eq!(error(&[lines[0], &strange]).2, "there is no lens of that position");
        let newer = lines[0].replace("\"format\":1", "\"format\":2");
        assert_eq!(error(&[&newer]).2, "a newer misrule has written this");
        let cut = &lines[1][..lines[1].len() / 2];
        let (line, column, text) = error(&[lines[0], cut]);
        assert!(line == 2 && column > 1 && text.starts_with("EOF"), "{column} {text}");
        assert!(error(&["{\"type\":\"lens\"}"]).2.contains("unknown variant `lens`"));
    }
}

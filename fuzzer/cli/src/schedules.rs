//! Schedule files: read with their target, replayed, judged, written.

use crate::exit::{DIVERGED, Error, FOUND, OK, UNKNOWN};
use crate::session::Session;
use misrule_engine::{Fingerprint, RecoveryEnd, Replay, Step, replay_recorded};
use misrule_world::text::{self, HeaderLines, ParseError};
use misrule_world::{
    Contract, Expectation, Header, Run, Schedule, ScheduleFile, SettingError, Settings, Setup, Target,
};
use std::path::Path;

/// A schedule that was read, with its target opened as the header says.
pub(crate) struct Loaded<'a> {
    /// The path as given.
    pub(crate) path: String,
    pub(crate) target: &'a Target,
    pub(crate) setup: Setup,
    pub(crate) run: Box<dyn Run>,
    pub(crate) file: ScheduleFile,
}

/// Reads a schedule. Its target must be `only` where that is given.
pub(crate) fn load<'a>(
    session: &Session<'a>,
    path: &Path,
    only: Option<&Target>,
) -> Result<Loaded<'a>, Error> {
    let shown = path.display().to_string();
    let bytes = std::fs::read(session.at(path)).map_err(|error| Error::Input(format!("{shown}: {error}")))?;
    let bad = |error: &ParseError| Error::parse(&shown, error);
    let text = text::utf8(&bytes).map_err(|error| bad(&error))?;
    let (header, body) = text::parse_header(text).map_err(|error| bad(&error))?;
    let lines = body.header_lines().clone();
    let at =
        |line: usize, column: usize, text: &str| Error::Input(format!("{shown}:{line}:{column}: {text}"));
    let target = session.target(&header.target).map_err(|error| at(lines.target, 8, &error.to_string()))?;
    if let Some(only) = only.filter(|only| only.name != target.name) {
        let text = format!("a schedule of target `{}`, not of `{}`", target.name, only.name);
        return Err(at(lines.target, 8, &text));
    }
    let setup = setup_of(target, &header, &lines).map_err(|(line, column, text)| at(line, column, &text))?;
    let run = target.open(&setup).map_err(|error| at(lines.target, 8, &error.to_string()))?;
    let file = text::parse_body(header, body, run.about().vocabulary).map_err(|error| bad(&error))?;
    Ok(Loaded { path: shown, target, setup, run, file })
}

/// What a header opens its target with, or line, column and text of what is wrong.
fn setup_of(target: &Target, header: &Header, lines: &HeaderLines) -> Result<Setup, (usize, usize, String)> {
    let settings = Settings::resolve(&target.settings, &header.settings).map_err(|error| {
        let (SettingError::Unknown { name: wrong, .. } | SettingError::Value { name: wrong, .. }) = &error;
        let position = header.settings.iter().position(|(name, _)| name == wrong).unwrap_or(0);
        (lines.settings.get(position).copied().unwrap_or(lines.target), 5, error.to_string())
    })?;
    let contract = Contract::default()
        .overridden(&header.contract)
        .map_err(|error| (lines.contract, 10, error.to_string()))?;
    Ok(Setup { settings, contract, lenses: Vec::new() })
}

/// What a replay showed, judged by the header.
pub(crate) struct Judged {
    pub(crate) verdict: &'static str,
    pub(crate) code: u8,
    pub(crate) replay: Replay,
    /// What differs from the header, for people.
    pub(crate) notes: Vec<String>,
}

impl Loaded<'_> {
    /// The fingerprint that the header expects.
    pub(crate) fn wanted(&self) -> Option<&str> {
        match &self.file.header.expect {
            Expectation::Fail { fingerprint, .. } => Some(fingerprint),
            Expectation::None | Expectation::Pass => None,
        }
    }

    /// Replays the schedule and judges what it shows by the header.
    pub(crate) fn replay(&mut self, keep: bool, each: &mut dyn FnMut(u32, &Step)) -> Judged {
        let (seed, wanted) = (self.file.header.seed, self.wanted().map(str::to_owned));
        let replay =
            replay_recorded(&mut *self.run, seed, &self.file.schedule, wanted.as_deref(), keep, each);
        self.judge(replay)
    }

    fn judge(&self, replay: Replay) -> Judged {
        let header = &self.file.header;
        let mut notes = Vec::new();
        let other_version = header.version != self.target.version;
        if other_version {
            notes.push(format!(
                "written for {} {}, replayed on {}",
                header.target, header.version, self.target.version
            ));
        }
        let shown = replay.fingerprint().map(|fingerprint| fingerprint.to_string());
        let misfit = replay.skipped > 0;
        if let Some(drift) = self.first_drift(&replay) {
            notes.push(drift);
        } else if misfit {
            notes.push(self.first_misfit(&replay));
        }
        let (mut verdict, mut code) = match (&header.expect, &shown) {
            (Expectation::None, None) if replay.drift.is_empty() => ("pass", OK),
            (_, None) if misfit => ("drift", DIVERGED),
            (_, None) => ("pass", OK),
            (Expectation::Fail { fingerprint, .. }, Some(shown)) if fingerprint != shown => ("other", FOUND),
            (_, Some(_)) => ("fail", FOUND),
        };
        if let (Expectation::Fail { property, fingerprint }, "pass" | "other") = (&header.expect, verdict) {
            notes.push(format!("the header expects {property} ({fingerprint})"));
        }
        if let (None, Some(why)) = (&shown, self.refutes_nothing(&replay)) {
            notes.push(format!("no progress, but a perpetual partition refutes nothing: {why}"));
            if code == OK {
                (verdict, code) = ("unknown", UNKNOWN);
            }
        }
        let as_expected = match &header.expect {
            Expectation::None => true,
            Expectation::Pass => shown.is_none(),
            Expectation::Fail { fingerprint, .. } => shown.as_ref() == Some(fingerprint),
        };
        let recorded = header.trace_hash.as_ref().filter(|recorded| **recorded != replay.trace_hash);
        if let Some(recorded) = recorded {
            notes.push(format!("the trace hash is {}, the header records {recorded}", replay.trace_hash));
            if as_expected && !misfit && !other_version {
                (verdict, code) = ("diverged", DIVERGED);
                notes.push(format!(
                    "same version, other trace: the schedule was edited, the target was changed without a new \
                     version, or it is not deterministic (hash order, a clock, a thread); which step differs \
                     cannot be told from a hash. Next: misrule check {}",
                    self.target.name
                ));
            }
        }
        Judged { verdict, code, replay, notes }
    }

    /// Why a recovery without progress says nothing, where it ended in one.
    fn refutes_nothing(&self, replay: &Replay) -> Option<String> {
        let recovered = replay.recovery.filter(|recovered| recovered.end == RecoveryEnd::Unknown)?;
        let promises =
            self.run.recovery().map(|policy| policy.refusal(recovered.core, self.run.menu().nodes));
        Some(promises.flatten().unwrap_or_else(|| format!("{} promises no progress", self.target.name)))
    }

    /// The line of a choice in the file.
    fn line(&self, at: u32) -> usize {
        self.file.lines.get(at as usize).copied().unwrap_or(at as usize + 1)
    }

    /// The first choice that could not apply, and why.
    fn first_misfit(&self, replay: &Replay) -> String {
        let counted = format!("{} choices could not apply and were skipped", replay.skipped);
        let Some((at, why)) = replay.misfit else { return counted };
        let Some(choice) = self.file.schedule.choices.get(at as usize) else { return counted };
        let choice = text::choice_line(self.run.about().vocabulary, *choice);
        format!("{}:{}: `{choice}`: {why}; {counted}", self.path, self.line(at))
    }

    fn first_drift(&self, replay: &Replay) -> Option<String> {
        let (at, found) = *replay.drift.first()?;
        let choice = *self.file.schedule.choices.get(at as usize)?;
        let (vocabulary, line) = (self.run.about().vocabulary, self.line(at));
        let kind = |kind: u8| vocabulary.kinds.get(usize::from(kind)).copied().unwrap_or("another kind");
        let wanted = choice.slot().map_or("", |slot| kind(slot.kind));
        Some(format!(
            "{}:{line}: drift: `{}` expects {wanted} and finds {}; {} of {} choices did not fit",
            self.path,
            text::choice_line(vocabulary, choice),
            kind(found),
            replay.skipped,
            self.file.schedule.choices.len()
        ))
    }
}

/// The text of a schedule with its header.
pub(crate) fn print(run: &dyn Run, header: Header, schedule: Schedule) -> String {
    let file = ScheduleFile { header, schedule, ..ScheduleFile::default() };
    text::print(&file, run.about().vocabulary)
}

/// The expectation that a replay shows the finding again.
pub(crate) fn expects(property: &str, fingerprint: Fingerprint) -> Expectation {
    Expectation::Fail { property: property.to_owned(), fingerprint: fingerprint.to_string() }
}

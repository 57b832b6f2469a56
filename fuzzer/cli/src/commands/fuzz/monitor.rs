//! Watches a campaign: owns its clock, shows progress, saves findings as they come.

use super::Arguments;
use crate::clock::{Stopwatch, busy_seconds};
use crate::exit::Error;
use crate::findings::{Saved, Saver};
use crate::interrupt;
use crate::session::Session;
use misrule_engine::{Finding, Observer, Progress};
use misrule_report::terminal::{self, grouped};
use serde_json::json;
use std::time::Duration;

/// Between two progress lines on a terminal, where the line is rewritten.
const REWRITE_EVERY: Duration = Duration::from_millis(250);
/// Between two progress lines elsewhere.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// What was seen of a campaign besides its counts.
pub(super) struct Watched {
    /// Seconds since the start.
    pub(super) seconds: f64,
    /// Seconds of processor time since the start, where they can be told.
    pub(super) cpu_seconds: Option<f64>,
    pub(super) saved: Vec<Saved>,
}

/// Time and processor time since the start.
#[derive(Clone, Copy)]
struct Moment {
    seconds: f64,
    cpu_seconds: Option<f64>,
}

pub(super) struct Monitor<'m, 's> {
    session: &'m mut Session<'s>,
    saver: &'m Saver<'m>,
    stopwatch: Stopwatch,
    /// Processor time at the start.
    busy: Option<f64>,
    json: bool,
    quiet: bool,
    next: Duration,
    /// Whether a progress line stands on the terminal.
    drawn: bool,
    saved: Vec<Saved>,
    /// When the execution failed whose finding is being minimised.
    failed: Option<Moment>,
    error: Option<Error>,
}

impl<'m, 's> Monitor<'m, 's> {
    pub(super) fn new(
        session: &'m mut Session<'s>,
        saver: &'m Saver<'m>,
        arguments: &Arguments,
        stopwatch: Stopwatch,
    ) -> Self {
        let next = if session.rewrite { REWRITE_EVERY } else { LINE_EVERY };
        Self {
            session,
            saver,
            stopwatch,
            busy: busy_seconds(),
            json: arguments.json,
            quiet: arguments.quiet,
            next,
            drawn: false,
            saved: Vec::new(),
            failed: None,
            error: None,
        }
    }

    /// What was seen.
    pub(super) fn finish(mut self) -> Result<Watched, Error> {
        let Moment { seconds, cpu_seconds } = self.now();
        self.wipe()?;
        match self.error {
            Some(error) => Err(error),
            None => Ok(Watched { seconds, cpu_seconds, saved: self.saved }),
        }
    }

    fn now(&self) -> Moment {
        let busy = busy_seconds().zip(self.busy).map(|(now, start)| now - start);
        Moment { seconds: self.stopwatch.elapsed().as_secs_f64(), cpu_seconds: busy }
    }

    fn wipe(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.drawn) {
            write!(self.session.err, "\r\u{1b}[K")?;
        }
        Ok(())
    }

    fn draw(&mut self, elapsed: Duration, progress: &Progress) -> Result<(), Error> {
        let line = line(elapsed, progress);
        if self.session.rewrite {
            self.next = elapsed + REWRITE_EVERY;
            self.drawn = true;
            write!(self.session.err, "\r\u{1b}[K{line}")?;
        } else {
            self.next = elapsed + LINE_EVERY;
            writeln!(self.session.err, "{line}")?;
        }
        Ok(self.session.err.flush()?)
    }

    fn show(&mut self, finding: &Finding) -> Result<(), Error> {
        // A finding of the corpus did not fail here; it is found when it is shown.
        let failed = self.failed.take().unwrap_or_else(|| self.now());
        let mut saved = self.saver.save(finding, self.saved.len() + 1)?;
        saved.json["seconds_found"] = failed.seconds.into();
        saved.json["cpu_seconds_found"] = json!(failed.cpu_seconds);
        if !self.json {
            self.wipe()?;
            let text = terminal::finding(&saved.report, self.session.style);
            writeln!(self.session.out, "{text}")?;
            self.session.out.flush()?;
        }
        self.saved.push(saved);
        Ok(())
    }
}

fn line(elapsed: Duration, progress: &Progress) -> String {
    let seconds = elapsed.as_secs();
    let rate = u128::from(progress.executions) * 1000 / elapsed.as_millis().max(1);
    format!(
        "{:02}:{:02}:{:02}  {} executions ({}/s)  {} steps  {} cells  {} kept  last new {} executions ago  \
         {} findings",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        grouped(progress.executions),
        grouped(rate as u64),
        grouped(progress.steps),
        progress.cells,
        progress.kept,
        grouped(progress.executions_since_new),
        progress.findings
    )
}

impl Observer for Monitor<'_, '_> {
    fn elapsed(&mut self) -> Duration {
        self.stopwatch.elapsed()
    }

    fn progress(&mut self, progress: &Progress) -> bool {
        if !self.quiet {
            let elapsed = self.stopwatch.elapsed();
            if elapsed >= self.next {
                // Progress is a service: that nobody can read it is no reason to stop.
                let _ = self.draw(elapsed, progress);
            }
        }
        self.error.is_some() || interrupt::requested()
    }

    fn failed(&mut self) {
        self.failed = Some(self.now());
    }

    fn found(&mut self, finding: &Finding) {
        if self.error.is_none() {
            self.error = self.show(finding).err();
        }
    }
}

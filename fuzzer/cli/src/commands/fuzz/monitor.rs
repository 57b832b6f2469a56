//! Watches a campaign: owns its clock, shows progress, saves findings as they come.

use super::Arguments;
use crate::clock::Stopwatch;
use crate::exit::Error;
use crate::findings::{Saved, Saver};
use crate::interrupt;
use crate::session::Session;
use misrule_engine::{Finding, Observer, Progress};
use misrule_report::terminal::{self, grouped};
use std::time::Duration;

/// Between two progress lines on a terminal, where the line is rewritten.
const REWRITE_EVERY: Duration = Duration::from_millis(250);
/// Between two progress lines elsewhere.
const LINE_EVERY: Duration = Duration::from_secs(10);

pub(super) struct Monitor<'m, 's> {
    session: &'m mut Session<'s>,
    saver: &'m Saver<'m>,
    stopwatch: Stopwatch,
    json: bool,
    quiet: bool,
    next: Duration,
    /// Whether a progress line stands on the terminal.
    drawn: bool,
    saved: Vec<Saved>,
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
            json: arguments.json,
            quiet: arguments.quiet,
            next,
            drawn: false,
            saved: Vec::new(),
            error: None,
        }
    }

    /// Seconds since the start and what was saved.
    pub(super) fn finish(mut self) -> Result<(f64, Vec<Saved>), Error> {
        let elapsed = self.stopwatch.elapsed();
        self.wipe()?;
        match self.error {
            Some(error) => Err(error),
            None => Ok((elapsed.as_secs_f64(), self.saved)),
        }
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
        let saved = self.saver.save(finding, self.saved.len() + 1)?;
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

    fn found(&mut self, finding: &Finding) {
        if self.error.is_none() {
            self.error = self.show(finding).err();
        }
    }
}

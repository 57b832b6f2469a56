//! What a command runs in: targets, streams, folder, style. Tests make their own.

use crate::exit::Error;
use misrule_report::Style;
use misrule_world::Target;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// What a command runs in.
pub(crate) struct Session<'a> {
    /// The registered targets.
    pub(crate) targets: &'a [Target],
    /// Results for people, or the one JSON object.
    pub(crate) out: &'a mut dyn Write,
    /// Progress, warnings, errors.
    pub(crate) err: &'a mut dyn Write,
    /// Relative paths start here.
    pub(crate) folder: PathBuf,
    /// Whether `out` takes colours.
    pub(crate) style: Style,
    /// Whether `err` is a terminal, on which a line may be rewritten.
    pub(crate) rewrite: bool,
    /// This program, for a fresh process; none inside tests.
    pub(crate) program: Option<PathBuf>,
    /// The program's name, for commands to paste.
    pub(crate) name: String,
}

impl<'a> Session<'a> {
    /// The target of that name.
    pub(crate) fn target(&self, name: &str) -> Result<&'a Target, Error> {
        let known = self.targets.iter().map(|target| target.name);
        self.targets
            .iter()
            .find(|target| target.name == name)
            .ok_or_else(|| Error::unknown("target", name, known))
    }

    /// Where a path given by the user is.
    pub(crate) fn at(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// Writes a warning.
    pub(crate) fn warn(&mut self, text: &str) -> Result<(), Error> {
        Ok(writeln!(self.err, "warning: {text}")?)
    }
}

/// Whether standard output takes colours: `NO_COLOR`, then `CLICOLOR_FORCE`, then whether it is a terminal.
pub(crate) fn style(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Style {
    let set = |name| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        Style::Plain
    } else if set("CLICOLOR_FORCE") || terminal {
        Style::Colour
    } else {
        Style::Plain
    }
}

/// Standard output's style in this process.
pub(crate) fn style_here() -> Style {
    style(io::stdout().is_terminal(), |name| std::env::var(name).ok())
}

/// A stream whose reader may go away, as in `misrule show x | head`: what cannot be read is dropped.
pub(crate) struct Quiet<W>(pub(crate) W);

impl<W: Write> Write for Quiet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            result => result,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Quiet, style};
    use misrule_report::Style;
    use std::io::{self, Write};

    #[test]
    fn colours_follow_the_conventions() {
        let with = |terminal, set: &'static [(&str, &str)]| {
            style(terminal, |name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(true, &[]), Style::Colour);
        assert_eq!(with(false, &[]), Style::Plain);
        assert_eq!(with(true, &[("NO_COLOR", "1")]), Style::Plain);
        assert_eq!(with(true, &[("NO_COLOR", "")]), Style::Colour);
        assert_eq!(with(false, &[("CLICOLOR_FORCE", "1")]), Style::Colour);
        assert_eq!(with(false, &[("CLICOLOR_FORCE", "0")]), Style::Plain);
        assert_eq!(with(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), Style::Plain);
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        let mut stream = Quiet(Gone);
        assert!(writeln!(stream, "x").is_ok() && stream.flush().is_ok());
    }
}

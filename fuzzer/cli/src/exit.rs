//! Exit codes, and the errors that end a command.

use misrule_engine::EngineError;
use misrule_world::text::ParseError;
use std::fmt;
use std::io;

/// Finished, nothing found.
pub const OK: u8 = 0;
/// At least one finding: an oracle failed, a model's property does not hold, or a history is not allowed.
pub const FOUND: u8 = 1;
/// Unknown: `--strict` was not satisfied, a model or history was too large to decide, a recovery refutes nothing, or
/// campaigns of an experiment were lost.
pub const UNKNOWN: u8 = 2;
/// A replay diverged: the target is not deterministic, or another version behaves otherwise.
pub const DIVERGED: u8 = 3;
/// Bad command line.
pub const USAGE: u8 = 64;
/// Bad input file, with position.
pub const INPUT: u8 = 65;
/// Internal error: please report it.
pub const INTERNAL: u8 = 70;
/// Interrupted, results saved.
pub const INTERRUPTED: u8 = 130;

/// All codes with their meaning, for the help text.
pub(crate) const HELP: &str = "\
Exit codes:
    0  finished, nothing found
    1  at least one finding
    2  unknown: --strict was not satisfied, a model or history was too large to decide, a core of
       nodes made no progress to which none is promised, or campaigns of an experiment were lost
    3  a replay diverged: nondeterminism, or another version behaves otherwise
   64  bad command line
   65  bad input file, with position
   70  internal error, please report it
  130  interrupted, results saved";

/// Why a command ended without a result.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line asks for something that does not exist. Nothing was run.
    Usage(String),
    /// A file cannot be read; the text begins with its place. Nothing was run.
    Input(String),
    /// Writing failed; what was written before stays.
    Write(String),
    /// A bug of misrule.
    Internal(String),
}

impl Error {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => USAGE,
            Self::Input(_) => INPUT,
            Self::Write(_) | Self::Internal(_) => INTERNAL,
        }
    }

    /// What is wrong with the text of a file, behind its place.
    pub(crate) fn parse(file: &str, error: &ParseError) -> Self {
        let text = error.to_string();
        let text = text.split_once(": ").map_or(text.as_str(), |(_, text)| text);
        Self::Input(format!("{file}:{}:{}: {text}", error.line, error.column))
    }

    /// `unknown THING`, with the nearest known name and the list.
    pub(crate) fn unknown<'a>(thing: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let near = misrule_world::nearest(name, known.iter().copied())
            .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
        let list = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
        Self::Usage(format!("unknown {thing} `{name}`{near}; known: {list}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Input(text) | Self::Write(text) => f.write_str(text),
            Self::Internal(text) => write!(f, "internal error, please report: {text}"),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Setup(_) | EngineError::Guidance(_) => Self::Usage(error.to_string()),
            EngineError::Internal(text) => Self::Internal(text),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Write(format!("cannot write: {error}"))
    }
}

//! What is wrong with a schedule's text, and where.

use crate::vocabulary::nearest;
use std::fmt;

/// Text that is not a schedule, with the place of the first thing that is wrong. Nothing was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What sort of error it is.
    pub kind: ParseErrorKind,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1 in characters.
    pub column: usize,
    /// What would have been right, for people.
    pub expected: String,
    /// What stands there.
    pub found: Found,
    /// The valid word that was perhaps meant.
    pub near: Option<String>,
}

/// Sorts of errors that callers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The text does not begin as a schedule does: some other file.
    NotASchedule,
    /// A schedule of a format that a newer misrule writes.
    NewerFormat {
        /// The format of the text; `u64::MAX` stands for any number beyond.
        number: u64,
    },
    /// The file ends before the header is complete, or inside a line: the end was probably cut off.
    Truncated,
    /// More bytes, settings, choices or comments than are read.
    TooLarge,
    /// Anything else.
    Syntax,
}

/// What stands in the place of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A word, shortened when it is long; control characters are escaped.
    Word(String),
    /// The end of the line, or a comment.
    LineEnd,
    /// The end of the file.
    FileEnd,
    /// More than the limit.
    More,
    /// A byte that is not part of UTF-8 text.
    Byte(u8),
}

/// Longer words are cut in messages.
const FOUND_CHARS_MAX: usize = 40;

impl Found {
    pub(super) fn word(text: &str) -> Self {
        let mut word = String::new();
        for c in text.chars().take(FOUND_CHARS_MAX) {
            if c.is_control() {
                word.extend(c.escape_debug());
            } else {
                word.push(c);
            }
        }
        if text.chars().nth(FOUND_CHARS_MAX).is_some() {
            word.push('…');
        }
        Self::Word(word)
    }
}

impl ParseError {
    /// Fills in the word among `words` that `text` was perhaps meant to be.
    pub(super) fn near<'a>(mut self, text: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        // The distance is quadratic in the length, and nobody means a word this long.
        if text.len() <= 4 * FOUND_CHARS_MAX {
            self.near = nearest(text, words).map(str::to_owned);
        }
        self
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) if word.is_empty() => f.write_str("nothing"),
            Self::Word(word) => write!(f, "`{word}`"),
            Self::LineEnd => f.write_str("the end of the line"),
            Self::FileEnd => f.write_str("the end of the file"),
            Self::More => f.write_str("more"),
            Self::Byte(byte) => write!(f, "the byte 0x{byte:02x}"),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.line, self.column)?;
        match self.kind {
            ParseErrorKind::NewerFormat { .. } => {
                return write!(
                    f,
                    "format {} is newer than this build, which reads {}",
                    // A number needs no quotes, and one beyond 64 bits is shown as it was written.
                    self.found.to_string().trim_matches('`'),
                    self.expected
                );
            }
            ParseErrorKind::NotASchedule => f.write_str("not a misrule schedule: ")?,
            ParseErrorKind::Truncated | ParseErrorKind::TooLarge | ParseErrorKind::Syntax => {}
        }
        write!(f, "expected {}, found {}", self.expected, self.found)?;
        if self.kind == ParseErrorKind::Truncated && self.found != Found::FileEnd {
            f.write_str(" at the end of the file")?;
        }
        self.near.as_ref().map_or(Ok(()), |near| write!(f, " (did you mean `{near}`?)"))
    }
}

impl std::error::Error for ParseError {}

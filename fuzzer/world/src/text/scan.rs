//! Splits text into lines and words that know their place.

use super::error::{Found, ParseError, ParseErrorKind};

/// The text of a file's bytes.
///
/// # Errors
/// Bytes that are not UTF-8, with the place of the first.
pub fn utf8(bytes: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let (good, rest) = bytes.split_at(error.valid_up_to());
        let before = String::from_utf8_lossy(good);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ParseError {
            kind: if error.error_len().is_none() {
                ParseErrorKind::Truncated
            } else {
                ParseErrorKind::Syntax
            },
            line: 1 + before.matches('\n').count(),
            column: 1 + before[line_start..].chars().count(),
            expected: "UTF-8 text".to_owned(),
            found: rest.first().map_or(Found::FileEnd, |byte| Found::Byte(*byte)),
            near: None,
        }
    })
}

/// A cursor over lines.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a> {
    rest: &'a str,
    last: Line<'a>,
}

/// One line, without its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    /// Counted from 1.
    pub(super) number: usize,
    /// Whether the file ends here, without a line end.
    pub(super) is_open: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, last: Line { text: "", number: 0, is_open: false } }
    }

    /// The error for a file that ends where `expected` should stand.
    pub(super) fn ends_before(&self, expected: &str) -> ParseError {
        let (line, column) = if self.last.is_open {
            (self.last.number, 1 + self.last.text.chars().count())
        } else {
            (self.last.number + 1, 1)
        };
        ParseError {
            kind: ParseErrorKind::Truncated,
            line,
            column,
            expected: expected.to_owned(),
            found: Found::FileEnd,
            near: None,
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let number = self.last.number + 1;
        self.last = match self.rest.split_once('\n') {
            Some((text, rest)) => {
                self.rest = rest;
                Line { text: text.strip_suffix('\r').unwrap_or(text), number, is_open: false }
            }
            None => Line { text: std::mem::take(&mut self.rest), number, is_open: true },
        };
        Some(self.last)
    }
}

/// What a line is, before its words are looked at.
pub(super) enum Content<'a> {
    /// A comment from `#` on, or a blank line.
    Comment(&'a str),
    Words(Words<'a>),
}

impl<'a> Line<'a> {
    pub(super) fn content(self) -> Content<'a> {
        let text = self.text.trim();
        if text.is_empty() || text.starts_with('#') {
            Content::Comment(text)
        } else {
            Content::Words(self.words())
        }
    }

    pub(super) fn words(self) -> Words<'a> {
        Words { line: self, at: 0 }
    }

    /// All that stands on the line, as if it were one word.
    pub(super) fn whole(self) -> Word<'a> {
        let start = self.text.len() - self.text.trim_start().len();
        Word { text: self.text.trim(), line: self, start }
    }

    /// The error that something is wrong at the byte `start`, where `found` stands.
    fn error(self, start: usize, found: Found, kind: ParseErrorKind, expected: String) -> ParseError {
        let column = 1 + self.text[..start].chars().count();
        ParseError { kind, line: self.number, column, expected, found, near: None }
    }

    /// The error that the line is one too many of what `expected` names.
    pub(super) fn too_many(self, expected: String) -> ParseError {
        self.error(0, Found::More, ParseErrorKind::TooLarge, expected)
    }
}

/// A word, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    line: Line<'a>,
    start: usize,
}

impl Word<'_> {
    /// The parts before and after the first `separator`.
    pub(super) fn split_once(self, separator: &str) -> Option<(Self, Self)> {
        let (before, after) = self.text.split_once(separator)?;
        let start = self.start + before.len() + separator.len();
        Some((Self { text: before, ..self }, Self { text: after, start, ..self }))
    }

    /// The same without white space around it.
    pub(super) fn trimmed(self) -> Self {
        let start = self.start + self.text.len() - self.text.trim_start().len();
        Self { text: self.text.trim(), start, ..self }
    }

    /// The part after `prefix`, if the word begins with it.
    pub(super) fn strip_prefix(self, prefix: &str) -> Option<Self> {
        let text = self.text.strip_prefix(prefix)?;
        Some(Self { text, start: self.start + prefix.len(), ..self })
    }

    /// The error that the word is not what was expected.
    pub(super) fn error(self, expected: impl Into<String>) -> ParseError {
        let cut_off = self.line.is_open && self.start + self.text.len() == self.line.text.len();
        let kind = if cut_off { ParseErrorKind::Truncated } else { ParseErrorKind::Syntax };
        self.error_of(kind, expected)
    }

    /// The error of that kind.
    pub(super) fn error_of(self, kind: ParseErrorKind, expected: impl Into<String>) -> ParseError {
        self.line.error(self.start, Found::word(self.text), kind, expected.into())
    }

    /// The whole number from `min` to `max` that the word is.
    pub(super) fn number(self, min: u64, max: u64, what: &str) -> Result<u64, ParseError> {
        let number = if is_digits(self.text) { self.text.parse().ok() } else { None };
        number
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| self.error(format!("{what} from {min} to {max}")))
    }
}

pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A cursor over the words of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    line: Line<'a>,
    /// The end of the last word.
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn line(&self) -> Line<'a> {
        self.line
    }

    /// The next word, comments not told apart.
    pub(super) fn next_raw(&mut self) -> Option<Word<'a>> {
        let rest = self.line.text[self.at..].trim_start();
        let start = self.line.text.len() - rest.len();
        let text = rest.split(char::is_whitespace).next().filter(|text| !text.is_empty())?;
        self.at = start + text.len();
        Some(Word { text, line: self.line, start })
    }

    /// The next word; a `#` that no digit follows begins a comment.
    pub(super) fn next(&mut self) -> Option<Word<'a>> {
        let mut ahead = *self;
        let word = ahead.next_raw().filter(|word| !begins_comment(word.text))?;
        *self = ahead;
        Some(word)
    }

    /// The next word, which must be there.
    pub(super) fn need(&mut self, expected: &str) -> Result<Word<'a>, ParseError> {
        self.next().ok_or_else(|| {
            // A `#` that ends the file may be the beginning of a position.
            let at_end = self.line.is_open && ["", "#"].contains(&self.line.text[self.at..].trim());
            let (found, kind) = if at_end {
                (Found::FileEnd, ParseErrorKind::Truncated)
            } else {
                (Found::LineEnd, ParseErrorKind::Syntax)
            };
            self.line.error(self.at, found, kind, expected.to_owned())
        })
    }

    /// The comment that ends the line, if one does; any further word is an error.
    pub(super) fn comment(mut self) -> Result<Option<&'a str>, ParseError> {
        match self.next() {
            Some(word) => Err(word.error("the end of the line")),
            None => Ok(Some(self.line.text[self.at..].trim()).filter(|text| !text.is_empty())),
        }
    }

    /// Any further word is an error, comments included.
    pub(super) fn end(mut self) -> Result<(), ParseError> {
        let Some(word) = self.next_raw() else { return Ok(()) };
        Err(word.error(if begins_comment(word.text) {
            "the end of the line (in the header, a comment has a line of its own)"
        } else {
            "the end of the line"
        }))
    }
}

/// Whether a word begins a comment at the end of a line; `#2` is a position.
fn begins_comment(word: &str) -> bool {
    word.strip_prefix('#').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

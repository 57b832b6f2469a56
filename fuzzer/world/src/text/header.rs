//! Reads what stands above the choices.

use super::error::{ParseError, ParseErrorKind};
use super::scan::{Content, Line, Lines, Word, Words, is_digits};
use super::{FORMAT, LIMITS, Limits};
use crate::contract::{Contract, ContractError};
use crate::schedule::{Comment, CommentPlace, Expectation, Header};

const MAGIC: &str = "misrule schedule";

/// What follows the header: not read yet, because its words depend on the target.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    pub(super) lines: Lines<'a>,
    pub(super) comments: Vec<Comment>,
    pub(super) limits: Limits,
    header_lines: HeaderLines,
}

impl Body<'_> {
    /// Where the lines of the header stand, for errors that only the target can find.
    pub fn header_lines(&self) -> &HeaderLines {
        &self.header_lines
    }
}

/// The lines of a header, counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderLines {
    /// The line of the target.
    pub target: usize,
    /// The line of each setting.
    pub settings: Vec<usize>,
    /// The line of the contract.
    pub contract: usize,
}

/// Reads the header of a schedule, so that its target can be found and opened. A byte order mark in front is
/// skipped. Whether target and settings exist is for the caller to find out.
///
/// # Errors
/// Text that does not begin with a complete header of a known format, or that is too long.
pub fn parse_header(text: &str) -> Result<(Header, Body<'_>), ParseError> {
    parse_header_within(text, LIMITS)
}

pub(super) fn parse_header_within(text: &str, limits: Limits) -> Result<(Header, Body<'_>), ParseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = Lines::new(text);
    let Some(first) = lines.next() else { return Err(lines.ends_before("`misrule schedule 1`")) };
    format_line(first)?;
    if text.len() > limits.bytes {
        return Err(first.too_many(format!("at most {} bytes", limits.bytes)));
    }
    let mut reader = Reader { lines, comments: Vec::new(), limits };
    let mut header = Header::default();
    let mut header_lines = HeaderLines::default();

    let mut words = reader.line("target")?;
    header_lines.target = words.line().number;
    words.need("the name of a target")?.text.clone_into(&mut header.target);
    words.need("the version of the target")?.text.clone_into(&mut header.version);
    words.end()?;
    header_lines.contract = settings(&mut reader, &mut header, &mut header_lines)?;
    let mut words = reader.line("seed")?;
    header.seed = words.need("a seed")?.number(0, u64::MAX, "a seed")?;
    words.end()?;
    if let Some(words) = reader.optional("expect") {
        header.expect = expectation(words)?;
    }
    if let Some(mut words) = reader.optional("trace") {
        header.trace_hash = Some(hash(words.need("the hash of the trace")?)?);
        words.end()?;
    }
    Ok((header, Body { lines: reader.lines, comments: reader.comments, limits, header_lines }))
}

/// Checks the first line.
fn format_line(line: Line<'_>) -> Result<(), ParseError> {
    let mut words = line.words();
    let begins = words.next_raw().is_some_and(|word| word.text == "misrule")
        && words.next_raw().is_some_and(|word| word.text == "schedule");
    if !begins {
        let whole = line.whole();
        // The beginning of the right words and nothing after it: the rest was cut off.
        let cut_off = line.is_open && MAGIC.starts_with(whole.text);
        let kind = if cut_off { ParseErrorKind::Truncated } else { ParseErrorKind::NotASchedule };
        return Err(whole.error_of(kind, format!("`{MAGIC} {FORMAT}`")));
    }
    let format = words.need("a format number")?;
    if !is_digits(format.text) {
        return Err(format.error("a format number"));
    }
    // Beyond 64 bits is newer too.
    let number = format.text.parse().unwrap_or(u64::MAX);
    if number > FORMAT {
        return Err(format.error_of(ParseErrorKind::NewerFormat { number }, format!("format {FORMAT}")));
    }
    if number < FORMAT {
        return Err(format.error(format!("format {FORMAT}")));
    }
    words.end()
}

/// Reads the settings and the contract, and returns the contract's line.
fn settings(
    reader: &mut Reader<'_>,
    header: &mut Header,
    header_lines: &mut HeaderLines,
) -> Result<usize, ParseError> {
    const EXPECTED: &str = "`set` or `contract`";
    loop {
        let mut words = reader.words(EXPECTED)?;
        let word = words.need(EXPECTED)?;
        match word.text {
            "contract" => {
                contract(words.need("the contract")?)?.clone_into(&mut header.contract);
                words.end()?;
                return Ok(words.line().number);
            }
            "set" if header.settings.len() >= reader.limits.settings => {
                return Err(words.line().too_many(format!("at most {} settings", reader.limits.settings)));
            }
            "set" => {
                let whole = words.need("a setting like `nodes=3`")?;
                let (name, value) = whole
                    .split_once("=")
                    .filter(|(name, value)| !name.text.is_empty() && !value.text.is_empty())
                    .ok_or_else(|| whole.error("a setting like `nodes=3`"))?;
                if header.settings.iter().any(|(known, _)| known == name.text) {
                    return Err(name.error("each setting once"));
                }
                words.end()?;
                header.settings.push((name.text.to_owned(), value.text.to_owned()));
                header_lines.settings.push(words.line().number);
            }
            _ => return Err(word.error(EXPECTED).near(word.text, ["set", "contract"])),
        }
    }
}

/// Checks each word of a contract.
fn contract(whole: Word<'_>) -> Result<&str, ParseError> {
    let mut rest = Some(whole);
    while let Some(left) = rest {
        let (part, after) = left.split_once(",").map_or((left, None), |(part, rest)| (part, Some(rest)));
        if part.text.is_empty() || Contract::default().put(part.text).is_none() {
            return Err(part.error("a contract word").near(part.text, Contract::WORDS.iter().copied()));
        }
        rest = after;
    }
    if let Err(ContractError::Contradiction { why, .. }) = Contract::default().overridden(whole.text) {
        return Err(whole.error(format!("a contract that does not contradict itself ({why})")));
    }
    Ok(whole.text)
}

fn expectation(mut words: Words<'_>) -> Result<Expectation, ParseError> {
    let word = words.need("`pass` or `fail`")?;
    let expect = match word.text {
        "pass" => Expectation::Pass,
        "fail" => Expectation::Fail {
            property: words.need("the property that fails")?.text.to_owned(),
            fingerprint: hash(words.need("the fingerprint of the finding")?)?,
        },
        _ => return Err(word.error("`pass` or `fail`").near(word.text, ["pass", "fail"])),
    };
    words.end()?;
    Ok(expect)
}

fn hash(word: Word<'_>) -> Result<String, ParseError> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if word.text.len() == 16 && word.text.bytes().all(is_hex) {
        Ok(word.text.to_owned())
    } else {
        Err(word.error("16 hex digits (0-9, a-f)"))
    }
}

/// The lines of a header, comments put aside.
struct Reader<'a> {
    lines: Lines<'a>,
    comments: Vec<Comment>,
    limits: Limits,
}

impl<'a> Reader<'a> {
    /// The next line that is no comment.
    fn words(&mut self, expected: &str) -> Result<Words<'a>, ParseError> {
        loop {
            let Some(line) = self.lines.next() else { return Err(self.lines.ends_before(expected)) };
            match line.content() {
                Content::Words(words) => return Ok(words),
                Content::Comment("") => {}
                Content::Comment(_) if self.comments.len() >= self.limits.choices => {
                    return Err(line.too_many(format!("at most {} comments", self.limits.choices)));
                }
                Content::Comment(text) => {
                    let text = text.to_owned();
                    self.comments.push(Comment { after: 0, place: CommentPlace::OwnLine, text });
                }
            }
        }
    }

    /// The rest of the next line, which must begin with `keyword`.
    fn line(&mut self, keyword: &str) -> Result<Words<'a>, ParseError> {
        let expected = format!("`{keyword}`");
        let mut words = self.words(&expected)?;
        let word = words.need(&expected)?;
        if word.text == keyword { Ok(words) } else { Err(word.error(expected).near(word.text, [keyword])) }
    }

    /// The rest of the next line if it begins with `keyword`; else nothing is read.
    fn optional(&mut self, keyword: &str) -> Option<Words<'a>> {
        let mut ahead = Reader { lines: self.lines.clone(), comments: Vec::new(), limits: self.limits };
        let mut words = ahead.words(keyword).ok()?;
        words.next().filter(|word| word.text == keyword)?;
        self.lines = ahead.lines;
        self.comments.append(&mut ahead.comments);
        Some(words)
    }
}

//! Reads choices.

use super::error::ParseError;
use super::header::{Body, parse_header};
use super::profile;
use super::scan::{Content, Word, Words};
use crate::choice::{Choice, ChoiceKind, Slot};
use crate::clients::NO_SESSION;
use crate::disk::DiskOutcome;
use crate::keep::Keep;
use crate::recovery::CORE_NODES_MAX;
use crate::schedule::{Comment, CommentPlace, Header, ScheduleFile, Tail};
use crate::vocabulary::{Argument, Keyed, KeyedValues, Vocabulary};
use misrule_models::NodeId;

/// Reads a schedule whose target is known: [`parse_header`] and [`parse_body`] in one.
///
/// # Errors
/// Text that is not a schedule over this vocabulary, with the place of the first error. Nothing is read.
pub fn parse(text: &str, vocabulary: &Vocabulary) -> Result<ScheduleFile, ParseError> {
    let (header, body) = parse_header(text)?;
    parse_body(header, body, vocabulary)
}

/// Reads the choices below a header, in the words of its target.
///
/// # Errors
/// A line that is not a choice over this vocabulary, or text after the tail.
pub fn parse_body(
    header: Header,
    body: Body<'_>,
    vocabulary: &Vocabulary,
) -> Result<ScheduleFile, ParseError> {
    let Body { mut lines, comments, limits, .. } = body;
    let mut file = ScheduleFile { header, comments, ..ScheduleFile::default() };
    // The one blank line that sets the header apart is not kept, because it is always written.
    let mut ahead = lines.clone();
    if ahead.next().is_some_and(|line| line.text.trim().is_empty()) {
        lines = ahead;
    }
    for line in lines {
        match line.content() {
            Content::Comment(text) => keep_comment(&mut file, CommentPlace::OwnLine, text),
            Content::Words(words) if matches!(file.schedule.choices.last(), Some(Choice::Recover { .. })) => {
                return Err(first(words)?.error("the end of the file, since a recovery comes last"));
            }
            Content::Words(words) if file.schedule.tail.is_some() && first(words)?.text != "recover" => {
                return Err(first(words)?.error("the end of the file, since the tail comes last"));
            }
            Content::Words(_) if file.schedule.choices.len() >= limits.choices => {
                return Err(line.too_many(format!("at most {} choices", limits.choices)));
            }
            Content::Words(words) => read_line(&mut file, words, vocabulary)?,
        }
        if file.comments.len() > limits.choices {
            return Err(line.too_many(format!("at most {} comments and blank lines", limits.choices)));
        }
    }
    Ok(file)
}

fn keep_comment(file: &mut ScheduleFile, place: CommentPlace, text: &str) {
    let after = file.schedule.choices.len() + usize::from(file.schedule.tail.is_some());
    file.comments.push(Comment { after, place, text: text.to_owned() });
}

/// Reads a line with a choice or the tail.
fn read_line(
    file: &mut ScheduleFile,
    mut words: Words<'_>,
    vocabulary: &Vocabulary,
) -> Result<(), ParseError> {
    let word = first(words)?;
    words.next();
    if word.text == "tail" {
        file.schedule.tail = Some(tail(&mut words)?);
    } else {
        let kind = choice_kind(word)?;
        file.schedule.choices.push(Reader { words: &mut words, vocabulary }.choice(kind)?);
        file.lines.push(words.line().number);
    }
    if let Some(text) = words.comment()? {
        keep_comment(file, CommentPlace::SameLine, text);
    }
    Ok(())
}

fn first(mut words: Words<'_>) -> Result<Word<'_>, ParseError> {
    words.need("a choice")
}

fn choice_kind(word: Word<'_>) -> Result<ChoiceKind, ParseError> {
    if let Some((kind, _)) = ChoiceKind::ALL.iter().find(|(_, known)| *known == word.text) {
        return Ok(*kind);
    }
    if ["misrule", "target", "set", "contract", "seed", "expect", "trace"].contains(&word.text) {
        return Err(word.error("a choice (the header ends above this line)"));
    }
    let known = ChoiceKind::ALL.iter().map(|(_, known)| *known).chain(["tail"]);
    Err(word.error("a choice").near(word.text, known))
}

/// `seed=7 steps=300 faults=default`
fn tail(words: &mut Words<'_>) -> Result<Tail, ParseError> {
    let seed = value(words, "seed=")?.number(0, u64::MAX, "a seed")?;
    let steps = value(words, "steps=")?.number(0, u64::from(u32::MAX), "a number of steps")? as u32;
    let faults = profile::faults(value(words, "faults=")?)?;
    Ok(Tail { seed, steps, faults })
}

/// What follows `key` in the next word.
fn value<'a>(words: &mut Words<'a>, key: &str) -> Result<Word<'a>, ParseError> {
    let expected = format!("`{key}…`");
    let word = words.need(&expected)?;
    match word.split_once("=") {
        Some((found, value)) if key.strip_suffix('=') == Some(found.text) => Ok(value),
        _ => Err(word.error(expected)),
    }
}

/// The form of a key with its values.
fn keyed_form(values: KeyedValues) -> &'static str {
    match values {
        KeyedValues::None => "a key like `k1`",
        KeyedValues::Fresh => "a key and a value like `k1=17`",
        KeyedValues::FromTo => "a key and two values like `k1=3->17`",
    }
}

/// The forms of what a crash keeps.
const KEEP: &str = "a number of units from 0 to 65535, `[0,2-4]` with units up to 30, `all`, `none`, `all-but-2`, `all-but-last-[0,2]` or `torn-last`";

/// Reads the arguments of one choice.
struct Reader<'w, 'a> {
    words: &'w mut Words<'a>,
    vocabulary: &'w Vocabulary,
}

impl<'a> Reader<'_, 'a> {
    fn choice(&mut self, kind: ChoiceKind) -> Result<Choice, ParseError> {
        Ok(match kind {
            ChoiceKind::Deliver => Choice::Deliver(self.slot()?),
            ChoiceKind::Drop => Choice::Drop(self.slot()?),
            ChoiceKind::Duplicate => Choice::Duplicate(self.slot()?),
            ChoiceKind::Timer => {
                let (node, names) = (self.node()?, &self.vocabulary.timers);
                Choice::Timer { node, timer: self.name("a timer", names.iter().copied())? }
            }
            ChoiceKind::Local => {
                let (node, names) = (self.node()?, &self.vocabulary.locals);
                Choice::Local { node, step: self.name("a local step", names.iter().copied())? }
            }
            ChoiceKind::Request => self.request()?,
            ChoiceKind::Crash => self.crash()?,
            ChoiceKind::Restart => Choice::Restart { node: self.node()? },
            ChoiceKind::Cut => {
                let (from, to) = self.link()?;
                Choice::Cut { from, to }
            }
            ChoiceKind::Heal => {
                let (from, to) = self.link()?;
                Choice::Heal { from, to }
            }
            ChoiceKind::Clog => {
                let (from, to) = self.link()?;
                Choice::Clog { from, to }
            }
            ChoiceKind::Unclog => {
                let (from, to) = self.link()?;
                Choice::Unclog { from, to }
            }
            ChoiceKind::Draw => self.draw()?,
            ChoiceKind::Disk => self.disk()?,
            ChoiceKind::Retry => Choice::Retry { node: self.node()?, session: self.session()? },
            ChoiceKind::Abandon => Choice::Abandon { session: self.session()? },
            ChoiceKind::Recover => self.recover()?,
        })
    }

    fn node(&mut self) -> Result<NodeId, ParseError> {
        let expected = self.node_range();
        let word = self.words.need(&expected)?;
        self.node_in(word)
    }

    fn node_range(&self) -> String {
        format!("a node from 1 to {}", self.vocabulary.nodes)
    }

    fn node_in(&self, word: Word<'a>) -> Result<NodeId, ParseError> {
        Ok(word.number(1, u64::from(self.vocabulary.nodes), "a node")? as NodeId - 1)
    }

    /// `1->2`
    fn link(&mut self) -> Result<(NodeId, NodeId), ParseError> {
        const EXPECTED: &str = "a link like `1->2`";
        let word = self.words.need(EXPECTED)?;
        let (from, to) = word.split_once("->").ok_or_else(|| word.error(EXPECTED))?;
        Ok((self.node_in(from)?, self.node_in(to)?))
    }

    /// `1->2 #3 Kind`, without the kind, or without the position.
    fn slot(&mut self) -> Result<Slot, ParseError> {
        let (from, to) = self.link()?;
        let mut ahead = *self.words;
        let at = match ahead.need("a position like `#1` or a message kind")?.strip_prefix("#") {
            Some(number) => {
                *self.words = ahead;
                number.number(1, u64::from(u16::MAX), "a position")? as u16
            }
            None => Slot::FIRST_OF_KIND,
        };
        let mut ahead = *self.words;
        let kind = if at != Slot::FIRST_OF_KIND && ahead.next().is_none() {
            Slot::ANY_KIND
        } else {
            // The number after the last kind's stands for no guard.
            let kinds = self.vocabulary.kinds.iter().take(usize::from(Slot::ANY_KIND));
            self.name("a message kind", kinds.copied())?
        };
        Ok(Slot { from, to, at, kind })
    }

    /// The position of the next word among `names`.
    fn name(
        &mut self,
        expected: &str,
        names: impl Iterator<Item = &'static str> + Clone,
    ) -> Result<u8, ParseError> {
        let word = self.words.need(expected)?;
        names
            .clone()
            .position(|name| name == word.text)
            .and_then(|at| u8::try_from(at).ok())
            .ok_or_else(|| word.error(expected).near(word.text, names))
    }

    fn request(&mut self) -> Result<Choice, ParseError> {
        let (node, operations) = (self.node()?, &self.vocabulary.operations);
        let operation = self.name("an operation", operations.iter().map(|operation| operation.name))?;
        let argument = match operations[usize::from(operation)].argument {
            Argument::None => 0,
            Argument::Fresh => self.number("a value", u64::from(u32::MAX))?,
            Argument::Below(bound) => self.below("a value", bound)?,
            Argument::Peer => {
                let expected = format!("{} other than {}", self.node_range(), node + 1);
                let word = self.words.need(&expected)?;
                let peer = self.node_in(word)?;
                if peer == node {
                    return Err(word.error(expected));
                }
                u32::from(peer)
            }
            Argument::Keyed { keys, values } => self.keyed(keys, values)?,
        };
        let asks = self.vocabulary.sessions > 0 && self.more();
        let session = if asks { self.session()? } else { NO_SESSION };
        Ok(Choice::Request { node, operation, argument, session })
    }

    /// `session=2`
    fn session(&mut self) -> Result<u8, ParseError> {
        let word = value(self.words, "session=")?;
        if self.vocabulary.sessions == 0 {
            return Err(word.error("nothing, since the target has no sessions"));
        }
        Ok(word.number(1, u64::from(self.vocabulary.sessions), "a session")? as u8 - 1)
    }

    /// `k1`, `k1=17` or `k1=3->17`.
    fn keyed(&mut self, keys: u8, values: KeyedValues) -> Result<u32, ParseError> {
        let (expected, max) = (keyed_form(values), u64::from(Keyed::VALUE_MAX));
        let word = self.words.need(expected)?;
        let (name, rest) = match word.split_once("=") {
            Some((name, rest)) => (name, Some(rest)),
            None => (word, None),
        };
        let key = name.strip_prefix("k").ok_or_else(|| word.error(expected))?;
        let Some(last) = u64::from(keys).checked_sub(1) else {
            return Err(word.error("nothing, since there are no keys"));
        };
        let key = key.number(0, last, "a key's number")? as u8;
        let put = |word: Word<'_>| Ok::<_, ParseError>(word.number(1, max, "a value")? as u16);
        let (from, value) = match (values, rest) {
            (KeyedValues::None, None) => (0, 0),
            (KeyedValues::Fresh, Some(rest)) => (0, put(rest)?),
            (KeyedValues::FromTo, Some(rest)) => {
                let (from, to) = rest.split_once("->").ok_or_else(|| word.error(expected))?;
                (from.number(0, max, "a value")? as u16, put(to)?)
            }
            _ => return Err(word.error(expected)),
        };
        Ok(Keyed { key, from, value }.argument())
    }

    /// `2 keep=[0,2-4] at=3`, where both may be missing.
    fn crash(&mut self) -> Result<Choice, ParseError> {
        let node = self.node()?;
        let mut keep = Keep::NONE;
        if self.is_next("keep=") || !self.is_next("at=") && self.more() {
            let word = value(self.words, "keep=")?;
            keep = word.text.parse().map_err(|_| word.error(KEEP))?;
        }
        Ok(match self.at(0, "a number of disk operations")? {
            Some(at) => Choice::CrashAt { node, at, keep },
            None => Choice::Crash { node, keep },
        })
    }

    /// `2 sync-fails at=3`, where the position may be missing.
    fn disk(&mut self) -> Result<Choice, ParseError> {
        let node = self.node()?;
        let word = self.words.need("a disk outcome")?;
        let outcome = DiskOutcome::named(word.text).ok_or_else(|| {
            let known = DiskOutcome::ALL.iter().map(|(_, known)| *known);
            word.error("a disk outcome").near(word.text, known)
        })?;
        let at = self.at(1, "a position among disk operations")?.unwrap_or(1);
        Ok(Choice::Disk { node, outcome, at })
    }

    /// `1,2,3`
    fn recover(&mut self) -> Result<Choice, ParseError> {
        let max = self.vocabulary.nodes.min(CORE_NODES_MAX);
        let mut rest = Some(self.words.need(&format!("nodes from 1 to {max} like `1,2`"))?);
        let mut core = 0;
        while let Some(left) = rest {
            let (part, after) = left.split_once(",").map_or((left, None), |(part, rest)| (part, Some(rest)));
            let bit = 1_u32 << (part.number(1, u64::from(max), "a node")? - 1);
            if core & bit != 0 {
                return Err(part.error("each node once"));
            }
            core |= bit;
            rest = after;
        }
        Ok(Choice::Recover { core })
    }

    /// `at=3`, if anything follows.
    fn at(&mut self, min: u64, what: &str) -> Result<Option<u16>, ParseError> {
        if !self.more() {
            return Ok(None);
        }
        Ok(Some(value(self.words, "at=")?.number(min, u64::from(u16::MAX), what)? as u16))
    }

    fn more(&self) -> bool {
        let mut ahead = *self.words;
        ahead.next().is_some()
    }

    fn is_next(&self, key: &str) -> bool {
        let mut ahead = *self.words;
        ahead.next().is_some_and(|word| word.text.starts_with(key))
    }

    fn draw(&mut self) -> Result<Choice, ParseError> {
        let (node, draws) = (self.node()?, &self.vocabulary.draws);
        let name = self.name("a draw", draws.iter().map(|draw| draw.name))?;
        let value = self.below("a value", draws[usize::from(name)].below)?;
        Ok(Choice::Draw { node, name, value })
    }

    fn below(&mut self, what: &str, bound: u32) -> Result<u32, ParseError> {
        match bound.checked_sub(1) {
            Some(max) => self.number(what, u64::from(max)),
            None => Err(self.words.need(what)?.error("nothing, since no value is below 0")),
        }
    }

    fn number(&mut self, what: &str, max: u64) -> Result<u32, ParseError> {
        Ok(self.words.need(what)?.number(0, max, what)? as u32)
    }
}

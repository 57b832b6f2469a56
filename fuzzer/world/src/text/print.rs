//! Writes schedules.

use super::FORMAT;
use crate::choice::{Choice, Slot};
use crate::clients::NO_SESSION;
use crate::keep::Keep;
use crate::recovery::Core;
use crate::schedule::{Comment, CommentPlace, Expectation, Header, ScheduleFile, Tail};
use crate::vocabulary::{Argument, Keyed, KeyedValues, Vocabulary};
use misrule_models::NodeId;
use std::fmt::Write as _;

/// A schedule as text, in the one canonical form: equal schedules give equal text.
///
/// The text reads back as the same schedule when the words of the header and the vocabulary hold no white
/// space, choices are ones that the vocabulary has, and comments are in order. A comment that would not read
/// back as one gets a `#` in front, so it never becomes a choice.
pub fn print(file: &ScheduleFile, vocabulary: &Vocabulary) -> String {
    let mut out = String::new();
    write_header(&mut out, &file.header);
    let mut comments: Vec<&Comment> = file.comments.iter().collect();
    comments.sort_by_key(|comment| (comment.after, comment.place));
    let mut comments = comments.into_iter().peekable();

    let choices = &file.schedule.choices;
    let is_recovery = |choice: &Choice| matches!(choice, Choice::Recover { .. });
    let explicit = choices.len() - usize::from(choices.last().is_some_and(is_recovery));
    let line = |choice: &Choice| choice_line(vocabulary, *choice);
    // A recovery comes last, behind the tail too.
    let lines = choices[..explicit].iter().map(line).chain(file.schedule.tail.map(tail_line));
    let mut lines = lines.chain(choices[explicit..].iter().map(line)).enumerate().peekable();
    if lines.peek().is_some() || comments.peek().is_some() {
        out.push('\n');
    }
    while let Some(comment) = comments.next_if(|comment| comment.after == 0) {
        write_comment_lines(&mut out, &comment.text);
    }
    for (at, line) in lines {
        out.push_str(&line);
        let is_here = |comment: &&Comment| comment.after == at + 1;
        while let Some(comment) =
            comments.next_if(|comment| is_here(comment) && comment.place == CommentPlace::SameLine)
        {
            write_comment_behind(&mut out, &comment.text);
        }
        out.push('\n');
        while let Some(comment) = comments.next_if(is_here) {
            write_comment_lines(&mut out, &comment.text);
        }
    }
    for comment in comments {
        write_comment_lines(&mut out, &comment.text);
    }
    out
}

fn write_header(out: &mut String, header: &Header) {
    let mut line = |line: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{line}");
    };
    line(format_args!("misrule schedule {FORMAT}"));
    line(format_args!("target {} {}", header.target, header.version));
    for (name, value) in &header.settings {
        line(format_args!("set {name}={value}"));
    }
    line(format_args!("contract {}", header.contract));
    line(format_args!("seed {}", header.seed));
    match &header.expect {
        Expectation::None => {}
        Expectation::Pass => line(format_args!("expect pass")),
        Expectation::Fail { property, fingerprint } => {
            line(format_args!("expect fail {property} {fingerprint}"));
        }
    }
    if let Some(hash) = &header.trace_hash {
        line(format_args!("trace {hash}"));
    }
}

fn tail_line(tail: Tail) -> String {
    format!("tail seed={} steps={} faults={}", tail.seed, tail.steps, tail.faults)
}

/// Comment lines of their own; several when the text holds line ends.
fn write_comment_lines(out: &mut String, text: &str) {
    for line in text.split('\n').map(str::trim) {
        if !line.is_empty() && !line.starts_with('#') {
            out.push_str("# ");
        }
        out.push_str(line);
        out.push('\n');
    }
}

/// A comment at the end of a choice's line.
fn write_comment_behind(out: &mut String, text: &str) {
    let text = text.trim().replace('\n', " ");
    let text = text.strip_prefix('#').unwrap_or(&text);
    // `#2` would be a position.
    out.push_str(if text.starts_with(|c: char| c.is_ascii_digit()) { " # " } else { " #" });
    out.push_str(text);
}

/// One choice as a line of a schedule, without the line end. A number that the vocabulary has no word for is
/// written as `?7`, which does not read back.
pub fn choice_line(vocabulary: &Vocabulary, choice: Choice) -> String {
    let word = choice.kind().word();
    match choice {
        Choice::Deliver(slot) | Choice::Drop(slot) | Choice::Duplicate(slot) => {
            let at = if slot.at == Slot::FIRST_OF_KIND { String::new() } else { format!(" #{}", slot.at) };
            let kind = match slot.kind {
                Slot::ANY_KIND => String::new(),
                kind => format!(" {}", name(&vocabulary.kinds, kind)),
            };
            format!("{word} {}{at}{kind}", arrow(slot.from, slot.to))
        }
        Choice::Timer { node, timer } => {
            format!("{word} {} {}", number(node), name(&vocabulary.timers, timer))
        }
        Choice::Local { node, step } => format!("{word} {} {}", number(node), name(&vocabulary.locals, step)),
        Choice::Request { node, operation, argument, session } => {
            let asks = if session == NO_SESSION { String::new() } else { asking(session) };
            let Some(known) = vocabulary.operations.get(usize::from(operation)) else {
                return format!("{word} {} ?{operation} {argument}{asks}", number(node));
            };
            let argument = match known.argument {
                Argument::None => String::new(),
                Argument::Fresh | Argument::Below(_) => format!(" {argument}"),
                Argument::Peer => format!(" {}", u64::from(argument) + 1),
                Argument::Keyed { values, .. } => format!(" {}", keyed(values, Keyed::of(argument))),
            };
            format!("{word} {} {}{argument}{asks}", number(node), known.name)
        }
        Choice::Retry { node, session } => format!("{word} {}{}", number(node), asking(session)),
        Choice::Abandon { session } => format!("{word}{}", asking(session)),
        Choice::Crash { node, keep } => format!("{word} {}{}", number(node), kept(keep)),
        Choice::CrashAt { node, at, keep } => format!("{word} {}{} at={at}", number(node), kept(keep)),
        Choice::Disk { node, outcome, at } => {
            let at = if at == 1 { String::new() } else { format!(" at={at}") };
            format!("{word} {} {}{at}", number(node), outcome.word())
        }
        Choice::Restart { node } => format!("{word} {}", number(node)),
        Choice::Recover { core } => format!("{word} {}", Core(core)),
        Choice::Cut { from, to }
        | Choice::Heal { from, to }
        | Choice::Clog { from, to }
        | Choice::Unclog { from, to } => format!("{word} {}", arrow(from, to)),
        Choice::Draw { node, name: draw, value } => {
            let unknown = format!("?{draw}");
            let draw = vocabulary.draws.get(usize::from(draw)).map_or(unknown.as_str(), |draw| draw.name);
            format!("{word} {} {draw} {value}", number(node))
        }
    }
}

/// The session that asks, counted from 1.
fn asking(session: u8) -> String {
    format!(" session={}", u16::from(session) + 1)
}

/// A key with its values.
fn keyed(values: KeyedValues, Keyed { key, from, value }: Keyed) -> String {
    match values {
        KeyedValues::None => format!("k{key}"),
        KeyedValues::Fresh => format!("k{key}={value}"),
        KeyedValues::FromTo => format!("k{key}={from}->{value}"),
    }
}

/// What a crash keeps; nothing is not written.
fn kept(keep: Keep) -> String {
    if keep == Keep::NONE { String::new() } else { format!(" keep={keep}") }
}

/// A node as it is written, counted from 1.
fn number(node: NodeId) -> u16 {
    u16::from(node) + 1
}

fn arrow(from: NodeId, to: NodeId) -> String {
    format!("{}->{}", number(from), number(to))
}

fn name(names: &[&'static str], at: u8) -> String {
    names.get(usize::from(at)).map_or_else(|| format!("?{at}"), |name| (*name).to_owned())
}

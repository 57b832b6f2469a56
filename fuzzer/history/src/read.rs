//! The text form of histories: one JSON object a line. `docs/formats.md` describes it.

use crate::{History, Operation, Outcome, Value};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// Larger texts are refused.
pub const BYTES_MAX: usize = 64 << 20;

/// What is wrong with the text of a history. Nothing of it is used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {text}")]
pub struct ReadError {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    /// What was expected, and what stands there.
    pub text: String,
}

/// The fields of one line, in their order, not yet understood.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(6);
                while let Some(name) = map.next_key::<Name<'de>>()? {
                    fields.push((name.0, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A field's name; borrowed where it holds no escape.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// One line, with the place for errors.
struct Line<'a> {
    number: usize,
    text: &'a str,
    fields: Fields<'a>,
}

impl<'a> Line<'a> {
    fn read(number: usize, text: &'a str) -> Result<Self, ReadError> {
        let fields = serde_json::from_str(text).map_err(|error| {
            let at = error.column().saturating_sub(1);
            let before = text.char_indices().take_while(|(offset, _)| *offset < at).count();
            let reason = error.to_string();
            let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
            let text = format!("expected a JSON object: {reason}");
            ReadError { line: number, column: before + 1, text }
        })?;
        let line = Self { number, text, fields };
        for (at, (name, raw)) in line.fields.0.iter().enumerate() {
            if !["process", "type", "f", "key", "value", "error"].contains(&name.as_ref()) {
                let known = "process, type, f, key, value, error";
                return Err(line.error(raw, format!("unknown field `{name}`; expected {known}")));
            }
            if line.fields.0[..at].iter().any(|(other, _)| other == name) {
                return Err(line.error(raw, format!("field `{name}` stands there twice")));
            }
        }
        Ok(line)
    }

    fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.fields.0.iter().find(|(known, _)| known == name).map(|(_, raw)| *raw)
    }

    /// The column of a field's value.
    fn column(&self, raw: &RawValue) -> usize {
        let offset = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.text.char_indices().take_while(|(at, _)| *at < offset).count() + 1
    }

    fn error(&self, raw: &RawValue, text: String) -> ReadError {
        ReadError { line: self.number, column: self.column(raw), text }
    }

    /// A field's value of some type.
    fn get<T: Deserialize<'a>>(&self, name: &str, expected: &str) -> Result<Option<T>, ReadError> {
        let Some(raw) = self.find(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|_| self.error(raw, format!("expected {expected}, found {}", short(raw.get()))))
    }

    fn needed<T: Deserialize<'a>>(&self, name: &str, expected: &str) -> Result<T, ReadError> {
        let missing = || ReadError {
            line: self.number,
            column: self.text.chars().count().max(1),
            text: format!("expected a field `{name}`: {expected}"),
        };
        self.get(name, expected)?.ok_or_else(missing)
    }

    fn value(&self, name: &str) -> Result<Option<Value>, ReadError> {
        let expected = "null, a whole number, a text, true, false or a list of them";
        let Some(json) = self.get::<Json>(name, expected)? else { return Ok(None) };
        let wrong = |found: &str| {
            let text = format!("expected {expected}, found {found}");
            self.find(name).map(|raw| self.error(raw, text))
        };
        Value::from_json(json).map(Some).or_else(|found| wrong(found).map_or(Ok(None), Err))
    }
}

/// The beginning of a text, for messages.
fn short(text: &str) -> String {
    if text.chars().count() <= 40 {
        text.to_owned()
    } else {
        text.chars().take(37).chain("...".chars()).collect()
    }
}

/// Reads a history.
///
/// # Errors
/// The first thing that is wrong, with its place: text that is no JSON, a field that is missing, unknown or of
/// another type, an answer before its question, a question of a client that waits, an answer to another question.
pub fn read(text: &str) -> Result<History, ReadError> {
    if text.len() > BYTES_MAX {
        let text = format!("expected at most {BYTES_MAX} bytes, found {}", text.len());
        return Err(ReadError { line: 1, column: 1, text });
    }
    let mut history = History::new();
    for (at, text) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        if !text.trim().is_empty() {
            history.skip_to(at as u64 + 1);
            event(&mut history, &Line::read(at + 1, text)?)?;
        }
    }
    Ok(history)
}

fn event(history: &mut History, line: &Line<'_>) -> Result<(), ReadError> {
    let process: u64 = line.needed("process", "the client, a whole number from 0")?;
    let kind: Cow<'_, str> = line.needed("type", "`invoke`, `ok`, `fail` or `info`")?;
    let function: Cow<'_, str> = line.needed("f", "the operation's name")?;
    let (key, value) = (line.value("key")?, line.value("value")?);
    let error: Option<Json> = line.get("error", "why it failed")?;
    let at = |name: &str, text: String| ReadError {
        line: line.number,
        column: line.find(name).map_or(1, |raw| line.column(raw)),
        text,
    };
    if kind == "invoke" {
        return history
            .invoke(process, function.into_owned(), key, value.unwrap_or_default())
            .map(|_| ())
            .map_err(|error| at("process", error.to_string().replace("event", "line")));
    }
    let outcome = match &*kind {
        "ok" => Outcome::Ok(value.unwrap_or_default()),
        "fail" => Outcome::Failed {
            error: error.map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned)),
        },
        "info" => Outcome::Unknown,
        other => {
            return Err(at(
                "type",
                format!("expected `invoke`, `ok`, `fail` or `info`, found {}", short(other)),
            ));
        }
    };
    if let Some(open) = history.open(process) {
        let asked = |what: &str| format!("expected the answer to {what} of line {}", open.invoked);
        if open.function != function {
            return Err(at(
                "f",
                format!("{}, found `{}`", asked(&format!("`{}`", open.function)), short(&function)),
            ));
        }
        if key.is_some() && key != open.key {
            return Err(at("key", format!("{}, which asked of another key", asked("the operation"))));
        }
    }
    history.complete(process, outcome).map(|_| ()).map_err(|error| at("process", error.to_string()))
}

/// The column of a field's value in a line of a text that [`read`] accepts; 1 where the field is missing. For errors
/// that a specification finds later ([`Misfit`](crate::Misfit)).
pub fn column(text: &str, line: u64, field: &str) -> usize {
    let number = usize::try_from(line).unwrap_or(usize::MAX);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).lines().nth(number.saturating_sub(1));
    let line = text.and_then(|text| Line::read(number, text).ok());
    line.and_then(|line| line.find(field).map(|raw| line.column(raw))).unwrap_or(1)
}

/// Writes a history; [`read`] gives the same operations again, with events numbered from 1.
///
/// That an operation was abandoned stands behind all other events: it makes no difference to any checker.
pub fn print(history: &History) -> String {
    let mut events: Vec<(u64, String)> = Vec::new();
    for operation in history.operations() {
        events.push((operation.invoked, line(operation, "invoke", &operation.argument, None)));
        match (&operation.outcome, operation.returned) {
            (Outcome::Ok(result), Some(event)) => events.push((event, line(operation, "ok", result, None))),
            (Outcome::Failed { error }, Some(event)) => {
                events.push((event, line(operation, "fail", &operation.argument, error.as_deref())));
            }
            _ => {}
        }
    }
    events.sort_unstable_by_key(|(event, _)| *event);
    events.into_iter().map(|(_, line)| line + "\n").collect()
}

fn line(operation: &Operation, kind: &str, value: &Value, error: Option<&str>) -> String {
    let mut fields = Map::new();
    fields.insert("process".to_owned(), operation.process.into());
    fields.insert("type".to_owned(), kind.into());
    fields.insert("f".to_owned(), (*operation.function).into());
    if let Some(key) = &operation.key {
        fields.insert("key".to_owned(), key.to_json());
    }
    if *value != Value::Nil || kind == "ok" {
        fields.insert("value".to_owned(), value.to_json());
    }
    if let Some(error) = error {
        fields.insert("error".to_owned(), error.into());
    }
    Json::Object(fields).to_string()
}

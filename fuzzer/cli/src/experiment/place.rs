//! Tables of a TOML file, read with the place of what is wrong.

use crate::exit::Error;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file that is being read.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// Its name, for messages.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// `NAME: line 3, column 1: TEXT`; both count from 1, columns in characters.
    pub(super) fn error(&self, at: &Range<usize>, text: &str) -> Error {
        let before = &self.text[..self.text.floor_char_boundary(at.start)];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Error::Input(format!("{}: line {line}, column {column}: {text}", self.name))
    }
}

/// A table all of whose keys are known.
pub(super) struct Table<'a> {
    pub(super) source: Source<'a>,
    /// Where it begins.
    pub(super) at: Range<usize>,
    values: &'a DeTable<'a>,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl<'a> Table<'a> {
    /// Refuses a key that is not among `known`.
    pub(super) fn new(
        source: Source<'a>,
        at: Range<usize>,
        table: &'a DeTable<'a>,
        known: &[&str],
    ) -> Result<Self, Error> {
        let unknown = table.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        if let Some(key) = unknown.min_by_key(|key| key.span().start) {
            let name = key.get_ref();
            let near = misrule_world::nearest(name, known.iter().copied())
                .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            let text = format!("unknown key `{name}`{near}; known: {}", known.join(", "));
            return Err(source.error(&key.span(), &text));
        }
        Ok(Self { source, at, values: table })
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Value<'a>> {
        self.values.iter().find(|(known, _)| known.get_ref() == key).map(|(_, value)| value)
    }

    /// An error at a value.
    pub(super) fn wrong(&self, value: &Value<'_>, text: &str) -> Error {
        self.source.error(&value.span(), text)
    }

    /// A text that is not empty.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, Error> {
        self.get(key).map(|value| self.one_text(key, value)).transpose()
    }

    fn one_text(&self, key: &str, value: &Value<'_>) -> Result<String, Error> {
        match value.get_ref().as_str() {
            Some("") => Err(self.wrong(value, &format!("`{key}` is empty"))),
            Some(text) => Ok(text.to_owned()),
            None => Err(self.wrong(value, &format!("`{key}` must be a text, in quotes"))),
        }
    }

    /// A text that must be there.
    pub(super) fn needed(&self, key: &str, why: &str) -> Result<String, Error> {
        self.must_have(key, why)?;
        Ok(self.text(key)?.unwrap_or_default())
    }

    /// Refuses where the key is not there.
    pub(super) fn must_have(&self, key: &str, why: &str) -> Result<(), Error> {
        let missing = || self.source.error(&self.at, &format!("`{key}` is missing: {why}"));
        self.get(key).map(|_| ()).ok_or_else(missing)
    }

    /// One text or a list of them; a list must not be empty. Says whether it was a list.
    pub(super) fn texts(&self, key: &str) -> Result<Option<(Vec<String>, bool)>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let Some(list) = value.get_ref().as_array() else {
            return Ok(Some((vec![self.one_text(key, value)?], false)));
        };
        if list.is_empty() {
            return Err(self.wrong(value, &format!("`{key}` is an empty list: there would be no cell")));
        }
        let texts = list.iter().map(|value| self.one_text(key, value)).collect::<Result<_, _>>()?;
        Ok(Some((texts, true)))
    }

    /// A whole number, also as a text such as `"1e6"`.
    pub(super) fn count(&self, key: &str) -> Result<Option<(u64, &'a Value<'a>)>, Error> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong = |text: &str| self.wrong(value, &format!("`{key}`: {text}"));
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| wrong("must be a whole number from 0"))?,
            DeValue::String(text) => crate::numbers::count(text).map_err(|error| wrong(&error))?,
            _ => return Err(wrong("must be a whole number")),
        };
        Ok(Some((number, value)))
    }

    /// A list of tables: `[[key]]`.
    pub(super) fn tables(&self, key: &str) -> Result<Vec<(Range<usize>, &'a DeTable<'a>)>, Error> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = |value| self.wrong(value, &format!("`{key}` must be a list of tables: [[{key}]]"));
        let list = value.get_ref().as_array().ok_or_else(|| wrong(value))?;
        let one = |value: &'a Value<'a>| {
            value.get_ref().as_table().map(|table| (value.span(), table)).ok_or_else(|| wrong(value))
        };
        list.iter().map(one).collect()
    }

    /// A table of texts and whole numbers.
    pub(super) fn pairs(&self, key: &str) -> Result<Vec<(String, String)>, Error> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let table = value.get_ref().as_table();
        let table = table
            .ok_or_else(|| self.wrong(value, &format!("`{key}` must be a table: {{ name = \"value\" }}")))?;
        let one = |(name, value): (&Spanned<_>, &'a Value<'a>)| {
            let text = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
                _ => return Err(self.wrong(value, "must be a text or a whole number")),
            };
            Ok((std::borrow::Cow::to_string(name.get_ref()), text))
        };
        table.iter().map(one).collect()
    }
}

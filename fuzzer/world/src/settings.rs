//! Settings of targets: typed, with ranges and defaults.

use crate::vocabulary::nearest;
use std::collections::BTreeMap;
use std::fmt;

/// One setting of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name on the command line.
    pub name: &'static str,
    /// What values it takes.
    pub kind: SettingKind,
    /// One line of help.
    pub help: &'static str,
}

/// What values a setting takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// A whole number in a range, both ends included.
    Integer {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
        /// Value when not set.
        default: u64,
    },
    /// One of some words.
    Words {
        /// The words.
        words: Vec<&'static str>,
        /// Value when not set.
        default: &'static str,
    },
}

impl Setting {
    /// A whole number from `min` to `max`.
    pub fn integer(name: &'static str, min: u64, max: u64, default: u64, help: &'static str) -> Self {
        Self { name, kind: SettingKind::Integer { min, max, default }, help }
    }

    /// One of `words`.
    pub fn words(
        name: &'static str,
        words: Vec<&'static str>,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self { name, kind: SettingKind::Words { words, default }, help }
    }

    /// `on` or `off`.
    pub fn switch(name: &'static str, default: bool, help: &'static str) -> Self {
        Self::words(name, vec!["on", "off"], if default { "on" } else { "off" }, help)
    }

    /// The value when not set.
    pub fn default_value(&self) -> String {
        match &self.kind {
            SettingKind::Integer { default, .. } => default.to_string(),
            SettingKind::Words { default, .. } => (*default).to_owned(),
        }
    }

    /// What values it takes, for people.
    pub fn values(&self) -> String {
        match &self.kind {
            SettingKind::Integer { min, max, .. } => format!("{min}..{max}"),
            SettingKind::Words { words, .. } => words.join("|"),
        }
    }

    fn accepts(&self, value: &str) -> bool {
        match &self.kind {
            SettingKind::Integer { min, max, .. } => {
                value.parse::<u64>().is_ok_and(|value| (*min..=*max).contains(&value))
            }
            SettingKind::Words { words, .. } => words.contains(&value),
        }
    }
}

/// A setting that does not exist or a value that it does not take. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// No setting of that name.
    Unknown {
        /// The name asked for.
        name: String,
        /// The setting that was perhaps meant.
        near: Option<String>,
    },
    /// The setting does not take the value.
    Value {
        /// The setting.
        name: String,
        /// The value asked for.
        value: String,
        /// What values it takes.
        values: String,
        /// The value that was perhaps meant.
        near: Option<String>,
    },
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let near = match self {
            Self::Unknown { name, near } => {
                write!(f, "unknown setting `{name}`")?;
                near
            }
            Self::Value { name, value, values, near } => {
                write!(f, "setting `{name}` does not take `{value}`; it takes {values}")?;
                near
            }
        };
        near.as_ref().map_or(Ok(()), |near| write!(f, " (did you mean `{near}`?)"))
    }
}

impl std::error::Error for SettingError {}

/// The values of all settings of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<&'static str, String>);

impl Settings {
    /// The defaults of `known`, with `given` put over them.
    ///
    /// # Errors
    /// A name that is not known, or a value out of range.
    pub fn resolve(known: &[Setting], given: &[(String, String)]) -> Result<Self, SettingError> {
        let mut values: BTreeMap<_, _> = known.iter().map(|s| (s.name, s.default_value())).collect();
        for (name, value) in given {
            let Some(setting) = known.iter().find(|setting| setting.name == name) else {
                let near = nearest(name, known.iter().map(|setting| setting.name)).map(str::to_owned);
                return Err(SettingError::Unknown { name: name.clone(), near });
            };
            if !setting.accepts(value) {
                let near = match &setting.kind {
                    SettingKind::Words { words, .. } => {
                        nearest(value, words.iter().copied()).map(str::to_owned)
                    }
                    SettingKind::Integer { .. } => None,
                };
                let (name, value) = (name.clone(), value.clone());
                return Err(SettingError::Value { name, value, values: setting.values(), near });
            }
            values.insert(setting.name, value.clone());
        }
        Ok(Self(values))
    }

    /// The value of a whole-number setting.
    ///
    /// # Panics
    /// When the target has no such setting: an error of the adapter.
    pub fn integer(&self, name: &str) -> u64 {
        self.word(name).parse().unwrap_or_else(|_| panic!("setting `{name}` is not a whole number"))
    }

    /// The value of a setting as text.
    ///
    /// # Panics
    /// When the target has no such setting: an error of the adapter.
    pub fn word(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_else(|| panic!("the target declares no setting `{name}`"))
    }

    /// Whether a switch is on.
    ///
    /// # Panics
    /// When the target has no such setting: an error of the adapter.
    pub fn is_on(&self, name: &str) -> bool {
        self.word(name) == "on"
    }

    /// All names and values, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

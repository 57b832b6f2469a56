//! Values of operations: keys, arguments, results.

use serde_json::Value as Json;
use std::fmt;

/// A key, an argument or a result. What JSON can say, without fractions and objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// Nothing: JSON's null, or a value that is not given.
    #[default]
    Nil,
    /// True or false.
    Bool(bool),
    /// A whole number of 64 bits.
    Integer(i64),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Value>),
}

impl Value {
    /// From JSON; the error says what cannot be a value.
    pub(crate) fn from_json(json: Json) -> Result<Self, &'static str> {
        match json {
            Json::Null => Ok(Self::Nil),
            Json::Bool(value) => Ok(Self::Bool(value)),
            Json::Number(number) => {
                number.as_i64().map(Self::Integer).ok_or("a number that is not a whole number of 64 bits")
            }
            Json::String(text) => Ok(Self::Text(text)),
            Json::Array(values) => {
                Ok(Self::List(values.into_iter().map(Self::from_json).collect::<Result<_, _>>()?))
            }
            Json::Object(_) => Err("an object"),
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Nil => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Integer(number) => Json::from(*number),
            Self::Text(text) => Json::String(text.clone()),
            Self::List(values) => values.iter().map(Self::to_json).collect(),
        }
    }
}

impl fmt::Display for Value {
    /// The value as it stands in a history file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(values: Vec<Value>) -> Self {
        Self::List(values)
    }
}

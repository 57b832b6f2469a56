//! Ways: how to reach a place, as a chain of shared segments.
//!
//! Thousands of cells with ways of thousands of choices would not fit into memory one by one. A run that
//! starts from a known way and finds something new stores only what came after it.

use misrule_world::Choice;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A list of choices that shares its beginning with others.
#[derive(Clone, Default)]
pub struct Way {
    last: Option<Arc<Segment>>,
    length: u32,
}

struct Segment {
    parent: Way,
    choices: Box<[Choice]>,
}

impl Way {
    /// The way that consists of `choices` alone.
    pub fn new(choices: &[Choice]) -> Self {
        Self::default().then(choices)
    }

    /// How many choices.
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Whether this is the start.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// This way followed by `choices`.
    #[must_use]
    pub fn then(&self, choices: &[Choice]) -> Self {
        if choices.is_empty() {
            return self.clone();
        }
        let length = self.length + choices.len() as u32;
        Self { last: Some(Arc::new(Segment { parent: self.clone(), choices: choices.into() })), length }
    }

    /// The first `length` choices of this way; all of it when it is shorter.
    #[must_use]
    pub fn cut(&self, length: u32) -> Self {
        let mut way = self.clone();
        while let Some(segment) = way.last.clone() {
            if segment.parent.length < length {
                break;
            }
            way = segment.parent.clone();
        }
        way.length = way.length.min(length);
        way
    }

    /// Appends the choices to `out`.
    pub fn append_to(&self, out: &mut Vec<Choice>) {
        let start = out.len();
        out.resize(start + self.length as usize, Choice::Restart { node: 0 });
        let mut end = self.length as usize;
        let mut at = self.last.as_ref();
        while let Some(segment) = at {
            let from = segment.parent.length as usize;
            // A segment may be longer than what a cut way uses of it.
            out[start + from..start + end].copy_from_slice(&segment.choices[..end - from]);
            end = from;
            at = segment.parent.last.as_ref();
        }
    }

    /// The choices.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        self.append_to(&mut choices);
        choices
    }
}

impl Drop for Segment {
    /// Takes the chain apart in a loop: a chain may be too long for recursion.
    fn drop(&mut self) {
        let mut next = self.parent.last.take();
        while let Some(segment) = next {
            next = Arc::into_inner(segment).and_then(|mut segment| segment.parent.last.take());
        }
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.choices()).finish()
    }
}

impl PartialEq for Way {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.choices() == other.choices()
    }
}

impl Eq for Way {}

impl Hash for Way {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.choices().hash(state);
    }
}

impl Serialize for Way {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.choices().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Way {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Choice>::deserialize(deserializer).map(|choices| Self::new(&choices))
    }
}

#[cfg(test)]
mod tests {
    use super::Way;
    use misrule_world::Choice;

    fn choices(range: std::ops::Range<u8>) -> Vec<Choice> {
        range.map(|node| Choice::Restart { node }).collect()
    }

    #[test]
    fn ways_share_and_cut() {
        let first = Way::new(&choices(0..10));
        let second = first.cut(4).then(&choices(20..25));
        assert_eq!(first.choices(), choices(0..10));
        let mut expected = choices(0..4);
        expected.extend(choices(20..25));
        assert_eq!(second.choices(), expected);
        assert_eq!(second.cut(2).choices(), choices(0..2));
        assert_eq!(second.cut(99), second);
        assert!(second.cut(0).is_empty());
        assert_eq!(second.cut(0).choices(), []);
    }

    #[test]
    fn a_long_chain_is_dropped_without_recursion() {
        let mut way = Way::default();
        for _ in 0..200_000 {
            way = way.then(&choices(0..1));
        }
        assert_eq!(way.len(), 200_000);
    }
}

//! The names that a system uses, so that choices can be small numbers and text can be words.

use misrule_models::NodeId;

/// Timers that a node can have, and local steps: sets of them are 32 bits.
pub const TIMERS_MAX: usize = 32;

/// Names of everything that a choice can refer to. Positions in these lists are the numbers in choices, so
/// new names go to the end. A name is one word of schedule text: no white space, and no `#` in front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// How many nodes, 1 to 64.
    pub nodes: NodeId,
    /// Message kinds.
    pub kinds: Vec<&'static str>,
    /// Timers, at most [`TIMERS_MAX`].
    pub timers: Vec<&'static str>,
    /// How many ticks each timer takes where a system sets it without saying so; 1 where there is no entry. Only
    /// contracts with a clock look at it.
    pub timer_ticks: Vec<u32>,
    /// Local steps (apply lag, snapshot, flush completion), at most [`TIMERS_MAX`].
    pub locals: Vec<&'static str>,
    /// Operations of clients: the workload.
    pub operations: Vec<Operation>,
    /// Random draws inside the target.
    pub draws: Vec<DrawName>,
    /// Sessions of clients, at most 64. With 0, the default, nobody waits for answers.
    pub sessions: u8,
}

/// An operation of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The word in schedules.
    pub name: &'static str,
    /// What its argument is.
    pub argument: Argument,
    /// How often it is asked, relative to the other operations.
    pub weight: u16,
}

/// What an operation's argument is, so that generators can draw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// None; written as nothing.
    None,
    /// A value that no other request of the execution uses.
    Fresh,
    /// A number below the bound.
    Below(u32),
    /// A node other than the one asked, counted from 1 in text.
    Peer,
    /// A key, with none, one or two values; [`Keyed`] says how they share the number.
    Keyed {
        /// Keys are below this.
        keys: u8,
        /// What comes with the key.
        values: KeyedValues,
    },
}

/// What comes with the key of an [`Argument::Keyed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyedValues {
    /// Nothing, as for `get`; in text `k1`.
    None,
    /// A value that no other request of the execution uses, as for `put`; in text `k1=17`.
    Fresh,
    /// A value of recent use (0 stands for none) and a fresh one, as for `cas`; in text `k1=3->17`.
    FromTo,
}

/// The parts of an [`Argument::Keyed`]: the key in the upper 8 bits, then two values of 12 bits, of which the second
/// is fresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keyed {
    /// The key, counted from 0.
    pub key: u8,
    /// The value to compare with, at most [`Keyed::VALUE_MAX`]; 0 stands for none, or for what was never put.
    pub from: u16,
    /// The value to put, at most [`Keyed::VALUE_MAX`]; 0 where the operation has none. Once an execution has used up
    /// all, the last is put again and again.
    pub value: u16,
}

impl Keyed {
    /// The largest value.
    pub const VALUE_MAX: u16 = (1 << 12) - 1;

    /// The parts of an argument.
    pub fn of(argument: u32) -> Self {
        let value = |shift: u32| (argument >> shift) as u16 & Self::VALUE_MAX;
        Self { key: (argument >> 24) as u8, from: value(12), value: value(0) }
    }

    /// The argument with these parts. Larger values are cut down to [`Keyed::VALUE_MAX`].
    pub fn argument(self) -> u32 {
        let value = |value: u16| u32::from(value.min(Self::VALUE_MAX));
        u32::from(self.key) << 24 | value(self.from) << 12 | value(self.value)
    }
}

impl Argument {
    /// Whether a request of `node` may have this argument.
    pub(crate) fn takes(self, argument: u32, node: NodeId, nodes: NodeId) -> bool {
        match self {
            Self::None => argument == 0,
            Self::Fresh => true,
            Self::Below(bound) => argument < bound,
            Self::Peer => argument < u32::from(nodes) && argument != u32::from(node),
            Self::Keyed { keys, values } => {
                let keyed = Keyed::of(argument);
                keyed.key < keys
                    && (keyed.from == 0 || values == KeyedValues::FromTo)
                    && (keyed.value == 0) == (values == KeyedValues::None)
            }
        }
    }

    /// How many keys there are; 0 where arguments have none.
    pub(crate) fn keys(self) -> usize {
        if let Self::Keyed { keys, .. } = self { usize::from(keys) } else { 0 }
    }
}

/// A named random draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawName {
    /// The word in schedules.
    pub name: &'static str,
    /// Values are below this.
    pub below: u32,
}

/// The word nearest to `word` among `words`, if one is near enough to be what was meant.
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    words
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| {
            *distance <= 1 + candidate.chars().count().max(word.chars().count()) / 3
        })
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance of the lower-case forms, over characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let next = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn nearest_word_is_found_or_left_out() {
        assert_eq!(nearest("delivr", ["deliver", "drop"]), Some("deliver"));
        assert_eq!(nearest("acceptsync", ["Accept", "AcceptSync"]), Some("AcceptSync"));
        assert_eq!(nearest("xyzzy", ["deliver", "drop"]), None);
    }
}

//! The names that a system uses, so that choices can be small numbers and text can be words.

use misrule_models::NodeId;

/// Names of everything that a choice can refer to. Positions in these lists are the numbers in choices, so
/// new names go to the end. A name is one word of schedule text: no white space, and no `#` in front.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// How many nodes, 1 to 64.
    pub nodes: NodeId,
    /// Message kinds.
    pub kinds: Vec<&'static str>,
    /// Timers, at most 32.
    pub timers: Vec<&'static str>,
    /// Local steps (apply lag, snapshot, flush completion), at most 32.
    pub locals: Vec<&'static str>,
    /// Operations of clients: the workload.
    pub operations: Vec<Operation>,
    /// Random draws inside the target.
    pub draws: Vec<DrawName>,
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

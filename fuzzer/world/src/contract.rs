//! Contracts: what the environment promises to a target.

use crate::vocabulary::nearest;
use std::fmt;

/// What the environment promises: links and disk. Text form: `fifo+loss,explicit-sync,capacity=48`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Whether a link keeps the order of its messages.
    pub order: LinkOrder,
    /// Whether a link may lose single messages.
    pub loss: bool,
    /// Whether a link may duplicate messages.
    pub duplication: bool,
    /// Messages that wait on one link at most, 1 to 4,096; further ones are lost and counted as overflow.
    pub capacity: u16,
    /// What a disk keeps at a crash.
    pub disk: DiskPreset,
}

/// Whether a link keeps order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkOrder {
    /// First in, first out.
    Fifo,
    /// Any waiting message may be the next.
    Reorder,
}

/// What a disk keeps at a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskPreset {
    /// Every completed operation.
    Immediate,
    /// Exactly what was synced.
    ExplicitSync,
    /// What was synced, plus a prefix of the rest.
    Ordered,
}

impl Default for Contract {
    /// `fifo,explicit-sync,capacity=48`.
    fn default() -> Self {
        Self {
            order: LinkOrder::Fifo,
            loss: false,
            duplication: false,
            capacity: 48,
            disk: DiskPreset::ExplicitSync,
        }
    }
}

/// A contract that cannot be read. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown contract word `{word}`{}; known: {}", suggestion(.word), WORDS.join(", "))]
pub struct ContractError {
    /// The word that is not known, or a value out of range.
    pub word: String,
}

const WORDS: [&str; 8] =
    ["fifo", "reorder", "+loss", "+dup", "immediate", "explicit-sync", "ordered", "capacity=1..4096"];

fn suggestion(word: &str) -> String {
    nearest(word, WORDS).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

impl Contract {
    /// The words of contracts, for help and listings.
    pub const WORDS: [&'static str; 8] = WORDS;

    /// This contract with what `text` names put over it. Naming the order of links also resets loss and
    /// duplication to what the text says: `fifo` promises neither.
    ///
    /// # Errors
    /// A word that is not known, or a capacity out of range.
    pub fn overridden(mut self, text: &str) -> Result<Self, ContractError> {
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let error = || ContractError { word: part.to_owned() };
            match part {
                "immediate" => self.disk = DiskPreset::Immediate,
                "explicit-sync" => self.disk = DiskPreset::ExplicitSync,
                "ordered" => self.disk = DiskPreset::Ordered,
                _ => {
                    if let Some(number) = part.strip_prefix("capacity=") {
                        let capacity = number.parse().map_err(|_| error())?;
                        self.capacity =
                            if (1..=4096).contains(&capacity) { capacity } else { return Err(error()) };
                    } else {
                        self.links(part).ok_or_else(error)?;
                    }
                }
            }
        }
        Ok(self)
    }

    fn links(&mut self, part: &str) -> Option<()> {
        let mut words = part.split('+');
        match words.next()? {
            "fifo" => self.order = LinkOrder::Fifo,
            "reorder" => self.order = LinkOrder::Reorder,
            "" => {}
            _ => return None,
        }
        if !part.starts_with('+') {
            (self.loss, self.duplication) = (false, false);
        }
        for word in words {
            match word {
                "loss" => self.loss = true,
                "dup" => self.duplication = true,
                _ => return None,
            }
        }
        Some(())
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.order {
            LinkOrder::Fifo => "fifo",
            LinkOrder::Reorder => "reorder",
        })?;
        f.write_str(if self.loss { "+loss" } else { "" })?;
        f.write_str(if self.duplication { "+dup" } else { "" })?;
        f.write_str(match self.disk {
            DiskPreset::Immediate => ",immediate",
            DiskPreset::ExplicitSync => ",explicit-sync",
            DiskPreset::Ordered => ",ordered",
        })?;
        write!(f, ",capacity={}", self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::{Contract, DiskPreset, LinkOrder};

    #[test]
    fn text_overrides_what_it_names() {
        let base = Contract { order: LinkOrder::Reorder, loss: true, ..Contract::default() };
        let fifo = base.overridden("fifo").unwrap();
        assert_eq!((fifo.order, fifo.loss, fifo.disk), (LinkOrder::Fifo, false, DiskPreset::ExplicitSync));
        let more = base.overridden("+dup,ordered").unwrap();
        assert_eq!((more.order, more.loss, more.duplication), (LinkOrder::Reorder, true, true));
        assert_eq!(more.disk, DiskPreset::Ordered);
    }

    #[test]
    fn printed_contract_reads_back() {
        for text in ["fifo", "reorder+loss+dup,immediate,capacity=7", "fifo+dup,ordered"] {
            let contract = Contract::default().overridden(text).unwrap();
            assert_eq!(Contract::default().overridden(&contract.to_string()), Ok(contract));
        }
    }

    #[test]
    fn bad_words_are_named_with_a_suggestion() {
        let error = Contract::default().overridden("fifo,explicit-snyc").unwrap_err().to_string();
        assert!(error.contains("`explicit-snyc` (did you mean `explicit-sync`?)"), "{error}");
        assert!(Contract::default().overridden("capacity=0").is_err());
        assert!(Contract::default().overridden("fifo+lossy").is_err());
    }
}

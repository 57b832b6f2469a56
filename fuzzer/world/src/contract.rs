//! Contracts: what the environment promises to a target.

use crate::storage::{self, DiskPreset, StorageContract};
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
    /// What a disk promises.
    pub disk: StorageContract,
}

/// Whether a link keeps order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkOrder {
    /// First in, first out.
    Fifo,
    /// Any waiting message may be the next.
    Reorder,
}

impl Default for Contract {
    /// `fifo,explicit-sync,capacity=48`.
    fn default() -> Self {
        Self {
            order: LinkOrder::Fifo,
            loss: false,
            duplication: false,
            capacity: 48,
            disk: DiskPreset::ExplicitSync.fields(),
        }
    }
}

/// A contract that cannot be read. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// A word that is not known, or a value out of range.
    #[error("unknown contract word `{word}`{}; known: {}", suggestion(.word), WORDS.join(", "))]
    Unknown {
        /// The word.
        word: String,
    },
    /// Words that cannot hold together.
    #[error("contract `{contract}` contradicts itself: {why}")]
    Contradiction {
        /// What was asked for.
        contract: String,
        /// Why it cannot be.
        why: String,
    },
}

const LINK_WORDS: [&str; 5] = ["fifo", "reorder", "+loss", "+dup", "capacity=1..4096"];

const WORDS_COUNT: usize = LINK_WORDS.len() + DiskPreset::ALL.len() + storage::WORDS.len();

const WORDS: [&str; WORDS_COUNT] = {
    let mut words = [""; WORDS_COUNT];
    let mut at = 0;
    while at < WORDS_COUNT {
        let disk = at.wrapping_sub(LINK_WORDS.len());
        words[at] = if at < LINK_WORDS.len() {
            LINK_WORDS[at]
        } else if disk < DiskPreset::ALL.len() {
            DiskPreset::ALL[disk].1
        } else {
            storage::WORDS[disk - DiskPreset::ALL.len()]
        };
        at += 1;
    }
    words
};

fn suggestion(word: &str) -> String {
    nearest(word, WORDS).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

impl Contract {
    /// The words of contracts, for help and listings.
    pub const WORDS: &'static [&'static str] = &WORDS;

    /// This contract with what `text` names put over it. Naming the order of links also resets loss and
    /// duplication to what the text says: `fifo` promises neither. Naming a disk preset also resets the fields
    /// behind it, so their words come after it.
    ///
    /// # Errors
    /// A word that is not known, a value out of range, or words that cannot hold together.
    pub fn overridden(mut self, text: &str) -> Result<Self, ContractError> {
        let mut preset = None;
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            self.put(part).ok_or_else(|| ContractError::Unknown { word: part.to_owned() })?;
            if self.disk.preset.word() == part
                && let Some(before) = preset.replace(part).filter(|before| *before != part)
            {
                let why = format!("a disk is either `{before}` or `{part}`");
                return Err(ContractError::Contradiction { contract: text.to_owned(), why });
            }
        }
        match self.disk.contradiction() {
            None => Ok(self),
            Some(why) => {
                Err(ContractError::Contradiction { contract: self.to_string(), why: why.to_owned() })
            }
        }
    }

    /// Puts one word over the contract; `None` when it is not known.
    pub(crate) fn put(&mut self, part: &str) -> Option<()> {
        if let Some(number) = part.strip_prefix("capacity=") {
            self.capacity = number.parse().ok().filter(|capacity| (1..=4096).contains(capacity))?;
            return Some(());
        }
        self.disk.put(part).or_else(|| self.links(part))
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
        write!(f, ",{}", self.disk)?;
        write!(f, ",capacity={}", self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::{Contract, LinkOrder};
    use crate::storage::{DiskPreset, Grid, Namespace, TearMode};

    #[test]
    fn text_overrides_what_it_names() {
        let base = Contract { order: LinkOrder::Reorder, loss: true, ..Contract::default() };
        let fifo = base.overridden("fifo").unwrap();
        assert_eq!(
            (fifo.order, fifo.loss, fifo.disk.preset),
            (LinkOrder::Fifo, false, DiskPreset::ExplicitSync)
        );
        let more = base.overridden("+dup,ordered").unwrap();
        assert_eq!((more.order, more.loss, more.duplication), (LinkOrder::Reorder, true, true));
        assert_eq!(more.disk, DiskPreset::Ordered.fields());
    }

    #[test]
    fn printed_contract_reads_back() {
        let presets = DiskPreset::ALL.iter().map(|(_, word)| *word);
        for text in presets.chain([
            "fifo",
            "reorder+loss+dup,immediate,capacity=7",
            "fifo+dup,ordered",
            "posix-min,block=page,names=journalled,write-order=per-file,media=no-space+read-corrupt",
            "no-powersafe-overwrite,collateral=none,media=read-error,media-budget=9,block=1",
            "explicit-sync,survive=subset,tear=prefix,grid=write,sync-fail=drops,lies=yes,names=with-file",
        ]) {
            let contract = Contract::default().overridden(text).unwrap();
            assert_eq!(Contract::default().overridden(&contract.to_string()), Ok(contract), "{contract}");
        }
    }

    #[test]
    fn words_change_single_fields() {
        let contract = Contract::default().overridden("posix-min,block=4096,names=with-file").unwrap();
        let disk = contract.disk;
        assert_eq!(
            (disk.tear.unit, disk.tear.mode, disk.tear.grid),
            (4096, TearMode::AnySubset, Grid::Absolute)
        );
        assert_eq!((disk.preset, disk.names), (DiskPreset::PosixMin, Namespace::WithFile));
        assert_eq!(contract.to_string(), "fifo,posix-min,block=4096,names=with-file,capacity=48");
    }

    #[test]
    fn contradictions_are_told() {
        for (text, part) in [
            ("immediate,tear=any", "nothing to lose or to tear"),
            ("immediate,sync-fail=drops", "cannot fail"),
            ("explicit-sync,tear=prefix", "no part of a write does"),
            ("posix-min,collateral=block", "needs tear=garbage"),
            ("posix-min,media-budget=3", "there are none"),
            ("ordered,posix-min", "a disk is either `ordered` or `posix-min`"),
        ] {
            let error = Contract::default().overridden(text).unwrap_err().to_string();
            assert!(error.contains("contradicts itself") && error.contains(part), "{error}");
        }
        assert!(Contract::default().overridden("posix-min,block=0").is_err());
        assert!(Contract::default().overridden("posix-min,media=sync-fails").is_err());
    }

    #[test]
    fn bad_words_are_named_with_a_suggestion() {
        let error = Contract::default().overridden("fifo,explicit-snyc").unwrap_err().to_string();
        assert!(error.contains("`explicit-snyc` (did you mean `explicit-sync`?)"), "{error}");
        assert!(Contract::default().overridden("capacity=0").is_err());
        assert!(Contract::default().overridden("fifo+lossy").is_err());
    }
}

//! Contracts: what the environment promises to a target.

use crate::clock::{self, ClockContract};
use crate::storage::{self, DiskPreset, StorageContract};
use crate::vocabulary::nearest;
use std::fmt;

/// What the environment promises: links, disk and time. Text form: `fifo+loss,explicit-sync,capacity=48`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Whether a link keeps the order of its messages.
    pub order: LinkOrder,
    /// Where links reorder, how many messages from the front may be the next one: 2 to 4,096, or
    /// [`Contract::ANY_DISTANCE`].
    pub order_within: u16,
    /// Whether a link may lose single messages.
    pub loss: bool,
    /// Whether a link may duplicate messages.
    pub duplication: bool,
    /// How many places behind the message a duplicate goes, if the link is that long: 1 to 4,096, or
    /// [`Contract::ANY_DISTANCE`] for the end of the link.
    pub duplicate_within: u16,
    /// Messages that wait on one link at most, 1 to 4,096; further ones are lost and counted as overflow.
    pub capacity: u16,
    /// What a disk promises.
    pub disk: StorageContract,
    /// What time promises.
    pub clock: ClockContract,
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
            order_within: Self::ANY_DISTANCE,
            loss: false,
            duplication: false,
            duplicate_within: Self::ANY_DISTANCE,
            capacity: 48,
            disk: DiskPreset::ExplicitSync.fields(),
            clock: ClockContract::default(),
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

const LINK_WORDS: [&str; 7] =
    ["fifo", "reorder", "reorder=2..4096", "+loss", "+dup", "+dup=1..4096", "capacity=1..4096"];

const WORDS_COUNT: usize =
    LINK_WORDS.len() + clock::WORDS.len() + DiskPreset::ALL.len() + storage::WORDS.len();

const WORDS: [&str; WORDS_COUNT] = {
    let mut words = [""; WORDS_COUNT];
    let mut at = 0;
    while at < WORDS_COUNT {
        let clock = at.wrapping_sub(LINK_WORDS.len());
        let disk = clock.wrapping_sub(clock::WORDS.len());
        words[at] = if at < LINK_WORDS.len() {
            LINK_WORDS[at]
        } else if clock < clock::WORDS.len() {
            clock::WORDS[clock]
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

    /// A distance without bound.
    pub const ANY_DISTANCE: u16 = u16::MAX;

    /// How many messages from the front of a link may be taken.
    pub fn reach(&self) -> u16 {
        match self.order {
            LinkOrder::Fifo => 1,
            LinkOrder::Reorder => self.order_within,
        }
    }

    /// This contract with what `text` names put over it. Naming the order of links also resets loss and
    /// duplication to what the text says: `fifo` promises neither. Naming a disk preset also resets the fields
    /// behind it, so their words come after it.
    ///
    /// # Errors
    /// A word that is not known, a value out of range, or words that cannot hold together.
    pub fn overridden(mut self, text: &str) -> Result<Self, ContractError> {
        let (mut preset, mut order) = (None, None);
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            self.put(part).ok_or_else(|| ContractError::Unknown { word: part.to_owned() })?;
            let word = part.split('+').next().filter(|word| !word.is_empty());
            if let Some(word) = word.filter(|word| is_order(word))
                && let Some(before) = order.replace(word).filter(|before| excludes(before, word))
            {
                let why = format!("links are either `{before}` or `{word}`");
                return Err(ContractError::Contradiction { contract: text.to_owned(), why });
            }
            if self.disk.preset.word() == part
                && let Some(before) = preset.replace(part).filter(|before| *before != part)
            {
                let why = format!("a disk is either `{before}` or `{part}`");
                return Err(ContractError::Contradiction { contract: text.to_owned(), why });
            }
        }
        match self.disk.contradiction().or_else(|| self.clock.contradiction()) {
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
        self.disk.put(part).or_else(|| self.clock.put(part)).or_else(|| self.links(part))
    }

    fn links(&mut self, part: &str) -> Option<()> {
        let mut words = part.split('+');
        match words.next()? {
            "fifo" => (self.order, self.order_within) = (LinkOrder::Fifo, Self::ANY_DISTANCE),
            "reorder" => (self.order, self.order_within) = (LinkOrder::Reorder, Self::ANY_DISTANCE),
            "" => {}
            word => {
                self.order_within = distance(word.strip_prefix("reorder=")?, 2)?;
                self.order = LinkOrder::Reorder;
            }
        }
        if !part.starts_with('+') {
            (self.loss, self.duplication, self.duplicate_within) = (false, false, Self::ANY_DISTANCE);
        }
        for word in words {
            match word {
                "loss" => self.loss = true,
                "dup" => (self.duplication, self.duplicate_within) = (true, Self::ANY_DISTANCE),
                word => {
                    self.duplicate_within = distance(word.strip_prefix("dup=")?, 1)?;
                    self.duplication = true;
                }
            }
        }
        Some(())
    }
}

/// Whether two words for the order of links contradict each other. Of `fifo` and `reorder` the last one counts.
fn excludes(word: &str, other: &str) -> bool {
    word != other && (word.contains('=') || other.contains('='))
}

fn is_order(word: &str) -> bool {
    word == "fifo" || word.starts_with("reorder")
}

fn distance(number: &str, min: u16) -> Option<u16> {
    number.parse().ok().filter(|number| (min..=4096).contains(number))
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.order {
            LinkOrder::Fifo => "fifo",
            LinkOrder::Reorder => "reorder",
        })?;
        if self.order_within != Self::ANY_DISTANCE {
            write!(f, "={}", self.order_within)?;
        }
        f.write_str(if self.loss { "+loss" } else { "" })?;
        f.write_str(if self.duplication { "+dup" } else { "" })?;
        if self.duplicate_within != Self::ANY_DISTANCE {
            write!(f, "={}", self.duplicate_within)?;
        }
        write!(f, ",{}", self.disk)?;
        write!(f, ",capacity={}{}", self.capacity, self.clock)
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
            "reorder=3+loss+dup=2",
            "fifo+dup=4096",
            "clock=drift-0",
            "reorder,clock=drift-90,delay=7,posix-min",
            "reorder=2",
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
            ("fifo,reorder=3", "links are either `fifo` or `reorder=3`"),
            ("fifo,delay=3", "with `clock=free` there are none"),
            ("clock=drift-5,delay=3,clock=free,delay=1", "with `clock=free` there are none"),
            ("reorder+loss,reorder=3", "links are either `reorder` or `reorder=3`"),
        ] {
            let error = Contract::default().overridden(text).unwrap_err().to_string();
            assert!(error.contains("contradicts itself") && error.contains(part), "{error}");
        }
        assert!(Contract::default().overridden("posix-min,block=0").is_err());
        assert!(Contract::default().overridden("posix-min,media=sync-fails").is_err());
    }

    #[test]
    fn distances_are_bounded_by_words() {
        let base = Contract::default().overridden("reorder=3+dup=2").unwrap();
        assert_eq!((base.reach(), base.duplicate_within), (3, 2));
        let any = base.overridden("reorder+dup").unwrap();
        assert_eq!((any.reach(), any.duplicate_within), (Contract::ANY_DISTANCE, Contract::ANY_DISTANCE));
        let fifo = base.overridden("fifo").unwrap();
        assert_eq!(
            (fifo.reach(), fifo.duplication, fifo.to_string()),
            (1, false, Contract::default().to_string())
        );
        assert_eq!(
            base.overridden("+loss").unwrap().to_string(),
            base.to_string().replace("3+dup", "3+loss+dup")
        );
        for wrong in ["reorder=1", "reorder=4097", "reorder=", "fifo=3", "fifo+dup=0", "+dup=x", "+loss=2"] {
            assert!(Contract::default().overridden(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn clocks_are_free_unless_a_word_says_otherwise() {
        let free = Contract::default();
        assert_eq!((free.clock.drift, free.to_string().contains("clock")), (None, false));
        let bounded = free.overridden("clock=drift-10,delay=5").unwrap();
        assert_eq!((bounded.clock.drift, bounded.clock.delay), (Some(10), Some(5)));
        assert!(bounded.to_string().ends_with(",capacity=48,clock=drift-10,delay=5"), "{bounded}");
        assert_eq!(bounded.overridden("clock=free"), Ok(free));
        for wrong in ["clock=drift-91", "clock=drift-", "clock=drift", "clock=10", "delay=0", "delay=1000001"]
        {
            assert!(Contract::default().overridden(wrong).is_err(), "{wrong}");
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

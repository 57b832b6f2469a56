//! What a crash keeps: which of the units that are not durable survive it.
//!
//! Units are numbered from 0 in the order in which they were issued: records of the log, blocks of writes,
//! changes of length, changes of names. The form is one 32-bit number, so that choices stay small: a prefix, a
//! set over the first 31 units, or, for longer lists, a set by its shape.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which units survive a crash. Text form: `3` (the first three), `all`, `none`, `[0,2-4,7]`, `all-but-2`,
/// `torn-last`, `all-but-last-[0,3]` (counted from the end). Units that are not there survive nothing; what the contract
/// does not leave open is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Keep(u32);

/// The shapes behind [`Keep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepShape {
    /// The first so many units; 0 keeps nothing.
    Prefix(u16),
    /// Every unit.
    All,
    /// Every unit but the one of this number.
    AllBut(u16),
    /// The unit of this number alone.
    Only(u16),
    /// Every unit, but of the last write only the first half of its units, rounded down.
    TornLast,
    /// Every unit but those whose bits are set, counted from the end: bit 0 is the last unit. At least one bit is.
    AllButLast(u16),
    /// The units whose bits are set, at most the first [`Keep::BITS`].
    Bits(u32),
}

const BITS: u32 = 1 << 31;
const ALL: u32 = 1 << 16;
const ALL_BUT: u32 = 2 << 16;
const ONLY: u32 = 3 << 16;
const TORN_LAST: u32 = 4 << 16;
const ALL_BUT_LAST: u32 = 5 << 16;

/// What stands before a list of units that are counted from the end and lost.
const LAST: &str = "all-but-last-";

impl Keep {
    /// Nothing survives.
    pub const NONE: Self = Self(0);
    /// Everything survives.
    pub const ALL: Self = Self(ALL);
    /// Everything survives, but the last write is cut in the middle.
    pub const TORN_LAST: Self = Self(TORN_LAST);
    /// How many units a set can name freely; longer lists are named by shape.
    pub const BITS: u16 = 31;

    /// The first `count` units.
    pub const fn prefix(count: u16) -> Self {
        Self(count as u32)
    }

    /// Every unit but `number`.
    pub const fn all_but(number: u16) -> Self {
        Self(ALL_BUT | number as u32)
    }

    /// Every unit but those whose bits are set, counted from the end: where it is not known how many there will be,
    /// this names parts of the last write. Without a bit it is every unit.
    pub const fn all_but_last(lost: u16) -> Self {
        if lost == 0 { Self::ALL } else { Self(ALL_BUT_LAST | lost as u32) }
    }

    /// The unit `number` alone.
    pub fn only(number: u16) -> Self {
        if number < Self::BITS { Self::bits(1 << number) } else { Self(ONLY | u32::from(number)) }
    }

    /// The units whose bits are set; the highest bit is ignored. A set that is a prefix becomes one.
    pub fn bits(bits: u32) -> Self {
        let bits = bits & !BITS;
        if bits & (bits + 1) == 0 { Self(bits.count_ones()) } else { Self(BITS | bits) }
    }

    /// What it is.
    pub fn shape(self) -> KeepShape {
        let number = self.0 as u16;
        match self.0 {
            bits if bits & BITS != 0 => KeepShape::Bits(bits & !BITS),
            other => match other & !0xffff {
                0 => KeepShape::Prefix(number),
                ALL => KeepShape::All,
                ALL_BUT => KeepShape::AllBut(number),
                ONLY => KeepShape::Only(number),
                ALL_BUT_LAST => KeepShape::AllButLast(number),
                _ => KeepShape::TornLast,
            },
        }
    }

    /// How many units it keeps when it is a prefix.
    pub fn as_prefix(self) -> Option<u16> {
        match self.shape() {
            KeepShape::Prefix(count) => Some(count),
            _ => None,
        }
    }

    /// Whether unit `number` survives. `last` is where the last write's units begin, and how many units there
    /// are in all.
    pub(crate) fn has(self, number: usize, last: (usize, usize)) -> bool {
        match self.shape() {
            KeepShape::Prefix(count) => number < usize::from(count),
            KeepShape::All => true,
            KeepShape::AllBut(other) => number != usize::from(other),
            KeepShape::Only(other) => number == usize::from(other),
            KeepShape::TornLast => number < last.0 + (last.1 - last.0) / 2,
            KeepShape::AllButLast(lost) => {
                let from_end = last.1.saturating_sub(number + 1);
                from_end >= u16::BITS as usize || lost & (1 << from_end) == 0
            }
            KeepShape::Bits(bits) => number < usize::from(Self::BITS) && bits & (1 << number) != 0,
        }
    }

    /// Whether it names a unit that is not among the first `count`. Prefixes and shapes that mean whatever is
    /// there name none.
    pub fn names_beyond(self, count: u16) -> bool {
        match self.shape() {
            KeepShape::Prefix(_) | KeepShape::All | KeepShape::TornLast | KeepShape::AllButLast(_) => false,
            KeepShape::AllBut(number) | KeepShape::Only(number) => number >= count,
            KeepShape::Bits(bits) => count < Self::BITS && bits >> count != 0,
        }
    }

    /// The same without the units that are not among the first `count`.
    #[must_use]
    pub fn within(self, count: u16) -> Self {
        match self.shape() {
            KeepShape::AllBut(_) if self.names_beyond(count) => Self::ALL,
            KeepShape::Only(_) if self.names_beyond(count) => Self::NONE,
            KeepShape::Bits(bits) if count < Self::BITS => Self::bits(bits & ((1 << count) - 1)),
            _ => self,
        }
    }

    /// The one form of the set of those of `kept` that are true; `given` where no shape fits.
    pub(crate) fn canonical(kept: &[bool], given: Self) -> Self {
        let count = kept.iter().filter(|kept| **kept).count();
        let leading = kept.iter().take_while(|kept| **kept).count();
        let limit = usize::from(u16::MAX);
        if count == leading && count <= limit {
            return Self::prefix(count as u16);
        }
        let highest = kept.iter().rposition(|kept| *kept).unwrap_or(0);
        if highest < usize::from(Self::BITS) {
            let set = |bits, (at, kept): (usize, &bool)| bits | u32::from(*kept) << at;
            return Self::bits(kept.iter().enumerate().take(highest + 1).fold(0, set));
        }
        if count == 1 && highest <= limit {
            return Self::only(highest as u16);
        }
        if count + 1 == kept.len() && leading <= limit {
            return Self::all_but(leading as u16);
        }
        if count == kept.len() { Self::ALL } else { given }
    }
}

impl From<Keep> for u32 {
    fn from(keep: Keep) -> Self {
        keep.0
    }
}

impl TryFrom<u32> for Keep {
    type Error = KeepError;

    fn try_from(code: u32) -> Result<Self, KeepError> {
        let known = match code & !0xffff {
            bits if bits & BITS != 0 => Self::bits(code).0 == code,
            0 | ALL_BUT => true,
            ALL | TORN_LAST => code as u16 == 0,
            ONLY => code as u16 >= Self::BITS,
            ALL_BUT_LAST => code as u16 != 0,
            _ => false,
        };
        if known { Ok(Self(code)) } else { Err(KeepError) }
    }
}

/// A text or number that names no set of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a set of units")]
pub struct KeepError;

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = match self.shape() {
            KeepShape::Prefix(0) => return f.write_str("none"),
            KeepShape::Prefix(count) => return write!(f, "{count}"),
            KeepShape::All => return f.write_str("all"),
            KeepShape::AllBut(number) => return write!(f, "all-but-{number}"),
            KeepShape::Only(number) => return write!(f, "[{number}]"),
            KeepShape::TornLast => return f.write_str("torn-last"),
            KeepShape::AllButLast(lost) => {
                f.write_str(LAST)?;
                u32::from(lost)
            }
            KeepShape::Bits(bits) => bits,
        };
        let (mut at, mut separator) = (0, "[");
        while bits >> at != 0 {
            let start = at + (bits >> at).trailing_zeros();
            let end = start + (bits >> start).trailing_ones() - 1;
            write!(f, "{separator}{start}")?;
            if end > start {
                write!(f, "-{end}")?;
            }
            (at, separator) = (end + 1, ",");
        }
        f.write_str("]")
    }
}

impl FromStr for Keep {
    type Err = KeepError;

    fn from_str(text: &str) -> Result<Self, KeepError> {
        match text {
            "none" => return Ok(Self::NONE),
            "all" => return Ok(Self::ALL),
            "torn-last" => return Ok(Self::TORN_LAST),
            _ => {}
        }
        if let Some(list) = text.strip_prefix(LAST) {
            return u16::try_from(listed(list)?).map(Self::all_but_last).map_err(|_| KeepError);
        }
        if let Some(other) = text.strip_prefix("all-but-") {
            return number(other).map(Self::all_but);
        }
        let Some(list) = in_brackets(text) else { return number(text).map(Self::prefix) };
        // One number alone may be any; in a list they are few.
        number(list).map(Self::only).or_else(|_| listed(text).map(Self::bits))
    }
}

fn number(text: &str) -> Result<u16, KeepError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().map_err(|_| KeepError) } else { Err(KeepError) }
}

fn in_brackets(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.strip_suffix(']')
}

/// The bits that `[0,2-4]` names.
fn listed(text: &str) -> Result<u32, KeepError> {
    let mut bits = 0;
    for part in in_brackets(text).ok_or(KeepError)?.split(',') {
        let (start, end) = part.split_once('-').unwrap_or((part, part));
        let (start, end) = (number(start)?, number(end)?);
        if start > end || end >= Keep::BITS {
            return Err(KeepError);
        }
        bits |= (u32::MAX >> (31 - (end - start))) << start;
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::{Keep, KeepShape};
    use crate::rng::Rng;

    #[test]
    fn text_and_numbers_read_back() {
        let mut rng = Rng::new(4);
        for round in 0..20_000_u32 {
            let number = rng.next() as u16;
            let keep = match round % 7 {
                6 => Keep::all_but_last(number),
                0 => Keep::prefix(number),
                1 => Keep::all_but(number),
                2 => Keep::only(number % 64),
                3 => [Keep::ALL, Keep::NONE, Keep::TORN_LAST][usize::from(number % 3)],
                4 => Keep::bits(1 << rng.below(32) | 1 << rng.below(32)),
                _ => Keep::bits(rng.next() as u32),
            };
            assert_eq!(keep.to_string().parse(), Ok(keep), "{keep}");
            assert_eq!(Keep::try_from(u32::from(keep)), Ok(keep), "{keep}");
        }
    }

    #[test]
    fn sets_have_one_form() {
        for (text, form) in [
            ("[0-2]", "3"),
            ("[0]", "1"),
            ("0", "none"),
            ("[2-4,0,7]", "[0,2-4,7]"),
            ("[40]", "[40]"),
            ("[30,29]", "[29-30]"),
            ("[0-30]", "31"),
            ("all-but-last-[3,0-1]", "all-but-last-[0-1,3]"),
        ] {
            assert_eq!(text.parse::<Keep>().unwrap().to_string(), form);
        }
        for text in [
            "",
            "[]",
            "[",
            "3,4",
            "[3",
            "[4-2]",
            "[1,31]",
            "-1",
            "+1",
            "65536",
            "al",
            "all-but-",
            "[a]",
            "[[3]",
            "[3]]",
            "all-but-last-",
            "all-but-last-2",
            "all-but-last-[16]",
        ] {
            assert!(text.parse::<Keep>().is_err(), "{text}");
        }
        assert!(Keep::try_from(7 << 16).is_err());
        assert!(Keep::try_from(5 << 16).is_err(), "one that loses nothing is another");
        assert!(Keep::try_from(super::BITS | 7).is_err(), "a prefix has one form");
    }

    #[test]
    fn canonical_forms_mean_the_same() {
        let mut rng = Rng::new(5);
        for _ in 0..5_000 {
            let count = rng.below(40) as usize;
            let given = [
                Keep::ALL,
                Keep::all_but(35),
                Keep::only(33),
                Keep::bits(rng.next() as u32),
                Keep::all_but_last(rng.next() as u16),
            ][rng.below(5) as usize];
            let kept: Vec<bool> = (0..count).map(|at| given.has(at, (0, count))).collect();
            let form = Keep::canonical(&kept, given);
            let again: Vec<bool> = (0..count).map(|at| form.has(at, (0, count))).collect();
            assert_eq!(again, kept, "{given} became {form}");
            assert!(!form.names_beyond(count as u16));
        }
    }

    #[test]
    fn units_are_counted_from_the_end() {
        let keep: Keep = "all-but-last-[0,2]".parse().unwrap();
        for (count, kept) in [(4, vec![0, 2]), (2, vec![0]), (1, vec![]), (40, (0..37).chain([38]).collect())]
        {
            let found: Vec<usize> = (0..count).filter(|at| keep.has(*at, (0, count))).collect();
            assert_eq!(found, kept, "of {count}");
        }
        assert_eq!(Keep::all_but_last(0), Keep::ALL);
    }

    #[test]
    fn units_that_are_not_there_are_known() {
        let keep: Keep = "[1,4]".parse().unwrap();
        assert!(keep.names_beyond(4) && !keep.names_beyond(5));
        assert_eq!(keep.within(4).shape(), KeepShape::Bits(2));
        assert_eq!(Keep::all_but(9).within(9), Keep::ALL);
        assert!(!Keep::prefix(9).names_beyond(1));
    }
}

//! The text form of schedules, format 1 (`docs/formats.md`): made to be read, written and reviewed by people.
//!
//! The words of choices depend on the target and its settings, so text is read in two stages:
//! [`parse_header`] needs nothing, its caller opens the target that the header names, and
//! [`parse_body`] reads the choices with that target's vocabulary. Nothing here touches files.

mod error;
mod header;
mod parse;
mod print;
mod profile;
mod scan;

#[cfg(test)]
mod tests;

pub use error::{Found, ParseError, ParseErrorKind};
pub use header::{Body, HeaderLines, parse_header};
pub use parse::{parse, parse_body};
pub use print::{choice_line, print};
pub use profile::{parse_faults, parse_profiles};
pub use scan::utf8;

/// The format that this build reads and writes.
pub const FORMAT: u64 = 1;

/// The longest text that is read, in bytes: 64 MiB.
pub const TEXT_BYTES_MAX: usize = 64 << 20;

/// How many choices a text may hold, and how many comments and blank lines.
pub const CHOICES_MAX: usize = 4_000_000;

/// How many settings a header may hold.
pub const SETTINGS_MAX: usize = 1_000;

/// The limits, as values so that tests can take small ones.
#[derive(Clone, Copy, Debug)]
struct Limits {
    bytes: usize,
    choices: usize,
    settings: usize,
}

const LIMITS: Limits = Limits { bytes: TEXT_BYTES_MAX, choices: CHOICES_MAX, settings: SETTINGS_MAX };

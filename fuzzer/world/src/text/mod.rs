//! The text form of schedules, format 1 (`docs/formats.md`).

mod print;

pub use print::choice_line;

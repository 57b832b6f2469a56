//! Schedules: the fuzz input, and the header that makes a file of one replayable.

use crate::choice::Choice;
use crate::profile::FaultProfile;
use serde::{Deserialize, Serialize};

/// A list of choices, perhaps ending in a tail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Schedule {
    /// The choices, executed in order.
    pub choices: Vec<Choice>,
    /// What follows them.
    pub tail: Option<Tail>,
}

/// Choices that are drawn from the world's menu as it goes. What is kept of a run is always explicit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tail {
    /// Seed of the draws.
    pub seed: u64,
    /// How many steps.
    pub steps: u32,
    /// Which weights.
    pub faults: FaultProfile,
}

/// What stands above the choices in a file. Each text is one word: it holds no white space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The target's name.
    pub target: String,
    /// The version of the crate under test that wrote the file; another one replays with a warning.
    pub version: String,
    /// Settings that differ from the target's defaults, as written.
    pub settings: Vec<(String, String)>,
    /// The contract of the run, complete.
    pub contract: String,
    /// Seed of the values of draws that no choice fixes.
    pub seed: u64,
    /// What a replay should show.
    pub expect: Expectation,
    /// Hash of the trace that the writer saw, 16 hex digits.
    pub trace_hash: Option<String>,
}

/// What a replay should show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expectation {
    /// Nothing is expected.
    #[default]
    None,
    /// No oracle fails.
    Pass,
    /// This finding.
    Fail {
        /// The property that fails.
        property: String,
        /// The finding's fingerprint, 16 hex digits.
        fingerprint: String,
    },
}

/// A schedule as it stands in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleFile {
    /// What stands above the choices.
    pub header: Header,
    /// The choices and the tail.
    pub schedule: Schedule,
    /// Comments and blank lines, in the order of the file. Who removes choices also moves these.
    pub comments: Vec<Comment>,
    /// For each choice the line it stands on, counted from 1; empty for a schedule that was not read from text.
    pub lines: Vec<usize>,
}

/// A comment or a blank line of a schedule's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// How many choices stand before it, the tail counted as one. Comments inside the header come with 0: they
    /// stand below the header when written again.
    pub after: usize,
    /// Whether it has a line of its own.
    pub place: CommentPlace,
    /// The text from `#` on; empty for a blank line.
    pub text: String,
}

/// Where a comment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommentPlace {
    /// At the end of the line of the choice before it.
    SameLine,
    /// On a line of its own.
    OwnLine,
}

//! The fuzz input.

use crate::way::Way;
use libafl::inputs::Input;
use misrule_world::Tail;
use serde::{Deserialize, Serialize};

/// Choices and an optional tail. What the corpus keeps has no tail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) way: Way,
    pub(crate) tail: Option<Tail>,
    /// Whether the choices were mutated, so that some may not fit and are repaired.
    pub(crate) mutant: bool,
}

impl Input for Candidate {}

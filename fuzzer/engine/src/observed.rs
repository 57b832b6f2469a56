//! What one execution of a campaign showed.

use crate::execute::Execution;
use crate::way::Way;
use misrule_world::{Choice, Snapshot};

/// The last execution of a campaign, in buffers that are reused.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// What happened.
    pub execution: Execution,
    /// Where it began: the way to the snapshot; empty where it began at the start.
    pub before: Way,
    /// Cells that were new or reached by a shorter way.
    pub met: Vec<MetCell>,
    /// How many of them were new.
    pub new_cells: u32,
    /// Choices of the input; the guidance picked what follows.
    pub given: u32,
    /// Choices of the input that only lead back to a cell, and that were executed.
    pub returned: u32,
    /// Whether the model and its comparison with the implementation were on.
    pub conformance: bool,
    /// Whether lenses looked at it: keys were made, and entered into the archive.
    pub looked: bool,
    /// The way of the kept schedule, cut at the last cell met; `None` for a run that was not kept.
    pub kept: Option<Way>,
}

impl Observed {
    /// All choices that led to where the execution ended.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = self.before.choices();
        choices.extend_from_slice(&self.execution.choices);
        choices
    }
}

/// A cell of the archive that an execution met.
#[derive(Clone, Debug)]
pub struct MetCell {
    /// After which step, counted from the start.
    pub step: u32,
    /// The cell.
    pub cell: u32,
    /// The state after that step, where it was saved.
    pub snapshot: Option<Snapshot>,
}

//! What one execution of a campaign showed.

use crate::execute::Execution;
use crate::way::Way;

/// The last execution of a campaign, in buffers that are reused.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// What happened.
    pub execution: Execution,
    /// Cells that were new or reached by a shorter way: step and cell.
    pub met: Vec<(u32, u32)>,
    /// How many of them were new.
    pub new_cells: u32,
    /// Choices of the input; the guidance picked what follows.
    pub given: u32,
    /// Choices of the input that only lead back to a cell.
    pub returned: u32,
    /// Whether the model and its comparison with the implementation were on.
    pub conformance: bool,
    /// The way of the kept schedule, cut at the last cell met; `None` for a run that was not kept.
    pub kept: Option<Way>,
}

//! Guidance: what runs next.

mod frontier;
mod ladder;
mod random;

use crate::archive::Archive;
use crate::execute::Execution;
use crate::way::Way;
use frontier::Frontier;
use misrule_world::{Choice, FaultProfile, Menu, Rng};
use random::Random;

/// Decides what runs next.
pub trait Guidance {
    /// Before an execution: where to start from, and how many steps to draw after it.
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan;

    /// Inside the tail: the next choice, or `None` when nothing can happen.
    fn pick(&mut self, menu: &Menu, rng: &mut Rng) -> Option<Choice>;

    /// After a step of the tail: how many more steps to draw, given how many are left. `news` says whether
    /// the step showed something new.
    fn extend(&mut self, _news: bool, left: u32) -> u32 {
        left
    }

    /// After the execution.
    fn learn(&mut self, plan: &Plan, run: &Execution);
}

/// What to execute.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where to start from: the start, or a way to a cell.
    pub way: Way,
    /// Whether the way is to be mutated before it is executed.
    pub mutate: bool,
    /// How many steps to draw after it.
    pub tail: u32,
    /// Which of the strategy's arms this is; meaningful to the strategy only.
    pub arm: usize,
}

/// The strategies that exist, with one sentence each.
pub const STRATEGIES: [(&str, &str); 2] = [
    ("frontier", "returns to rarely visited cells and explores onward; 30 % of the steps stay random"),
    ("random", "enabled choices by weight, lengths from a ladder of 30 to 30,000 with equal steps a rung"),
];

/// The strategy of that name, or `None`. No execution is longer than `steps_max` steps.
pub fn strategy(
    name: &str,
    faults: FaultProfile,
    lenses: usize,
    steps_max: u32,
) -> Option<Box<dyn Guidance>> {
    match name {
        "random" => Some(Box::new(Random::new(faults, steps_max))),
        "frontier" => Some(Box::new(Frontier::new(faults, lenses, steps_max))),
        _ => None,
    }
}

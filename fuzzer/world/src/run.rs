//! The erased boundary: what the engine knows of a target.

use crate::choice::{Choice, ChoiceKind};
use crate::clients::CallCounts;
use crate::disk::CrashStates;
use crate::judge::Tally;
use crate::menu::Menu;
use crate::report::{Report, Watch};
use crate::vocabulary::Vocabulary;
use misrule_models::NodeId;

/// A target in its world: a passive step machine. All generic code ends here.
pub trait Run {
    /// Back to the start: empty disks and links, every node booted. `seed` gives the values of draws that no
    /// choice fixes. A failure to start is in `report`.
    fn reset(&mut self, seed: u64, watch: Watch, report: &mut Report);

    /// What can be chosen now.
    fn menu(&self) -> &Menu;

    /// Executes one choice. After a report with a failure, only `reset` is meaningful.
    fn step(&mut self, choice: Choice, report: &mut Report);

    /// The states that a crash of the node may leave now, as the contract permits, or, when the node is down, that
    /// its last crash could have left. At most `limit` sets of units are gone through.
    fn crash_states(&self, _node: NodeId, _limit: usize) -> CrashStates {
        CrashStates::default()
    }

    /// Names and counts; for text and summaries.
    fn about(&self) -> About<'_>;
}

/// What a run can tell of itself outside the loop.
pub struct About<'a> {
    /// The target's names.
    pub vocabulary: &'a Vocabulary,
    /// What the judge counted.
    pub tally: Tally,
    /// For each kind of choice that is a fault, how often it was drawn and how often it had an effect.
    pub faults: [FaultCount; ChoiceKind::COUNT],
    /// Messages lost because a link was full.
    pub overflow: u64,
    /// What sessions did.
    pub calls: CallCounts,
}

/// How often a fault was drawn, and how often it had an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCount {
    /// Executed choices of the kind.
    pub drawn: u64,
    /// Those that changed something: a cut that blocked or lost a message, a heal of such a cut, a crash point that
    /// was reached, a disk outcome that an operation met.
    pub applied: u64,
}

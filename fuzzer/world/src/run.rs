//! The erased boundary: what the engine knows of a target.

use crate::choice::{Choice, ChoiceKind};
use crate::clients::CallCounts;
use crate::disk::CrashStates;
use crate::judge::Tally;
use crate::menu::Menu;
use crate::recovery::{Recovery, Standing};
use crate::report::{Effect, Failure, Report, Watch};
use crate::search::Search;
use crate::vocabulary::Vocabulary;
use misrule_models::NodeId;
use std::any::Any;
use std::rc::Rc;

/// A target in its world: a passive step machine. All generic code ends here.
pub trait Run {
    /// Back to the start: empty disks and links, every node booted. `seed` gives the values of draws that no
    /// choice fixes. A failure to start is in `report`.
    fn reset(&mut self, seed: u64, watch: Watch, report: &mut Report);

    /// What can be chosen now.
    fn menu(&self) -> &Menu;

    /// Executes one choice. After a report with a failure, only `reset` is meaningful.
    fn step(&mut self, choice: Choice, report: &mut Report);

    /// A copy of the state that the execution has come to, where the target offers [`System::fork`](crate::System::fork)
    /// and its judge [`Judge::save`](crate::Judge::save); none during a recovery or while steps are told.
    fn save(&self) -> Option<Snapshot> {
        None
    }

    /// Takes up a snapshot of this run in place of `reset`: what the same choices do from here is what they did there.
    /// Returns false, with nothing changed, where `watch` asks for what the snapshot lacks: keys, the model, steps told.
    fn restore(&mut self, _snapshot: &Snapshot, _watch: Watch) -> bool {
        false
    }

    /// Searches the model that follows for choices after which it would be where it is wanted. Finds nothing where no
    /// model follows, or the target's mapping does not say what choices would do.
    fn plan(&self, _search: &mut Search<'_>) {}

    /// The states that a crash of the node may leave now, as the contract permits, or, when the node is down, that
    /// its last crash could have left. At most `limit` sets of units are gone through.
    fn crash_states(&self, _node: NodeId, _limit: usize) -> CrashStates {
        CrashStates::default()
    }

    /// What the target promises once faults have stopped, if it promises anything.
    fn recovery(&self) -> Option<Recovery> {
        None
    }

    /// Begins a recovery: links inside `core`, a bit set of nodes, heal, all others are cut, and what choices have
    /// decided about next calls of nodes is forgotten. Until `reset`, choices are for the core only, and what is
    /// counted of faults stays as it is.
    fn recover(&mut self, _core: u32, report: &mut Report) {
        report.effect = Effect::Skipped("the target promises nothing");
    }

    /// How the recovery stands.
    ///
    /// # Errors
    /// The failure that stands for a panic of the judge.
    fn standing(&self) -> Result<Standing, Failure> {
        Ok(Standing::default())
    }

    /// What a stalled recovery waits for, on one line for people.
    fn stall(&self) -> String {
        String::new()
    }

    /// Bit set of the timers that nodes have set since the last call of this, those that were set already
    /// included.
    fn take_armed(&mut self) -> u32 {
        0
    }

    /// Names and counts; for text and summaries.
    fn about(&self) -> About<'_>;
}

/// The state of an execution between two steps. Copies share it.
#[derive(Clone, Debug)]
pub struct Snapshot(Rc<dyn Any>);

impl Snapshot {
    /// A snapshot of what a run keeps.
    pub fn new(state: impl Any) -> Self {
        Self(Rc::new(state))
    }

    /// What it holds, where that is of type `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
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

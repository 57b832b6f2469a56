//! Guidance: what runs next. One file a strategy; `docs/guidance.md` has a paragraph for each.

mod bonus_max_rl;
mod corpus;
mod directed;
mod exhaustive;
mod frontier;
mod ladder;
mod mallory;
mod modelfuzz;
mod pct;
mod pos;
mod priority;
mod random;

pub(crate) use ladder::Ladder;

use crate::archive::Archive;
use crate::execute::Execution;
use crate::way::Way;
use frontier::{Frontier, Part};
use misrule_world::{Choice, FaultKind, FaultProfile, Report, Rng, Run, Snapshot};
use std::ops::ControlFlow;

/// Decides what runs next.
pub trait Guidance {
    /// Before an execution: where to start from, and how many steps to draw after it.
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan;

    /// Inside the tail: the next choice, or `None` when nothing can happen.
    fn pick(&mut self, run: &dyn Run, rng: &mut Rng) -> Option<Choice>;

    /// Before each pick: what the last step showed, keys included. `news` says whether a key of it was new; it is
    /// false for the step before the tail. Returns how many more steps to draw, given how many are left.
    fn saw(&mut self, _report: &Report, _news: bool, left: u32) -> u32 {
        left
    }

    /// After the execution. `Break` says that nothing is left to run.
    fn learn(&mut self, plan: &Plan, run: &Execution) -> ControlFlow<()>;
}

/// What to execute.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where to start from: the start, or a way to a cell.
    pub way: Way,
    /// The state at the end of the way, where the archive holds it.
    pub snapshot: Option<Snapshot>,
    /// Whether states are saved where the execution meets cells, so that later plans can go on from them.
    pub saves: bool,
    /// Whether the way is to be mutated before it is executed.
    pub mutate: bool,
    /// How many steps to draw after it.
    pub tail: u32,
    /// Which of the strategy's arms this is; meaningful to the strategy only.
    pub arm: usize,
    /// Whether lenses look at the execution. Where they do not, it is faster and shows nothing new.
    pub keys: bool,
}

impl Plan {
    /// To draw so many steps from the start.
    pub fn fresh(tail: u32, arm: usize) -> Self {
        Self { way: Way::default(), snapshot: None, saves: false, mutate: false, tail, arm, keys: true }
    }
}

/// What a strategy listens to where the user names no lens or signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listens {
    /// To nothing: keys would change nothing.
    Nothing,
    /// To the target's default lenses.
    Lenses,
    /// To this lens, where the target has it: what the published tool counts.
    Lens(&'static str),
    /// To this signal.
    Signal(&'static str),
}

/// A strategy by its name. The published ones are a strategy with the signal that they were published with.
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// The name.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// What it listens to.
    pub listens: Listens,
    make: Make,
}

type Make = fn(FaultProfile, usize, u32) -> Box<dyn Guidance>;

impl Strategy {
    /// The strategy of that name, among [`STRATEGIES`] and [`ABLATIONS`].
    pub fn named(name: &str) -> Option<&'static Self> {
        STRATEGIES.iter().chain(&ABLATIONS).find(|strategy| strategy.name == name)
    }
}

/// The strategies that exist.
pub const STRATEGIES: [Strategy; 11] = [
    Strategy {
        name: "frontier",
        about: "returns to rarely visited cells and explores onward; half of the steps stay random",
        listens: Listens::Lenses,
        make: |faults, lenses, steps_max| Box::new(Frontier::new(faults, lenses, steps_max, None)),
    },
    Strategy {
        name: "directed",
        about: "as frontier, and follows plans on the model towards keys never seen, where the mapping can plan",
        listens: Listens::Lenses,
        make: |faults, lenses, steps_max| Box::new(directed::Directed::new(faults, lenses, steps_max)),
    },
    Strategy {
        name: "random",
        about: "enabled choices by weight, lengths from a ladder of 30 to 30,000 with equal steps a rung",
        listens: Listens::Nothing,
        make: |faults, _, steps_max| Box::new(random::Random::new(faults, steps_max)),
    },
    Strategy {
        name: "pct",
        about: "random priorities of links and timers, and few points at which one falls (Burckhardt et al. 2010)",
        listens: Listens::Nothing,
        make: |faults, _, steps_max| Box::new(pct::Pct::new(faults, steps_max)),
    },
    Strategy {
        name: "pos",
        about: "random priorities, drawn anew for what races with the step that runs (Yuan et al. 2018)",
        listens: Listens::Nothing,
        make: |faults, _, steps_max| Box::new(pos::Pos::new(faults, steps_max)),
    },
    Strategy {
        name: "corpus",
        about: "mutants of kept schedules, those that own rarely visited cells first",
        listens: Listens::Lenses,
        make: |faults, _, steps_max| Box::new(corpus::Corpus::new(faults, steps_max)),
    },
    Strategy {
        name: "modelfuzz",
        about: "swaps in schedules that met new states of the model, requests replayed (Gulcan et al. 2025)",
        listens: Listens::Lens("detailed"),
        make: |faults, _, steps_max| Box::new(modelfuzz::ModelFuzz::new(faults, steps_max, false)),
    },
    Strategy {
        name: "modelfuzz-as-published",
        about: "the same with the defects of the published code, for comparison",
        listens: Listens::Lens("detailed"),
        make: |faults, _, steps_max| Box::new(modelfuzz::ModelFuzz::new(faults, steps_max, true)),
    },
    Strategy {
        name: "bonus-max-rl",
        about: "tabular Q-learning with a bonus for rare states (Borgarelli et al. 2024)",
        listens: Listens::Lens("detailed"),
        make: |faults, _, steps_max| Box::new(bonus_max_rl::BonusMaxRl::new(faults, steps_max)),
    },
    Strategy {
        name: "mallory",
        about: "Q-learning over the timeline chooses kinds of faults within an execution (Meng et al. 2023)",
        listens: Listens::Signal("happens-before"),
        make: |faults, _, steps_max| Box::new(mallory::Mallory::new(faults, steps_max)),
    },
    Strategy {
        name: "exhaustive",
        about: "every schedule of 60 steps with at most two delays, then ends (Emmi et al. 2011)",
        listens: Listens::Nothing,
        make: |faults, _, steps_max| Box::new(exhaustive::Exhaustive::new(faults, steps_max)),
    },
];

/// `frontier` with one part left out, to see what the part is worth.
pub const ABLATIONS: [Strategy; 6] = [
    ablation("frontier-without-picking", "any cell is returned to, not a rarely visited one", |f, l, m| {
        Box::new(Frontier::new(f, l, m, Some(Part::Picking)))
    }),
    ablation("frontier-without-extension", "news do not make an exploration longer", |f, l, m| {
        Box::new(Frontier::new(f, l, m, Some(Part::Extension)))
    }),
    ablation("frontier-without-random", "no steps stay with the random ladder", |f, l, m| {
        Box::new(Frontier::new(f, l, m, Some(Part::Random)))
    }),
    ablation("frontier-without-mutants", "no steps go to mutants of kept schedules", |f, l, m| {
        Box::new(Frontier::new(f, l, m, Some(Part::Mutants)))
    }),
    ablation("frontier-without-suffixes", "one mean length of explorations instead of four", |f, l, m| {
        Box::new(Frontier::new(f, l, m, Some(Part::Suffixes)))
    }),
    ablation("frontier-without-snapshots", "every return is a replay", |f, l, m| {
        Box::new(Frontier::new(f, l, m, Some(Part::Snapshots)))
    }),
];

const fn ablation(name: &'static str, about: &'static str, make: Make) -> Strategy {
    Strategy { name, about, listens: Listens::Lenses, make }
}

/// Whether faults of that kind are asked for.
fn asks_for(profile: FaultProfile, kind: FaultKind) -> bool {
    profile == FaultProfile::Swarm || profile.weights(&mut Rng::new(0)).of(kind) > 0
}

/// The strategy of that name, or `None`. No execution is longer than `steps_max` steps.
pub fn strategy(
    name: &str,
    faults: FaultProfile,
    lenses: usize,
    steps_max: u32,
) -> Option<Box<dyn Guidance>> {
    Strategy::named(name).map(|strategy| (strategy.make)(faults, lenses, steps_max))
}

//! The engine: the one loop that drives worlds, guidance, the LibAFL campaign, the minimiser, findings and
//! replay. It knows neither protocol nor system: a target is a [`misrule_world::Target`] to it. It writes
//! no file and reads no clock; the command line does both.

mod afl;
mod archive;
mod audit;
mod campaign;
mod check;
mod classify;
mod coverage;
mod crash_states;
mod diagnose;
mod draw;
mod draw_clients;
mod draw_disk;
mod draw_links;
mod execute;
mod finding;
mod fingerprint;
mod guidance;
mod minimise;
mod mutate;
mod observed;
mod recover;
mod replay;
mod sample;
mod signal;
mod split;
mod way;
mod why;

pub use archive::{Archive, CELLS_MAX, Cell};
pub use audit::{Audit, AuditOptions, AuditRow, audit};
pub use campaign::{Campaign, Conformance, Entry, Observer, Options, Outcome, Progress, Summary, campaign};
pub use check::{Difference, check};
pub use classify::Class;
pub use coverage::{FacetKeys, Sample};
pub use crash_states::{BrokenStates, CrashCounts, CrashOptions, CrashReport, crash_states};
pub use diagnose::{DiagnoseOptions, Diagnosis, LensDiagnosis, Wanted, diagnose};
pub use draw::Drawer;
pub use execute::{
    Chooser, Execution, Misfit, Mode, TailChooser, Unwatched, Watcher, execute, execute_explicit,
};
pub use finding::{Finding, WATCHES};
pub use fingerprint::Fingerprint;
pub use guidance::{ABLATIONS, Guidance, Listens, Plan, STRATEGIES, Strategy, strategy};
pub use minimise::{Budget, Minimised, minimise};
pub use mutate::{MUTATORS, Material, Mutate};
pub use observed::Observed;
pub use recover::{Recovered, RecoveryEnd};
pub use replay::{Replay, Step, Trace, replay, replay_recorded};
pub use sample::{RecoverySummary, RecoveryWhen};
pub use signal::{SIGNALS, open};
pub use split::{Part, Split, SplitOptions, split};
pub use way::Way;
pub use why::causal_cone;

/// The version of LibAFL that campaigns run on, as pinned in the workspace.
pub const LIBAFL_VERSION: &str = "0.16.1";

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The target could not be opened; nothing was run.
    #[error("the target cannot be opened: {0}")]
    Setup(#[from] misrule_world::SetupError),
    /// No strategy of that name; nothing was run.
    #[error("unknown guidance `{0}`")]
    Guidance(String),
    /// A bug of misrule; what was found before is in the run's folder.
    #[error("internal error, please report: {0}")]
    Internal(String),
}

/// What a mutator was worth in a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutatorYield {
    /// The mutator.
    pub name: String,
    /// Mutants executed.
    pub executions: u64,
    /// Steps that they took.
    pub steps: u64,
    /// New cells that they met.
    pub new_cells: u64,
}

impl MutatorYield {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), executions: 0, steps: 0, new_cells: 0 }
    }
}

//! The simulated world: nodes, links, disks and timers of one execution, where nothing happens unless a
//! choice says so. All that an adapter needs. No fuzzing, no files, no wall clock, no threads.
//!
//! An adapter implements [`System`] (the implementation under test) and [`Judge`] (oracles, model, lenses),
//! and packs both with [`target`]. The engine drives the result through the erased trait [`Run`].

mod budget;
mod choice;
mod clients;
mod clock;
pub mod codec;
mod contract;
mod copy;
mod disk;
mod follow;
pub mod histories;
mod judge;
mod keep;
mod links;
pub mod log;
mod menu;
mod panics;
pub mod probe;
mod profile;
mod recovery;
mod report;
mod rng;
mod run;
mod schedule;
mod search;
mod settings;
mod slab;
mod storage;
mod system;
mod target;
pub mod text;
mod trace;
mod vocabulary;
mod world;

pub use choice::{Choice, ChoiceKind, Slot};
pub use clients::{Answer, Call, CallCounts, ClientEvent, NO_SESSION, SESSIONS_MAX};
pub use clock::ClockContract;
pub use contract::{Contract, ContractError, LinkOrder};
pub use disk::{
    CrashState, CrashStates, DISK_BYTES_MAX, DiskError, DiskFile, DiskHandle, DiskOperation, DiskOutcome,
    OPERATIONS_MAX,
};
pub use follow::{CRASH_POINT, Followed, Follower, Mapping, differ};
pub use judge::{Judge, Seen, Tally};
pub use keep::{Keep, KeepError, KeepShape};
pub use links::Links;
pub use menu::{Menu, bits, nth_bit};
pub use misrule_models::{FacetId, Fields, Key, NodeId};
pub use profile::{FaultKind, FaultProfile, FaultWeights};
pub use recovery::{CORE_NODES_MAX, Core, Recovering, Recovers, Recovery, Standing, whole_core};
pub use report::{Change, Effect, Failure, Report, TraceStep, Watch};
pub use rng::{Rng, mix};
pub use run::{About, FaultCount, Run, Snapshot};
pub use schedule::{Comment, CommentPlace, Expectation, Header, Schedule, ScheduleFile, Tail};
pub use search::{Expected, SOMETIMES, Search, deliverable};
pub use settings::{Setting, SettingError, SettingKind, Settings};
pub use storage::{
    Collateral, Completion, DiskPreset, Grid, Media, Namespace, PAGE, SECTOR, StorageContract, Survive,
    SyncFail, Tear, TearMode, WriteOrder,
};
pub use system::{BootError, Context, Input, SENDS_MAX, System};
pub use target::{Control, Setup, SetupError, Target, target};
pub use trace::TraceHash;
pub use vocabulary::{Argument, DrawName, Keyed, KeyedValues, Operation, TIMERS_MAX, Vocabulary, nearest};
pub use world::World;

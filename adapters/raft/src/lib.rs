//! The crate `raft` of tikv as a target: nodes over a simulated disk, driven through the public interface as a user
//! would, in the order that the crate's documentation prescribes.
//!
//! A node's disk has a log of records: entries and hard state, each a record of its own, entries first. They are synced
//! before anything that depends on them is told. The commit index that a leader learns after the sync is written and
//! synced with whatever comes next, since the crate asks for no more.
//!
//! The crate draws election timeouts at random. Here they are draws of the schedule.
//!
//! ```
//! use misrule_world::{Choice, Report, Settings, Setup, Watch};
//!
//! let target = misrule_raft::raft();
//! let settings = Settings::resolve(&target.settings, &[]).unwrap();
//! let setup = Setup { settings, contract: target.contract, lenses: vec!["pairs@impl".to_owned()] };
//! let mut run = target.open(&setup).unwrap();
//! let mut report = Report::default();
//! run.reset(1, Watch { keys: true, ..Watch::default() }, &mut report);
//! // A node that hears of no leader for long enough asks for votes.
//! while run.menu().waiting == 0 {
//!     run.step(Choice::Timer { node: 0, timer: 0 }, &mut report);
//! }
//! assert!(report.failure.is_none());
//! ```

mod bugs;
mod image;
mod judge;
mod logger;
mod mapping;
mod message;
mod node;
mod oracles;
mod projection;
mod record;
mod store;
mod system;
mod view;

pub use bugs::{BUGS, Bug};
pub use image::{Hard, Image, SharedImage};
pub use judge::RaftJudge;
pub use message::{Kind, Wire};
pub use node::Node;
pub use system::Raft;
pub use view::{Role, View};

use ::raft::eraftpb::Entry;
use misrule_world::{Control, Setting, SetupError, Target, target};

/// The value that a client asked to append with this entry; `None` for an entry of the crate's own.
pub fn value(entry: &Entry) -> Option<u32> {
    entry.data.as_ref().try_into().ok().map(u32::from_le_bytes)
}

/// The target `raft`.
pub fn raft() -> Target {
    let bugs = BUGS.map(|(_, name, sentence)| (name, sentence));
    target("raft", |setup| {
        if setup.settings.integer("nodes") % 2 == 0 {
            return Err(SetupError("raft runs with nodes=3, 5 or 7".to_owned()));
        }
        Ok((Raft::new(setup)?, RaftJudge::new(setup)?))
    })
    .version("0.7.0")
    .description("raft of tikv: replicated log with leader election")
    .setting(Setting::integer("nodes", 3, 7, 3, "nodes in the cluster: 3, 5 or 7"))
    // The crate's default is 20; a small number lets short schedules reach an election.
    .setting(Setting::integer("election-ticks", 2, 20, 3, "ticks of the shortest election timeout"))
    .setting(Setting::integer(
        "in-flight",
        1,
        256,
        4,
        "messages with entries that may be on their way to a node",
    ))
    .bugs(&bugs)
    .contract("reorder,explicit-sync")
    .lenses(judge::LENSES)
    .controls(&[Control::Disk, Control::Draws])
}

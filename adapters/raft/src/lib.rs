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
//! use misrule_world::{Choice, Report, Watch};
//!
//! let target = misrule_raft::raft();
//! let setup = target.setup(&[], "", &["pairs@impl"]).unwrap();
//! let mut run = target.open(&setup).unwrap();
//! let mut report = Report::default();
//! run.reset(1, Watch { keys: true, ..Watch::default() }, &mut report);
//! // A node that hears of no leader for long enough asks for votes.
//! while run.menu().waiting == 0 {
//!     run.step(Choice::Timer { node: 0, timer: 0 }, &mut report);
//! }
//! assert!(report.failure.is_none());
//! ```

#![cfg_attr(not(feature = "since-0-6"), allow(dead_code, reason = "older releases have fewer settings"))]

mod bugs;
mod client;
mod command;
mod compat;
mod conf;
mod image;
mod judge;
#[cfg(feature = "since-0-6")]
mod logger;
mod machine;
mod mapping;
mod message;
mod node;
mod oracles;
mod progress;
mod projection;
mod reads;
mod record;
mod store;
mod system;
#[cfg(all(test, feature = "since-0-6"))]
mod twin;
mod view;

pub use bugs::{BUGS, Bug};
pub use command::{Action, Command};
pub use conf::Conf;
pub use image::{Base, Hard, Image, SharedImage};
pub use judge::RaftJudge;
pub use message::{Kind, Wire};
pub use node::{Done, Node};
pub use system::Raft;
pub use view::{Role, View};

use misrule_history::specifications::Named;
use misrule_world::{Control, Setting, Target, target};

/// The target `raft`.
pub fn raft() -> Target {
    let bugs = BUGS.map(|(_, name, sentence)| (name, sentence));
    let target = target("raft", |setup| {
        let system = Raft::new(setup)?;
        let judge = RaftJudge::new(&system, setup)?;
        Ok((system, judge))
    })
    .version("0.7.0")
    .description(
        "raft of tikv: a replicated key-value service on its log, with snapshots and changes of membership",
    )
    .setting(Setting::integer("nodes", 3, 7, 3, "nodes in the cluster: 3, 5 or 7"))
    .bugs(&bugs)
    .specification(Named::KeyValue)
    .contract("reorder,explicit-sync")
    .lenses(judge::LENSES)
    .modelled(mapping::is_modelled)
    .controls(&[Control::Disk, Control::Draws]);
    settings().into_iter().fold(target, Target::setting)
}

/// The settings, but for the nodes and the bug.
fn settings() -> Vec<Setting> {
    vec![
        // The crate's default is 20; a small number lets short schedules reach an election.
        Setting::integer("election-ticks", 2, 20, 3, "ticks of the shortest election timeout"),
        Setting::integer("in-flight", 1, 256, 4, "messages with entries that may be on their way to a node"),
        Setting::integer("keys", 1, machine::KEYS_MAX as u64, 3, "how many keys"),
        Setting::integer("sessions", 1, machine::SESSIONS_MAX as u64, 3, "clients that ask at the same time"),
        Setting::words(
            "reads",
            vec!["safe", "lease"],
            "safe",
            "how reads are confirmed; lease needs check-quorum",
        ),
        Setting::switch("pre-vote", false, "whether nodes ask first whether they would be elected"),
        Setting::switch("check-quorum", false, "whether a leader that hears of no quorum steps down"),
        Setting::switch("transfer", true, "whether clients ask for other leaders"),
        Setting::switch("snapshots", true, "whether clients ask for snapshots in place of entries"),
        Setting::words(
            "membership",
            compat::MEMBERSHIPS.to_vec(),
            "off",
            "whether clients change the configuration: one node at a time, or also through joint ones",
        ),
        Setting::switch(
            "leaver-steps-down",
            true,
            "whether a leader that votes no more steps down; the crate lets it go on, panics, and reads what is stale",
        ),
        Setting::words(
            "apply",
            compat::APPLIES.to_vec(),
            "at-once",
            "whether entries are applied by a step of their own",
        ),
        Setting::words(
            "flush",
            compat::FLUSHES.to_vec(),
            "at-once",
            "whether the disk is synced by a step of its own; always-later in cases too in which the crate panics",
        ),
        Setting::words(
            "sync",
            vec!["always", "must-sync"],
            "always",
            "whether the disk is synced after every write, or only where the crate says that it must be",
        ),
        Setting::switch("history", true, "judge what clients saw"),
    ]
}

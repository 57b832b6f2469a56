//! The crate openraft as a target: nodes of tokio tasks, each on an [executor](misrule_executor) of its own, over a
//! simulated disk, driven through the public interface as a user would.
//!
//! A request between nodes is a message, and so is its answer; a message that is lost lets the request run into its
//! timeout, which is a timer. The order in which a node's tasks run is a draw (`tasks=any`), or each poll is a local
//! step (`tasks=step`). Writes of log and vote are synced at once, or wait for a local
//! step that syncs the disk (`flush=late`): the library answers nobody meanwhile. A crash drops everything that a node has; it starts again from its disk.
//!
//! Elections begin by openraft's own clock (`elections=ticks`), or when the operator asks for one (`elections=trigger`).
//! Clients put, get, and compare and set values of keys; what they see is judged.
//!
//! The cluster starts with its membership in each log, as `Raft::initialize` writes it on every node. Operators may
//! add and remove learners and voters, ask for snapshots, after which logs are purged, and for elections.
//!
//! # What is left out
//!
//! `tasks=step`, `stale-appends=sent` and more than 7 nodes with the learners are not followed by the model. There is no transfer of leadership
//! in this release: an operator asks the node that is to lead to stand for election.
//!
//! ```
//! use misrule_world::{Choice, Report, Watch};
//!
//! let target = misrule_openraft::openraft();
//! let setup = target.setup(&[("elections", "trigger"), ("flush", "late")], "", &["pairs@impl"]).unwrap();
//! let mut run = target.open(&setup).unwrap();
//! let mut report = Report::default();
//! run.reset(1, Watch { keys: true, ..Watch::default() }, &mut report);
//! // Somebody asks node 1 to stand for election: its vote goes to the disk first.
//! run.step(Choice::Timer { node: 0, timer: 2 }, &mut report);
//! assert_eq!(run.menu().locals[0], 1);
//! run.step(Choice::Local { node: 0, step: 0 }, &mut report);
//! assert!(report.failure.is_none());
//! assert_eq!(run.menu().waiting, 2, "two requests for votes are on their way");
//! ```

mod client;
mod command;
mod image;
mod journal;
mod judge;
mod machine;
mod mapping;
mod members;
mod message;
mod network;
mod oracles;
mod projection;
mod record;
mod recovery;
mod registers;
mod store;
mod system;
#[cfg(test)]
mod twin;
mod types;
mod view;

pub use command::{Action, Command};
pub use image::{Image, Outline};
pub use judge::OpenraftJudge;
pub use members::Members;
pub use message::Wire;
pub use system::{Node, Openraft};
pub use types::{Moment, Numbers, Runtime, Sender, Types};
pub use view::View;

use misrule_history::specifications::Named;
use misrule_world::{Control, Setting, Target, target};

/// The target `openraft`.
pub fn openraft() -> Target {
    let target = target("openraft", |setup| {
        let system = Openraft::new(setup)?;
        let judge = OpenraftJudge::new(&system, setup)?;
        Ok((system, judge))
    })
    .version("0.9.25")
    .description("openraft: Raft as tokio tasks, on an executor whose order is chosen")
    .setting(Setting::integer("nodes", 3, 7, 3, "voters in the cluster"))
    .bugs(&store::BUGS)
    .specification(Named::KeyValue)
    .contract("reorder+loss+dup,explicit-sync")
    .lenses(&judge::LENSES)
    .modelled(mapping::is_modelled)
    .controls(&[Control::Disk, Control::Draws]);
    settings().into_iter().fold(target, Target::setting)
}

/// The settings, but for the nodes and the bug.
fn settings() -> Vec<Setting> {
    vec![
        Setting::words(
            "elections",
            vec!["ticks", "trigger"],
            "ticks",
            "who asks for elections: openraft's clock, or the operator",
        ),
        Setting::words(
            "flush",
            vec!["now", "late"],
            "now",
            "when writes are synced: at once, or in a local step",
        ),
        Setting::words(
            "tasks",
            vec!["any", "fifo", "step"],
            "any",
            "order of a node's tasks: drawn, as they are woken, or a local step for each poll",
        ),
        Setting::integer("keys", 1, registers::KEYS_MAX as u64, 3, "how many keys"),
        Setting::integer(
            "sessions",
            1,
            registers::SESSIONS_MAX as u64,
            3,
            "clients that ask at the same time",
        ),
        Setting::switch("snapshots", true, "whether nodes are asked for snapshots"),
        Setting::switch("transfer", true, "whether operators ask nodes to stand for election"),
        Setting::integer("learners", 0, 2, 0, "further nodes, which operators may add as learners"),
        Setting::words(
            "membership",
            vec!["off", "single", "joint"],
            "off",
            "whether operators change the voters: one node at a time, or also to any set of them",
        ),
        Setting::words(
            "reads",
            vec!["careful", "at-once"],
            "careful",
            "when a leader that has started again answers reads: with all that it had applied, or as soon as the library lets it",
        ),
        Setting::words(
            "stale-appends",
            vec!["dropped", "sent"],
            "dropped",
            "what becomes of a later leader's entries that a former leader sends with its own vote",
        ),
        Setting::switch("history", true, "judge what clients saw"),
    ]
}

//! A small Raft as a target: a sample implementation of our own, plainly written from the paper, with planted bugs.
//!
//! Sources: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014, figure 2; Ongaro,
//! "Consensus: Bridging Theory and Practice", 2014, chapter 4 for changes of one server at a time (with the correction
//! that he published in 2015) and section 6.4 for reads that are confirmed by a round of heartbeats.
//!
//! Term, vote and log are written to the log of records of the world's disk. A local step `sync` makes durable what is
//! written; whatever says something about it waits until then.
//!
//! What lives where: `message` and `log` are what servers say and keep, `server` is a server's state and its disk,
//! `election`, `replication` and `client` the protocol; `oracles` what must hold, `projection` what lenses see;
//! [`BUGS`] what can be planted.
//!
//! What this implementation leaves out: snapshots (the log is never cut), a state machine (a read returns how much is
//! committed), pre-votes, leader transfer, the catching up of new servers before they are added.
//!
//! ```
//! use misrule_world::{Choice, Report, Watch};
//!
//! let target = misrule_small_raft::small_raft();
//! let setup = target.setup(&[], "", &["pairs@impl"]).unwrap();
//! let mut run = target.open(&setup).unwrap();
//! let mut report = Report::default();
//! run.reset(1, Watch { keys: true, ..Watch::default() }, &mut report);
//! // A server that hears of no leader while its timer fires four times asks for votes, once its term and vote are synced.
//! for _ in 0..4 {
//!     run.step(Choice::Timer { node: 0, timer: 0 }, &mut report);
//! }
//! assert_eq!(run.menu().waiting, 0);
//! run.step(Choice::Local { node: 0, step: 0 }, &mut report);
//! assert_eq!(run.menu().waiting, 2);
//! ```

mod bugs;
mod client;
mod election;
mod judge;
mod log;
mod message;
mod oracles;
mod projection;
mod record;
mod replication;
mod server;
mod system;
mod view;

pub use bugs::{BUGS, Bug};
pub use judge::SmallRaftJudge;
pub use log::{Log, Slot};
pub use message::{BATCH, Entry, Message, Payload};
pub use server::{NODES_MAX, Role, Server};
pub use system::{Node, SmallRaft};
pub use view::{Seen, View};

use misrule_world::{Control, Setting, Target, target};

/// The target `small-raft`.
pub fn small_raft() -> Target {
    let bugs = BUGS.map(|(_, name, sentence)| (name, sentence));
    target("small-raft", |setup| Ok((SmallRaft::new(setup), SmallRaftJudge::new(&setup.lenses)?)))
        .version(env!("CARGO_PKG_VERSION"))
        .description(
            "a small Raft of our own: a replicated log with reads and changes of one member at a time",
        )
        .setting(Setting::integer("nodes", 3, NODES_MAX as u64, 3, "servers in the cluster"))
        .setting(Setting::switch("membership", false, "whether clients add and remove servers"))
        .setting(Setting::switch("reads", true, "whether clients read"))
        .setting(Setting::integer("sessions", 1, 8, 3, "clients that ask at the same time"))
        .bugs(&bugs)
        .contract("reorder,explicit-sync")
        .lenses(&judge::LENSES)
        .controls(&[Control::Disk])
}

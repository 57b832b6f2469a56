//! The crate omnipaxos as a target: servers over a simulated disk, driven through the public interface as a
//! user would.
//!
//! Left out: reconfiguration and snapshots (the workload asks for neither), custom priorities, flexible
//! quorums. The crate's documentation does not say whether links keep the order of messages, so the default
//! contract lets them reorder; the protocol's paper assumes that they do not: run with `fifo` for that.
//!
//! The model [`sequence_paxos`](misrule_models::sequence_paxos) follows every step, with no deviation, under every
//! setting and contract. Over links that lose order its properties break at the step where an oracle fails: the
//! protocol does not survive such links. Releases before 0.2.3 have no model.
//!
//! ```
//! use misrule_world::{Choice, Report, Watch};
//!
//! let target = misrule_omnipaxos::omnipaxos();
//! let setup = target.setup(&[], "", &["pairs@impl"]).unwrap();
//! let mut run = target.open(&setup).unwrap();
//! let mut report = Report::default();
//! run.reset(1, Watch { keys: true, ..Watch::default() }, &mut report);
//! run.step(Choice::Timer { node: 0, timer: 0 }, &mut report);
//! assert!(report.failure.is_none());
//! assert!(run.menu().waiting > 0, "heartbeats are on their way");
//! ```

mod compat;
mod convert;
mod decided;
mod image;
mod judge;
#[cfg(feature = "since-0-2-3")]
mod logger;
mod mapping;
mod message;
mod projection;
mod record;
mod recovery;
mod store;
mod system;

pub use image::{Image, SharedImage};
pub use judge::OmnipaxosJudge;
pub use message::{Kind, Wire};
pub use system::{Node, Omnipaxos, Role, Value, View};

use misrule_world::{Control, Setting, Target, target};

/// The target `omnipaxos`.
pub fn omnipaxos() -> Target {
    target("omnipaxos", |setup| Ok((Omnipaxos::new(setup), OmnipaxosJudge::new(setup)?)))
        .version("0.2.4")
        .description("omnipaxos: replicated log with leader election, Sequence Paxos, and trimming")
        .setting(Setting::integer("nodes", 3, 7, 3, "servers in the cluster"))
        .setting(Setting::switch("trim", true, "whether clients ask to trim the log"))
        .setting(Setting::integer("batch", 1, 16, 1, "entries that a server collects before it stores them"))
        // The crate's default is 100; a small number lets short schedules reach what follows.
        .setting(Setting::integer(
            "resend",
            1,
            200,
            5,
            "ticks after which unanswered messages are sent again",
        ))
        .contract("reorder,explicit-sync")
        .lenses(judge::LENSES)
        .controls(&[Control::Disk])
}

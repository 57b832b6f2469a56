//! A replicated key-value service as a target: a sample of our own, written well, with its own storage engine and
//! planted bugs.
//!
//! Some nodes keep one log (Raft, small) and apply it to some keys: `put`, `get`, `cas`. Reads go through the log too.
//! A call that a client makes again takes effect once. Each node keeps its log in a write-ahead log with checksums,
//! syncs it in a local step that may cover several entries (group commit), and now and then writes a snapshot under
//! another name, syncs it, renames it into place, syncs the directory, and begins a new log file behind it.
//!
//! With `workload=cycle` and `keys` of 4 or more the keys are a ring, and clients rearrange it. `rotate` is an optimistic transaction: a leader
//! reads some pairs from what it has applied, and proposes an entry with what it has read; applying it compares that
//! with what stands there, and answers that it failed where another transaction came first. `ring` reads all pairs, and
//! an oracle wants one cycle of all keys in each.
//!
//! What lives where: `entry`, `log`, `machine` are what nodes know, `message` what they say; `node`, `elect`,
//! `replicate`, `client` the protocol; [`Store`] the storage engine with `wal`, `scan`, `snapshot` and `recovery`;
//! `oracles` and `ring` what must hold, `projection` what lenses see, `progress` what is promised once faults have
//! stopped; [`BUGS`] what can be planted.
//!
//! # What disks it survives
//!
//! Every contract of the disk but `lying-disk`, with blocks of any size: the engine asks for the size of a block, as
//! real ones do, and takes what the contract says. Of media faults it survives what is reported: errors, no space,
//! short writes and short reads. The node then refuses everything until it starts again. It survives no wrong bytes: a
//! record that is read wrong where the log ends looks like one that was never finished. A node that finds its disk
//! in contradiction with what it had synced refuses to go on, and is a finding, unless the contract has media faults
//! or lies. A node cannot stop its own process in this world, so that it stays up and does nothing.
//!
//! # What is left out
//!
//! There is no model, so nothing is compared with one. Left out of the protocol: changes of membership, leases,
//! leadership transfer, a pre-vote, and flow control: a leader sends three entries at a time and sends them again
//! with each heartbeat until they are answered.
//!
//! ```
//! use misrule_world::{Choice, Report, Watch};
//!
//! let target = misrule_kv::kv();
//! let setup = target.setup(&[("nodes", "1")], "", &["durable@impl"]).unwrap();
//! let mut run = target.open(&setup).unwrap();
//! let mut report = Report::default();
//! run.reset(1, Watch { keys: true, ..Watch::default() }, &mut report);
//! // A node that hears of no leader for long enough leads, here without asking anybody.
//! while run.menu().timers[0] == 1 {
//!     run.step(Choice::Timer { node: 0, timer: 0 }, &mut report);
//! }
//! // Its first entry is written, and waits for a sync.
//! assert_eq!(run.menu().locals[0], 1);
//! assert!(report.failure.is_none());
//! ```

mod bugs;
mod bytes;
mod client;
mod elect;
mod entry;
mod judge;
mod log;
mod machine;
mod message;
mod node;
mod oracles;
mod progress;
mod projection;
mod recovery;
mod replicate;
mod ring;
mod scan;
mod snapshot;
mod store;
mod system;
mod view;
mod wal;

pub use bugs::{BUGS, Bug};
pub use entry::{Entry, KEYS_MAX, Op, Promise, SESSIONS_MAX, Value};
pub use judge::KvJudge;
pub use log::{Base, Log};
pub use machine::{Machine, Outcome, Session};
pub use message::{BATCH_MAX, Batch, Message};
pub use node::{NODES_MAX, Node, Role};
pub use recovery::Recovered;
pub use store::{Options, Store, Trouble};
pub use system::{Kv, Server, Workload, WorkloadKind};
pub use view::View;

use misrule_history::specifications::Named;
use misrule_world::{Control, Setting, SetupError, Target, target};

/// The smallest ring that can break: of three elements every transaction writes all.
const RING_MIN: u8 = 4;

/// The target `kv`.
pub fn kv() -> Target {
    let bugs = BUGS.map(|(_, name, sentence)| (name, sentence));
    target("kv", |setup| {
        let number = |name| setup.settings.integer(name);
        let options = Options {
            block: setup.contract.disk.tear.unit as usize,
            value: number("value") as usize,
            bug: Bug::named(setup.settings.word("bug")),
        };
        let nodes = number("nodes") as u8;
        let kind = match setup.settings.word("workload") {
            "cycle" => WorkloadKind::Cycle,
            _ => WorkloadKind::Keys,
        };
        let workload = Workload { kind, keys: number("keys") as u8, sessions: number("sessions") as u8 };
        if kind == WorkloadKind::Cycle && workload.keys < RING_MIN {
            let text = format!("workload=cycle needs keys={RING_MIN} or more: a smaller ring never breaks");
            return Err(SetupError(text));
        }
        let system = Kv::new(nodes, workload, number("snapshot-every"), options);
        let mut judge = KvJudge::new(&system, &setup.contract, &setup.lenses)?;
        if !setup.settings.is_on("history") {
            judge.ignore_clients();
        }
        Ok((system, judge))
    })
    .version(env!("CARGO_PKG_VERSION"))
    .description("a replicated key-value service with a write-ahead log, snapshots, and a leader")
    .setting(Setting::integer("nodes", 1, NODES_MAX as u64, 3, "nodes in the cluster"))
    .setting(Setting::integer("keys", 1, KEYS_MAX as u64, 3, "how many keys"))
    .setting(Setting::integer("sessions", 1, SESSIONS_MAX as u64, 4, "clients that ask at the same time"))
    .setting(Setting::integer("snapshot-every", 1, 1_000, 6, "applied entries that are due for a snapshot"))
    // Larger than a block, so that a single record may be torn.
    .setting(Setting::integer("value", 4, 8_192, 600, "bytes of a value"))
    .setting(Setting::words(
        "workload",
        vec!["keys", "cycle"],
        "keys",
        "what clients do: single keys, or transactions on a ring of keys",
    ))
    .setting(Setting::switch("history", true, "judge what clients saw"))
    .bugs(&bugs)
    .specification(Named::KeyValue)
    .contract("reorder+loss+dup,posix-min")
    .lenses(&judge::LENSES)
    .controls(&[Control::Disk, Control::Draws])
}

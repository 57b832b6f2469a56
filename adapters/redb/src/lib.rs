//! The embedded database redb as a target: one node, one file on the simulated disk, driven through the public
//! interface as a user would.
//!
//! A client keeps at most one write transaction open and does one operation of it a request, over three tables whose
//! values take from a few bytes to more than a page. It commits with both durability levels, in one phase, in two,
//! and with quick-repair; makes, restores and drops ephemeral and persistent savepoints; reads in transactions that
//! stay open; compacts, checks the integrity, closes and opens again.
//!
//! The first start creates the file, and no crash falls into that, unless the setting `create` leaves it to the first
//! request. Then `opens-after-crash` fails, up to release 4.6.0: a process that ends after redb has set the length of
//! the new file, and before its header is there, leaves a file that redb refuses as one that is not a database.
//! No commit is lost, and redb does not promise to initialise a file that is not empty; but its user has to see
//! that it may be removed, or has to create it under another name and rename it.
//!
//! # What must hold
//!
//! - `acknowledged-commits-survive`: after a start the tables and persistent savepoints are those of a commit, not
//!   older than the last one acknowledged as durable, and not younger than the last one begun.
//! - `transactions-are-atomic`: they are not a mixture of commits.
//! - `opens-after-crash`, `opens-after-close`: the database opens.
//! - `integrity-check-passes`: `check_integrity` returns `Ok(true)`.
//! - `reads-see-one-commit`: a read transaction sees what was committed when it began, a restored savepoint is what
//!   was saved.
//! - `requests-succeed`: no other error, and no panic (the world's oracle).
//!
//! Commits with `Durability::None` may be lost, the last ones first; a later durable commit makes them durable.
//! What a client has seen after a start stays, whatever happens.
//!
//! Errors that are no finding: a savepoint that a restored older one made invalid, compaction and integrity checks while
//! savepoints or read transactions live, a lower durability for a transaction that touched persistent savepoints.
//! Where the contract lets the disk report an error, every error that follows is legal until the database was opened
//! again, and the commit that met it may be there or not; a disk that returns wrong bytes is outside what redb
//! claims to survive.
//!
//! # Contract
//!
//! redb claims that it needs atomic bytes, durable syncs and powersafe overwrite, nothing more. The default is
//! `posix-min,block=64`: blocks small enough to tear a commit slot (128 bytes) and the header (320 bytes), which is
//! what the claim allows. `block=1` is the whole claim, and slow; `block=512` is what disks with sectors do.
//! The name of the file is synced by the client, as redb leaves that to its user.
//!
//! Left out: multimap tables, renamed tables, several threads, the modes that share a file between processes.
//!
//! ```
//! use misrule_world::{Choice, Keep, NO_SESSION, Report, Watch};
//!
//! let target = misrule_redb::redb();
//! let setup = target.setup(&[], "", &[]).unwrap();
//! let mut run = target.open(&setup).unwrap();
//! let mut report = Report::default();
//! run.reset(1, Watch::default(), &mut report);
//! let request =
//!     |operation, argument| Choice::Request { node: 0, operation, session: NO_SESSION, argument };
//! // A value is inserted and committed, and the node loses power.
//! run.step(request(0, 1), &mut report);
//! run.step(request(3, 0), &mut report);
//! run.step(Choice::Crash { node: 0, keep: Keep::NONE }, &mut report);
//! run.step(Choice::Restart { node: 0 }, &mut report);
//! assert!(report.failure.is_none());
//! ```

mod backend;
mod client;
mod contents;
mod judge;
mod ledger;
mod system;
mod tables;

pub use client::Node;
pub use contents::{Contents, KEYS, SAVED, State, TABLES};
pub use judge::RedbJudge;
pub use system::{Answer, Redb, View};

use misrule_world::{Control, Setting, Target, target};

/// Longest execution: a step takes some 50 microseconds.
const STEPS_MAX: u32 = 1_000;

/// The target `redb`.
pub fn redb() -> Target {
    target("redb", |setup| Ok((Redb::new(setup), RedbJudge::new(setup)?)))
        .version("4.6.0")
        .description("redb: embedded database with transactions, savepoints and repair, on one file")
        .setting(Setting::integer("cache", 0, 65_536, 64, "KiB that redb caches; a tenth of it for writes"))
        .setting(Setting::switch("savepoints", true, "whether clients use savepoints"))
        .setting(Setting::switch("check", true, "whether clients ask for integrity checks"))
        .setting(Setting::switch("compact", true, "whether clients ask for compaction"))
        .setting(Setting::switch(
            "create",
            false,
            "whether the first request creates the file, in reach of crashes",
        ))
        .contract("fifo,posix-min,block=64")
        .steps_max(STEPS_MAX)
        .lenses(&judge::LENSES)
        .controls(&[Control::Disk])
}

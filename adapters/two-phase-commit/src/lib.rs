//! Two-phase commit as a target: a sample implementation of our own, well written, with planted bugs.
//!
//! One coordinator (node 1 in text) and some resource managers run transactions: a few at once, each in a lane,
//! one after another in each lane. What must survive is in a log of records that is synced before anybody is
//! told of it, by a local step `flush` that may cover several transactions (group commit). Everything is sent
//! again until it is answered, so that transactions end under loss, duplication, reordering and the crash of
//! any node.
//!
//! What lives where: `state` is what nodes say and know, `coordinator` and `manager` the protocol; [`model`] the
//! abstract protocol, `mapping` what joins the two; `oracles` what must hold without a model, `projection`
//! what lenses see, `recovery` what is promised once faults have stopped; [`BUGS`] what can be planted.
//!
//! What this implementation leaves out: clients are told nothing; the log is never cut; a manager never
//! decides alone once it has voted yes, so that a coordinator that stays away blocks it.
//!
//! ```
//! use misrule_two_phase_commit::two_phase_commit;
//! use misrule_world::{Choice, NO_SESSION, Report, Slot, Watch};
//!
//! let target = two_phase_commit();
//! let setup = target.setup(&[("managers", "2")], "", &["pairs@model"]).unwrap();
//! let mut run = target.open(&setup).unwrap();
//! let mut report = Report::default();
//! run.reset(1, Watch { keys: true, model: true, ..Watch::default() }, &mut report);
//! // A client asks, the coordinator writes that a transaction begins, and asks the managers to prepare.
//! run.step(Choice::Request { node: 0, operation: 0, argument: 0, session: NO_SESSION }, &mut report);
//! run.step(Choice::Local { node: 0, step: 0 }, &mut report);
//! run.step(Choice::Deliver(Slot { from: 0, to: 1, at: 1, kind: Slot::ANY_KIND }), &mut report);
//! assert!(report.failure.is_none());
//! assert_eq!(run.about().tally.steps_walked, 3);
//! ```

mod bugs;
mod coordinator;
mod inbox;
mod judge;
mod manager;
mod mapping;
pub mod model;
mod oracles;
mod projection;
mod recovery;
mod state;
mod system;

pub use bugs::{BUGS, Bug};
pub use judge::TwoPhaseJudge;
pub use mapping::Steps;
pub use state::{LANES_MAX, Lane, Message, Node, Phase, Record, Txn, View};
pub use system::TwoPhaseCommit;

use misrule_world::{Control, Setting, Target, target};

/// The target `two-phase-commit`.
pub fn two_phase_commit() -> Target {
    let bugs = BUGS.map(|(_, name, sentence)| (name, sentence));
    target("two-phase-commit", |setup| {
        let managers = setup.settings.integer("managers") as u8;
        let transactions = setup.settings.integer("transactions") as u8;
        let bug = Bug::named(setup.settings.word("bug"));
        let judge = TwoPhaseJudge::new(managers, transactions, &setup.lenses)?;
        Ok((TwoPhaseCommit::new(managers, transactions, bug), judge))
    })
    .version(env!("CARGO_PKG_VERSION"))
    .description("a coordinator and resource managers commit transactions, with a log and group commit")
    .setting(Setting::integer("managers", 2, 6, 3, "how many resource managers"))
    .setting(Setting::integer("transactions", 1, LANES_MAX as u64, 2, "how many transactions at once"))
    .bugs(&bugs)
    .contract("reorder+loss+dup,ordered")
    .lenses(&judge::LENSES)
    .controls(&[Control::Disk, Control::Draws])
}

//! Campaigns over a target that keeps a file: crash points, sets of blocks and disk outcomes are drawn where the
//! contract has them, find what it permits, and are minimised and replayed.

mod common;

use common::{run, setup};
use misrule_engine::{
    AuditOptions, Budget, CrashOptions, CrashReport, Execution, Misfit, Mode, Options, Outcome, audit,
    crash_states, execute_explicit, minimise,
};
use misrule_world::{
    Argument, BootError, Choice, ChoiceKind, Context, Control, DiskError, DiskFile, Fields, Input, Judge,
    Keep, NO_SESSION, Operation, Report, Seen, System, Target, Vocabulary, Watch, target,
};
use std::fmt::Display;

/// Bytes of a record: three blocks of the contracts below.
const RECORD: usize = 24;

/// A log of records in a file, which trusts every record of full length, or what a sync that fails has left.
struct Store(Vocabulary);

#[derive(Clone, Default)]
struct Length(u64);

impl Fields for Length {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("length", &self.0);
    }
}

impl Store {
    fn new() -> Self {
        let put = Operation { name: "put", argument: Argument::Fresh, weight: 1 };
        Self(Vocabulary { nodes: 2, operations: vec![put], ..Vocabulary::default() })
    }

    fn recover(cx: &Context<()>) -> Result<(DiskFile, u64, bool), DiskError> {
        let file = cx.disk().open_or_create("log")?;
        cx.disk().sync_dir()?;
        let (mut end, mut record, mut whole) = (0, [0; RECORD], true);
        while file.read_at(end, &mut record)? == RECORD {
            whole &= record.iter().all(|byte| *byte == record[0] && *byte > 0);
            end += RECORD as u64;
        }
        Ok((file, end, whole))
    }
}

impl System for Store {
    type Node = (Option<DiskFile>, u64);
    type Message = ();
    type View = Length;

    fn vocabulary(&self) -> &Vocabulary {
        &self.0
    }

    fn boot(&self, cx: &mut Context<()>) -> Result<(Option<DiskFile>, u64), BootError> {
        match Self::recover(cx) {
            Ok((file, end, true)) => Ok((Some(file), end)),
            Ok(_) => Err(BootError("a record is torn".to_owned())),
            Err(_) => Ok((None, 0)),
        }
    }

    fn handle(&self, node: &mut (Option<DiskFile>, u64), input: Input<()>, _cx: &mut Context<()>) {
        let (Some(file), Input::Request { argument, .. }) = (node.0, input) else { return };
        let record = [1 + argument as u8 % 250; RECORD];
        match file.write_at(node.1, &record).and_then(|()| file.sync_all()) {
            Ok(()) => node.1 += RECORD as u64,
            Err(_) => node.0 = None,
        }
    }

    fn view(&self, node: &(Option<DiskFile>, u64), out: &mut Length) {
        out.0 = node.1;
    }

    fn kind(&self, _message: &()) -> u8 {
        0
    }
}

struct Unjudged;

impl Judge<Store> for Unjudged {
    fn reset(&mut self, _seen: &Seen<'_, Store>, _report: &mut Report) {}
    fn after(&mut self, _seen: &Seen<'_, Store>, _report: &mut Report) {}
}

fn store(contract: &str) -> Target {
    target("store", |_| Ok((Store::new(), Unjudged))).contract(contract).controls(&[Control::Disk])
}

fn campaign(contract: &str, guidance: &str) -> Outcome {
    let target = store(contract);
    let options = Options {
        guidance: guidance.to_owned(),
        stop_after_executions: Some(2_000),
        steps_max: 100,
        ..Options::default()
    };
    run(&target, &setup(&target, &[], &[]), &options)
}

#[test]
fn torn_records_are_found_where_blocks_survive_in_any_order() {
    for contract in ["posix-min,block=8", "fsyncgate,block=8", "no-powersafe-overwrite,block=8"] {
        let outcome = campaign(contract, "random");
        let finding = outcome.findings.first().expect(contract);
        assert_eq!(finding.failure.property, "node-starts");
        // A put, the crash in it and the start.
        assert_eq!(finding.minimised.len(), 3, "{:?}", finding.minimised);
        assert!(matches!(finding.minimised[0], Choice::CrashAt { .. }), "{:?}", finding.minimised);
    }
}

/// A crash point may name many more units than the call writes. Each goes, and they are not tried one a round.
#[test]
fn a_set_of_many_units_becomes_the_one_that_matters() {
    let target = store("posix-min,block=8");
    let mut run = target.open(&setup(&target, &[], &[])).expect("a valid setup");
    let put = |argument| Choice::Request { node: 0, operation: 0, argument, session: NO_SESSION };
    for listed in [0x7fff_fffd, 0x5555_5554, 0x7fff_fffc] {
        let crash = Choice::CrashAt { node: 0, at: 1, keep: Keep::bits(listed) };
        let choices = [put(3), crash, put(7), Choice::Restart { node: 0 }];
        let mut execution = Execution::default();
        let mode = Mode { seed: 1, watch: Watch::default(), misfit: Misfit::Skip };
        execute_explicit(&mut *run, mode, &choices, &mut execution);
        let fingerprint = execution.fingerprint().expect("a torn record");
        let minimised = minimise(&mut *run, 1, Watch::default(), &choices, fingerprint, Budget::default())
            .expect("fails");
        let crash = Choice::CrashAt { node: 0, at: 1, keep: Keep::only(2) };
        assert_eq!(minimised.choices, [crash, put(1), Choice::Restart { node: 0 }]);
        assert!(minimised.minimal && minimised.executions < 200, "{}", minimised.executions);
    }
}

#[test]
fn nothing_is_found_where_they_do_not() {
    for contract in ["explicit-sync", "ordered,block=8", "torn-prefix,block=8", "reorder-writes,block=8"] {
        assert!(campaign(contract, "random").findings.is_empty(), "{contract}");
    }
}

#[test]
fn every_fault_of_the_contract_is_drawn_and_met() {
    let outcome = campaign("torn-prefix,block=8,sync-fail=drops,media=no-space+write-error", "random");
    assert!(outcome.findings.is_empty(), "{:?}", outcome.findings[0].failure);
    for kind in [ChoiceKind::Crash, ChoiceKind::Disk] {
        let count = outcome.summary.choices[kind as usize];
        assert!(count.applied > 100 && count.applied <= count.drawn, "{kind:?}: {count:?}");
    }
    let quiet = campaign("torn-prefix,block=8", "random").summary;
    assert_eq!(quiet.choices[ChoiceKind::Disk as usize].drawn, 0);
}

/// Recovers from every state of a workload of `puts` requests at node 1.
fn explore(contract: &str, puts: u32, crashes: u32) -> CrashReport {
    let target = store(contract);
    let mut run = target.open(&setup(&target, &[], &[])).expect("a valid setup");
    let put = |argument| Choice::Request { node: 0, operation: 0, argument, session: NO_SESSION };
    let workload: Vec<Choice> = (1..=puts).map(put).collect();
    crash_states(&mut *run, 1, &workload, CrashOptions { crashes, ..CrashOptions::default() }, &mut |_| true)
        .expect("a valid setup")
}

#[test]
fn every_state_of_a_workload_is_recovered_from() {
    // A put writes three blocks and syncs. Crash points: after the write, where any of 2^3 sets survives; after
    // the sync and after the call, where everything is durable. A record is torn where its last block survives
    // and another one does not: 3 of the 8. The put's lost write leaves the image of the put before.
    for puts in 1..=3 {
        let report = explore("posix-min,block=8", puts, 1);
        let puts = u64::from(puts);
        let counts = &report.counts;
        assert_eq!((counts.points, counts.sets, counts.states), (3 * puts, 10 * puts, 10 * puts));
        assert_eq!((counts.images, counts.failing, counts.complete), (7 * puts + 1, 3 * puts, true));
        assert_eq!(report.broken.len(), 1, "one fingerprint");
        assert_eq!(report.broken[0].failure.property, "node-starts");
        assert_eq!(report.broken[0].states, 3 * puts);
    }
}

#[test]
fn only_states_that_the_contract_permits_are_recovered_from() {
    // What survives of a put's three blocks: nothing or all of them; or a prefix.
    for (contract, states) in
        [("explicit-sync", 1), ("reorder-writes", 2), ("torn-prefix", 4), ("immediate", 1)]
    {
        let report = explore(&format!("{contract},block=8"), 1, 1);
        assert_eq!((report.counts.states, report.counts.failing), (states + 2, 0), "{contract}");
    }
}

#[test]
fn recoveries_are_crashed_too() {
    // Each of the 7 states that are recovered from has two crash points more: after the directory's sync, and
    // after the start. Nothing is pending at either.
    let (once, twice) = (explore("posix-min,block=8", 1, 1), explore("posix-min,block=8", 1, 2));
    let sound = once.counts.states - once.counts.failing;
    assert_eq!(twice.counts.states, once.counts.states + 2 * sound);
    assert_eq!(twice.broken, once.broken);
}

#[test]
fn an_exploration_that_is_cut_short_says_so() {
    let target = store("posix-min,block=8");
    let mut run = target.open(&setup(&target, &[], &[])).unwrap();
    let put = [Choice::Request { node: 0, operation: 0, argument: 1, session: NO_SESSION }];
    let mut explore = |options, go_on: bool| {
        crash_states(&mut *run, 1, &put, options, &mut |_| go_on).unwrap().counts.complete
    };
    let all = CrashOptions::default();
    assert!(explore(all, true));
    assert!(!explore(all, false));
    assert!(!explore(CrashOptions { sets_max: 7, ..all }, true));
    assert!(!explore(CrashOptions { executions_max: 12, ..all }, true));
}

#[test]
fn an_audit_shows_what_each_contract_hides() {
    let contracts =
        ["immediate,block=8", "explicit-sync,block=8", "torn-prefix,block=8", "posix-min,block=8"];
    let options =
        AuditOptions { seed: 5, executions: 600, steps: 60, faults: misrule_world::FaultProfile::Heavy };
    let open = |contract: &&str| {
        let target = store(contract);
        target.open(&setup(&target, &[], &[])).unwrap()
    };
    let audited = || {
        let mut runs: Vec<_> = contracts.iter().map(open).collect();
        audit(&mut runs, options, &mut |_| true)
    };
    let result = audited();
    assert_eq!(result, audited(), "the same once more");
    assert_eq!((result.executions, result.rows.len()), (600, 1));
    let row = &result.rows[0];
    assert_eq!((row.failure.property.as_str(), row.contract), ("node-starts", 3));
    // A record is torn only where blocks survive in any order.
    assert_eq!(row.executions[..3], [0, 0, 0]);
    assert!(row.executions[3] > 10 && row.first[3].is_some_and(|first| first < 200), "{row:?}");
    assert_eq!(row.first[..3], [None, None, None]);
    // All contracts got the same length; only failures are shorter.
    assert!(result.steps[..3].iter().all(|steps| *steps == 600 * 60), "{:?}", result.steps);
    let mut execution = misrule_engine::Execution::default();
    let mode = misrule_engine::Mode {
        seed: options.seed,
        watch: misrule_world::Watch::default(),
        misfit: misrule_engine::Misfit::Skip,
    };
    execute_explicit(&mut *open(&contracts[3]), mode, &row.choices, &mut execution);
    assert_eq!(execution.fingerprint(), Some(row.fingerprint), "the choices show it again");
}

//! The target as a whole: determinism, every operation, and crashes everywhere, also in the middle of a repair.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use misrule_world::{Choice, Failure, Keep, Menu, NO_SESSION, Report, Rng, Run, TraceHash, Watch};

const QUIET: Watch = Watch { keys: false, model: false, conformance: false, trace: false };

const COMMIT: u8 = 3;

fn open(given: &[(&str, &str)], contract: &str) -> Box<dyn Run> {
    let target = misrule_redb::redb();
    target.open(&target.setup(given, contract, &target.lenses).unwrap()).unwrap()
}

fn request(operation: u8, argument: u32) -> Choice {
    Choice::Request { node: 0, operation, session: NO_SESSION, argument }
}

/// A request, with the weights of the workload.
fn work(menu: &Menu, rng: &mut Rng) -> Choice {
    let mut at = rng.below(menu.operations.iter().map(|(weight, _)| u32::from(*weight)).sum());
    for (operation, (weight, argument)) in (0..).zip(&menu.operations) {
        if at < u32::from(*weight) {
            return request(
                operation,
                match argument {
                    misrule_world::Argument::Below(bound) => rng.below(*bound),
                    misrule_world::Argument::Fresh => menu.fresh,
                    _ => 0,
                },
            );
        }
        at -= u32::from(*weight);
    }
    request(COMMIT, 0)
}

/// A set of units that a crash keeps.
fn keep(rng: &mut Rng) -> Keep {
    match rng.below(6) {
        0 => Keep::NONE,
        1 => Keep::ALL,
        2 => Keep::TORN_LAST,
        3 => Keep::prefix(rng.below(200) as u16),
        4 => Keep::all_but(rng.below(200) as u16),
        _ => Keep::bits(rng.next() as u32),
    }
}

/// Work with crashes, in the middle of calls and of starts.
fn with_crashes(menu: &Menu, rng: &mut Rng) -> Choice {
    let up = menu.is_up(0);
    match rng.below(20) {
        0 => Choice::CrashAt { node: 0, at: rng.below(12) as u16, keep: keep(rng) },
        1 if up => Choice::Crash { node: 0, keep: keep(rng).within(menu.unsynced[0]) },
        _ if !up => match rng.below(3) {
            0 => Choice::CrashAt { node: 0, at: rng.below(12) as u16, keep: keep(rng) },
            _ => Choice::Restart { node: 0 },
        },
        _ => work(menu, rng),
    }
}

type Pick = fn(&Menu, &mut Rng) -> Choice;

/// Steps of one execution, and what it found.
fn drive(run: &mut dyn Run, seed: u64, steps: u32, watch: Watch, pick: Pick) -> (Option<Failure>, u64) {
    let (mut rng, mut report, mut hash) = (Rng::new(seed), Report::default(), TraceHash::default());
    run.reset(seed, watch, &mut report);
    for _ in 0..steps {
        let choice = pick(run.menu(), &mut rng);
        run.step(choice, &mut report);
        if let Some(step) = report.trace.take() {
            hash.update(run.about().vocabulary, report.choice, &step);
            hash.line(&format!("{:?}", report.keys));
        }
        if report.failure.is_some() {
            break;
        }
    }
    (report.failure, u64::from_str_radix(&hash.digest(), 16).unwrap())
}

#[test]
fn the_same_choices_give_the_same_trace() {
    let watch = Watch { keys: true, trace: true, ..QUIET };
    let mut one = open(&[], "");
    for seed in 1..=4 {
        let first = drive(&mut *one, seed, 500, watch, with_crashes);
        assert_eq!(first, drive(&mut *one, seed, 500, watch, with_crashes), "an execution leaves something");
        assert_eq!(first, drive(&mut *open(&[], ""), seed, 500, watch, with_crashes), "two worlds differ");
    }
}

#[test]
fn work_without_faults_is_silent() {
    for (given, steps) in [(("cache", "64"), 20_000), (("cache", "0"), 3_000), (("cache", "4096"), 3_000)] {
        assert_eq!(drive(&mut *open(&[given], ""), 1, steps, QUIET, work).0, None, "{given:?}");
    }
}

#[test]
fn crashes_under_the_contract_are_silent() {
    for contract in ["", "posix-min,block=512", "posix-min,block=8", "explicit-sync", "reorder-writes"] {
        let mut run = open(&[], contract);
        for seed in 0..40 {
            let (failure, _) = drive(&mut *run, seed, 300, QUIET, with_crashes);
            assert_eq!(failure, None, "{contract}, seed {seed}");
        }
        let crashes = run.about().faults[misrule_world::ChoiceKind::Crash as usize].applied;
        assert!(crashes > 500, "{contract}: {crashes} crashes");
    }
}

/// One durable commit, a second one that loses power at each of its operations with some of its blocks, then a
/// start that loses power at each of its operations, then a start.
#[test]
fn power_is_lost_at_every_operation_of_a_commit_and_of_the_repair() {
    let mut run = open(&[], "");
    let sets =
        [Keep::NONE, Keep::ALL, Keep::TORN_LAST, Keep::all_but(0), Keep::all_but(70), Keep::prefix(70)];
    let (mut report, mut reached, mut ends) = (Report::default(), [0, 0], [0, 0]);
    for (commit, first, second) in (3..=6)
        .flat_map(|commit| sets.map(|set| (commit, set)))
        .flat_map(|(commit, first)| sets.map(|second| (commit, first, second)))
    {
        for (at, again) in (0..14).flat_map(|at| (0..8).map(move |again| (at, again))) {
            run.reset(1, QUIET, &mut report);
            let choices = [
                request(0, 1),
                request(COMMIT, 0),
                request(0, 2),
                request(0, 3),
                Choice::CrashAt { node: 0, at, keep: first },
                request(commit, 0),
                Choice::CrashAt { node: 0, at: again, keep: second },
                Choice::Restart { node: 0 },
                Choice::Restart { node: 0 },
            ];
            for (step, choice) in choices.into_iter().enumerate() {
                run.step(choice, &mut report);
                assert_eq!(report.failure, None, "{choice:?} at={at} {first} then at={again} {second}");
                reached[0] += u32::from(step == 5 && !run.menu().is_up(0));
                reached[1] += u32::from(step == 7 && !run.menu().is_up(0));
            }
            ends[usize::from(run.menu().is_up(0))] += 1;
        }
    }
    assert!(reached[0] > 4_000 && reached[1] > 2_000, "{reached:?}");
    assert_eq!(ends[0], 0);
}

#[test]
fn a_disk_that_breaks_its_promise_is_found_out() {
    // A sync that does nothing: the commit behind it is lost.
    let lie = Choice::Disk { node: 0, outcome: misrule_world::DiskOutcome::SyncLies, at: 1 };
    let choices = [
        request(0, 1),
        request(COMMIT, 0),
        request(0, 2),
        lie,
        request(COMMIT, 0),
        request(COMMIT, 0),
        Choice::Crash { node: 0, keep: Keep::NONE },
        Choice::Restart { node: 0 },
    ];
    for (contract, lies, property) in
        [("", false, None), ("lying-disk", true, Some("acknowledged-commits-survive"))]
    {
        let mut run = open(&[], contract);
        let mut report = Report::default();
        run.reset(1, QUIET, &mut report);
        for choice in choices.into_iter().filter(|choice| lies || *choice != lie) {
            // The second commit syncs everything; only the lie is to count.
            if lies && choice == request(COMMIT, 0) && report.choice == choice {
                continue;
            }
            run.step(choice, &mut report);
        }
        assert_eq!(report.failure.map(|failure| failure.property).as_deref(), property, "{contract}");
    }
}

#[test]
fn errors_of_the_disk_are_legal_until_the_database_is_opened_again() {
    let disk = |rng: &mut Rng| {
        use misrule_world::DiskOutcome::{NoSpace, ReadError, ShortRead, ShortWrite, SyncFails, WriteError};
        let outcomes = [SyncFails, WriteError, NoSpace, ReadError, ShortRead, ShortWrite];
        let outcome = outcomes[rng.below(6) as usize];
        Choice::Disk { node: 0, outcome, at: 1 + rng.below(8) as u16 }
    };
    let contract = "fsync-keeps,block=64,media=write-error+no-space+read-error+short-read+short-write";
    let mut run = open(&[], contract);
    let (mut report, mut stopped) = (Report::default(), 0);
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        run.reset(seed, QUIET, &mut report);
        for _ in 0..200 {
            let choice = if rng.chance(1, 10) { disk(&mut rng) } else { with_crashes(run.menu(), &mut rng) };
            run.step(choice, &mut report);
            assert_eq!(report.failure, None, "seed {seed}");
            stopped += u32::from(matches!(choice, Choice::Disk { .. }));
        }
    }
    let struck = run.about().faults[misrule_world::ChoiceKind::Disk as usize].applied;
    assert!(stopped > 500 && struck > 100, "{struck} of {stopped}");
}

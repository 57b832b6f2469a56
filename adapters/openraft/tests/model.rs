//! The model follows the target: every step, whatever the contract, the size of the cluster and the faults.

#![allow(clippy::unwrap_used, reason = "tests")]

use misrule_engine::Drawer;
use misrule_models::Outcome;
use misrule_openraft::openraft;
use misrule_world::{
    CRASH_POINT, Choice, DiskOutcome, Failure, FaultProfile, Keep, NO_SESSION, Report, Rng, Run, Tally, Watch,
};

const FULL: Watch = Watch { keys: false, model: true, conformance: true, trace: false };
const KEPT_UNSYNCED: &str = "a node starts from a disk that has kept what was never synced";
const DISK_REFUSED: &str = "a node starts after its disk has refused an operation";

fn open(given: &[(&str, &str)], contract: &str, lenses: &[&str]) -> Box<dyn Run> {
    let target = openraft();
    target.open(&target.setup(given, contract, lenses).unwrap()).unwrap()
}

/// What else is chosen now and then.
type Also = fn(u8, &mut Rng) -> Choice;

/// Drives at random for so many steps, in executions of 2,000, or until a failure. Returns the failure, and how many
/// keys there were.
fn drive(
    run: &mut dyn Run,
    seed: u64,
    steps: u64,
    watch: Watch,
    also: Option<Also>,
) -> (Option<Failure>, usize) {
    let (mut report, mut rng) = (Report::default(), Rng::new(seed));
    let mut drawer = Drawer::new(FaultProfile::Default);
    let mut keys = 0;
    for step in 0..steps {
        if step % 2_000 == 0 {
            run.reset(seed + step, watch, &mut report);
            drawer.reset(run.menu(), &mut rng);
        }
        let other = also.filter(|_| rng.chance(1, 50));
        let choice = match other {
            Some(also) => also(rng.below(u32::from(run.menu().nodes)) as u8, &mut rng),
            None => drawer.pick(run.menu(), &mut rng).unwrap(),
        };
        run.step(choice, &mut report);
        keys += report.keys.len();
        if let Some(mut failure) = report.failure.take() {
            failure.message = format!("{step}: {}", failure.message);
            return (Some(failure), keys);
        }
    }
    (None, keys)
}

fn deviations(tally: &Tally) -> Vec<&'static str> {
    tally.deviations.iter().map(|(name, _)| *name).collect()
}

/// Settings that the model has, beside the size of the cluster.
const SETTINGS: [&[(&str, &str)]; 4] = [
    &[],
    &[("tasks", "fifo"), ("transfer", "off")],
    &[("elections", "trigger")],
    &[("snapshots", "off"), ("keys", "1"), ("sessions", "1")],
];

#[test]
fn every_step_is_followed() {
    for nodes in ["3", "5", "7"] {
        for contract in ["fifo", "reorder+loss+dup", "reorder,immediate", "reorder,ordered"] {
            for settings in SETTINGS {
                let given: Vec<_> = settings.iter().copied().chain([("nodes", nodes)]).collect();
                let mut run = open(&given, contract, &[]);
                let (failure, _) = drive(&mut *run, 1, 10_000, FULL, None);
                assert_eq!(failure, None, "{given:?} {contract}");
                let tally = run.about().tally;
                assert!(tally.steps_followed >= 9_990, "{given:?} {contract}: {}", tally.steps_followed);
                assert_eq!(tally.steps_followed, tally.steps_walked, "{given:?} {contract}");
                assert_eq!(deviations(&tally), Vec::<&str>::new());
                for (outcome, name) in Outcome::ALL {
                    let expected = matches!(outcome, Outcome::Accepted | Outcome::Ignored);
                    assert_eq!(tally.events.count(outcome) > 0, expected, "{given:?} {contract}: {name}");
                }
            }
        }
    }
}

/// Settings with changes of membership.
const CHANGES: [&[(&str, &str)]; 4] = [
    &[("membership", "single"), ("learners", "1")],
    &[("membership", "joint"), ("tasks", "fifo")],
    &[("membership", "joint"), ("learners", "2"), ("snapshots", "off"), ("elections", "trigger")],
    &[("learners", "2"), ("transfer", "off")],
];

/// Asks for other members more often than campaigns do: for nodes 1 to 3, at any node, whatever operation has that place.
const CHANGE: Also = |node, rng| Choice::Request {
    node,
    operation: 3 + rng.below(8) as u8,
    session: NO_SESSION,
    argument: rng.below(3),
};

/// The membership changes, and the model goes by the same one as the node after each step.
#[test]
fn changes_of_membership_are_followed() {
    // Changes are rare where each write waits for a choice, and more nodes have to be heard.
    for (nodes, flush, steps) in
        [("3", "now", 10_000), ("3", "late", 10_000), ("5", "now", 10_000), ("5", "late", 40_000)]
    {
        let mut sometimes = Vec::new();
        for contract in ["fifo", "reorder+loss+dup", "reorder,ordered"] {
            for settings in CHANGES {
                let fixed = [("nodes", nodes), ("flush", flush)];
                let given: Vec<_> = settings.iter().copied().chain(fixed).collect();
                let mut run = open(&given, contract, &[]);
                let (failure, _) = drive(&mut *run, 1, steps, FULL, Some(CHANGE));
                assert_eq!(failure, None, "{given:?} {contract}");
                let tally = run.about().tally;
                let kept = tally.deviations.iter().filter(|(name, _)| *name == KEPT_UNSYNCED);
                let resumed: u64 = kept.map(|(_, count)| count).sum();
                assert_eq!(tally.steps_followed, tally.steps_walked + resumed, "{given:?} {contract}");
                assert_eq!(tally.events.count(Outcome::Unmapped), 0, "{given:?} {contract}");
                sometimes.extend(tally.sometimes);
            }
        }
        // Applied at a node, and in force in the model.
        let seen =
            |of: &str| sometimes.iter().filter(|(name, _)| *name == of).map(|(_, count)| count).sum::<u64>();
        assert!(seen("configuration-changed") > 1 && seen("configuration-joint") > 0, "{nodes} {flush}");
    }
}

/// A node starts with the membership that its disk has, also where it stopped in the middle of a change.
#[test]
fn changes_of_membership_go_on_after_crash_points() {
    const EITHER: Also = |node, rng| match rng.below(3) {
        0 => Choice::CrashAt { node, at: rng.below(5) as u16, keep: Keep::prefix(rng.below(4) as u16) },
        _ => CHANGE(node, rng),
    };
    for flush in ["now", "late"] {
        for settings in CHANGES {
            let given: Vec<_> = settings.iter().copied().chain([("flush", flush)]).collect();
            let mut run = open(&given, "reorder+dup,ordered", &[]);
            let (failure, _) = drive(&mut *run, 2, 40_000, FULL, Some(EITHER));
            assert_eq!(failure, None, "{given:?}");
            let tally = run.about().tally;
            let names = deviations(&tally);
            assert!(names.contains(&CRASH_POINT), "{given:?}: {names:?}");
            assert!(
                names.iter().all(|name| [CRASH_POINT, KEPT_UNSYNCED].contains(name)),
                "{given:?}: {names:?}"
            );
            let all: u64 = tally.deviations.iter().map(|(_, count)| count).sum();
            assert_eq!(tally.steps_followed - tally.steps_walked, all, "{given:?}");
        }
    }
}

/// The same with late flushes: a crash may keep what was never synced, where the contract says so, and only then is a
/// start a deviation.
#[test]
fn every_step_is_followed_with_late_flushes() {
    for nodes in ["3", "5", "7"] {
        for contract in ["fifo", "reorder+loss+dup", "reorder,immediate", "reorder,ordered"] {
            for settings in SETTINGS {
                let late = [("nodes", nodes), ("flush", "late")];
                let given: Vec<_> = settings.iter().copied().chain(late).collect();
                let mut run = open(&given, contract, &[]);
                let (failure, _) = drive(&mut *run, 1, 10_000, FULL, None);
                assert_eq!(failure, None, "{given:?} {contract}");
                let tally = run.about().tally;
                let kept = tally.deviations.iter().find(|(name, _)| *name == KEPT_UNSYNCED);
                let kept = kept.map_or(0, |(_, count)| *count);
                assert_eq!(tally.steps_followed, tally.steps_walked + kept, "{given:?} {contract}");
                assert!(kept * 100 <= tally.steps_followed, "{given:?} {contract}: {:?}", tally.deviations);
                let keeps = contract.contains("immediate") || contract.contains("ordered");
                assert_eq!(kept > 0, keeps, "{given:?} {contract}: {:?}", tally.deviations);
                assert_eq!(tally.events.count(Outcome::Unmapped), 0, "{given:?} {contract}");
            }
        }
    }
}

/// Nodes with late flushes that stop in the middle of a step, or whose disks refuse an operation.
#[test]
fn it_goes_on_with_late_flushes() {
    let crash: Also = |node, rng: &mut Rng| {
        let keep = Keep::prefix(rng.below(4) as u16);
        Choice::CrashAt { node, at: rng.below(5) as u16, keep }
    };
    let refuse: Also = |node, rng: &mut Rng| {
        let outcome = if rng.chance(1, 2) { DiskOutcome::SyncFails } else { DiskOutcome::WriteError };
        Choice::Disk { node, outcome, at: 1 }
    };
    for (contract, also, deviation) in [
        ("reorder", crash, CRASH_POINT),
        ("reorder+dup,ordered", crash, CRASH_POINT),
        ("reorder,fsyncgate", refuse, DISK_REFUSED),
    ] {
        for settings in SETTINGS {
            let given: Vec<_> = settings.iter().copied().chain([("flush", "late")]).collect();
            let mut run = open(&given, contract, &[]);
            let (failure, _) = drive(&mut *run, 2, 40_000, FULL, Some(also));
            assert_eq!(failure, None, "{given:?} {contract}");
            let tally = run.about().tally;
            let counts = || tally.deviations.iter();
            assert!(
                counts().all(|(name, _)| [deviation, KEPT_UNSYNCED].contains(name)),
                "{:?}",
                tally.deviations
            );
            let count = counts().find(|(name, _)| *name == deviation).map_or(0, |(_, count)| *count);
            assert!(count > 50, "{given:?} {contract}: {:?}", tally.deviations);
        }
    }
}

/// What a bug of the storage lets out before the sync, the model refuses to let out.
#[test]
fn what_leaves_before_its_sync_is_refused() {
    for bug in ["early-flush", "vote-not-synced"] {
        let mut run = open(&[("flush", "late"), ("bug", bug)], "reorder", &[]);
        let (failure, _) = drive(&mut *run, 3, 10_000, FULL, None);
        assert_eq!(failure.map(|failure| failure.oracle), Some("model"), "{bug}");
    }
}

#[test]
fn it_goes_on_after_crash_points() {
    for contract in ["reorder", "fifo,immediate", "reorder+dup,ordered"] {
        for settings in SETTINGS {
            let mut run = open(settings, contract, &[]);
            let crash = |node, rng: &mut Rng| {
                let keep = Keep::prefix(rng.below(4) as u16);
                Choice::CrashAt { node, at: rng.below(5) as u16, keep }
            };
            let (failure, _) = drive(&mut *run, 2, 40_000, FULL, Some(crash));
            assert_eq!(failure, None, "{settings:?} {contract}");
            let tally = run.about().tally;
            assert_eq!(deviations(&tally), [CRASH_POINT]);
            assert!(tally.deviations[0].1 > 100, "{settings:?} {contract}: {:?}", tally.deviations);
            assert_eq!(tally.steps_followed - tally.steps_walked, tally.deviations[0].1);
        }
    }
}

#[test]
fn it_goes_on_after_a_disk_that_refuses() {
    for outcome in [DiskOutcome::SyncFails, DiskOutcome::WriteError] {
        let mut run = open(&[], "reorder,fsyncgate", &[]);
        let refuse: Also = match outcome {
            DiskOutcome::SyncFails => |node, _| Choice::Disk { node, outcome: DiskOutcome::SyncFails, at: 1 },
            _ => |node, _| Choice::Disk { node, outcome: DiskOutcome::WriteError, at: 1 },
        };
        let (failure, _) = drive(&mut *run, 3, 60_000, FULL, Some(refuse));
        assert_eq!(failure, None, "{outcome:?}");
        let tally = run.about().tally;
        assert_eq!(deviations(&tally), [DISK_REFUSED]);
        assert!(tally.deviations[0].1 > 50, "{:?}", tally.deviations);
        assert_eq!(tally.steps_followed - tally.steps_walked, tally.deviations[0].1);
    }
}

/// A disk that says it has synced and has not is what no protocol survives: the model must say so, or an oracle that
/// looks at the same step.
#[test]
fn a_disk_that_lies_is_noticed() {
    for flush in ["now", "late"] {
        let mut run = open(&[("flush", flush)], "reorder,lying-disk", &[]);
        let lie: Also = |node, _| Choice::Disk { node, outcome: DiskOutcome::SyncLies, at: 1 };
        let (failure, _) = drive(&mut *run, 4, 200_000, FULL, Some(lie));
        assert!(failure.is_some(), "{flush}");
    }
}

#[test]
fn every_lens_at_the_model_makes_keys() {
    let watch = Watch { keys: true, ..FULL };
    let lenses = ["pairs@model", "delivery@model", "message@model", "persistence@model", "detailed@model"];
    for flush in ["now", "late"] {
        for lens in lenses {
            let mut run = open(&[("flush", flush)], "reorder", &[lens]);
            let (failure, keys) = drive(&mut *run, 6, 10_000, watch, None);
            assert_eq!(failure, None);
            assert!(keys > 1_000, "{flush} {lens}: {keys}");
        }
    }
}

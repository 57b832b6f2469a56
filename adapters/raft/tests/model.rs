//! The model follows the target: every step, whatever the contract, the size of the cluster and the faults.

#![allow(clippy::unwrap_used, reason = "tests")]

use misrule_engine::Drawer;
use misrule_models::Outcome;
use misrule_raft::raft;
use misrule_world::{
    CRASH_POINT, Choice, DiskOutcome, Failure, FaultProfile, Keep, Report, Rng, Run, Tally, Watch,
};

const FULL: Watch = Watch { keys: false, model: true, conformance: true, trace: false };
const KEPT_UNSYNCED: &str = "a node starts from a disk that has kept what was never synced";
const LEADS_EARLY: &str = "the-node-has-no-majority-of-votes";
const UNASKED: &str = "no-quorum-has-said-since-the-read-came-that-it-follows-the-leader";
const DISK_REFUSED: &str = "a node starts after its disk has refused an operation";

fn open(given: &[(&str, &str)], contract: &str, lenses: &[&str]) -> Box<dyn Run> {
    let target = raft();
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

/// The deviations, but for that of disks that keep more than they must; and how often there was any.
fn deviations(tally: &Tally) -> (Vec<&'static str>, u64) {
    let names = tally.deviations.iter().map(|(name, _)| *name).filter(|name| *name != KEPT_UNSYNCED);
    (names.collect(), tally.deviations.iter().map(|(_, count)| count).sum())
}

/// Whether a crash may leave a disk with what was never synced.
fn may_keep(settings: &[(&str, &str)], contract: &str) -> bool {
    let is_late = settings.iter().any(|(name, value)| *name == "flush" && *value != "at-once");
    is_late && (contract.contains("immediate") || contract.contains("ordered"))
}

/// Settings that the model has, beside the size of the cluster.
const SETTINGS: [&[(&str, &str)]; 7] = [
    &[],
    &[("pre-vote", "on"), ("election-ticks", "2")],
    &[("check-quorum", "on"), ("apply", "later")],
    &[("pre-vote", "on"), ("check-quorum", "on"), ("in-flight", "1")],
    &[("snapshots", "off"), ("transfer", "off"), ("sync", "must-sync"), ("election-ticks", "5")],
    &[("flush", "later"), ("election-ticks", "2")],
    &[("flush", "later"), ("pre-vote", "on"), ("check-quorum", "on"), ("apply", "later")],
];

#[test]
fn every_step_is_followed() {
    for nodes in ["3", "5", "7"] {
        for contract in ["fifo", "reorder", "reorder+loss+dup", "reorder,immediate", "reorder,ordered"] {
            for settings in SETTINGS {
                let given: Vec<_> = settings.iter().copied().chain([("nodes", nodes)]).collect();
                let mut run = open(&given, contract, &[]);
                let (failure, _) = drive(&mut *run, 1, 30_000, FULL, None);
                assert_eq!(failure, None, "{given:?} {contract}");
                let tally = run.about().tally;
                // A duplicate for a link that is full is drawn now and then, and is no step.
                assert!(tally.steps_followed >= 29_990, "{given:?} {contract}: {}", tally.steps_followed);
                let (others, all) = deviations(&tally);
                assert_eq!((tally.steps_followed - tally.steps_walked, others), (all, vec![]));
                assert_eq!(all > 0, may_keep(&given, contract), "{given:?} {contract}");
                for (outcome, name) in Outcome::ALL {
                    let expected = matches!(outcome, Outcome::Accepted | Outcome::Ignored);
                    assert_eq!(tally.events.count(outcome) > 0, expected, "{given:?} {contract}: {name}");
                }
            }
        }
    }
}

/// Settings with changes of membership.
const CHANGES: [&[(&str, &str)]; 8] = [
    &[],
    &[("apply", "later")],
    &[("flush", "later")],
    &[("flush", "later"), ("apply", "later"), ("election-ticks", "2")],
    &[("pre-vote", "on"), ("check-quorum", "on"), ("in-flight", "1")],
    &[("pre-vote", "on"), ("flush", "later"), ("election-ticks", "2")],
    &[("snapshots", "off"), ("sync", "must-sync"), ("election-ticks", "5")],
    &[("check-quorum", "on"), ("apply", "later")],
];

#[test]
fn changes_of_membership_are_followed() {
    for nodes in ["3", "5"] {
        for membership in ["single", "joint"] {
            for contract in ["fifo", "reorder", "reorder+loss+dup", "reorder,ordered"] {
                for settings in CHANGES {
                    let fixed = [("nodes", nodes), ("membership", membership)];
                    let given: Vec<_> = settings.iter().copied().chain(fixed).collect();
                    let mut run = open(&given, contract, &[]);
                    let (failure, _) = drive(&mut *run, 1, 60_000, FULL, None);
                    assert_eq!(failure, None, "{given:?} {contract}");
                    let tally = run.about().tally;
                    let (others, all) = deviations(&tally);
                    assert_eq!((tally.steps_followed - tally.steps_walked, others), (all, vec![]));
                    for outcome in [Outcome::Refused, Outcome::Unmapped] {
                        assert_eq!(tally.events.count(outcome), 0, "{given:?} {contract}");
                    }
                }
            }
        }
    }
}

/// Where the disk is synced later in all cases, a node that votes alone leads, and tells learners so, before its vote is on
/// its disk. The model does not let it.
#[test]
fn a_node_that_votes_alone_leads_too_early() {
    let given = [("membership", "single"), ("flush", "always-later"), ("snapshots", "off")];
    finds_nothing_but(LEADS_EARLY, &given, "reorder", 40);
}

/// Of so many executions some show this, and besides panics none anything else.
fn finds_nothing_but(property: &str, given: &[(&str, &str)], contract: &str, executions: u64) {
    let mut run = open(given, contract, &[]);
    let mut found = 0;
    for seed in 0..executions {
        let (failure, _) = drive(&mut *run, seed << 32, 20_000, FULL, None);
        let Some(failure) = failure.filter(|failure| failure.oracle != "panic") else { continue };
        assert_eq!(failure.property, property, "{}", failure.message);
        found += 1;
    }
    assert!(found > 0);
}

/// The model goes on behind crash points and disks that refuse, which are deviations. A disk that refuses the vote of a node
/// that votes alone shows that the crate leads, and tells learners so, before that is on the disk: the model does not.
#[test]
fn changes_of_membership_go_on_after_faults_of_disks() {
    let crash: Also = |node, rng| {
        let keep = Keep::prefix(rng.below(4) as u16);
        Choice::CrashAt { node, at: rng.below(5) as u16, keep }
    };
    let write: Also = |node, rng| {
        let at = 1 + rng.below(3) as u16;
        Choice::Disk { node, outcome: DiskOutcome::WriteError, at }
    };
    let mut early = 0;
    for (contract, fault, name) in [("reorder", crash, CRASH_POINT), ("reorder", write, DISK_REFUSED)] {
        for membership in ["single", "joint"] {
            for settings in CHANGES {
                let fixed = [("membership", membership)];
                let given: Vec<_> = settings.iter().copied().chain(fixed).collect();
                let mut run = open(&given, contract, &[]);
                let (failure, _) = drive(&mut *run, 2, 100_000, FULL, Some(fault));
                if failure.as_ref().is_some_and(|it| name == DISK_REFUSED && it.property == LEADS_EARLY) {
                    early += 1;
                    continue;
                }
                assert_eq!(failure, None, "{given:?} {contract} {name}");
                let tally = run.about().tally;
                let (others, all) = deviations(&tally);
                assert_eq!((tally.steps_followed - tally.steps_walked, others), (all, vec![name]));
            }
        }
    }
    assert!(early > 0);
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
            let (failure, _) = drive(&mut *run, 2, 100_000, FULL, Some(crash));
            assert_eq!(failure, None, "{settings:?} {contract}");
            let tally = run.about().tally;
            let (others, all) = deviations(&tally);
            assert_eq!((tally.steps_followed - tally.steps_walked, others), (all, vec![CRASH_POINT]));
            assert!(all > 250, "{settings:?} {contract}: {:?}", tally.deviations);
        }
    }
}

/// A sync that fails, or a write: what a leader sent before its disk refused the entries, others have.
#[test]
fn it_goes_on_after_a_disk_that_refuses() {
    let sync: Also = |node, rng| {
        let at = 1 + rng.below(2) as u16;
        Choice::Disk { node, outcome: DiskOutcome::SyncFails, at }
    };
    let write: Also = |node, rng| {
        let at = 1 + rng.below(3) as u16;
        Choice::Disk { node, outcome: DiskOutcome::WriteError, at }
    };
    for (contract, refuse) in [("reorder,fsyncgate", sync), ("reorder", write), ("reorder,fsyncgate", write)]
    {
        for settings in SETTINGS {
            let mut run = open(settings, contract, &[]);
            let (failure, _) = drive(&mut *run, 3, 100_000, FULL, Some(refuse));
            assert_eq!(failure, None, "{settings:?} {contract}");
            let tally = run.about().tally;
            let (others, all) = deviations(&tally);
            assert_eq!((tally.steps_followed - tally.steps_walked, others), (all, vec![DISK_REFUSED]));
            assert!(all > 30, "{settings:?} {contract}: {:?}", tally.deviations);
        }
    }
}

/// A lease of the crate lasts for longer than others wait for the leader, even where clocks agree. The steps are those of the
/// model: it is the property that does not hold.
#[test]
fn a_read_by_lease_is_stale() {
    let mut stale = 0;
    for contract in ["fifo,clock=drift-0", "reorder"] {
        let given = [("check-quorum", "on"), ("reads", "lease"), ("apply", "later")];
        let mut run = open(&given, contract, &[]);
        for seed in 0..10 {
            let (failure, _) = drive(&mut *run, seed << 32, 50_000, FULL, None);
            let Some(failure) = failure else { continue };
            assert_eq!(failure.property, "reads-never-stale", "{contract}: {}", failure.message);
            stale += 1;
        }
        assert!(stale > 0, "{contract}");
        let tally = run.about().tally;
        assert_eq!(tally.events.count(Outcome::Refused) + tally.events.count(Outcome::Unmapped), 0);
        assert!(tally.sometimes.iter().any(|(name, seen)| *name == "read-confirmed" && *seen > 50));
    }
}

/// A leader that votes no more confirms reads without asking the one node that votes.
#[test]
fn a_leader_that_votes_no_more_confirms_reads() {
    let given = [("membership", "single"), ("leaver-steps-down", "off"), ("history", "off")];
    finds_nothing_but(UNASKED, &given, "fifo", 200);
}

/// A disk that says it has synced and has not is what no protocol survives: the model must say so.
#[test]
fn a_disk_that_lies_is_noticed() {
    let mut run = open(&[], "reorder,lying-disk", &[]);
    let lie: Also = |node, _| Choice::Disk { node, outcome: DiskOutcome::SyncLies, at: 1 };
    let (failure, _) = drive(&mut *run, 4, 200_000, FULL, Some(lie));
    assert!(failure.is_some());
}

/// What says first that a planted bug is there: the model, or an oracle that looks at the same step.
const FOUND: [(&str, &str, &str); 5] = [
    ("vote-not-synced", "model", "the-term-is-not-on-the-disk"),
    ("vote-forgotten", "durability", "one-vote-per-term"),
    ("commit-forgotten", "durability", "commit-monotone"),
    (
        "entries-not-synced",
        "model",
        "what-is-acknowledged-is-not-known-to-be-the-leader-s-or-not-on-the-disk",
    ),
    ("reject-lost", "invariant", "leader-completeness"),
];

#[test]
fn bugs_are_found() {
    for (bug, oracle, property) in FOUND {
        let mut run = open(&[("bug", bug)], "reorder", &[]);
        let (failure, _) = drive(&mut *run, 5, 100_000, FULL, None);
        let failure = failure.unwrap();
        assert_eq!((failure.oracle, failure.property.as_str()), (oracle, property), "{bug}");
    }
}

#[test]
fn every_lens_at_the_model_makes_keys() {
    let watch = Watch { keys: true, ..FULL };
    let lenses = ["pairs@model", "delivery@model", "message@model", "persistence@model", "detailed@model"];
    for lens in lenses {
        for membership in ["off", "joint"] {
            let mut run = open(&[("membership", membership)], "reorder", &[lens]);
            let (failure, keys) = drive(&mut *run, 6, 10_000, watch, None);
            assert_eq!(failure, None);
            assert!(keys > 1_000, "{lens}: {keys}");
        }
    }
}

#[test]
fn the_same_steps_are_followed_twice_alike() {
    let tally = || {
        let mut run = open(&[("nodes", "5")], "reorder+loss+dup", &["detailed@model"]);
        let keys = drive(&mut *run, 7, 50_000, Watch { keys: true, ..FULL }, None).1;
        (run.about().tally, keys)
    };
    assert_eq!(tally(), tally());
}

/// Where the disk is synced later even in cases in which the crate then panics, the model follows up to there.
#[test]
fn always_later_is_followed_up_to_the_panics_of_the_crate() {
    let (mut steps, mut panics) = (0, 0);
    for nodes in ["3", "5"] {
        for contract in ["reorder+loss+dup", "fifo,ordered"] {
            for pre_vote in ["on", "off"] {
                let given = [("flush", "always-later"), ("nodes", nodes), ("pre-vote", pre_vote)];
                let mut run = open(&given, contract, &[]);
                for seed in 0..10 {
                    let (failure, _) = drive(&mut *run, seed << 32, 10_000, FULL, None);
                    let oracle = failure.as_ref().map(|failure| failure.oracle);
                    assert!(matches!(oracle, None | Some("panic")), "{given:?} {contract}: {failure:?}");
                    panics += u32::from(oracle.is_some());
                }
                let tally = run.about().tally;
                assert_eq!(tally.events.count(Outcome::Refused) + tally.events.count(Outcome::Unmapped), 0);
                steps += tally.steps_walked;
            }
        }
    }
    assert!(steps > 100_000 && panics > 0, "{steps} {panics}");
}

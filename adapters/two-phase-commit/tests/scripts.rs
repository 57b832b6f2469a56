//! Schedules written by hand: the deep bugs, what a transaction looks like, determinism, stable keys.

#![allow(clippy::unwrap_used, reason = "a test")]

mod driver;

use driver::{ALL, open, pick, random};
use misrule_models::{StableHasher, stable_hash};
use misrule_two_phase_commit::{Message, two_phase_commit};
use misrule_world::{Choice, Effect, Failure, Keep, Report, Rng, Run, Slot, TraceHash, Watch};
use std::hash::Hasher;

/// A choice from a line: `begin`, `flush 1`, `got 1->2 Prepare`, `lose`, `twice`, `vote 2 0`, `stop 1`,
/// `start 1`, `ask 2`, `resend`, `timeout`. Nodes count from 1.
fn choice(line: &str) -> Choice {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| words[at].parse::<u8>().unwrap();
    let node = |at: usize| number(at) - 1;
    let slot = || {
        let (from, to) = words[1].split_once("->").unwrap();
        let kind = Message::KINDS.iter().position(|kind| *kind == words[2]).unwrap() as u8;
        let parsed = |text: &str| text.parse::<u8>().unwrap() - 1;
        Slot { from: parsed(from), to: parsed(to), at: Slot::FIRST_OF_KIND, kind }
    };
    match words[0] {
        "begin" => Choice::Request { node: 0, operation: 0, argument: 0, session: misrule_world::NO_SESSION },
        "flush" => Choice::Local { node: node(1), step: 0 },
        "got" => Choice::Deliver(slot()),
        "lose" => Choice::Drop(slot()),
        "twice" => Choice::Duplicate(slot()),
        "vote" => Choice::Draw { node: node(1), name: 0, value: u32::from(number(2)) },
        "stop" => Choice::Crash { node: node(1), keep: Keep::NONE },
        "start" => Choice::Restart { node: node(1) },
        "timeout" => Choice::Timer { node: 0, timer: 0 },
        "resend" => Choice::Timer { node: 0, timer: 1 },
        "ask" => Choice::Timer { node: node(1), timer: 2 },
        word => panic!("no such word: {word}"),
    }
}

/// Runs the lines; what failed, which must be the last line, and the hash of all keys.
fn play(run: &mut dyn Run, script: &str, watch: Watch) -> (Option<Failure>, u64) {
    let mut report = Report::default();
    run.reset(1, watch, &mut report);
    let mut keys = StableHasher::default();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert_eq!(report.failure, None, "before {line}");
        run.step(choice(line), &mut report);
        assert_eq!(report.effect, Effect::Applied, "{line}");
        report.keys.iter().for_each(|key| keys.write_u64(stable_hash(key)));
    }
    (report.failure, keys.finish())
}

const TWO: [(&str, &str); 2] = [("managers", "2"), ("transactions", "1")];

/// A transaction that manager 2 refuses; its vote stays on the link a second time.
const REFUSED: &str = "begin \n flush 1 \n vote 2 0 \n got 1->2 Prepare \n flush 2 \n twice 2->1 VoteNo
    got 2->1 VoteNo \n flush 1 \n got 1->2 Abort \n got 1->3 Abort \n flush 3 \n got 2->1 Ack \n got 3->1 Ack
    lose 1->3 Prepare \n";

/// The next one commits, as far as the coordinator knows.
const COMMITTED: &str = "begin \n flush 1 \n vote 2 1 \n vote 3 1 \n got 1->2 Prepare \n got 1->3 Prepare
    flush 2 \n flush 3 \n got 2->1 VoteYes \n got 3->1 VoteYes \n flush 1 \n";

#[test]
fn a_late_vote_against_undoes_a_commit_after_a_restart() {
    let bug = [TWO.as_slice(), &[("bug", "reordered-abort-after-restart")]].concat();
    let script = [REFUSED, COMMITTED, "stop 1 \n start 1 \n resend \n got 2->1 VoteNo \n flush 1"].concat();
    let oracles = play(open(&bug, "", &[]).as_mut(), &script, driver::ORACLES).0.unwrap();
    assert_eq!((oracles.oracle, oracles.property.as_str()), ("durability", "outcome-kept"));
    // Without the crash, or before the commit is sent again, the same message is harmless; and so it is
    // without the bug.
    for calm in ["resend \n got 2->1 VoteNo", "stop 1 \n start 1 \n got 2->1 VoteNo"] {
        let calm = [REFUSED, COMMITTED, calm].concat();
        assert_eq!(play(open(&bug, "", &[]).as_mut(), &calm, ALL).0, None);
    }
    let sound = script.strip_suffix("flush 1").unwrap();
    assert_eq!(play(open(&TWO, "", &[]).as_mut(), sound, ALL).0, None);
}

#[test]
fn a_manager_that_asks_in_vain_aborts_alone() {
    let bug = [TWO.as_slice(), &[("bug", "heuristic-abort-in-doubt")]].concat();
    let asks = "stop 2 \n start 2 \n ask 2 \n ask 2 \n ask 2 \n ask 2 \n ask 2 \n flush 2";
    let script = ["vote 2 1 \n vote 3 1 \n", COMMITTED, asks].concat();
    let failure = play(open(&bug, "", &[]).as_mut(), &script, driver::ORACLES).0.unwrap();
    assert_eq!((failure.oracle, failure.property.as_str()), ("atomicity", "one-outcome"));
    let failure = play(open(&bug, "", &[]).as_mut(), &script, driver::MODEL).0.unwrap();
    assert_eq!(failure.oracle, "atomicity");
}

/// What the oracles alone show of the bugs that the model refuses at once.
#[test]
fn what_comes_of_writing_too_late() {
    let begun = "begin \n flush 1 \n vote 2 1 \n vote 3 1 \n twice 1->2 Prepare \n got 1->2 Prepare
        got 1->3 Prepare \n";
    // The vote is forgotten, and another one given.
    let vote = "got 2->1 VoteYes \n got 3->1 VoteYes \n flush 1 \n stop 2 \n start 2 \n vote 2 0
        got 1->2 Prepare \n flush 2";
    // The decision is forgotten, and another one made.
    let decided = "flush 2 \n flush 3 \n got 2->1 VoteYes \n got 3->1 VoteYes \n got 1->2 Commit \n flush 2
        stop 1 \n start 1 \n flush 1";
    for (bug, rest) in [("vote-before-sync", vote), ("decision-before-sync", decided)] {
        let settings = [TWO.as_slice(), &[("bug", bug)]].concat();
        let mut run = open(&settings, "", &[]);
        let (failure, _) = play(run.as_mut(), &[begun, rest].concat(), driver::ORACLES);
        assert_eq!(failure.map(|failure| failure.oracle), Some("atomicity"), "{bug}");
    }
}

/// Loss of a decision, a crash in doubt and a coordinator that starts again: the transaction ends.
#[test]
fn a_transaction_ends_in_spite_of_faults() {
    let script = [
        "vote 2 1 \n vote 3 1 \n",
        COMMITTED,
        "lose 1->2 Commit \n stop 2 \n start 2 \n stop 1
        start 1 \n resend \n got 1->3 Commit \n flush 3 \n ask 2 \n got 2->3 Ask \n got 3->2 Commit \n flush 2
        got 2->1 Ack \n got 3->1 Ack \n begin \n flush 1",
    ]
    .concat();
    let mut run = open(&TWO, "", &[]);
    assert_eq!(play(run.as_mut(), &script, ALL).0, None);
    let sometimes = run.about().tally.sometimes;
    for name in ["commits", "recovers-in-doubt", "lane-used-again"] {
        assert!(sometimes.contains(&(name, 1)), "{name}: {sometimes:?}");
    }
}

/// The keys of a fixed schedule are the same on every machine and in every build: a change here makes archives
/// of older builds useless.
#[test]
fn keys_are_stable() {
    let expected: [(&str, u64); 9] = [
        ("pairs@model", 0x6d4b_7441_1200_18d3),
        ("pairs@impl", 0x5c2b_1d4d_1f67_920c),
        ("waiting@model", 0xabb2_70a7_f0a8_ed39),
        ("waiting@impl", 0x6929_6be2_faea_a56b),
        ("delivery@impl", 0x14a3_5f7f_9e98_ae96),
        ("message@model", 0x9f27_75a0_4795_5bb5),
        ("message@impl", 0xf109_68f6_9a6a_1aed),
        ("detailed@model", 0x5733_1f66_0431_bd9d),
        ("detailed@impl", 0x3abf_5690_1447_1112),
    ];
    let script = [REFUSED, COMMITTED, "stop 1 \n start 1 \n got 2->1 VoteNo"].concat();
    let found = expected.map(|(lens, _)| (lens, play(open(&TWO, "", &[lens]).as_mut(), &script, ALL).1));
    assert_eq!(found, expected);
    assert_eq!(found.map(|(lens, _)| lens).as_slice(), two_phase_commit().lenses);
}

/// The hash of a random execution's trace, its choices, and its keys.
fn traced(seed: u64, choices: &mut Vec<Choice>) -> (String, u64) {
    let mut run = open(&[], "", &["pairs@model", "waiting@impl"]);
    let (mut rng, mut report, mut hash) = (Rng::new(seed), Report::default(), TraceHash::default());
    let mut keys = StableHasher::default();
    let replayed = choices.len();
    run.reset(seed, Watch { trace: true, ..ALL }, &mut report);
    for at in 0..3_000 {
        let choice = if at < replayed { choices[at] } else { pick(run.menu(), &mut rng) };
        run.step(choice, &mut report);
        if at >= replayed {
            choices.push(report.choice);
        }
        hash.update(run.about().vocabulary, report.choice, report.trace.as_ref().unwrap());
        report.keys.iter().for_each(|key| keys.write_u64(stable_hash(key)));
    }
    (hash.digest(), keys.finish())
}

#[test]
fn the_same_choices_give_the_same_trace() {
    for seed in 1..4 {
        let mut choices = Vec::new();
        let first = traced(seed, &mut choices);
        // Replayed from what was recorded, in a fresh world.
        assert_eq!(traced(seed, &mut choices), first);
        assert_eq!(traced(seed, &mut Vec::new()), first);
        assert_ne!(traced(seed + 100, &mut Vec::new()), first);
    }
}

/// A world that was used before behaves as a new one.
#[test]
fn executions_leave_nothing_behind() {
    let script = [REFUSED, COMMITTED].concat();
    let lenses = two_phase_commit().lenses;
    let fresh = play(open(&TWO, "", &lenses).as_mut(), &script, ALL);
    let mut used = open(&TWO, "", &lenses);
    random(used.as_mut(), 5, 5_000, ALL);
    assert_eq!(play(used.as_mut(), &script, ALL), fresh);
}

//! The target as a whole: determinism, controls that stay silent, and findings that a random driver makes.

mod driver;

use driver::{Picker, drive, open};
use misrule_world::{Report, TraceHash, Watch};

const QUIET: Watch = Watch { keys: false, model: false, conformance: false, trace: false };
const TRACE: Watch = Watch { trace: true, ..QUIET };
const KEYS: Watch = Watch { keys: true, ..QUIET };

/// The hash of the traces of two executions in one world, keys included, and how many log lines there were.
fn hashes(seed: u64) -> (Vec<String>, usize) {
    let lenses = ["pairs@impl", "waiting@impl", "delivery@impl", "message@impl", "detailed@impl"];
    let mut run = open(&[("nodes", "4")], "reorder+loss+dup", &lenses);
    let (mut report, mut lines, mut found) = (Report::default(), 0, Vec::new());
    for _ in 0..2 {
        let (mut picker, mut hash) = (Picker::new(seed), TraceHash::default());
        run.reset(seed, Watch { keys: true, ..TRACE }, &mut report);
        for _ in 0..2000 {
            let choice = picker.pick(run.menu());
            run.step(choice, &mut report);
            let step = report.trace.take().expect("a trace is recorded");
            lines += step.log.len();
            hash.update(run.about().vocabulary, report.choice, &step);
            hash.line(&format!("{:?} {:?}", report.keys, report.failure));
            if report.failure.is_some() {
                break;
            }
        }
        found.push(hash.digest());
    }
    (found, lines)
}

#[test]
fn same_choices_give_the_same_trace() {
    for seed in 1..=5 {
        let (first, lines) = hashes(seed);
        assert_eq!(first[0], first[1], "seed {seed}: an execution leaves something for the next one");
        assert_eq!(first, hashes(seed).0, "seed {seed}: two worlds differ");
        assert!(lines > 100, "the crate's own log lines are collected: {lines}");
    }
}

#[test]
fn watching_changes_nothing() {
    let found = |lenses: &[&str], watch| {
        let done = drive(&mut *open(&[("trim", "off")], "reorder", lenses), 1, 10_000, 100_000, watch);
        (done.steps, done.failure)
    };
    let plain = found(&[], QUIET);
    assert_eq!(found(&["pairs@impl", "waiting@impl"], KEYS), plain);
    assert_eq!(found(&[], TRACE), plain);
}

#[test]
fn lenses_make_keys() {
    for lens in ["pairs@impl", "waiting@impl", "delivery@impl", "message@impl", "detailed@impl"] {
        let done = drive(&mut *open(&[("trim", "off")], "fifo", &[lens]), 1, 500, 2000, KEYS);
        assert!(done.keys > 100, "{lens}: {}", done.keys);
    }
}

#[test]
fn ordered_links_without_trimming_are_silent() {
    for (settings, steps) in [(("nodes", "3"), 400_000), (("nodes", "5"), 100_000), (("batch", "4"), 100_000)]
    {
        let mut run = open(&[("trim", "off"), settings], "fifo", &[]);
        let done = drive(&mut *run, 7, 1000, steps, QUIET);
        assert_eq!(done.failure, None, "{settings:?}");
        let faults = run.about().faults;
        let crashes = faults[misrule_world::ChoiceKind::Crash as usize].applied;
        let cuts = faults[misrule_world::ChoiceKind::Cut as usize].applied;
        assert!(crashes > 20 && cuts > 20, "faults must have an effect: {crashes} crashes, {cuts} cuts");
    }
}

#[test]
fn links_that_reorder_break_agreement() {
    let done = drive(&mut *open(&[("trim", "off")], "reorder", &[]), 1, 10_000, 10_000_000, QUIET);
    let failure = done.failure.expect("a finding");
    assert_eq!((failure.oracle, failure.property.as_str()), ("invariant", "decided-logs-agree"));
}

#[test]
fn trimming_panics_with_ordered_links() {
    let done = drive(&mut *open(&[("trim", "on")], "fifo", &[]), 4, 1000, 10_000_000, QUIET);
    let failure = done.failure.expect("a finding");
    assert_eq!((failure.oracle, failure.property.as_str()), ("panic", "no-panic"));
    assert!(failure.detail.starts_with("omnipaxos/src/sequence_paxos/"), "{}", failure.detail);
}

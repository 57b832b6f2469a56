//! The bare driver is a fair opponent: it makes omnipaxos work, and draws what the engine's `random` draws.

use misrule_benches::Campaign;
use misrule_benches::bare::{Bare, LENGTHS};
use misrule_engine::Conformance;
use misrule_omnipaxos::omnipaxos;
use misrule_world::ChoiceKind;

#[test]
fn draws_the_same_mix_as_random() {
    let target = omnipaxos();
    let campaign = Campaign::new(&target, &[("trim", "off")], "fifo", &[]).unwrap();
    let ran = campaign.conformance(Conformance::Off).run("random", 1, 600_000).unwrap();
    let mut bare = Bare::new(1);
    let steps: u64 = ran.lengths.iter().map(|length| u64::from(bare.execute(*length))).sum();
    assert_eq!(steps, ran.summary.steps);
    assert!(bare.decided_max > 100, "{}", bare.decided_max);
    let counts = bare.counts;
    for (kind, bare) in [
        (ChoiceKind::Deliver, counts.deliver),
        (ChoiceKind::Timer, counts.timer),
        (ChoiceKind::Request, counts.request),
        (ChoiceKind::Crash, counts.crash),
        (ChoiceKind::Restart, counts.restart),
        (ChoiceKind::Cut, counts.cut),
        (ChoiceKind::Heal, counts.heal),
    ] {
        let engine = ran.summary.choices[kind as usize].drawn;
        assert!(bare.abs_diff(engine) * 10 <= engine, "{kind:?}: bare {bare}, engine {engine}");
    }
}

#[test]
fn executions_are_repeatable() {
    let counts = || {
        let mut bare = Bare::new(3);
        for length in LENGTHS {
            assert_eq!(bare.execute(length), length);
        }
        (bare.counts, bare.decided_max)
    };
    assert_eq!(counts(), counts());
}

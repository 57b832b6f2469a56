//! The bare driver is a fair opponent: it makes omnipaxos work, and draws what the engine's `random` draws.

use misrule_benches::Campaign;
use misrule_benches::bare::{self, LENGTHS};
use misrule_engine::Conformance;
use misrule_omnipaxos::omnipaxos;
use misrule_world::ChoiceKind;

#[test]
fn draws_the_same_mix_as_random() {
    let target = omnipaxos();
    let campaign = Campaign::new(&target, &[("trim", "off")], "fifo", &[]).unwrap();
    let ran = campaign.conformance(Conformance::Off).run("random", 1, 600_000).unwrap();
    let mut driver = bare::omnipaxos(1);
    let steps: u64 = ran.lengths.iter().map(|length| u64::from(driver.execute(*length))).sum();
    assert_eq!(steps, ran.summary.steps);
    assert!(driver.decided_max > 100, "{}", driver.decided_max);
    let counts = driver.counts;
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
        let mut driver = bare::omnipaxos(3);
        for length in LENGTHS {
            assert_eq!(driver.execute(length), length);
        }
        (driver.counts, driver.decided_max)
    };
    assert_eq!(counts(), counts());
}

#[test]
fn raft_elects_and_commits_as_it_does_in_the_world() {
    let target = misrule_raft::raft();
    let settings = [("nodes", "5"), ("snapshots", "off"), ("transfer", "off")];
    let campaign = Campaign::new(&target, &settings, "fifo", &[]).unwrap().conformance(Conformance::Always);
    let ran = campaign.run("random", 1, 200_000).unwrap();
    let mut driver = bare::raft(1);
    let steps: u64 = ran.lengths.iter().map(|length| u64::from(driver.execute(*length))).sum();
    assert_eq!(steps, ran.summary.steps);
    assert!(driver.decided_max > 100, "{}", driver.decided_max);
    let engine = ran.summary.tally.sometimes.iter().find(|(name, _)| *name == "entry-committed").unwrap().1;
    let counts = driver.counts;
    let seen = [
        ("deliver", counts.deliver, ran.summary.choices[ChoiceKind::Deliver as usize].drawn),
        ("timer", counts.timer, ran.summary.choices[ChoiceKind::Timer as usize].drawn),
        ("request", counts.request, ran.summary.choices[ChoiceKind::Request as usize].drawn),
        ("executions that commit", driver.deciding, engine),
    ];
    for (what, bare, engine) in seen {
        assert!(bare.abs_diff(engine) * 10 <= engine, "{what}: bare {bare}, engine {engine}");
    }
}

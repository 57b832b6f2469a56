//! Recoveries: what the fair driver does, what stalls and what does not, and what campaigns make of it.

#[path = "../common/mod.rs"]
mod common;
mod toy;

use common::{run, setup, two_phase_commit};
use misrule_engine::{
    Execution, Finding, Misfit, Mode, Options, Outcome, RecoveryEnd, RecoveryWhen, Replay, causal_cone,
    execute_explicit, replay,
};
use misrule_world::{Choice, Core, NO_SESSION, Run, Schedule, Slot, Watch, mix};
use toy::elects;

const ALL: Choice = Choice::Recover { core: 0b111 };

fn open(settings: &[(&str, &str)]) -> Box<dyn Run> {
    let target = elects();
    target.open(&setup(&target, settings, &[])).expect("a valid setup")
}

fn campaign(settings: &[(&str, &str)], recovery: RecoveryWhen, executions: u64) -> Outcome {
    let target = elects();
    let options = Options {
        seed: 5,
        guidance: "random".to_owned(),
        stop_after_executions: Some(executions),
        steps_max: 300,
        recovery,
        ..Options::default()
    };
    run(&target, &setup(&target, settings, &[]), &options)
}

fn replayed(run: &mut dyn Run, choices: &[Choice]) -> Replay {
    let schedule = Schedule { choices: choices.to_vec(), tail: None };
    replay(run, mix(5), &schedule, Watch::default(), true, &mut |_, _| {})
}

/// Elections of all nodes in one term: every request for a vote is lost, nobody is elected.
fn all_lose() -> Vec<Choice> {
    let fire = |node| Choice::Timer { node, timer: 0 };
    let lose = |from, to| Choice::Drop(Slot { from, to, at: 1, kind: Slot::ANY_KIND });
    let links = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
    (0..3).map(fire).chain(links.map(|(from, to)| lose(from, to))).collect()
}

#[test]
fn a_sound_protocol_recovers_from_everything() {
    let always = campaign(&[], RecoveryWhen::Always, 600);
    assert_eq!(always.findings, Vec::new());
    let counted = always.summary.recovery;
    assert_eq!((counted.executions, counted.progressed, counted.stalled), (600, 600, 0));
    assert!(counted.steps > 600 * 10, "{counted:?}");
    let again = campaign(&[], RecoveryWhen::Always, 600);
    assert_eq!(always.summary.corpus_digest, again.summary.corpus_digest);
    assert_eq!(counted, again.summary.recovery);
}

#[test]
fn recoveries_change_nothing_else() {
    let [never, sampled, always] = [RecoveryWhen::Never, RecoveryWhen::Sampled, RecoveryWhen::Always]
        .map(|when| campaign(&[], when, 600).summary);
    assert_eq!((never.recovery.executions, never.recovery.steps), (0, 0));
    assert!(sampled.recovery.executions > 10, "{:?}", sampled.recovery);
    // At most a sixteenth of the steps, and what the last recovery took beyond.
    assert!(sampled.recovery.steps < sampled.steps / 16 + 1_000, "{sampled:?}");
    for other in [sampled, always] {
        assert_eq!((other.steps, other.executions), (never.steps, never.executions));
        assert_eq!((other.choices, other.overflow), (never.choices, never.overflow), "no drawn fault more");
    }
}

#[test]
fn targets_without_a_policy_have_no_recoveries() {
    let none = campaign(&[("promises", "no"), ("bug", "no-retry")], RecoveryWhen::Always, 100);
    assert_eq!((none.findings.len(), none.summary.recovery.executions), (0, 0));
    let shown = replayed(&mut *open(&[("promises", "no")]), &[ALL]);
    let recovered = shown.recovery.unwrap();
    assert_eq!((recovered.end, recovered.steps, shown.failure), (RecoveryEnd::Unknown, 0, None));
}

/// A planted stall or growth is found, and is as good as any other finding.
fn is_found(bug: &str, oracle: &str, property: &str, says: &str) -> Finding {
    let outcome = campaign(&[("bug", bug)], RecoveryWhen::Sampled, 2_000);
    let finding = outcome.findings.into_iter().next().unwrap_or_else(|| panic!("{bug} is not found"));
    assert_eq!((finding.failure.oracle, finding.failure.property.as_str()), (oracle, property));
    assert!(finding.failure.message.contains(says), "{}", finding.failure.message);
    assert_eq!(outcome.summary.recovery.stalled, 1);
    assert!(finding.minimal && matches!(finding.minimised.last(), Some(Choice::Recover { .. })));
    let mut world = open(&[("bug", bug)]);
    let (first, second) =
        (replayed(&mut *world, &finding.minimised), replayed(&mut *world, &finding.minimised));
    assert_eq!(first, second);
    assert_eq!(first.fingerprint(), Some(finding.fingerprint));
    assert_eq!((first.skipped, first.steps() as usize), (0, finding.minimised.len() - 1));
    assert_eq!(first.recovery.map(|recovered| recovered.end), Some(RecoveryEnd::Stalled));

    // No choice can be left out, and the recovery is of all nodes where that shows it too.
    let mode = Mode { seed: mix(5), watch: Watch::default(), misfit: Misfit::Skip };
    let mut execution = Execution::default();
    for at in 0..finding.minimised.len() {
        let mut choices = finding.minimised.clone();
        choices.remove(at);
        execute_explicit(&mut *world, mode, &choices, &mut execution);
        assert_ne!(execution.fingerprint(), Some(finding.fingerprint), "choice {at} can be left out");
    }
    finding
}

#[test]
fn a_candidate_that_never_tries_again_stalls() {
    let finding =
        is_found("no-retry", "progress", "recovers-after-heal", "node 1 waits for a leader of term ");
    let message = &finding.failure.message;
    assert!(message.starts_with("no progress in 400 rounds of fair delivery ("), "{message}");
    assert!(message.ends_with("; no message waits; timers set: none"), "{message}");
    let kinds = |choice: &Choice| matches!(choice, Choice::Timer { .. } | Choice::Recover { .. });
    assert!(finding.minimised.iter().filter(|choice| kinds(choice)).count() >= 3, "{:?}", finding.minimised);
}

#[test]
fn messages_and_disks_without_bound_are_found() {
    is_found("storm", "rate", "messages-bounded", "messages wait");
    let growing =
        is_found("grows", "rate", "disk-bounded", "bytes in 40 rounds without a request (at most 4096)");
    assert_eq!(growing.minimised, [ALL], "it grows whatever happened before");
}

#[test]
fn nodes_that_gave_up_are_started_again() {
    let mut world = open(&[("bug", "gives-up")]);
    let give_up: Vec<Choice> = (0..3).map(|node| Choice::Timer { node, timer: 0 }).collect();
    let shown = replayed(&mut *world, &[&give_up[..], &[ALL]].concat());
    let restarted = shown.trace.steps.iter().filter(|step| step.recovery).filter_map(|step| step.choice);
    let restarted: Vec<Choice> =
        restarted.filter(|choice| matches!(choice, Choice::Restart { .. })).collect();
    assert_eq!(restarted, [0, 1, 2].map(|node| Choice::Restart { node }));
}

#[test]
fn a_recovery_restarts_and_heals_its_core_and_freezes_the_rest() {
    let before = [
        Choice::Crash { node: 0, keep: misrule_world::Keep::NONE },
        Choice::Cut { from: 0, to: 1 },
        Choice::Cut { from: 1, to: 0 },
        Choice::CrashAt { node: 1, at: 0, keep: misrule_world::Keep::NONE },
        Choice::Timer { node: 2, timer: 0 },
        Choice::Recover { core: 0b011 },
    ];
    let shown = replayed(&mut *open(&[]), &before);
    assert_eq!((shown.failure, shown.skipped), (None, 0));
    assert_eq!(shown.recovery.unwrap().end, RecoveryEnd::Progressed);
    let begin = &shown.trace.steps[before.len()];
    assert_eq!((begin.choice, begin.recovery), (Some(before[5]), false));
    let effects = begin.told.effects.join(", ");
    assert_eq!(
        effects,
        "cut 1->3, healed 1->2, healed 2->1, cut 2->3, cut 3->1, cut 3->2, cut 3->3"
            .replace("cut 1->3, healed 1->2", "healed 1->2, cut 1->3")
    );
    let steps = &shown.trace.steps[before.len() + 1..];
    assert_eq!(steps.len(), shown.recovery.unwrap().steps as usize);
    assert_eq!(steps[0].choice, Some(Choice::Restart { node: 0 }));
    assert!(steps.iter().all(|step| step.recovery && step.told.node.is_some_and(|node| node < 2)));
    let faults = |choice: &Choice| choice.kind().is_fault() && !matches!(choice, Choice::Restart { .. });
    assert!(!steps.iter().filter_map(|step| step.choice).any(|choice| faults(&choice)));
}

#[test]
fn a_perpetual_partition_refutes_nothing() {
    for (core, end) in [
        (0b001, RecoveryEnd::Unknown),
        (0b100, RecoveryEnd::Unknown),
        (0b000, RecoveryEnd::Unknown),
        (0b011, RecoveryEnd::Progressed),
        (0b111, RecoveryEnd::Progressed),
    ] {
        let shown = replayed(&mut *open(&[]), &[Choice::Recover { core }]);
        assert_eq!((shown.recovery.unwrap().end, shown.failure), (end, None), "{}", Core(core));
    }
    let choices = [&all_lose()[..], &[Choice::Recover { core: 0b001 }]].concat();
    assert_eq!(replayed(&mut *open(&[("bug", "no-retry")]), &choices).failure, None);
}

#[test]
fn a_recovery_comes_last() {
    let choices = [ALL, Choice::Timer { node: 0, timer: 0 }];
    let shown = replayed(&mut *open(&[]), &choices);
    assert_eq!((shown.skipped, shown.choices, shown.recovery), (1, choices[1..].to_vec(), None));
}

#[test]
fn a_recovery_follows_a_tail() {
    let tail = misrule_world::Tail { seed: 3, steps: 40, faults: misrule_world::FaultProfile::Heavy };
    let schedule = Schedule { choices: vec![ALL], tail: Some(tail) };
    let mut world = open(&[]);
    let drawn = replay(&mut *world, mix(5), &schedule, Watch::default(), false, &mut |_, _| {});
    assert_eq!((drawn.steps(), drawn.choices.len(), drawn.choices.last()), (40, 41, Some(&ALL)));
    assert_eq!(replayed(&mut *world, &drawn.choices).trace_hash, drawn.trace_hash);
}

#[test]
fn all_nodes_come_back_where_that_fails_too() {
    let mut world = open(&[("bug", "no-retry")]);
    let choices =
        [&all_lose()[..], &[Choice::Request { node: 0, operation: 0, argument: 1, session: NO_SESSION }]]
            .concat();
    let choices = [choices, vec![Choice::Recover { core: 0b110 }]].concat();
    let failure = replayed(&mut *world, &choices).failure.expect("a stall");
    assert!(failure.message.contains("without 1: node 2 waits"), "{}", failure.message);
    let finding = Finding::examine(&mut *world, mix(5), failure, choices, misrule_engine::Budget::default());
    assert_eq!(finding.minimised.last(), Some(&ALL), "{:?}", finding.minimised);
    assert!(finding.failure.message.contains("all nodes run"), "{}", finding.failure.message);
    assert!(!finding.minimised.iter().any(|choice| matches!(choice, Choice::Request { .. })));
}

#[test]
fn other_oracles_fail_in_recoveries_too() {
    let target = two_phase_commit();
    let mut world = target.open(&setup(&target, &[("bug", "commit-on-first-yes")], &[])).unwrap();
    let choices = [
        Choice::Request { node: 0, operation: 0, argument: 0, session: NO_SESSION },
        Choice::Recover { core: 0b1111 },
    ];
    let shown = replayed(&mut *world, &choices);
    let failure = shown.failure.clone().expect("a commit without every vote");
    assert_eq!(failure.property, "one-outcome");
    assert_eq!(shown.recovery.unwrap().end, RecoveryEnd::Failed);
    let last = shown.trace.steps.len() - 1;
    let cone = causal_cone(&shown.trace, last);
    assert!(cone.contains(&1) && cone.contains(&2) && cone.len() < last, "{cone:?} of {last}");
    let finding =
        Finding::examine(&mut *world, mix(5), failure, choices.to_vec(), misrule_engine::Budget::default());
    assert_eq!(finding.minimised, choices[1..], "clients ask in a recovery too");
}

#[test]
fn targets_of_this_repository_recover() {
    let omnipaxos = misrule_omnipaxos::omnipaxos;
    for (target, settings, contract) in [
        (two_phase_commit(), &[][..], ""),
        (two_phase_commit(), &[("managers", "2"), ("transactions", "1")], "fsyncgate"),
        (two_phase_commit(), &[("transactions", "4")], "fifo"),
        (omnipaxos(), &[("trim", "off")], "fifo"),
        (omnipaxos(), &[("trim", "off"), ("nodes", "5"), ("batch", "4")], "fifo+loss"),
        (two_phase_commit(), &[], "clock=drift-0,delay=3"),
        (omnipaxos(), &[("trim", "off")], "fifo,clock=drift-10,delay=3"),
    ] {
        let mut setup = setup(&target, settings, &[]);
        setup.contract = target.contract.overridden(contract).expect("known words");
        let options = Options {
            seed: 9,
            guidance: "random".to_owned(),
            stop_after_executions: Some(200),
            steps_max: 1_000,
            recovery: RecoveryWhen::Always,
            ..Options::default()
        };
        let outcome = run(&target, &setup, &options);
        assert_eq!(outcome.findings, Vec::new(), "{settings:?}");
        let counted = outcome.summary.recovery;
        assert_eq!((counted.executions, counted.progressed), (200, 200), "{settings:?}");
    }
}

/// Server 3 promises the ballot of server 5, which stays away. The others elect a leader with a lower ballot and decide
/// what clients ask for; server 3 refuses that leader, and learns nothing as long as it stays.
#[test]
fn omnipaxos_leaves_out_a_server_that_promised_a_leader_who_went_away() {
    let target = misrule_omnipaxos::omnipaxos();
    let mut setup = setup(&target, &[("trim", "off"), ("nodes", "5")], &[]);
    setup.contract = target.contract.overridden("fifo").unwrap();
    let mut world = target.open(&setup).unwrap();
    let deliver = Choice::Deliver(Slot { from: 4, to: 2, at: 1, kind: Slot::ANY_KIND });
    let choices = [Choice::Timer { node: 4, timer: 0 }, deliver, deliver, Choice::Recover { core: 0b0_1111 }];
    let shown = replayed(&mut *world, &choices);
    assert_eq!(shown.recovery.unwrap().end, RecoveryEnd::Progressed);
    let decides = |node| {
        let steps = shown.trace.steps.iter().filter(|step| step.told.node == Some(node));
        steps.flat_map(|step| &step.told.changes).filter(|change| change.field == "decided").count() > 1
    };
    assert_eq!([0, 1, 2, 3].map(decides), [true, true, false, true]);
    // Where server 5 comes back too, all five decide.
    let all = replayed(&mut *world, &[&choices[..3], &[Choice::Recover { core: 0b1_1111 }]].concat());
    assert_eq!(all.recovery.unwrap().end, RecoveryEnd::Progressed);
}

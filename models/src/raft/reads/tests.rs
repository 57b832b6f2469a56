use crate::raft::tests::{Script, sound};
use crate::raft::{Action, Bounds, Change, Envelope, LogEntry, Membership, Message, Raft, Reads, Rules};
use crate::{Model, NodeId, Step, Verdict};

const INDEX: Rules = Rules { reads: Reads::Index, ..Rules::paper() };
const LEASE: Rules = Rules { reads: Reads::Lease, ..Rules::paper() };

fn take(node: NodeId, read: u32) -> Action {
    Action::TakeRead { node, read }
}

fn confirm(node: NodeId, read: u32, index: u32) -> Action {
    Action::ConfirmRead { node, read, index }
}

/// `node` takes an entry, and commits it with `peer`.
fn write(script: &mut Script, node: NodeId, peer: NodeId, value: u32) {
    script.take(&Action::Propose { node, value });
    script.replicate(node, peer);
    script.take(&Action::AdvanceCommit { node });
}

/// `peer` hears a heartbeat of `node` for its newest read, and says so.
fn beat(script: &mut Script, node: NodeId, peer: NodeId) {
    let newest = script.1.node(node).newest_read();
    script.take(&Action::Heartbeat { node, peer });
    script.deliver(node, peer, |it| matches!(it, Message::Heartbeat { read, .. } if *read == newest));
    script.deliver(peer, node, |it| matches!(it, Message::HeartbeatReply { read, .. } if *read == newest));
}

#[test]
fn a_quorum_confirms_a_read_and_all_before_it() {
    let mut script = Script::of(5, INDEX);
    script.elect_by(0, &[1, 2]);
    assert!(!script.takes(&take(0, 1)), "no entry of its term is committed");
    script.take(&Action::Propose { node: 0, value: 1 });
    script.replicate(0, 1);
    script.replicate(0, 2);
    script.take(&Action::AdvanceCommit { node: 0 });
    for wrong in [take(1, 1), take(0, 0)] {
        assert!(!script.takes(&wrong), "{wrong:?}");
    }
    script.take(&take(0, 1));
    assert!(!script.takes(&take(0, 1)), "it waits already");
    beat(&mut script, 0, 1);
    script.take(&take(0, 2));
    // An answer for the older read says nothing of the newer one.
    script.deliver(1, 0, |it| matches!(it, Message::HeartbeatReply { read: 1, .. }));
    beat(&mut script, 0, 3);
    assert!(!script.takes(&confirm(0, 2, 1)), "two of five");
    assert!(!script.takes(&confirm(0, 1, 0)), "another index");
    script.take(&confirm(0, 1, 1));
    assert!(!script.takes(&confirm(0, 1, 1)), "it is confirmed");
    beat(&mut script, 0, 1);
    script.take(&confirm(0, 2, 1));
    assert!(script.holds("read-confirmed") && script.broken().is_empty());
}

#[test]
fn who_leads_no_more_has_forgotten_its_reads() {
    for stops in [Action::Crash { node: 0 }, Action::StepDown { node: 0 }] {
        let mut script = Script::new(Rules { check_quorum: true, ..INDEX });
        script.elect(0, 1);
        write(&mut script, 0, 1, 1);
        script.take(&take(0, 1));
        script.take(&stops);
        assert!(script.1.node(0).reads.is_empty(), "{stops:?}");
    }
}

/// The old leader has not heard of the new one, which commits: nobody confirms its read, but a lease lets it.
#[test]
fn a_read_without_a_quorum_is_stale() {
    for rules in [INDEX, LEASE] {
        let mut script = Script::new(rules);
        script.elect(0, 1);
        write(&mut script, 0, 1, 1);
        script.elect(1, 2);
        for _ in 0..2 {
            script.replicate(1, 2);
        }
        write(&mut script, 1, 2, 2);
        script.take(&take(0, 1));
        let is_confirmed = script.takes(&confirm(0, 1, 1));
        assert_eq!(is_confirmed, rules == LEASE);
        let broken: &[_] = if is_confirmed { &["reads-never-stale"] } else { &[] };
        assert_eq!(script.broken(), broken);
    }
}

/// A new leader has all that is committed and does not know it yet: a quorum is not enough.
#[test]
fn a_read_before_an_entry_of_the_term_is_committed_is_stale() {
    for read_in_own_term in [true, false] {
        let mut script = Script::new(Rules { read_in_own_term, ..INDEX });
        script.elect(0, 1);
        write(&mut script, 0, 1, 1);
        script.elect(1, 2);
        assert_eq!(script.takes(&take(1, 1)), !read_in_own_term);
        if read_in_own_term {
            continue;
        }
        beat(&mut script, 1, 2);
        script.take(&confirm(1, 1, 0));
        assert_eq!(script.broken(), ["reads-never-stale"]);
    }
}

/// Who counts is the configuration in force: not a leader that votes no more, though one voter is left.
#[test]
fn a_leader_without_a_vote_asks_those_who_have_one() {
    let mut script = Script::of(2, Rules { membership: Membership::Single, ..INDEX });
    script.elect(0, 1);
    write(&mut script, 0, 1, 1);
    script.take(&take(0, 1));
    script.take(&Action::Propose { node: 0, value: Change::removes(0).value() });
    assert!(!script.takes(&confirm(0, 1, 1)));
    beat(&mut script, 0, 1);
    script.take(&confirm(0, 1, 1));
    // Who votes alone need not ask.
    let mut alone = Script::of(1, INDEX);
    alone.elect_by(0, &[]);
    alone.take(&Action::Propose { node: 0, value: 1 });
    for action in [Action::AdvanceCommit { node: 0 }, take(0, 1), confirm(0, 1, 1)] {
        alone.take(&action);
    }
}

/// In an open network: heartbeats are for reads that wait, and who answers has heard one for this read.
#[test]
fn what_is_said_of_reads_is_judged() {
    let model = Raft::open(3, Rules { reads: Reads::Index, ..Rules::crate_0_7() }).unwrap();
    let mut states = Vec::new();
    model.initial(&mut states);
    let mut state = states.remove(0);
    let mut takes = |action: Action| model.step(&mut state, &action) == Step::Taken;
    let say = |from, to, message| Envelope { from, to, message };
    let persist = |node| Action::Persist { node };
    for action in [Action::Timeout { node: 0 }, persist(0)] {
        assert!(takes(action));
    }
    assert!(takes(Action::Deliver(say(0, 1, Message::Vote { term: 1, last: (0, 0) }))) && takes(persist(1)));
    assert!(takes(Action::Deliver(say(1, 0, Message::VoteReply { term: 1, granted: true }))));
    assert!(takes(Action::BecomeLeader { node: 0 }) && takes(persist(0)));
    let entries = vec![LogEntry { term: 1, value: 0 }];
    let append = Message::Append { term: 1, previous: (0, 0), entries, commit: 0 };
    assert!(takes(Action::Deliver(say(0, 1, append))) && takes(persist(1)));
    let matched = Message::AppendReply { term: 1, matched: Some(1), hint: (0, 0) };
    assert!(takes(Action::Deliver(say(1, 0, matched))) && !takes(take(0, 7)));
    assert!(takes(Action::AdvanceCommit { node: 0 }));
    let beat = |read| say(0, 1, Message::Heartbeat { term: 1, commit: 1, read });
    let answer = |from, read| say(from, 0, Message::HeartbeatReply { term: 1, read });
    assert!(!takes(Action::Send(beat(7))), "it is not taken");
    assert!(takes(take(0, 7)) && takes(Action::Send(beat(7))) && takes(Action::Send(beat(0))));
    assert!(!takes(Action::Send(answer(1, 7))), "it has not come");
    assert!(takes(Action::Deliver(beat(7))) && takes(Action::Send(answer(1, 7))));
    assert!(!takes(Action::Send(answer(1, 8))) && takes(Action::Send(answer(1, 0))));
    assert!(takes(Action::Deliver(answer(1, 0))) && !takes(confirm(0, 7, 1)), "it says nothing of the read");
    assert!(takes(Action::Deliver(answer(1, 7))) && takes(confirm(0, 7, 1)));
    assert!(!takes(Action::Send(beat(7))), "it is confirmed");
}

#[test]
fn reads_are_safe_and_their_states_are_counted() {
    let mut counts = Vec::new();
    let single = Rules { membership: Membership::Single, ..INDEX };
    for (name, rules, bounds) in [
        ("index", INDEX, (1, 1, 0, 1)),
        ("index, two reads", INDEX, (1, 1, 0, 2)),
        ("index with a crash", Rules { empty_entry: true, ..INDEX }, (1, 0, 1, 1)),
        ("index over a disk that lags", Rules { disk_lags: true, ..INDEX }, (1, 1, 0, 1)),
        ("index with heartbeats", Rules { heartbeats: true, ..INDEX }, (1, 1, 0, 1)),
        ("index with changes", single, (1, 2, 0, 1)),
        ("lease of two", LEASE, (1, 1, 1, 1)),
    ] {
        let (term_max, entries_max, faults_max, reads_max) = bounds;
        let model = Raft::new(2, rules, Bounds { term_max, entries_max, faults_max, reads_max }).unwrap();
        let found = sound(name, &model);
        let confirmed = found.properties.iter().find(|it| it.name == "read-confirmed").unwrap();
        assert_eq!(confirmed.verdict, Verdict::Seen, "{name}");
        counts.push((name, found.states));
    }
    assert_eq!(counts, COUNTS);
}

/// States of two nodes.
const COUNTS: [(&str, u64); 7] = [
    ("index", 497),
    ("index, two reads", 2_441),
    ("index with a crash", 914),
    ("index over a disk that lags", 5_496),
    ("index with heartbeats", 233),
    ("index with changes", 20_201),
    ("lease of two", 3_478),
];

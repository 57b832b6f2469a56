//! A walk through Raft allocates nothing once its buffers have grown.

#![allow(clippy::unwrap_used, reason = "a test")]

use misrule_models::presets::{Delivery, Detail, Pairs};
use misrule_models::raft::{Action, Envelope, LogEntry, Message, Raft, Rules};
use misrule_models::{Event, Key, Kind, Lens, Model, NodeId, Walk, Walked};

/// Terms in which a leader takes entries, replicates and commits some of them, and loses the others by a crash.
fn script(terms: u32) -> Vec<Event<Action>> {
    let mut actions = Vec::new();
    let mut log: Vec<LogEntry> = Vec::new();
    for term in 1..=terms {
        let (leader, voter) = ((term % 2) as NodeId, 1 - (term % 2) as NodeId);
        let last = (log.len() as u32, log.last().map_or(0, |entry| entry.term));
        let pass = |actions: &mut Vec<_>, from, to, message| {
            let envelope = Envelope { from, to, message };
            actions.push(Action::Send(envelope.clone()));
            actions.push(Action::Deliver(envelope));
        };
        actions.push(Action::Timeout { node: leader });
        actions.push(Action::Persist { node: leader });
        pass(&mut actions, leader, voter, Message::Vote { term, last });
        actions.push(Action::Persist { node: voter });
        pass(&mut actions, voter, leader, Message::VoteReply { term, granted: true });
        actions.push(Action::BecomeLeader { node: leader });
        log.push(LogEntry { term, value: 0 });
        for value in 1..=2 {
            actions.push(Action::Propose { node: leader, value });
            log.push(LogEntry { term, value });
        }
        actions.push(Action::Persist { node: leader });
        let entries = log[last.0 as usize..].to_vec();
        let append = Message::Append { term, previous: last, entries, commit: 0 };
        pass(&mut actions, leader, voter, append);
        actions.push(Action::Persist { node: voter });
        let matched = Some(log.len() as u32);
        pass(&mut actions, voter, leader, Message::AppendReply { term, matched, hint: (0, 0) });
        actions.push(Action::AdvanceCommit { node: leader });
        // Not on its disk: the crash loses them.
        actions.extend((3..=5).map(|value| Action::Propose { node: leader, value }));
        actions.push(Action::Crash { node: leader });
        actions.push(Action::Restart { node: leader, commit: log.len() as u32 });
    }
    actions.into_iter().map(Event::Action).collect()
}

#[test]
fn a_walk_allocates_nothing() {
    let events = script(50);
    let mut walk = Walk::new(Raft::open(3, Rules::crate_0_7()).unwrap());
    let mut keys: Vec<Key> = Vec::new();
    let mut pass = |walk: &mut Walk<Raft>| {
        walk.reset();
        for event in &events {
            assert_eq!(walk.follow(event), Walked::Followed, "{event:?}");
            let state = walk.state().unwrap();
            for property in walk.model().properties() {
                assert!(property.kind == Kind::Sometimes || (property.holds)(walk.model(), state));
            }
            keys.clear();
            Pairs.keys(state, 0b111, &mut keys);
            Delivery.keys(state, 0b111, &mut keys);
            Detail::Detailed.keys(state, 0b111, &mut keys);
        }
    };
    pass(&mut walk);
    assert_eq!(walk.state().unwrap().committed().len(), 150);
    assert_eq!(allocation_counter::measure(|| pass(&mut walk)).count_total, 0);
}

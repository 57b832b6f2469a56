//! What only following uses: ticks, batches, and links that lose order.

use misrule_models::sequence_paxos::{
    Action, Ballot, Envelope, LogSync, Message, Rules, Sequence, SequencePaxos, State,
};
use misrule_models::{Kind, Model, NodeId, Step};

fn start(model: &SequencePaxos) -> State {
    let mut states = Vec::new();
    model.initial(&mut states);
    states.remove(0)
}

/// Takes an action that must be enabled, and says what it sent.
fn take(model: &SequencePaxos, state: &mut State, action: &Action) -> Vec<Envelope> {
    assert_eq!(model.step(state, action), Step::Taken, "{action:?}");
    state.sent().to_vec()
}

/// Delivers messages until none is left.
fn settle(model: &SequencePaxos, state: &mut State, mut waiting: Vec<Envelope>) {
    while !waiting.is_empty() {
        let Envelope { from, to, message } = waiting.remove(0);
        waiting.extend(take(model, state, &Action::Deliver { from, to, message }));
    }
}

fn broken(model: &SequencePaxos, state: &State) -> Vec<&'static str> {
    let always = model.properties().iter().filter(|property| property.kind == Kind::Always);
    always.filter(|property| !(property.holds)(model, state)).map(|property| property.name).collect()
}

fn tick(node: NodeId, elected: Option<Ballot>, flush: bool) -> Action {
    Action::Tick { node, elected, resend: false, flush }
}

fn append(entry: u32) -> Action {
    Action::Append { node: 0, entry }
}

/// Three nodes that follow node 0, with this batch size.
fn elected(batch: u32) -> (SequencePaxos, State) {
    let model = SequencePaxos::open(3, Rules { batch, ..Rules::crate_0_2() });
    let mut state = start(&model);
    let sent = take(&model, &mut state, &tick(0, Some(Ballot::of(1, 0)), false));
    settle(&model, &mut state, sent);
    (model, state)
}

#[test]
fn a_tick_is_its_parts_in_order() {
    let model = SequencePaxos::open(3, Rules::crate_0_2());
    let (mut whole, mut parts) = (start(&model), start(&model));
    let ballot = Ballot::of(1, 0);
    let all = Action::Tick { node: 0, elected: Some(ballot), resend: true, flush: true };
    let sent = take(&model, &mut whole, &all);
    let mut expected = take(&model, &mut parts, &Action::Elect { node: 0, ballot });
    expected.extend(take(&model, &mut parts, &Action::Resend { node: 0 }));
    assert_eq!(sent, expected);
    assert_eq!(sent.len(), 4, "a `Prepare` to each, twice");
    assert_eq!(whole, parts);
    let mut again = whole.clone();
    assert!(matches!(model.step(&mut again, &all), Step::Refused(_)), "the ballot is not above the promise");
    assert_eq!(again, whole);
}

#[test]
fn entries_wait_for_a_batch_at_the_leader_and_at_followers() {
    let (model, mut state) = elected(2);
    assert_eq!(take(&model, &mut state, &append(1)), []);
    assert_eq!(state.node(0).log.len(), 0);
    let sent = take(&model, &mut state, &append(2));
    assert_eq!(sent.len(), 2);
    settle(&model, &mut state, sent);
    assert!((0..3).all(|node| state.node(node).log.entries() == [1, 2] && state.node(node).decided == 2));

    assert_eq!(take(&model, &mut state, &append(3)), []);
    assert_eq!(take(&model, &mut state, &tick(0, None, false)), []);
    let sent = take(&model, &mut state, &tick(0, None, true));
    settle(&model, &mut state, sent);
    assert_eq!(state.node(0).log.len(), 3);
    assert_eq!((state.node(1).log.len(), &state.node(1).batch[..]), (2, &[3][..]));
    let sent = take(&model, &mut state, &tick(1, None, true));
    let accepted = Message::Accepted { n: Ballot::of(1, 0), accepted: 3 };
    assert_eq!(sent, [Envelope { from: 1, to: 0, message: accepted }]);
    settle(&model, &mut state, sent);
    assert_eq!(state.node(0).decided, 3);
    assert_eq!((state.node(2).log.len(), state.node(2).decided), (3, 3), "a decision flushes");
}

#[test]
fn a_crash_loses_a_batch_and_an_election_stores_it() {
    let (model, mut state) = elected(2);
    take(&model, &mut state, &append(1));
    let mut crashed = state.clone();
    take(&model, &mut crashed, &Action::Crash { node: 0 });
    take(&model, &mut crashed, &Action::Restart { node: 0 });
    assert!(crashed.node(0).batch.is_empty() && crashed.node(0).log.is_empty());
    take(&model, &mut state, &tick(0, Some(Ballot::of(2, 0)), false));
    assert_eq!(state.node(0).log.entries(), [1]);
}

/// An old `AcceptSync` to node 1, which has accepted and decided more since.
#[test]
fn unordered_links_bring_what_ordered_ones_refuse() {
    let (model, mut state) = elected(1);
    for entry in 1..=3 {
        let sent = take(&model, &mut state, &append(entry));
        settle(&model, &mut state, sent);
    }
    let n = Ballot::of(1, 0);
    let sync = |at| {
        let (sequence, sync) = (Sequence { session: 9, counter: 1 }, LogSync { at, entries: vec![] });
        let message = Message::AcceptSync { n, sequence, decided: 0, sync };
        Action::Deliver { from: 0, to: 1, message }
    };
    take(&model, &mut state, &Action::Reconnected { node: 1, peer: 0 });
    let prepare = Message::Prepare { n, accepted_round: n, accepted: 3, decided: 3 };
    take(&model, &mut state, &Action::Deliver { from: 0, to: 1, message: prepare });
    assert!(matches!(model.step(&mut state.clone(), &sync(2)), Step::Refused(_)));
    assert!(matches!(model.step(&mut state.clone(), &sync(4)), Step::Refused(_)));

    let model = model.over_unordered_links();
    let mut shorter = state.clone();
    take(&model, &mut shorter, &sync(2));
    assert_eq!(broken(&model, &shorter), ["decided-within-log", "decided-entries-stay"]);
    let sent = take(&model, &mut state, &sync(4));
    assert_eq!(sent, [Envelope { from: 1, to: 0, message: Message::Accepted { n, accepted: 4 } }]);
    assert_eq!((state.node(1).log.len(), state.node(1).accepted()), (3, 4), "a hole");
    assert_eq!(broken(&model, &state), Vec::<&str>::new());
    take(&model, &mut state, &Action::Crash { node: 1 });
    assert_eq!(state.node(1).accepted(), 3, "the index is counted in memory");
}

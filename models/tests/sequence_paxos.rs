//! Explores Sequence Paxos within small bounds.

use misrule_models::presets::{Detail, Pairs};
use misrule_models::sequence_paxos::{
    Action, Ballot, Bounds, Envelope, LogSync, Message, Network, Phase, Projection, Role, Rules, Sequence,
    SequencePaxos, State, role_code,
};
use misrule_models::{Kind, Lens, Log, LogRelation, Model, Replicas, Step};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// What an exhaustive search found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    states: usize,
    transitions: usize,
    violated: Vec<&'static str>,
    never: Vec<&'static str>,
}

fn explore<M: Model>(model: &M) -> Found {
    let mut queue = Vec::new();
    model.initial(&mut queue);
    let mut queue = VecDeque::from(queue);
    let mut seen: FxHashSet<M::State> = queue.iter().cloned().collect();
    let mut found = Found::default();
    let mut met = vec![false; model.properties().len()];
    let mut actions = Vec::new();
    while let Some(state) = queue.pop_front() {
        for (property, met) in model.properties().iter().zip(&mut met) {
            *met |= (property.holds)(model, &state) == (property.kind == Kind::Sometimes);
        }
        actions.clear();
        model.enabled(&state, &mut actions);
        for action in &actions {
            let mut next = state.clone();
            assert!(matches!(model.step(&mut next, action), Step::Taken), "enabled and refused: {action:?}");
            found.transitions += 1;
            if !seen.contains(&next) {
                seen.insert(next.clone());
                queue.push_back(next);
            }
        }
    }
    found.states = seen.len();
    for (property, met) in model.properties().iter().zip(met) {
        match property.kind {
            Kind::Always if met => found.violated.push(property.name),
            Kind::Sometimes if !met => found.never.push(property.name),
            _ => {}
        }
    }
    found
}

fn bounds(ballot_max: u32, entries_max: u32, faults_max: u8) -> Bounds {
    Bounds { ballot_max, entries_max, faults_max }
}

fn check(nodes: u8, rules: Rules, network: Network, bounds: Bounds) -> Found {
    explore(&SequencePaxos::bounded(nodes, rules, network, bounds))
}

#[test]
fn the_paper_is_safe_over_fifo_links() {
    let found = check(2, Rules::paper(), Network::Fifo, bounds(1, 2, 1));
    assert_eq!((found.states, found.transitions), (8_653, 18_305));
    assert_eq!(found.violated, Vec::<&str>::new());
    assert_eq!(found.never, ["conflicting-suffix-truncated"], "needs a third node");
}

#[test]
fn the_crate_is_safe_over_fifo_links() {
    let found = check(2, Rules::crate_0_2(), Network::Fifo, bounds(1, 2, 1));
    assert_eq!((found.states, found.transitions), (37_312, 84_398));
    assert_eq!(found.violated, Vec::<&str>::new());
    let found = check(2, Rules::crate_0_2(), Network::Fifo, bounds(1, 1, 2));
    assert_eq!((found.states, found.transitions), (34_633, 95_887));
    assert_eq!(found.violated, Vec::<&str>::new());
}

/// The protocol assumes order; this pins what happens without it.
#[test]
fn the_paper_is_not_safe_where_messages_repeat() {
    let found = check(2, Rules::paper(), Network::Tracked, bounds(1, 2, 0));
    assert_eq!((found.states, found.transitions), (6_456, 65_390));
    assert_eq!(found.violated, ["decided-logs-agree", "decided-needs-accept-quorum"]);
}

/// Takes an action that must be enabled, and says what it sent.
fn take(model: &SequencePaxos, state: &mut State, action: &Action) -> Vec<Envelope> {
    assert_eq!(model.step(state, action), Step::Taken, "{action:?}");
    state.sent().to_vec()
}

/// Checks that an action is refused and changes nothing.
fn refuse(model: &SequencePaxos, state: &State, action: &Action) -> &'static str {
    let mut after = state.clone();
    let Step::Refused(refusal) = model.step(&mut after, action) else { panic!("{action:?} was taken") };
    assert_eq!(after, *state, "a refused action leaves the state untouched");
    refusal.0
}

fn deliver(Envelope { from, to, message }: Envelope) -> Action {
    Action::Deliver { from, to, message }
}

/// Delivers messages until none is left.
fn settle(model: &SequencePaxos, state: &mut State, mut waiting: Vec<Envelope>) {
    while !waiting.is_empty() {
        let envelope = waiting.remove(0);
        waiting.extend(take(model, state, &deliver(envelope)));
    }
}

/// Three nodes that follow node 0 and have decided entry 1.
fn decided() -> (SequencePaxos, State) {
    let model = SequencePaxos::open(3, Rules::crate_0_2());
    let mut state = Vec::new();
    model.initial(&mut state);
    let mut state = state.remove(0);
    let sent = take(&model, &mut state, &Action::Elect { node: 0, ballot: Ballot::of(1, 0) });
    settle(&model, &mut state, sent);
    let sent = take(&model, &mut state, &Action::Append { node: 0, entry: 1 });
    settle(&model, &mut state, sent);
    assert!((0..3).all(|node| state.node(node).decided == 1));
    (model, state)
}

#[test]
fn a_follower_forwards_and_all_decide() {
    let (model, mut state) = decided();
    let sent = take(&model, &mut state, &Action::Append { node: 2, entry: 2 });
    assert_eq!(sent.iter().map(|envelope| envelope.message.kind()).collect::<Vec<_>>(), [8]);
    settle(&model, &mut state, sent);
    assert!((0..3).all(|node| state.node(node).log.entries() == [1, 2] && state.node(node).decided == 2));
}

#[test]
fn a_gap_makes_the_follower_recover() {
    let (model, mut state) = decided();
    let lost = take(&model, &mut state, &Action::Append { node: 0, entry: 2 });
    assert_eq!(lost.len(), 2);
    let mut sent = take(&model, &mut state, &Action::Append { node: 0, entry: 3 });
    let answer = take(&model, &mut state, &deliver(sent.remove(0)));
    assert_eq!(answer, [Envelope { from: 1, to: 0, message: Message::PrepareReq { n: Ballot::of(1, 0) } }]);
    assert!(state.node(1).is(Role::Follower, Phase::Recover));
    settle(&model, &mut state, answer);
    assert_eq!(state.node(1).log.entries(), [1, 2, 3]);
    assert_eq!(state.node(1).sequence, Sequence { session: 2, counter: 2 }, "AcceptSync, then Decide");
    assert!(
        (0..3).all(|node| state.node(node).decided == 3),
        "the other follower saw the gap at the `Decide`"
    );
}

#[test]
fn what_no_correct_node_does_is_refused() {
    let (model, mut state) = decided();
    let elect = |ballot| Action::Elect { node: 1, ballot };
    assert_eq!(refuse(&model, &state, &elect(Ballot::of(1, 0))), "the ballot is not above the promise");
    assert_eq!(refuse(&model, &state, &Action::Restart { node: 1 }), "the node is already up");
    assert_eq!(refuse(&model, &state, &Action::Crash { node: 3 }), "there is no such node");
    let accepted = Message::Accepted { n: Ballot::of(1, 0), accepted: 2 };
    let accepted = Action::Deliver { from: 1, to: 0, message: accepted };
    assert_eq!(refuse(&model, &state, &accepted), "more is accepted than the leader has");

    let n = Ballot::of(2, 1);
    take(&model, &mut state, &elect(n));
    let (accepted_round, decided) = (Ballot::of(1, 0), 1);
    let prepare = Message::Prepare { n, accepted_round, accepted: 1, decided };
    take(&model, &mut state, &Action::Deliver { from: 1, to: 2, message: prepare });
    let sync = |at, entries| {
        let sequence = Sequence { session: 1, counter: 1 };
        let message = Message::AcceptSync { n, sequence, decided: 1, sync: LogSync { at, entries } };
        refuse(&model, &state, &Action::Deliver { from: 1, to: 2, message })
    };
    assert_eq!(sync(2, vec![]), "the entries would leave a hole in the log");
    assert_eq!(sync(0, vec![]), "the entries would change what is decided");
    assert_eq!(sync(0, vec![7, 8]), "the entries would change what is decided");
    take(&model, &mut state, &Action::Crash { node: 2 });
    assert_eq!(refuse(&model, &state, &Action::Append { node: 2, entry: 9 }), "the node is down");
}

#[test]
fn the_walk_can_be_resynchronised() {
    let (_, mut state) = decided();
    let seen = Projection {
        up: true,
        promise: Ballot::of(4, 2),
        accepted_round: Ballot::of(4, 2),
        decided: 1,
        log: &[1, 5, 6],
        role: Role::Leader,
        phase: Phase::Accept,
    };
    let hash = [1_u32, 5, 6].iter().fold(0, |hash, &entry| Log::chain(hash, entry));
    assert!(!state.conforms(2, &seen, hash));
    state.resync_node(2, &seen);
    assert!(state.conforms(2, &seen, hash));
    assert_eq!(state.node(2).leading.accepted, [0, 0, 3]);
    assert_eq!(state.logs(0, 2), LogRelation::Prefix);
}

#[test]
fn the_facts_of_the_lenses_fit() {
    let (_, state) = decided();
    let replica = state.replica(0);
    assert_eq!((replica.role, replica.length, replica.commit), (6, 1, 1));
    assert_eq!(replica.term, Ballot::of(1, 0).rank());
    for role in [Role::Follower, Role::Leader] {
        for phase in [Phase::None, Phase::Prepare, Phase::Accept, Phase::Recover] {
            assert!(role_code(role, phase) < 8);
        }
    }
    let mut keys = Vec::new();
    Pairs.keys(&state, 0b111, &mut keys);
    assert_eq!(keys.len(), 3);
    assert_ne!(Detail::Message.key(&state), Detail::Detailed.key(&state));
}

trait OneKey {
    fn key(self, state: &State) -> u64;
}

impl OneKey for Detail {
    fn key(self, state: &State) -> u64 {
        let mut keys = Vec::new();
        self.keys(state, 0, &mut keys);
        keys[0].code
    }
}

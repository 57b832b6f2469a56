//! State counts, and one broken rule for each property that can fail.

use super::{Action, Bounds, Envelope, LogEntry, Membership, Message, Raft, Reads, Rules, State};
use crate::presets::{Delivery, Detail, LastDelivery, Pairs, Waiting};
use crate::{Exploration, Lens, Limits, Model, NodeId, Step, Verdict, explore};

pub(super) fn model(nodes: NodeId, rules: Rules, bounds: (u32, u32, u8)) -> Raft {
    let bounds =
        Bounds { term_max: bounds.0, entries_max: bounds.1, faults_max: bounds.2, ..Bounds::default() };
    Raft::new(nodes, rules, bounds).unwrap()
}

fn explored(nodes: NodeId, rules: Rules, bounds: (u32, u32, u8)) -> Exploration<Action> {
    explore(&model(nodes, rules, bounds), Limits::default(), None).unwrap()
}

fn violated(found: &Exploration<Action>) -> Vec<&'static str> {
    let broken = found.properties.iter().filter(|property| property.verdict == Verdict::Violated);
    broken.map(|property| property.name).collect()
}

/// All states of a model that keeps its bounds and properties.
pub(super) fn sound(name: &str, model: &Raft) -> Exploration<Action> {
    let found = explore(model, Limits::default(), None).unwrap();
    assert_eq!((found.bound, violated(&found)), (None, vec![]), "{name}");
    found
}

#[test]
fn states_of_small_clusters() {
    for (nodes, rules, bounds, counts) in COUNTS {
        let found = explored(nodes, rules, bounds);
        assert_eq!((found.bound, violated(&found)), (None, vec![]), "{nodes} {bounds:?}");
        assert_eq!((found.states, found.edges()), counts, "{nodes} {bounds:?}");
    }
}

/// Drives one scripted execution; every action must be taken.
pub(super) struct Script(pub(super) Raft, pub(super) State);

impl Script {
    pub(super) fn new(rules: Rules) -> Self {
        Self::of(3, rules)
    }

    pub(super) fn of(nodes: NodeId, rules: Rules) -> Self {
        let model = model(nodes, rules, (9, 9, 9));
        let mut states = Vec::new();
        model.initial(&mut states);
        Self(model, states.remove(0))
    }

    pub(super) fn take(&mut self, action: &Action) {
        assert_eq!(self.0.step(&mut self.1, action), Step::Taken, "{action:?}");
    }

    /// Whether an action is taken.
    pub(super) fn takes(&mut self, action: &Action) -> bool {
        self.0.step(&mut self.1, action) == Step::Taken
    }

    /// Delivers the newest messages between two nodes that `wanted` picks.
    pub(super) fn deliver(&mut self, from: NodeId, to: NodeId, wanted: impl Fn(&Message) -> bool) {
        let term = self.1.node(from).term;
        let fits = |it: &&Envelope| (it.from, it.to) == (from, to) && wanted(&it.message);
        let newest = self.1.messages().filter(fits).filter(|it| it.message.term() == term).last();
        let envelope = newest.expect("a message").clone();
        self.take(&Action::Deliver(envelope));
    }

    /// `node` asks all, and leads by the vote of `voter`.
    pub(super) fn elect(&mut self, node: NodeId, voter: NodeId) {
        self.elect_by(node, &[voter]);
    }

    /// The same by the votes of several.
    pub(super) fn elect_by(&mut self, node: NodeId, voters: &[NodeId]) {
        self.take(&Action::Timeout { node });
        for voter in voters.iter().copied() {
            self.deliver(node, voter, |message| matches!(message, Message::Vote { .. }));
            self.deliver(voter, node, |message| matches!(message, Message::VoteReply { granted: true, .. }));
        }
        self.take(&Action::BecomeLeader { node });
    }

    /// `node` sends its next entry to `peer` and hears the answer.
    pub(super) fn replicate(&mut self, node: NodeId, peer: NodeId) {
        let next = self.1.node(node).next[usize::from(peer)];
        self.take(&Action::Append { node, peer });
        self.deliver(
            node,
            peer,
            |it| matches!(it, Message::Append { previous, .. } if previous.0 + 1 == next),
        );
        let answer = |it: &Message| matches!(it, Message::AppendReply { matched: None, .. });
        let agreed =
            |it: &Message| matches!(it, Message::AppendReply { matched: Some(at), .. } if *at == next);
        let term = self.1.node(node).term;
        let came =
            self.1.messages().any(|it| it.from == peer && it.message.term() == term && agreed(&it.message));
        self.deliver(peer, node, |it| if came { agreed(it) } else { answer(it) });
    }

    pub(super) fn broken(&self) -> Vec<&'static str> {
        let properties = self.0.properties().iter().filter(|property| property.kind == crate::Kind::Always);
        properties.filter(|it| !(it.holds)(&self.0, &self.1)).map(|it| it.name).collect()
    }

    pub(super) fn holds(&self, name: &str) -> bool {
        let property = self.0.properties().iter().find(|property| property.name == name).unwrap();
        (property.holds)(&self.0, &self.1)
    }
}

/// Figure 8 of the paper: an entry of an old term that a majority has is replaced, unless it must not be counted.
#[test]
fn figure_8() {
    for (commits_own_term_only, broken) in [(true, false), (false, true)] {
        let mut script = Script::new(Rules { commits_own_term_only, ..Rules::paper() });
        script.elect(0, 1);
        script.take(&Action::Propose { node: 0, value: 1 });
        script.take(&Action::Timeout { node: 2 });
        script.elect(2, 1);
        script.take(&Action::Propose { node: 2, value: 2 });
        script.deliver(2, 0, |message| matches!(message, Message::Vote { .. }));
        script.take(&Action::Crash { node: 2 });
        script.elect(0, 1);
        assert_eq!(script.1.node(0).term, 3);
        // The new leader believes that its follower has the first entry.
        script.replicate(0, 1);
        script.replicate(0, 1);
        let counted = script.0.step(&mut script.1, &Action::AdvanceCommit { node: 0 }) == Step::Taken;
        assert_eq!(counted, !commits_own_term_only);
        script.take(&Action::Crash { node: 0 });
        script.take(&Action::Restart { node: 2, commit: 0 });
        script.take(&Action::Timeout { node: 2 });
        script.elect(2, 1);
        script.replicate(2, 1);
        script.replicate(2, 1);
        assert!(script.holds("conflicting-suffix-truncated") && script.holds("recovered"));
        assert_eq!(script.broken().contains(&"leader-completeness"), broken, "{:?}", script.broken());
        assert_eq!(script.broken().contains(&"commit-needs-durable-quorum"), broken);
        assert_eq!(script.broken().is_empty(), !broken);
    }
}

#[test]
fn broken_rules_break_properties() {
    let votes_twice = Rules { votes_once: false, ..Rules::paper() };
    let unsynced = Rules { persist_before_reply: false, ..Rules::lagging() };
    for (nodes, rules, bounds, property) in
        [(3, votes_twice, (1, 0, 0), "election-safety"), (2, unsynced, (1, 0, 1), "vote-and-term-stay")]
    {
        let found = explored(nodes, rules, bounds);
        assert!(violated(&found).contains(&property), "{property}: {:?}", violated(&found));
    }
}

/// A node without the committed entry asks for the vote of one that has it.
#[test]
fn votes_compare_logs() {
    for votes_compare_logs in [true, false] {
        let mut script = Script::new(Rules { votes_compare_logs, ..Rules::paper() });
        script.elect(0, 1);
        script.take(&Action::Propose { node: 0, value: 1 });
        script.replicate(0, 1);
        script.take(&Action::AdvanceCommit { node: 0 });
        assert!(script.holds("entry-committed"));
        script.take(&Action::Timeout { node: 2 });
        script.take(&Action::Timeout { node: 2 });
        script.deliver(2, 1, |message| matches!(message, Message::Vote { .. }));
        let granted = !votes_compare_logs;
        script.deliver(1, 2, |it| matches!(it, Message::VoteReply { granted: g, .. } if *g == granted));
        let led = script.0.step(&mut script.1, &Action::BecomeLeader { node: 2 }) == Step::Taken;
        assert_eq!(led, granted);
        let broken: &[_] = if granted { &["leader-completeness"] } else { &[] };
        assert_eq!(script.broken(), broken);
    }
}

#[test]
fn what_is_not_enabled_changes_nothing() {
    let mut script = Script::new(Rules::lagging());
    let before = script.1.clone();
    for action in [
        Action::BecomeLeader { node: 0 },
        Action::Propose { node: 0, value: 1 },
        Action::Append { node: 0, peer: 1 },
        Action::AdvanceCommit { node: 0 },
        Action::Persist { node: 0 },
        Action::Restart { node: 0, commit: 0 },
        Action::Timeout { node: 3 },
        Action::Deliver(Envelope { from: 1, to: 0, message: Message::VoteReply { term: 1, granted: true } }),
    ] {
        assert!(matches!(script.0.step(&mut script.1, &action), Step::Refused(_)), "{action:?}");
        assert_eq!(script.1, before);
    }
}

/// What `take` does to the key of a lens, or to whether there is one.
fn moves<L: Lens<State>>(lens: &L, script: &mut Script, take: impl FnOnce(&mut Script)) -> bool {
    let keys = |script: &Script| {
        let mut keys = Vec::new();
        lens.keys(&script.1, 0b111, &mut keys);
        keys
    };
    let before = keys(script);
    take(script);
    before != keys(script)
}

#[test]
fn lenses_see_what_they_are_for() {
    let crash_of_the_follower = |script: &mut Script| script.take(&Action::Crash { node: 2 });
    let mut script = Script::new(Rules::lagging());
    assert!(moves(&Pairs, &mut script, crash_of_the_follower));
    script.take(&Action::Restart { node: 2, commit: 0 });
    // The candidate's vote is not on its disk: only details tell.
    script.take(&Action::Timeout { node: 0 });
    let persist = |script: &mut Script| script.take(&Action::Persist { node: 0 });
    assert!(!moves(&Pairs, &mut Script(script.0, script.1.clone()), persist));
    assert!(moves(&Detail::Persistence, &mut Script(script.0, script.1.clone()), persist));
    assert!(moves(&Waiting, &mut script, persist), "requests for votes now wait");
    let vote = |script: &mut Script| {
        script.deliver(0, 1, |message| matches!(message, Message::Vote { .. }));
    };
    assert!(moves(&Delivery, &mut script, vote));
    assert_eq!(script.1.delivered().map(|it| (it.kind, it.term, it.roles)), Some((0, 2, (0, 0))));
    // Nothing more is known by a vote that arrives, but by the candidate, in detail.
    script.take(&Action::Persist { node: 1 });
    let granted = |script: &mut Script| {
        script.deliver(1, 0, |message| matches!(message, Message::VoteReply { granted: true, .. }));
    };
    for (detail, seen) in [(Detail::Message, false), (Detail::Persistence, false), (Detail::Detailed, true)] {
        assert_eq!(moves(&detail, &mut Script(script.0, script.1.clone()), granted), seen, "{detail:?}");
    }
}

/// Every rule beyond the paper, alone, and then nearly all at once.
#[test]
fn every_rule_is_safe() {
    let paper = Rules::paper();
    let mut counts = Vec::new();
    for (name, rules, bounds) in [
        ("empty entry", Rules { empty_entry: true, ..paper }, (2, 0, 1)),
        ("batch", Rules { batch: 2, ..paper }, (1, 2, 1)),
        ("heartbeats", Rules { heartbeats: true, ..paper }, (1, 1, 1)),
        ("hints", Rules { hints: true, ..paper }, (2, 1, 1)),
        ("pre-vote", Rules { pre_vote: true, ..paper }, (1, 1, 1)),
        ("check-quorum", Rules { check_quorum: true, ..paper }, (2, 1, 1)),
        ("transfer", Rules { transfer: true, ..paper }, (2, 1, 0)),
        ("snapshots", Rules { snapshots: true, ..paper }, (2, 1, 0)),
        ("learns commit", Rules { learns_commit: true, ..paper }, (2, 1, 1)),
        ("commit kept", Rules { commit_kept: true, ..paper }, (2, 1, 1)),
        ("crate", Rules { learns_commit: false, ..Rules::crate_0_7() }, (1, 0, 1)),
    ] {
        counts.push((name, sound(name, &model(2, rules, bounds)).states));
    }
    assert_eq!(counts, RULES);
}

/// States of two nodes with one rule each.
const RULES: [(&str, u64); 11] = [
    ("empty entry", 27_898),
    ("batch", 15_502),
    ("heartbeats", 478),
    ("hints", 64_740),
    ("pre-vote", 6_922),
    ("check-quorum", 101_352),
    ("transfer", 22_171),
    ("snapshots", 13_377),
    ("learns commit", 76_956),
    ("commit kept", 42_732),
    ("crate", 12_754),
];

/// In an open network: a vote waits for the disk, and leaves after it even where the voter has gone on to a newer term.
#[test]
fn what_waits_for_the_disk_leaves_after_it() {
    for late_flush in [true, false] {
        let model = Raft::open(3, Rules { late_flush, ..Rules::crate_0_7() }).unwrap();
        let mut states = Vec::new();
        model.initial(&mut states);
        let mut state = states.remove(0);
        let mut takes = |action: &Action| model.step(&mut state, action) == Step::Taken;
        let say = |from, to, message| Envelope { from, to, message };
        let vote = say(1, 0, Message::VoteReply { term: 1, granted: true });
        assert!(takes(&Action::Deliver(say(0, 1, Message::Vote { term: 1, last: (0, 0) }))));
        assert!(!takes(&Action::Send(vote.clone())), "it is not on the disk");
        assert_eq!(takes(&Action::Hold(vote.clone())), late_flush);
        assert!(!takes(&Action::Hold(say(1, 2, Message::VoteReply { term: 1, granted: true }))));
        assert!(!takes(&Action::Send(vote.clone())), "it still waits");
        assert!(takes(&Action::Hear(say(2, 1, Message::Note { term: 2 }))));
        assert!(takes(&Action::Persist { node: 1 }));
        assert_eq!(takes(&Action::Send(vote.clone())), late_flush);
        assert!(takes(&Action::Crash { node: 1 }) && takes(&Action::Restart { node: 1, commit: 0 }));
        assert!(!takes(&Action::Send(vote)), "it was lost");
    }
}

/// What a crash takes of the log, it takes of what is committed, though an older suffix of that length is on the disk.
#[test]
fn a_crash_loses_the_commit_of_what_was_not_synced() {
    let model = Raft::open(3, Rules::crate_0_7()).unwrap();
    let mut states = Vec::new();
    model.initial(&mut states);
    let mut state = states.remove(0);
    let entries = |term, commit| {
        let entries = vec![LogEntry { term, value: term }];
        let message = Message::Append { term, previous: (0, 0), entries, commit };
        Action::Deliver(Envelope { from: 0, to: 1, message })
    };
    let (persist, crash) = (Action::Persist { node: 1 }, Action::Crash { node: 1 });
    for action in &[entries(1, 0), persist, entries(2, 1), crash] {
        assert_eq!(model.step(&mut state, action), Step::Taken);
    }
    assert_eq!((state.node(1).commit, state.node(1).last()), (0, (1, 1)));
}

#[test]
fn transitions_are_named_in_their_order() {
    let with = |pre_vote| Raft::open(3, Rules { pre_vote, ..Rules::crate_0_7() }).unwrap();
    let name = |action: Action| with(true).transitions().get(with(true).transition(&action)).copied();
    let deliver = |message| Action::Deliver(Envelope { from: 0, to: 1, message });
    let reply = Message::VoteReply { term: 1, granted: true };
    for (action, expected) in [
        (deliver(reply.clone()), Some("Deliver VoteReply")),
        (deliver(Message::Note { term: 1 }), Some("Deliver Note")),
        (deliver(Message::PreVoteReply { term: 1, granted: true }), Some("Deliver PreVoteReply")),
        (Action::Hear(Envelope { from: 0, to: 1, message: reply }), Some("Hear")),
        (Action::StepDown { node: 0 }, Some("StepDown")),
        (Action::Restart { node: 0, commit: 0 }, Some("Restart")),
        (Action::PreVote { node: 0 }, Some("PreVote")),
        (Action::Append { node: 0, peer: 1 }, None),
    ] {
        assert_eq!(name(action), expected);
    }
    assert_eq!(with(false).transitions().len() + 3, with(true).transitions().len());
    for membership in [Membership::Off, Membership::Joint] {
        let rules = Rules { pre_vote: true, membership, reads: Reads::Index, ..Rules::crate_0_7() };
        let model = Raft::open(3, rules).unwrap();
        for (action, expected) in [
            (Action::TakeRead { node: 0, read: 1 }, "TakeRead"),
            (Action::ConfirmRead { node: 0, read: 1, index: 1 }, "ConfirmRead"),
            (Action::PreVote { node: 0 }, "PreVote"),
        ] {
            assert_eq!(model.transitions()[model.transition(&action)], expected, "{membership:?}");
        }
    }
}

/// Nodes, rules, bounds (terms, entries, crashes), states and edges.
type Count = (NodeId, Rules, (u32, u32, u8), (u64, u64));

/// With the history variables, so that there are more than `tests/raft_naive` counts.
const COUNTS: [Count; 4] = [
    (2, Rules::paper(), (1, 1, 0), (137, 934)),
    (2, Rules::paper(), (2, 1, 1), (45_204, 436_802)),
    (2, Rules::lagging(), (1, 1, 1), (5_692, 44_116)),
    (3, Rules::lagging(), (1, 0, 0), (26_724, 323_580)),
];

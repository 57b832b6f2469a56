//! What only following uses: an open network, where each message that an implementation sends is judged.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test whose actions are written in place"
)]

use misrule_models::raft::{Action, Envelope, LogEntry, Message, Raft, Role, Rules, State};
use misrule_models::{Kind, Model, NodeId, Step};

struct Cluster(Raft, State);

impl Cluster {
    fn new(rules: Rules) -> Self {
        let model = Raft::open(3, rules).unwrap();
        let mut states = Vec::new();
        model.initial(&mut states);
        Self(model, states.remove(0))
    }

    fn take(&mut self, action: Action) {
        assert_eq!(self.0.step(&mut self.1, &action), Step::Taken, "{action:?}");
        let always = self.0.properties().iter().filter(|property| property.kind == Kind::Always);
        let broken: Vec<_> = always.filter(|it| !(it.holds)(&self.0, &self.1)).map(|it| it.name).collect();
        assert_eq!(broken, Vec::<&str>::new(), "{action:?}");
    }

    /// Checks that an action is refused and changes nothing.
    fn refuse(&mut self, action: Action) -> &'static str {
        let before = self.1.clone();
        let Step::Refused(why) = self.0.step(&mut self.1, &action) else { panic!("{action:?} was taken") };
        assert_eq!(self.1, before);
        why.0
    }

    fn pass(&mut self, from: NodeId, to: NodeId, message: Message) {
        let envelope = Envelope { from, to, message };
        self.take(Action::Send(envelope.clone()));
        self.take(Action::Deliver(envelope));
    }

    fn elect(&mut self, node: NodeId, voter: NodeId) {
        self.take(Action::Timeout { node });
        self.take(Action::Persist { node });
        let (term, last) = (self.1.node(node).term, self.1.node(node).last());
        self.pass(node, voter, Message::Vote { term, last });
        self.take(Action::Persist { node: voter });
        self.pass(voter, node, Message::VoteReply { term, granted: true });
        self.take(Action::BecomeLeader { node });
        self.take(Action::Persist { node });
    }
}

fn send(from: NodeId, to: NodeId, message: Message) -> Action {
    Action::Send(Envelope { from, to, message })
}

fn entry(term: u32, value: u32) -> LogEntry {
    LogEntry { term, value }
}

fn append(previous: (u32, u32), entries: &[LogEntry], commit: u32) -> Message {
    Message::Append { term: 1, previous, entries: entries.to_vec(), commit }
}

fn matched(index: u32) -> Message {
    Message::AppendReply { term: 1, matched: Some(index), hint: (0, 0) }
}

#[test]
fn a_vote_is_told_once_it_is_on_the_disk() {
    let mut cluster = Cluster::new(Rules::crate_0_7());
    let vote = Message::Vote { term: 1, last: (0, 0) };
    cluster.take(Action::Timeout { node: 0 });
    assert_eq!(cluster.refuse(send(0, 1, vote.clone())), "the term is not on the disk");
    cluster.take(Action::Persist { node: 0 });
    let longer = Message::Vote { term: 1, last: (1, 1) };
    assert!(cluster.refuse(send(0, 1, longer)).starts_with("only a candidate asks for votes, for its log"));
    cluster.pass(0, 1, vote.clone());
    let granted = Message::VoteReply { term: 1, granted: true };
    assert_eq!(cluster.refuse(send(1, 0, granted.clone())), "the term is not on the disk");
    let arrives = Action::Deliver(Envelope { from: 1, to: 0, message: granted.clone() });
    assert_eq!(cluster.refuse(arrives.clone()), "the vote is not on the disk of the voter");
    cluster.take(Action::Persist { node: 1 });
    assert_eq!(cluster.refuse(send(1, 2, granted.clone())), "the vote is another's, or not on the disk");
    cluster.take(send(1, 0, granted.clone()));
    // The other one heeds the term only: no vote, and no answer that says so.
    cluster.take(Action::Hear(Envelope { from: 0, to: 2, message: vote }));
    cluster.take(Action::Persist { node: 2 });
    cluster.refuse(send(2, 0, granted));
    cluster.take(send(2, 0, Message::VoteReply { term: 1, granted: false }));
    assert_eq!(cluster.refuse(Action::BecomeLeader { node: 0 }), "the node has no majority of votes");
    cluster.take(arrives);
    cluster.take(Action::BecomeLeader { node: 0 });
    assert_eq!(cluster.1.node(0).log.entries(), [entry(1, 0)]);
}

#[test]
fn a_leader_sends_its_log_and_commits_what_disks_have() {
    let mut cluster = Cluster::new(Rules::crate_0_7());
    cluster.elect(0, 1);
    cluster.take(Action::Propose { node: 0, value: 7 });
    let log = [entry(1, 0), entry(1, 7)];
    let not_its_own = "the entries are not the leader's, or it has committed less";
    for wrong in [append((0, 0), &[entry(1, 7)], 0), append((1, 2), &[], 0), append((2, 1), &[], 1)] {
        assert_eq!(cluster.refuse(send(0, 1, wrong)), not_its_own);
    }
    assert_eq!(cluster.refuse(send(1, 2, append((0, 0), &[], 0))), "only a leader sends this");
    // Sent before its own disk has it, in one batch, and twice.
    cluster.pass(0, 1, append((0, 0), &log, 0));
    cluster.pass(0, 1, append((0, 0), &log[..1], 0));
    let too_early = "what is acknowledged is not known to be the leader's, or not on the disk";
    assert_eq!(cluster.refuse(send(1, 0, matched(2))), too_early);
    cluster.take(Action::Persist { node: 1 });
    assert_eq!(cluster.refuse(send(1, 0, matched(3))), too_early);
    cluster.pass(1, 0, matched(2));
    // The second entry is on one disk of three; the leader's own is missing.
    cluster.take(Action::AdvanceCommit { node: 0 });
    assert_eq!(cluster.1.node(0).commit, 1);
    assert_eq!(
        cluster.refuse(Action::AdvanceCommit { node: 0 }),
        "no majority has a further entry of this term"
    );
    let heartbeat = |commit| Message::Heartbeat { term: 1, commit, read: 0 };
    assert!(cluster.refuse(send(0, 1, heartbeat(2))).starts_with("the follower is not known"));
    cluster.take(Action::Persist { node: 0 });
    cluster.take(Action::AdvanceCommit { node: 0 });
    assert_eq!(cluster.1.node(0).commit, 2);
    cluster.refuse(send(0, 2, heartbeat(1)));
    cluster.pass(0, 1, heartbeat(2));
    assert_eq!(cluster.1.node(1).commit, 2);
    let far = Action::Deliver(Envelope { from: 2, to: 0, message: matched(2) });
    assert_eq!(cluster.refuse(far), "what is acknowledged is not on the disk of the follower");
}

#[test]
fn a_crash_loses_what_is_not_on_the_disk_and_perhaps_the_commit_index() {
    let mut cluster = Cluster::new(Rules::crate_0_7());
    cluster.elect(0, 1);
    cluster.pass(0, 1, append((0, 0), &[entry(1, 0)], 0));
    cluster.take(Action::Persist { node: 1 });
    cluster.pass(1, 0, matched(1));
    cluster.take(Action::AdvanceCommit { node: 0 });
    cluster.take(Action::Propose { node: 0, value: 1 });
    cluster.take(Action::Crash { node: 0 });
    let none = "no disk of the node had this commit index";
    assert_eq!(cluster.refuse(Action::Restart { node: 0, commit: 2 }), none);
    cluster.take(Action::Restart { node: 0, commit: 0 });
    assert_eq!((cluster.1.node(0).length(), cluster.1.node(0).role), (1, Role::Follower));
    assert_eq!(cluster.1.node(0).vote, Some(0));
    // What is committed is learned from anyone, as far as it is there.
    cluster.refuse(Action::LearnCommit { node: 0, index: 2 });
    cluster.refuse(Action::LearnCommit { node: 2, index: 1 });
    cluster.take(Action::LearnCommit { node: 0, index: 1 });
}

#[test]
fn pre_votes_and_transfers() {
    let rules = Rules { pre_vote: true, check_quorum: true, ..Rules::crate_0_7() };
    let mut cluster = Cluster::new(rules);
    let asks = Message::PreVote { term: 1, last: (0, 0) };
    let granted = Message::PreVoteReply { term: 1, granted: true };
    let unheard = "the node leads, or has not heard that it would be elected";
    assert_eq!(cluster.refuse(Action::Timeout { node: 0 }), unheard);
    cluster.refuse(send(0, 1, asks.clone()));
    cluster.take(Action::PreVote { node: 0 });
    cluster.take(send(0, 1, asks.clone()));
    assert_eq!(
        cluster.refuse(send(1, 0, granted.clone())),
        "the vote would not be given, or nobody asked for it"
    );
    cluster.take(Action::Deliver(Envelope { from: 0, to: 1, message: asks }));
    assert_eq!(cluster.1.node(1).term, 0, "the term has not begun");
    cluster.refuse(send(1, 2, granted.clone()));
    cluster.pass(1, 0, granted);
    cluster.elect(0, 1);
    let hand_over = Message::TimeoutNow { term: 1 };
    assert_eq!(cluster.refuse(send(0, 1, hand_over.clone())), "the node is not known to have the whole log");
    cluster.pass(0, 1, append((0, 0), &[entry(1, 0)], 0));
    cluster.take(Action::Persist { node: 1 });
    cluster.pass(1, 0, matched(1));
    cluster.pass(0, 1, hand_over);
    assert_eq!((cluster.1.node(1).role, cluster.1.node(1).term), (Role::Candidate, 2), "without a pre-vote");
    cluster.take(Action::StepDown { node: 0 });
    assert_eq!(cluster.1.node(0).role, Role::Follower);
}

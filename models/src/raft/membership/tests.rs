//! A script for each rule, which breaks where the rule is off, and state counts.

use crate::presets::{Detail, Pairs};
use crate::raft::tests::{Script, model, sound};
use crate::raft::{Action, Change, ChangeKind, Configuration, Membership, Message, Rules};
use crate::{Lens, NodeId, Verdict};

const SINGLE: Rules = Rules { membership: Membership::Single, change_in_own_term: false, ..Rules::paper() };

fn propose(node: NodeId, change: Change) -> Action {
    Action::Propose { node, value: change.value() }
}

/// Two changes at once, and one node decides alone, while the other two elect a leader.
#[test]
fn one_change_at_a_time() {
    for applied_configuration in [false, true] {
        for one_change in [true, false] {
            let mut script = Script::new(Rules { applied_configuration, one_change, ..SINGLE });
            script.elect(0, 1);
            script.take(&propose(0, Change::removes(2)));
            assert_eq!(script.takes(&propose(0, Change::removes(1))), !one_change);
            if one_change {
                continue;
            }
            if applied_configuration {
                script.replicate(0, 1);
                script.replicate(0, 1);
                script.take(&Action::AdvanceCommit { node: 0 });
                script.take(&Action::Reconfigure { node: 0, index: 2 });
                script.take(&Action::Propose { node: 0, value: 1 });
            }
            assert_eq!(script.1.node(0).configuration, Configuration::of_voters(1));
            script.take(&Action::AdvanceCommit { node: 0 });
            assert_eq!(script.broken(), Vec::<&str>::new());
            script.elect(1, 2);
            assert_eq!(script.broken(), ["leader-completeness"]);
        }
    }
}

/// The fault of the thesis's single changes that its author found in 2015: changes of two terms, each by one node, of a
/// configuration that is the same, whose majorities do not meet.
#[test]
fn a_change_waits_for_an_entry_of_the_leaders_term() {
    for change_in_own_term in [true, false] {
        let mut script = Script::of(4, Rules { change_in_own_term, ..SINGLE });
        script.elect_by(0, &[1, 2]);
        assert_eq!(script.takes(&propose(0, Change::removes(1))), !change_in_own_term);
        script.elect_by(1, &[2, 3]);
        assert_eq!(script.takes(&propose(1, Change::removes(0))), !change_in_own_term);
        if change_in_own_term {
            continue;
        }
        script.replicate(1, 2);
        script.take(&Action::AdvanceCommit { node: 1 });
        script.deliver(1, 0, |message| matches!(message, Message::Vote { .. }));
        script.elect(0, 3);
        assert_eq!(script.broken(), ["leader-completeness"]);
    }
}

/// A joint configuration of all three and of one.
#[test]
fn both_majorities_of_a_joint_configuration_decide() {
    for both_majorities in [true, false] {
        let rules = Rules { both_majorities, membership: Membership::Joint, ..SINGLE };
        let mut script = Script::new(rules);
        script.elect(0, 1);
        let kind = ChangeKind::Enter { leaves_itself: false };
        let enter = Change { removed: 0b110, kind, ..Change::default() };
        script.take(&propose(0, enter));
        let alone = script.takes(&Action::AdvanceCommit { node: 0 });
        assert_eq!(alone, !both_majorities);
        if alone {
            assert_eq!(script.broken(), ["commit-needs-durable-quorum"]);
            script.elect(1, 2);
            assert!(script.broken().contains(&"leader-completeness"));
            continue;
        }
        assert!(!script.takes(&propose(0, Change::leaves())), "it is not committed");
        script.replicate(0, 1);
        script.take(&Action::AdvanceCommit { node: 0 });
        assert!(!script.takes(&propose(0, Change::adds(2))), "joint configurations are left first");
        script.take(&propose(0, Change::leaves()));
        script.take(&Action::AdvanceCommit { node: 0 });
        assert_eq!(script.1.node(0).configuration, Configuration::of_voters(1));
        assert!(script.broken().is_empty() && script.holds("configuration-changed"));
    }
}

/// Entries with the whole configuration: through a joint one, out of it to other voters, and with learners at any time. A
/// leader need not have committed an entry of its term, since one that lacks the change needs a majority that has it.
#[test]
fn a_whole_configuration_follows_one_with_its_voters() {
    let rules = Rules { whole_configurations: true, membership: Membership::Joint, ..SINGLE };
    let mut script = Script::new(rules);
    let whole = |voters: u8, outgoing: u8| {
        let learners = 0b111 & !(voters | outgoing);
        propose(0, Change::whole(Configuration { voters, outgoing, learners, ..Configuration::default() }))
    };
    script.elect(0, 1);
    assert!(!script.takes(&propose(0, Change::removes(2))), "it says what changes");
    assert!(!script.takes(&whole(0b11, 0)), "two of three and two of two need not meet");
    script.take(&whole(0b11, 0b111));
    assert!(!script.takes(&whole(0b11, 0)), "the one before is not committed");
    script.replicate(0, 1);
    script.take(&Action::AdvanceCommit { node: 0 });
    script.take(&whole(0b101, 0b11));
    script.replicate(0, 1);
    script.replicate(0, 2);
    assert!(!script.takes(&Action::AdvanceCommit { node: 0 }), "node 3 has the first entry only");
    script.replicate(0, 2);
    script.take(&Action::AdvanceCommit { node: 0 });
    script.take(&whole(0b101, 0));
    assert_eq!(script.1.node(0).configuration.to_string(), "1,3+2");
    script.replicate(0, 2);
    script.take(&Action::AdvanceCommit { node: 0 });
    assert!(script.broken().is_empty() && script.holds("configuration-changed"));
}

/// What a follower takes back of its log it takes back of the configuration.
#[test]
fn a_log_that_is_cut_takes_its_changes_back() {
    let mut script = Script::new(SINGLE);
    script.elect(0, 1);
    script.take(&propose(0, Change::removes(2)));
    assert_eq!(script.1.node(0).configuration, Configuration::of_voters(2));
    script.elect(1, 2);
    script.take(&Action::Propose { node: 1, value: 1 });
    script.replicate(1, 0);
    assert_eq!(script.1.node(0).configuration, Configuration::of_voters(3));
    assert!(script.broken().is_empty());
}

/// Where changes take effect when they are applied, who knows of one that is committed applies it before it asks for votes,
/// and who is no voter then asks for none. A crash takes back what was applied since the last sync.
#[test]
fn what_is_committed_is_applied_before_votes_are_asked_for() {
    let lagging = Rules { disk_lags: true, ..SINGLE };
    let mut script = Script::new(Rules { applied_configuration: true, commit_kept: true, ..lagging });
    let persist = |script: &mut Script, node| script.take(&Action::Persist { node });
    script.take(&Action::Timeout { node: 0 });
    persist(&mut script, 0);
    script.deliver(0, 1, |message| matches!(message, Message::Vote { .. }));
    persist(&mut script, 1);
    script.deliver(1, 0, |message| matches!(message, Message::VoteReply { granted: true, .. }));
    script.take(&Action::BecomeLeader { node: 0 });
    script.take(&propose(0, Change::removes(1)));
    persist(&mut script, 0);
    script.take(&Action::Append { node: 0, peer: 1 });
    script.deliver(0, 1, |it| matches!(it, Message::Append { entries, .. } if entries.len() == 1));
    persist(&mut script, 1);
    script.deliver(1, 0, |it| matches!(it, Message::AppendReply { .. }));
    script.take(&Action::AdvanceCommit { node: 0 });
    assert_eq!(script.1.node(0).configuration, Configuration::of_voters(3));
    script.take(&Action::Append { node: 0, peer: 1 });
    script.deliver(0, 1, |it| matches!(it, Message::Append { commit: 1, .. }));
    persist(&mut script, 1);
    assert!(!script.takes(&Action::Timeout { node: 1 }), "it has to apply the change");
    script.take(&Action::Reconfigure { node: 1, index: 1 });
    assert!(!script.takes(&Action::Timeout { node: 1 }), "it does not vote any more");
    assert_eq!((script.1.node(1).configured, script.1.node(1).configuration.voters), (1, 0b101));
    script.take(&Action::Crash { node: 1 });
    script.take(&Action::Restart { node: 1, commit: 1 });
    assert_eq!((script.1.node(1).configured, script.1.node(1).configuration.voters), (0, 0b111));
    script.take(&Action::Reconfigure { node: 0, index: 1 });
    assert!(!script.takes(&Action::Append { node: 0, peer: 1 }), "it is no member");
    assert!(!script.takes(&Action::Reconfigure { node: 0, index: 2 }), "nothing more is committed");
    assert!(script.broken().is_empty());
}

/// Where nothing changes, lenses see what they see without the rule; a node that does not vote has another key.
#[test]
fn lenses_see_who_does_not_vote() {
    let keys = |script: &Script| {
        let mut keys = [Vec::new(), Vec::new()];
        Pairs.keys(&script.1, 0b111, &mut keys[0]);
        Detail::Message.keys(&script.1, 0b111, &mut keys[1]);
        keys
    };
    let (mut script, mut without) = (Script::new(SINGLE), Script::new(Rules::paper()));
    for script in [&mut script, &mut without] {
        script.elect(0, 1);
    }
    assert_eq!(keys(&script), keys(&without));
    // Without the rule it is an entry as any other.
    for script in [&mut script, &mut without] {
        script.take(&propose(0, Change::removes(0)));
    }
    let (seen, not_seen) = (keys(&script), keys(&without));
    assert!(seen[0] != not_seen[0] && seen[1] != not_seen[1], "the leader votes no more");
}

#[test]
fn membership_is_safe_and_its_states_are_counted() {
    let paper = Rules { membership: Membership::Single, ..Rules::paper() };
    let joint = Rules { membership: Membership::Joint, ..paper };
    let applied = Rules { applied_configuration: true, change_in_own_term: false, ..paper };
    let whole = Rules { whole_configurations: true, change_in_own_term: false, ..joint };
    let mut counts = Vec::new();
    for (name, rules, bounds) in [
        ("whole", whole, (1, 2, 0)),
        ("whole, two terms", whole, (2, 1, 0)),
        ("single", paper, (1, 2, 0)),
        ("single with a crash", Rules { empty_entry: true, ..paper }, (1, 1, 1)),
        ("joint", joint, (1, 3, 0)),
        ("applied", applied, (1, 1, 1)),
        ("applied, two terms", applied, (2, 1, 0)),
        ("applied, joint", Rules { membership: Membership::Joint, ..applied }, (1, 2, 0)),
    ] {
        let found = sound(name, &model(2, rules, bounds));
        counts.push((name, found.states));
        let changed = found.properties.iter().find(|it| it.name == "configuration-changed").unwrap();
        assert_eq!(changed.verdict, Verdict::Seen, "{name}");
    }
    assert_eq!(counts, COUNTS);
}

/// States of two nodes.
const COUNTS: [(&str, u64); 8] = [
    ("whole", 33_425),
    ("whole, two terms", 30_561),
    ("single", 2_897),
    ("single with a crash", 5_354),
    ("joint", 64_313),
    ("applied", 3_982),
    ("applied, two terms", 29_361),
    ("applied, joint", 23_537),
];

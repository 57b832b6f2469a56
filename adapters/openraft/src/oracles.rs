//! The oracles.
//!
//! | property | |
//! | --- | --- |
//! | `commit-has-quorum` | an entry that a node takes for committed is on the disks of a majority of the voters |
//! | `committed-logs-agree` | what is committed once is committed everywhere and for ever |
//! | `leader-has-quorum` | a majority has the leader's vote, or a later one, on its disks |
//! | `leader-has-committed` | who leads has every entry that was committed under earlier leaders |
//! | `applied-never-goes-back` | until a node starts again |
//! | `contract-of-storage` | logs have no holes, votes grow, entries are applied one after the other |
//! | `node-runs` | the library does not give up, unless its disk failed |
//! | `no-deadlock` | a node that waits for nothing answers |
//!
//! openraft lets one term have several leaders, told apart by their node (`single-term-leader` is off by default): so
//! "one leader a term" is said of pairs of term and node.

use crate::image::Image;
use crate::types::{LogId, Membership, number};
use crate::view::View;
use misrule_models::NodeId;
use misrule_world::Failure;
use openraft::{LogIdOptionExt, ServerState};

/// What is counted: in how many executions it was seen.
pub(crate) const SOMETIMES: [&str; 3] =
    ["configuration-changed", "configuration-joint", "snapshot-installed"];

/// Bits of them.
pub(crate) const CHANGED: u8 = 1;
pub(crate) const JOINT: u8 = 2;
pub(crate) const INSTALLED: u8 = 4;

/// The first commit of an index.
#[derive(Clone, Copy, Debug)]
struct First {
    node: NodeId,
    id: LogId,
    /// Term and node of the vote that the node had.
    under: (u64, u64),
}

/// What was seen of a node last.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    changes: u64,
    committed: u64,
    applied: u64,
    /// The vote that it led under.
    led: Option<(u64, u64)>,
}

/// Judges what nodes keep and say.
#[derive(Debug, Default)]
pub(crate) struct Oracles {
    first: Vec<First>,
    last: Vec<Last>,
    /// Votes of leaders that were judged: who leads on after a start may have voters that did not elect it.
    led: Vec<(u64, u64)>,
}

impl Oracles {
    /// A new execution.
    pub(crate) fn reset(&mut self, nodes: usize) {
        self.first.clear();
        self.led.clear();
        self.last.clear();
        self.last.resize(nodes, Last::default());
    }

    /// A node has stopped: what it had applied is gone.
    pub(crate) fn forget(&mut self, node: NodeId) {
        self.last[usize::from(node)] = Last::default();
    }

    /// Judges a node after a step of it.
    pub(crate) fn check(&mut self, node: NodeId, views: &[View]) -> Option<Failure> {
        let view = &views[usize::from(node)];
        if let Some(deadlock) = view.deadlock() {
            return Some(failure("no-deadlock", format!("node {}: {deadlock}", number(node))));
        }
        if let Some(why) = view.stopped().filter(|_| !view.image().disk_failed) {
            return Some(failure("node-runs", format!("node {} has stopped: {why}", number(node))));
        }
        let leads = view.role() == ServerState::Leader;
        let led = if leads { Some(view.vote()) } else { None };
        let last = &mut self.last[usize::from(node)];
        let (is_new, changes) = (led != last.led, view.image().changes);
        last.led = led;
        if changes == last.changes && !is_new {
            return None;
        }
        last.changes = changes;
        if let Some(text) = view.image().contradiction.clone() {
            return Some(failure("contract-of-storage", format!("node {}: {text}", number(node))));
        }
        let committed = self.check_committed(node, views).or_else(|| self.check_applied(node, view));
        committed.or_else(|| led.filter(|_| is_new).and_then(|vote| self.check_leader(node, vote, views)))
    }

    fn check_committed(&mut self, node: NodeId, views: &[View]) -> Option<Failure> {
        let view = &views[usize::from(node)];
        let (committed, ids) = {
            let image = view.image();
            let committed = image.committed.max(image.applied).next_index();
            let from = self.last[usize::from(node)].committed;
            let ids: Vec<Option<LogId>> = (from..committed).map(|index| image.now.id(index)).collect();
            (committed, ids)
        };
        let from = std::mem::replace(&mut self.last[usize::from(node)].committed, committed);
        for (index, id) in (from..committed).zip(ids) {
            let purged = index < view.image().now.first_index();
            let Some(id) = id else {
                if purged {
                    continue;
                }
                let text = format!("node {} has committed entry {index} and does not have it", number(node));
                return Some(failure("committed-logs-agree", text));
            };
            match self.first.get(index as usize) {
                Some(first) if first.id != id => {
                    let text = format!(
                        "entry {index} is committed as {id} at node {}, and node {} has committed {} there",
                        number(node),
                        number(first.node),
                        first.id
                    );
                    return Some(failure("committed-logs-agree", text));
                }
                Some(_) => {}
                None => {
                    self.first.push(First { node, id, under: view.vote() });
                    let has = |image: &Image| image.durable.has(&id);
                    // A change may have been appended in the step that committed this.
                    let lacking = {
                        let image = view.image();
                        let lacks = |members| quorum_lacks(&image, members, node, views, has);
                        let lacking: Vec<_> = image.memberships(index).into_iter().map(lacks).collect();
                        lacking.into_iter().reduce(Option::and).flatten()
                    };
                    if let Some(lacking) = lacking {
                        let text = format!("node {} has committed entry {id}, which {lacking}", number(node));
                        return Some(failure("commit-has-quorum", text));
                    }
                }
            }
        }
        None
    }

    fn check_applied(&mut self, node: NodeId, view: &View) -> Option<Failure> {
        let last = &mut self.last[usize::from(node)];
        let applied = view.image().applied.next_index();
        let before = std::mem::replace(&mut last.applied, applied);
        (applied < before).then(|| {
            let text = format!("node {} had applied {before} entries and now {applied}", number(node));
            failure("applied-never-goes-back", text)
        })
    }

    fn check_leader(&mut self, node: NodeId, vote: (u64, u64), views: &[View]) -> Option<Failure> {
        let image = views[usize::from(node)].image();
        let lacks = self.first.iter().find(|first| first.under < vote && !image.now.has(&first.id));
        if let Some(first) = lacks {
            let text = format!(
                "node {} leads with vote {}.{}, and lacks entry {}, which node {} has committed",
                number(node),
                vote.0,
                vote.1,
                first.id,
                number(first.node)
            );
            return Some(failure("leader-has-committed", text));
        }
        if self.led.contains(&vote) {
            return None;
        }
        self.led.push(vote);
        let granted = |image: &Image| image.durable.vote() >= Some(vote);
        let members = image.elected_by(vote)?;
        let lacking = quorum_lacks(&image, members, node, views, granted)?;
        let text = format!("node {} leads with vote {}.{}, which {lacking}", number(node), vote.0, vote.1);
        Some(failure("leader-has-quorum", text))
    }
}

/// Says who lacks something, where no majority of the voters has it, in a joint configuration of each set of them; the
/// disks of stopped nodes count.
fn quorum_lacks(
    image: &Image,
    members: &Membership,
    node: NodeId,
    views: &[View],
    has: impl Fn(&Image) -> bool,
) -> Option<String> {
    let holds = |id: u64| match id.checked_sub(1).map(|at| at as usize) {
        Some(at) if at == usize::from(node) => has(image),
        Some(at) => views.get(at).is_some_and(|view| has(&view.image())),
        None => false,
    };
    members.get_joint_config().iter().find_map(|voters| {
        let holders: Vec<String> = voters.iter().filter(|id| holds(**id)).map(ToString::to_string).collect();
        (holders.len() * 2 <= voters.len()).then(|| {
            let holders = if holders.is_empty() { "none".to_owned() } else { holders.join(",") };
            format!("is on the disks of {holders} of {} voters only", voters.len())
        })
    })
}

fn failure(property: &str, text: String) -> Failure {
    Failure::new("invariant", property, text)
}

#[cfg(test)]
mod tests {
    use super::Oracles;
    use crate::image::{Change, Image};
    use crate::types::{Entry, LogId, Membership, Vote};
    use crate::view::View;
    use openraft::{CommittedLeaderId, EntryPayload};
    use std::collections::BTreeSet;

    fn id(term: u64, index: u64) -> LogId {
        LogId::new(CommittedLeaderId::new(term, u64::from(term > 0)), index)
    }

    /// A node with entries of these terms behind its membership, all durable, of which so many are committed.
    fn node(terms: &[u64], committed: u64) -> View {
        let voters = Membership::new(vec![BTreeSet::from([1, 2, 3])], BTreeSet::new());
        let mut entries = vec![Entry { log_id: id(0, 0), payload: EntryPayload::Membership(voters) }];
        for (term, index) in terms.iter().zip(1..) {
            entries.push(Entry { log_id: id(*term, index), payload: EntryPayload::Blank });
        }
        let last = entries[committed as usize - 1].log_id;
        let mut image = Image::default();
        image.apply(Change::Append(entries));
        image.apply(Change::Committed(Some(last)));
        image.durable.clone_from(&image.now);
        View::of(image)
    }

    fn oracles() -> Oracles {
        let mut oracles = Oracles::default();
        oracles.reset(3);
        oracles
    }

    fn found(oracles: &mut Oracles, node: u8, views: &[View]) -> Option<String> {
        oracles.check(node, views).map(|failure| format!("{}: {}", failure.property, failure.message))
    }

    #[test]
    fn what_is_committed_is_committed_everywhere() {
        let views = [node(&[1, 1], 3), node(&[1, 1], 2), node(&[1, 2], 3)];
        let mut oracles = oracles();
        assert_eq!(found(&mut oracles, 0, &views), None);
        assert_eq!(found(&mut oracles, 1, &views), None);
        let text = found(&mut oracles, 2, &views).unwrap();
        assert!(text.starts_with("committed-logs-agree: entry 2 is committed as"), "{text}");
        assert_eq!(found(&mut oracles, 2, &views), None, "judged once");
    }

    #[test]
    fn a_commit_needs_two_of_three_disks() {
        let views = [node(&[1], 2), node(&[1], 1), node(&[], 1)];
        assert_eq!(found(&mut oracles(), 0, &views), None);
        views[1].image().durable = node(&[], 1).image().durable.clone();
        let text = found(&mut oracles(), 0, &views).unwrap();
        assert!(text.starts_with("commit-has-quorum: node 1 has committed entry"), "{text}");
        assert!(text.ends_with("is on the disks of 1 of 3 voters only"), "{text}");
    }

    /// It says that it leads when it has written another membership already.
    #[test]
    fn a_leader_was_elected_by_the_membership_before_its_own() {
        let views = [node(&[1], 2), node(&[1], 1), node(&[1], 1)];
        let change = |view: &View, ids: &[u64]| {
            let members = Membership::new(vec![ids.iter().copied().collect()], BTreeSet::new());
            let entry = Entry { log_id: id(2, 2), payload: EntryPayload::Membership(members) };
            let mut image = view.image();
            image.apply(Change::Append(vec![entry]));
        };
        change(&views[0], &[2, 3]);
        let mut vote = Vote::new(2, 1);
        vote.committed = true;
        for view in &views[..2] {
            let mut image = view.image();
            image.apply(Change::Vote(vote));
            let now = image.now.clone();
            image.durable = now;
        }
        assert_eq!(oracles().check_leader(0, (2, 1), &views).map(|it| it.message), None);
        views[1].image().durable = Image::default().durable.clone();
        let text = oracles().check_leader(0, (2, 1), &views).unwrap().message;
        assert!(text.ends_with("is on the disks of 1 of 3 voters only"), "{text}");
    }

    #[test]
    fn applied_never_goes_back_until_a_restart() {
        let views = [node(&[1, 1], 3), node(&[1, 1], 1), node(&[1, 1], 1)];
        let mut oracles = oracles();
        let apply = |index, change: u64| {
            let mut image = views[0].image();
            (image.applied, image.changes) = (Some(id(1, index)), image.changes + change);
        };
        apply(2, 1);
        assert_eq!(found(&mut oracles, 0, &views), None);
        apply(1, 1);
        let text = found(&mut oracles, 0, &views);
        assert_eq!(text.as_deref(), Some("applied-never-goes-back: node 1 had applied 3 entries and now 2"));
        apply(0, 1);
        oracles.forget(0);
        assert_eq!(found(&mut oracles, 0, &views), None);
    }

    #[test]
    fn storage_is_used_as_its_contract_says() {
        let hole = Change::Append(vec![Entry { log_id: id(1, 7), payload: EntryPayload::Blank }]);
        for (change, expected) in [
            (hole, "contract-of-storage: node 1: entry 7 is appended behind a log of 1 entries"),
            (
                Change::Vote(Vote::new(1, 2)),
                "contract-of-storage: node 1: vote T1-N2:uncommitted is saved after T2-N1:committed",
            ),
        ] {
            let views = [node(&[], 1), node(&[], 1), node(&[], 1)];
            views[0].image().apply(Change::Vote(Vote::new_committed(2, 1)));
            assert_eq!(found(&mut oracles(), 0, &views), None);
            views[0].image().apply(change);
            assert_eq!(found(&mut oracles(), 0, &views).as_deref(), Some(expected));
        }
    }
}

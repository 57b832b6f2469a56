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
use crate::types::{LogId, number};
use crate::view::View;
use misrule_models::NodeId;
use misrule_world::Failure;
use openraft::{LogIdOptionExt, ServerState};

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
}

impl Oracles {
    /// A new execution.
    pub(crate) fn reset(&mut self, nodes: usize) {
        self.first.clear();
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
                    if let Some(lacking) = quorum_lacks(&view.image(), index, node, views, has) {
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

    fn check_leader(&self, node: NodeId, vote: (u64, u64), views: &[View]) -> Option<Failure> {
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
        let granted = |image: &Image| image.durable.vote() >= Some(vote);
        let lacking = quorum_lacks(&image, u64::MAX, node, views, granted)?;
        let text = format!("node {} leads with vote {}.{}, which {lacking}", number(node), vote.0, vote.1);
        Some(failure("leader-has-quorum", text))
    }
}

/// Says who lacks something, where no majority of the voters at `index` has it; the disks of stopped nodes count.
fn quorum_lacks(
    image: &Image,
    index: u64,
    node: NodeId,
    views: &[View],
    has: impl Fn(&Image) -> bool,
) -> Option<String> {
    let holds = |id: u64| match id.checked_sub(1).map(|at| at as usize) {
        Some(at) if at == usize::from(node) => has(image),
        Some(at) => views.get(at).is_some_and(|view| has(&view.image())),
        None => false,
    };
    image.voters(index).iter().find_map(|voters| {
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

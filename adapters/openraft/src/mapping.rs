//! Reads steps of the implementation as actions of the model `raft`.
//!
//! A node keeps a [journal](crate::journal::Journal) of each step: what it wrote, synced and sent, in order. `tell` reads
//! it as actions; what a node was given and has not dealt with is `pending`.
//!
//! A vote of openraft is for a term and a node, and is ordered by both. It is a term of the model
//! ([`owned_term`](model::owned_term)): so a node that has the same term has the same vote, and votes are compared with
//! terms. Entry 0, the membership that the cluster starts with, is the beginning of the model's log.
//!
//! # Membership
//!
//! An entry of openraft says the whole membership: one set of voters or two, and who listens. It is a
//! [whole](model::ChangeKind::Whole) change of the model, in force where it is in the log, at all nodes; a log that is cut
//! takes it back, and a snapshot holds it. What the library does differently from the paper is in
//! [`Rules::openraft_0_9`](model::Rules::openraft_0_9): a joint configuration may lead to another one, or back, as long as
//! one set of voters stays, and a leader may change the membership before it has committed an entry of its term. A node
//! that is no voter gives its vote, as in the model; it stands for no election, which the model would let it do. A leader
//! that is no member leads on until its removal is applied and a tick has passed: that is told as `StepDown`. Where only
//! learners come and go, the model knows no joint configuration.
//!
//! A leader drops answers to what it sent before its last change. It may wait for its disk while answers come and then
//! write a change, and nobody sees which of these answers it dealt with first. They are told where a later commit takes
//! them, and else never: for the model they were slow. Nothing is told that no follower has said.
//!
//! After each step the membership that a node tells of is compared with the model's (`conf`), unless the node waits for
//! its disk and has told of nothing since. A node that has never had an entry has none yet, and the model the one of the
//! start.
//!
//! # Declared deviations
//!
//! Besides that of crash points, which every follower declares:
//!
//! | deviation | why |
//! | --- | --- |
//! | [`KEPT_UNSYNCED`] | with late flushes, of what was written and never synced a crash may keep any part that the contract allows, record by record; the model's disk has it all or nothing. Only where vote or log are other than what was synced |
//! | [`DISK_REFUSED`] | a node whose disk refuses an operation gives up and does nothing until it is started again; what of its last step is on the disk then, no action says |
//!
//! # Ignored by declaration
//!
//! | ignored | why nothing of the model can change |
//! | --- | --- |
//! | [`LINKS`] | messages on links are not in an open model; a delivery carries its contents |
//! | [`UNHEARD`] | an answer that nobody waits for, or to a request of an earlier start, never reaches the library |
//! | [`REFUSED`] | a request for a vote that is refused, a part of a snapshot: the node stays in its term, as if the message were lost |
//! | [`QUIET`] | a tick after which the node is as it was, a request of a client that it did not take; with late flushes what comes while the node waits for its disk, and is told when it is dealt with |
//! | [`LATE`] | tasks of a leader go on when it leads no more, in a later term or as it is no member, until what they were given is sent: as if the message had been late. Entries must be such as a leader of that term can have. With late flushes also the answer to a part of a snapshot: it says a vote that the node had after the request came |
//! | [`STALE`] | an answer to what a leader sent for an earlier membership: the library drops it, as if it were lost |
//! | [`HALTED`] | see [`DISK_REFUSED`] |
//!
//! Not followed: `tasks=step`, where a node is given more before its tasks have dealt with what they have;
//! `stale-appends=sent`, which no leader of the model does; and more than 7 nodes with the learners, which the model does not have.

mod messages;
mod pending;
mod shadow;
mod tell;
#[cfg(test)]
mod twin;

use crate::image::Image;
use crate::system::Openraft;
use crate::view::View;
use messages::{rank, upto};
use misrule_models::raft::{self as model, Action, Configuration, Membership, Projection, Rules, State};
use misrule_models::{Event, Log, NodeId};
use misrule_world::{Choice, Mapping, Seen, Settings, Setup, differ};
use openraft::ServerState;
use pending::Pending;
use shadow::Shadow;
use std::cell::RefCell;

const LINKS: &str = "what happens to links and to messages on them";
const UNHEARD: &str = "an answer that nobody waits for any more";
const REFUSED: &str = "a message after which the node is in its term as before";
const QUIET: &str = "a step after which the node is as it was";
const LATE: &str = "what a task of a former leader sends, as it could have when the node led";
const HALTED: &str = "what comes to a node whose disk has refused an operation";
const STALE: &str = "an answer to what a leader sent for an earlier membership";
const KEPT_UNSYNCED: &str = "a node starts from a disk that has kept what was never synced";
const DISK_REFUSED: &str = "a node starts after its disk has refused an operation";

/// Whether operators change the membership.
pub(crate) fn changes(settings: &Settings) -> bool {
    settings.word("membership") != "off" || settings.integer("learners") > 0
}

/// Whether the model has what the settings ask for.
pub(crate) fn is_modelled(settings: &Settings) -> bool {
    settings.word("tasks") != "step"
        && settings.word("stale-appends") == "dropped"
        && settings.integer("nodes") + settings.integer("learners") <= u64::from(model::Raft::NODES_MAX)
}

/// The model of the cluster that the setup describes; `None` where there are settings that the model does not have.
pub(crate) fn model(setup: &Setup) -> Option<model::Raft> {
    let settings = &setup.settings;
    let membership = match settings.word("membership") {
        "off" if changes(settings) => Membership::Single,
        "off" => Membership::Off,
        _ => Membership::Joint,
    };
    // A leader writes its first entry when its vote is on the disk: it is told as an entry that it takes.
    let rules = Rules { empty_entry: false, membership, ..Rules::openraft_0_9() };
    let voters = settings.integer("nodes") as NodeId;
    let nodes = voters + settings.integer("learners") as NodeId;
    let model = model::Raft::open(nodes, rules).map(|model| model.with_voters(voters));
    model.filter(|_| is_modelled(settings))
}

/// The mapping; it remembers what nodes were.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pending: Vec<Pending>,
    shadows: RefCell<Vec<Shadow>>,
    /// The node that the last deviation is about.
    deviates: Option<NodeId>,
    /// How many nodes vote at first, where the membership changes.
    voters: Option<NodeId>,
}

type Events = Vec<Event<Action>>;

impl Steps {
    pub(crate) fn new(setup: &Setup) -> Self {
        let voters = changes(&setup.settings).then(|| setup.settings.integer("nodes") as NodeId);
        Self { voters, ..Self::default() }
    }

    fn step(&mut self, seen: &Seen<'_, Openraft>, me: NodeId, out: &mut Events) {
        if !seen.died {
            return self.tell(seen, me, out);
        }
        // What it did by then nobody has heard: messages leave at the end of a step.
        self.pending[usize::from(me)].die();
        if !matches!(seen.choice, Choice::Restart { .. }) {
            out.push(Event::Action(Action::Crash { node: me }));
        }
    }
}

/// Role and vote. A node that waits for its disk has not told of them for some time: they are what it has written.
fn stands(view: &View, image: &Image, node: NodeId) -> (ServerState, (u64, u64)) {
    let written = image.vote().filter(|_| image.is_waited_for());
    let Some(written) = written else { return (view.role(), view.vote()) };
    let (term, owner) = (written.leader_id.term, written.leader_id.node_id);
    let role = match messages::peer(owner) {
        Some(owner) if owner != node => ServerState::Follower,
        _ if written.committed => ServerState::Leader,
        _ => ServerState::Candidate,
    };
    (role, (term, owner))
}

/// What the views show of a node, with its log as the model has it in its shadow.
fn project_node(
    seen: &Seen<'_, Openraft>,
    node: NodeId,
    shadow: &mut Shadow,
    committed: &Log<model::LogEntry>,
) -> Projection {
    let view = &seen.views[usize::from(node)];
    let image: &Image = &view.image();
    shadow.follow(image, committed);
    let up = seen.up & (1 << node) != 0;
    let (role, vote) = stands(view, image, node);
    let role = match role {
        ServerState::Leader if up => model::Role::Leader,
        ServerState::Candidate if up => model::Role::Candidate,
        _ => model::Role::Follower,
    };
    Projection {
        up,
        role,
        term: rank(vote),
        vote: messages::peer(vote.1),
        commit: upto(image.committed.max(image.applied).as_ref()),
        length: shadow.log().len(),
        log: shadow.log().digest(),
    }
}

impl Steps {
    /// Compares the membership that a node goes by. While it waits for its disk it has not told of it, and where it has none
    /// yet the model has the first one.
    fn compare_members(&self, view: &View, node: NodeId, state: &State) -> Option<String> {
        let (theirs, ours) = (view.members(), state.node(node));
        let tells = ours.up && theirs.id.is_some() && !view.image().is_waited_for();
        self.voters
            .filter(|_| tells)
            .and_then(|_| differ(node, "conf", &theirs.configuration, &ours.configuration))
    }
}

impl Mapping<Openraft> for Steps {
    type Model = model::Raft;

    fn reset(&mut self, seen: &Seen<'_, Openraft>) {
        self.pending.clear();
        self.pending.resize_with(seen.views.len(), Pending::default);
        for (me, (pending, view)) in (0..).zip(self.pending.iter_mut().zip(seen.views)) {
            let (commit, image) = (view.commit(), view.image());
            pending.start(me, image.vote(), commit, image.members);
            pending.is_halted = image.disk_failed;
        }
        self.shadows.get_mut().clear();
        self.shadows.get_mut().resize_with(seen.views.len(), Shadow::default);
        self.deviates = None;
    }

    fn events(&mut self, seen: &Seen<'_, Openraft>, out: &mut Events) {
        self.deviates = None;
        match seen.node {
            Some(node) => self.step(seen, node, out),
            None => out.push(Event::Ignored(LINKS)),
        }
    }

    fn project(&self, seen: &Seen<'_, Openraft>, state: &mut State, only: Option<NodeId>) {
        let only = only.or(self.deviates);
        let mut shadows = self.shadows.borrow_mut();
        for (node, shadow) in (0..).zip(shadows.iter_mut()) {
            if only.is_none_or(|only| only == node) {
                let projection = project_node(seen, node, shadow, state.committed());
                state.resync_node(node, &projection, shadow.log().entries());
                if let Some(voters) = self.voters {
                    let members = seen.views[usize::from(node)].image().members;
                    let first = Configuration::of_voters(voters);
                    state.resync_configuration(node, members.id.map_or(first, |_| members.configuration), 0);
                }
                if only.is_some() {
                    state.forget_acknowledged(node);
                }
            }
        }
    }

    /// The model has judged what was sent, so that only the variables of the step's node are left to compare. A vote
    /// is compared with its term.
    fn compare(&self, seen: &Seen<'_, Openraft>, state: &State, full: bool) -> Option<String> {
        let node = seen.node.filter(|_| full)?;
        let view = &seen.views[usize::from(node)];
        // Of a node that has stopped, the last view shows what it has not synced too: its start will tell.
        let stopped_unsynced = seen.up & (1 << node) == 0 && view.image().is_unsynced();
        if view.is_halted() || stopped_unsynced {
            return None;
        }
        let mut shadows = self.shadows.borrow_mut();
        let ours = state.projection(node);
        let theirs = project_node(seen, node, &mut shadows[usize::from(node)], state.committed());
        differ(node, "up", &theirs.up, &ours.up)
            .or_else(|| differ(node, "term", &theirs.term, &ours.term))
            .or_else(|| differ(node, "role", &theirs.role, &ours.role))
            .or_else(|| differ(node, "commit", &theirs.commit, &ours.commit))
            .or_else(|| differ(node, "log", &(theirs.length, theirs.log), &(ours.length, ours.log)))
            .or_else(|| self.compare_members(view, node, state))
    }
}

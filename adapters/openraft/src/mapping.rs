//! Reads steps of the implementation as actions of the model `raft`.
//!
//! A step is told as its parts, in this order: what came in, what the node became by it, the sync of its disk, what it
//! knows to be committed then, and each message that it sent. Where tasks run until none can and writes are synced at
//! once, a step is over when the node has dealt with all that it was given. With `flush=late` it may be in
//! the middle of a message, and `late` tells the step.
//!
//! A vote of openraft is for a term and a node, and is ordered by both. It is a term of the model
//! ([`owned_term`](model::owned_term)): so a node that has the same term has the same vote, and votes are compared with
//! terms. Entry 0, the membership that the cluster starts with, is the beginning of the model's log.
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
//! | [`LATE`] | tasks of a leader go on when it leads no more, until what they were given is sent: as if the message had been late. Entries must be such as a leader of that term can have. With late flushes also the answer to a part of a snapshot: it says a vote that the node had after the request came |
//! | [`HALTED`] | see [`DISK_REFUSED`] |
//!
//! Settings that the model does not have (`membership`, `learners`; `tasks=step`, where a node is given more before its
//! tasks have dealt with what they have; `stale-appends=sent`, which no leader of the model does) are not followed.

mod late;
mod messages;
mod shadow;

use crate::image::Image;
use crate::message::{Body, Wire};
use crate::system::Openraft;
use crate::view::View;
use late::Late;
use messages::{rank, rank_of, to_entry, to_model, upto};
use misrule_models::raft::{self as model, Action, Envelope, Message, Projection, Rules, State};
use misrule_models::{Event, Log, NodeId};
use misrule_world::{Choice, DiskOperation, Input, Mapping, Seen, Setup, differ};
use openraft::ServerState;
use openraft::raft::AppendEntriesResponse;
use shadow::Shadow;
use std::cell::RefCell;

const LINKS: &str = "what happens to links and to messages on them";
const UNHEARD: &str = "an answer that nobody waits for any more";
const REFUSED: &str = "a message after which the node is in its term as before";
const QUIET: &str = "a step after which the node is as it was";
const LATE: &str = "what a task of a former leader sends, as it could have when the node led";
const HALTED: &str = "what comes to a node whose disk has refused an operation";
const KEPT_UNSYNCED: &str = "a node starts from a disk that has kept what was never synced";
const DISK_REFUSED: &str = "a node starts after its disk has refused an operation";

/// The model of the cluster that the setup describes; `None` where there are settings that the model does not have.
pub(crate) fn model(setup: &Setup) -> Option<model::Raft> {
    let settings = &setup.settings;
    let is_modelled = settings.word("tasks") != "step"
        && settings.word("stale-appends") == "dropped"
        && settings.word("membership") == "off"
        && settings.integer("learners") == 0;
    let rules = if settings.word("flush") == "late" {
        // A leader writes its first entry when its vote is on the disk: it is told as an entry that it takes.
        Rules { empty_entry: false, ..Rules::openraft_0_9() }
    } else {
        Rules::openraft_0_9()
    };
    is_modelled.then(|| model::Raft::open(settings.integer("nodes") as NodeId, rules)).flatten()
}

/// What a node was before the step.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    leads: bool,
    term: u32,
    commit: u32,
    /// Index of the last entry.
    last: u32,
    halted: bool,
}

impl Known {
    fn of(view: &View) -> Self {
        let last = upto(view.image().now.last().as_ref());
        let leads = view.role() == ServerState::Leader;
        Self { leads, term: rank(view.vote()), commit: view.commit(), last, halted: view.is_halted() }
    }
}

/// The mapping; it remembers what nodes were.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    known: Vec<Known>,
    /// With late flushes.
    late: Vec<Late>,
    shadows: RefCell<Vec<Shadow>>,
    /// The node that the last deviation is about.
    deviates: Option<NodeId>,
}

type Events = Vec<Event<Action>>;

impl Steps {
    fn step(&mut self, seen: &Seen<'_, Openraft>, me: NodeId, out: &mut Events) {
        let before = self.known[usize::from(me)];
        let starts = matches!(seen.choice, Choice::Restart { .. });
        if seen.died {
            // What it did by then nobody has heard: messages leave at the end of a step.
            self.late[usize::from(me)].die();
            if !starts {
                out.push(Event::Action(Action::Crash { node: me }));
            }
            return;
        }
        let view = &seen.views[usize::from(me)];
        if view.image().journal.is_some() {
            return self.step_late(seen, me, out);
        }
        let now = Known::of(view);
        self.known[usize::from(me)] = now;
        match seen.choice {
            Choice::Crash { .. } => return out.push(Event::Action(Action::Crash { node: me })),
            Choice::Restart { .. } if before.halted => {
                self.deviates = Some(me);
                return out.push(Event::Deviation(DISK_REFUSED));
            }
            Choice::Restart { .. } => {
                out.push(Event::Action(Action::Restart { node: me, commit: now.commit }));
            }
            _ if before.halted || now.halted => return out.push(Event::Ignored(HALTED)),
            _ => {}
        }
        let told = if starts { now.commit } else { came_in(seen, me, (before, now), out) };
        became(seen, me, (before, now), out);
        if now.commit > told {
            let index = now.commit;
            let learns = Action::LearnCommit { node: me, index };
            out.push(Event::Action(if now.leads { Action::AdvanceCommit { node: me } } else { learns }));
        }
        for (to, wire) in seen.sends {
            if let Some(message) = to_model(wire) {
                out.push(if is_late(&message, now.term) {
                    Event::Ignored(LATE)
                } else {
                    Event::Action(Action::Send(Envelope { from: me, to: *to, message }))
                });
            }
        }
        if out.is_empty() {
            out.push(Event::Ignored(QUIET));
        }
    }
}

/// What the node was given. Returns the commit index that the model has by it.
fn came_in(seen: &Seen<'_, Openraft>, me: NodeId, (before, now): (Known, Known), out: &mut Events) -> u32 {
    match seen.input {
        Some(Input::Message { from, message: wire }) => {
            let message = to_model(wire).filter(|message| heeds(seen, *from, wire, message, now));
            let Some(message) = message else {
                let is_heard = !wire.body.is_answer() || seen.views[usize::from(me)].heard();
                out.push(Event::Ignored(if is_heard { REFUSED } else { UNHEARD }));
                return before.commit;
            };
            let learned = match &message {
                Message::Append { previous, entries, commit, .. } if has_taken(seen, *from) => {
                    (*commit).min(previous.0 + entries.len() as u32)
                }
                Message::Snapshot { last, .. } => last.0,
                _ => 0,
            };
            out.push(Event::Action(Action::Deliver(Envelope { from: *from, to: me, message })));
            before.commit.max(learned)
        }
        Some(_) if now.term > before.term => {
            began_term(me, seen.views[usize::from(me)].vote(), (before, now), out);
            before.commit
        }
        Some(_) => before.commit,
        None => {
            out.push(Event::Unmapped("a step of a node without an input"));
            before.commit
        }
    }
}

/// Whether a node in a later term sends what it could have sent when it led. A task reads entries when it sends them: what
/// a later leader has put into the log in their place is no such thing.
fn is_late(message: &Message, term: u32) -> bool {
    match message {
        Message::Append { term: its, previous, entries, .. } if *its < term => {
            let terms =
                || [previous.1].into_iter().chain(entries.iter().map(|entry| entry.term)).chain([*its]);
            terms().zip(terms().skip(1)).all(|(one, next)| one <= next)
        }
        Message::Snapshot { term: its, last } => *its < term && last.1 <= *its,
        _ => false,
    }
}

/// A node without a message is in another term: one of its own, in which it asks for votes; or one that a task of it was
/// told of before, and tells the node now.
fn began_term(me: NodeId, vote: (u64, u64), (before, now): (Known, Known), out: &mut Events) {
    if let Some(owner) = messages::peer(vote.1).filter(|owner| *owner != me) {
        let note = Envelope { from: owner, to: me, message: Message::Note { term: now.term } };
        return out.push(Event::Action(Action::Hear(note)));
    }
    if before.leads {
        out.push(Event::Action(Action::StepDown { node: me }));
    }
    out.push(Event::Action(Action::Timeout { node: me }));
}

/// Whether the node did with a message what the model does with it.
fn heeds(seen: &Seen<'_, Openraft>, from: NodeId, wire: &Wire, message: &Message, now: Known) -> bool {
    match &wire.body {
        Body::Append(_) => true,
        Body::Vote(_) => answers(seen, from, |body| matches!(body, Body::Voted(it) if it.vote_granted)),
        Body::Install(_) => {
            let is_taken =
                |body: &Body| matches!(body, Body::Installed(Ok(it)) if rank_of(&it.vote) == message.term());
            wire.asked.done && answers(seen, from, is_taken)
        }
        // A leader of a later term than the node's is not heard of where the node asks no more.
        Body::Appended(_) | Body::Voted(_) | Body::Installed(_) => {
            seen.node.is_some_and(|me| seen.views[usize::from(me)].heard()) && message.term() <= now.term
        }
    }
}

/// Whether an `Append` was taken.
fn has_taken(seen: &Seen<'_, Openraft>, from: NodeId) -> bool {
    answers(seen, from, |body| matches!(body, Body::Appended(AppendEntriesResponse::Success)))
}

fn answers(seen: &Seen<'_, Openraft>, to: NodeId, what: impl Fn(&Body) -> bool) -> bool {
    seen.sends.iter().any(|(receiver, wire)| *receiver == to && what(&wire.body))
}

/// What the node is by it, the entries that it took, and what its disk has.
fn became(seen: &Seen<'_, Openraft>, me: NodeId, (before, now): (Known, Known), out: &mut Events) {
    let view = &seen.views[usize::from(me)];
    let starts = matches!(seen.choice, Choice::Restart { .. });
    let elected = now.leads && (starts || !before.leads || now.term > before.term);
    if elected {
        out.push(Event::Action(Action::BecomeLeader { node: me }));
    }
    if now.leads && !starts {
        // The empty entry of a new leader comes with its election.
        let from = u64::from(before.last + u32::from(elected)) + 1;
        let entries = view.image().entries(from, u64::MAX);
        let taken = entries.iter().map(|entry| Action::Propose { node: me, value: to_entry(entry).value });
        out.extend(taken.map(Event::Action));
    }
    if seen.operations.contains(&DiskOperation::Sync) {
        out.push(Event::Action(Action::Persist { node: me }));
    }
}

/// Role and vote. A node that waits for its disk has not told of them for some time: they are what it has written.
fn stands(view: &View, image: &Image, node: NodeId) -> (ServerState, (u64, u64)) {
    let written = image.vote().filter(|_| image.journal.is_some() && image.is_waited_for());
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

impl Mapping<Openraft> for Steps {
    type Model = model::Raft;

    fn reset(&mut self, seen: &Seen<'_, Openraft>) {
        self.known.clear();
        self.known.extend(seen.views.iter().map(Known::of));
        self.late.clear();
        self.late.resize_with(seen.views.len(), Late::default);
        for (late, view) in self.late.iter_mut().zip(seen.views) {
            let vote = view.image().vote();
            late.start(vote, view.commit());
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
    }
}

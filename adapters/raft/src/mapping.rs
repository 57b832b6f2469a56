//! Reads steps of the implementation as actions of the model.
//!
//! A step is told as its parts, in this order: what came in, what the node became by it, the sync of its disk, what it
//! knows to be committed then, and each message that it sent. The model judges each message by the node's state after
//! the sync; that a node tells something before its sync shows where it stops in between: the model
//! refuses the delivery.
//!
//! # Declared deviations
//!
//! Besides that of crash points, which every follower declares:
//!
//! | deviation | why |
//! | --- | --- |
//! | [`KEPT_UNSYNCED`] | with late flushes, of what was written and never synced a crash may keep any part that the contract allows, record by record; the model's disk has it all or nothing |
//! | [`DISK_REFUSED`] | a node whose disk refuses an operation does nothing until it is started again; what of its last step is on the disk then, no action says |
//!
//! # Ignored by declaration
//!
//! | ignored | why nothing of the model can change |
//! | --- | --- |
//! | [`LINKS`] | messages on links are not in an open model; a delivery carries its contents |
//! | [`QUIET`] | a tick or message after which the node is as it was, or a proposal that it did not take or passed on |
//! | [`STRANGER`] | the crate looks at no answer of a node that is no member, as if it were lost |
//! | [`HALTED`] | see [`DISK_REFUSED`] |
//!
//! Proposals and reads that a follower passes on to its leader are no messages of the model: what matters is that the
//! leader takes them. A read is told by the bytes by which the crate tells reads apart, and is the model's up to where its
//! leader confirms it: nodes record what they took and confirmed (`reads`), since one answer may confirm several, and so may
//! a change of the configuration. Compaction is not seen either: the model keeps whole logs, and where an image has none any more, what is
//! committed stands for it. Of a change of leaders that is passed on, and of the answer to a read, the model has the term.
//!
//! With late flushes, messages that wait for the disk are judged when the node says them, and leave after a sync.
//!
//! A change of the configuration is an entry, and takes effect by an action of its own. Since one step may commit, apply,
//! commit by the new configuration and append the end of a joint one, nodes record how far they were at each
//! change (`progress`). A node that votes alone is told to sync its vote before it leads where both are in one step: the
//! crate does it the other way round, which is seen where they are not.
//!
//! Releases before 0.6 are not followed.

mod expect;
mod messages;
mod progress;
mod shadow;

use crate::compat;
use crate::conf::Conf;
use crate::message::{Kind, Wire};
use crate::system::Raft;
use crate::view::{Role, View};
use messages::{Spare, to_entry, to_model};
use misrule_models::raft::{
    self as model, Action, Envelope, Membership, Message, Projection, Reads, Rules, State,
};
use misrule_models::{Event, Log, NodeId};
use misrule_world::{
    Choice, DiskOperation, Expected, Input, Keep, Mapping, Menu, Seen, Settings, Setup, differ,
};
use progress::{proposed, read, steps_down};
use raft::eraftpb::{Message as Theirs, MessageType};
use shadow::Shadow;
use std::cell::RefCell;

const LINKS: &str = "what happens to links and to messages on them";
const QUIET: &str = "a step after which the node is as it was";
const STRANGER: &str = "an answer of a node that is no member";
const HALTED: &str = "what comes to a node whose disk has refused an operation";
const DISK_REFUSED: &str = "a node starts after its disk has refused an operation";
const KEPT_UNSYNCED: &str = "a node starts from a disk that has kept what was never synced";

/// Whether the model has what the settings ask for: all that this release can do.
pub(crate) fn is_modelled(_: &Settings) -> bool {
    compat::MODELLED
}

/// Whether a node goes on before its disk is synced.
fn flushes_late(settings: &Settings) -> bool {
    settings.word("flush") != "at-once"
}

/// The model of the cluster that the setup describes; `None` with a release that it does not follow.
pub(crate) fn model(setup: &Setup) -> Option<model::Raft> {
    let settings = &setup.settings;
    let (pre_vote, check_quorum) = (settings.is_on("pre-vote"), settings.is_on("check-quorum"));
    let late_flush = flushes_late(settings);
    let membership = match settings.word("membership") {
        "single" => Membership::Single,
        "joint" => Membership::Joint,
        _ => Membership::Off,
    };
    let reads = if settings.word("reads") == "lease" { Reads::Lease } else { Reads::Index };
    let rules = Rules { pre_vote, check_quorum, late_flush, membership, reads, ..Rules::crate_0_7() };
    is_modelled(settings).then(|| model::Raft::open(settings.integer("nodes") as NodeId, rules)).flatten()
}

/// What a node was before the step.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    role: Role,
    term: u64,
    commit: u64,
    last: u64,
    halted: bool,
    /// Whether something waits for a sync; of a node that has stopped, whether its disk has kept some of it.
    unsynced: bool,
    /// How many messages have ever waited for a sync.
    held: u64,
    /// How many changes of the configuration it has ever applied.
    turns: u64,
    /// How often its disk was ever synced.
    syncs: u64,
    conf: Conf,
}

impl Known {
    fn of(view: &View) -> Self {
        let image = view.image();
        let (last, held, turns) = (image.last_index(), image.held().1, image.turns().1);
        let (syncs, conf) = (image.syncs(), view.conf());
        let (halted, unsynced) = (view.is_halted(), view.unsynced);
        Self {
            role: view.role(),
            term: view.term(),
            commit: view.commit(),
            last,
            halted,
            unsynced,
            held,
            turns,
            syncs,
            conf,
        }
    }
}

/// The mapping; it remembers what nodes were.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    known: Vec<Known>,
    shadows: RefCell<Vec<Shadow>>,
    spare: Spare,
    /// The node that the last deviation is about.
    deviates: Option<NodeId>,
    pre_vote: bool,
    membership: bool,
    late_flush: bool,
}
type Events = Vec<Event<Action>>;

impl Steps {
    pub(crate) fn new(setup: &Setup) -> Self {
        let pre_vote = setup.settings.is_on("pre-vote");
        let membership = setup.settings.word("membership") != "off";
        let late_flush = flushes_late(&setup.settings);
        Self { pre_vote, membership, late_flush, ..Self::default() }
    }

    fn step(&mut self, seen: &Seen<'_, Raft>, me: NodeId, out: &mut Events) {
        let view = &seen.views[usize::from(me)];
        let before = self.known[usize::from(me)];
        if seen.died {
            return self.died(seen, me, before, out);
        }
        self.known[usize::from(me)] = Known::of(view);
        match seen.choice {
            Choice::Crash { keep, .. } => {
                self.known[usize::from(me)].unsynced &= keep != Keep::prefix(0);
                return out.push(Event::Action(Action::Crash { node: me }));
            }
            Choice::Restart { .. } if before.halted || before.unsynced => {
                self.deviates = Some(me);
                let deviation = if before.halted { DISK_REFUSED } else { KEPT_UNSYNCED };
                return out.push(Event::Deviation(deviation));
            }
            Choice::Restart { .. } => {
                out.push(Event::Action(Action::Restart { node: me, commit: view.commit() as u32 }));
            }
            _ if before.halted => return out.push(Event::Ignored(HALTED)),
            _ => {
                self.came_in(seen, me, before, view, out);
                read(me, view, before.turns, out);
            }
        }
        if !before.halted && view.is_halted() {
            unwritten(seen, me, before, view, out);
        }
        // It is said before the leader appends more by itself.
        self.sent(seen, me, true, out);
        self.held(me, before, view, true, out);
        self.became(seen, me, before, view, out);
        self.sent(seen, me, false, out);
        self.held(me, before, view, false, out);
        // What a leader has to send it sends, and steps down then.
        if before.role.leads() && steps_down(seen, before, view) {
            out.push(Event::Action(Action::StepDown { node: me }));
        }
        if out.is_empty() {
            out.push(Event::Ignored(QUIET));
        }
    }

    /// What the node was given.
    fn came_in(&mut self, seen: &Seen<'_, Raft>, me: NodeId, before: Known, view: &View, out: &mut Events) {
        match seen.input {
            Some(Input::Message { from, message }) => {
                self.arrived(*from, me, message.message(), before, view, out);
            }
            Some(Input::Timer(_)) if view.term() > before.term => {
                // Who votes alone need not ask.
                if self.pre_vote {
                    out.push(Event::Action(Action::PreVote { node: me }));
                }
                out.push(Event::Action(Action::Timeout { node: me }));
            }
            Some(Input::Timer(_)) if asks(seen, before, view) => {
                out.push(Event::Action(Action::PreVote { node: me }));
            }
            // Applying entries and telling of snapshots are none of the model's.
            Some(Input::Timer(_) | Input::Local(_)) => {}
            Some(Input::Request { .. }) => proposed(me, before, view, out),
            None => out.push(Event::Unmapped("a step of a node without an input")),
        }
    }

    fn arrived(
        &mut self,
        from: NodeId,
        me: NodeId,
        theirs: &Theirs,
        before: Known,
        view: &View,
        out: &mut Events,
    ) {
        if messages::is_answer(theirs) && !before.conf.to_model().has_member(from) {
            return out.push(Event::Ignored(STRANGER));
        }
        let entered = view.term() == theirs.term;
        let heeds = match theirs.msg_type {
            MessageType::MsgPropose => return proposed(me, before, view, out),
            // Without a term: it is passed on or confirmed, and changes nothing that the model has.
            MessageType::MsgReadIndex => return,
            // The crate looks at nothing of what it has committed already.
            MessageType::MsgAppend => theirs.index >= before.commit,
            // It takes none of a configuration that it is not in.
            MessageType::MsgSnapshot => theirs.get_snapshot().get_metadata().index <= view.commit(),
            MessageType::MsgRequestVote if theirs.term > before.term && !entered => {
                return out.push(Event::Ignored(QUIET));
            }
            MessageType::MsgRequestVote => entered && messages::node(view.vote()) == Some(from),
            MessageType::MsgTimeoutNow => view.term() > theirs.term,
            _ => true,
        };
        let Some(message) = to_model(theirs, &mut self.spare) else {
            return out.push(Event::Unmapped("a message that the model does not have"));
        };
        let envelope = Envelope { from, to: me, message };
        out.push(Event::Action(if heeds { Action::Deliver(envelope) } else { Action::Hear(envelope) }));
    }

    /// What the node sent: that it hands over, or all else.
    fn sent(&mut self, seen: &Seen<'_, Raft>, me: NodeId, hands_over: bool, out: &mut Events) {
        for (to, wire) in seen.sends {
            let theirs = wire.message();
            if is_passed_on(theirs) || hands_over != (theirs.msg_type == MessageType::MsgTimeoutNow) {
                continue;
            }
            let Some(message) = to_model(theirs, &mut self.spare) else {
                return out.push(Event::Unmapped("a message that the model does not have"));
            };
            out.push(Event::Action(Action::Send(Envelope { from: me, to: *to, message })));
        }
    }

    /// What the node has to send and keeps until its disk is synced.
    fn held(&mut self, me: NodeId, before: Known, view: &View, hands_over: bool, out: &mut Events) {
        let image = view.image();
        let (waiting, ever) = image.held();
        let new = waiting.len().min((ever - before.held) as usize);
        for theirs in &waiting[waiting.len() - new..] {
            if is_passed_on(theirs) || hands_over != (theirs.msg_type == MessageType::MsgTimeoutNow) {
                continue;
            }
            let (Some(to), Some(message)) = (messages::node(theirs.to), to_model(theirs, &mut self.spare))
            else {
                return out.push(Event::Unmapped("a message that the model does not have"));
            };
            out.push(Event::Action(Action::Hold(Envelope { from: me, to, message })));
        }
    }

    /// The node stopped in the middle of the step, and its view is that of before. Where it had synced its disk, the
    /// others may see what it did by then; what it sent before its end is not judged.
    fn died(&mut self, seen: &Seen<'_, Raft>, me: NodeId, before: Known, out: &mut Events) {
        let starts = matches!(seen.choice, Choice::Restart { .. });
        if seen.operations.contains(&DiskOperation::Sync) && !starts && !before.halted {
            match seen.input {
                Some(Input::Timer(_)) if !before.role.leads() => {
                    if self.pre_vote {
                        out.push(Event::Action(Action::PreVote { node: me }));
                    }
                    out.push(Event::Action(Action::Timeout { node: me }));
                }
                // Of entries that a leader took, its followers may have heard; that it has them is known when it starts
                // again.
                Some(Input::Message { message, .. }) if message.kind() == Kind::Propose => {}
                Some(Input::Message { from, message }) => {
                    let theirs = message.message();
                    let votes = |(_, wire): &(NodeId, Wire)| {
                        wire.kind() == Kind::RequestVoteResponse && !wire.message().reject
                    };
                    let heeds = match theirs.msg_type {
                        MessageType::MsgAppend => theirs.index >= before.commit,
                        MessageType::MsgRequestVote => seen.sends.iter().any(votes),
                        _ => true,
                    };
                    if let Some(message) = to_model(theirs, &mut self.spare) {
                        let envelope = Envelope { from: *from, to: me, message };
                        let action = if heeds { Action::Deliver(envelope) } else { Action::Hear(envelope) };
                        out.push(Event::Action(action));
                    }
                    if before.role == Role::PreCandidate && sends(seen, Kind::RequestVote) {
                        out.push(Event::Action(Action::Timeout { node: me }));
                    }
                    if before.role == Role::Candidate && sends(seen, Kind::Append) {
                        out.push(Event::Action(Action::BecomeLeader { node: me }));
                    }
                }
                _ => {}
            }
            out.push(Event::Action(Action::Persist { node: me }));
        }
        if !starts {
            out.push(Event::Action(Action::Crash { node: me }));
        }
    }
}

/// What the views show of a node, with its log as the model has it in its shadow.
fn project_node(
    seen: &Seen<'_, Raft>,
    node: NodeId,
    shadow: &mut Shadow,
    committed: &Log<model::LogEntry>,
) -> Projection {
    let view = &seen.views[usize::from(node)];
    shadow.follow(&view.image(), committed);
    let up = seen.up & (1 << node) != 0;
    Projection {
        up,
        role: if up { model_role(view.role()) } else { model::Role::Follower },
        term: view.term() as u32,
        vote: messages::node(view.vote()),
        commit: view.commit() as u32,
        length: shadow.log().len(),
        log: shadow.log().digest(),
    }
}

/// Whether the node asked whether others would vote for it; where its disk is synced later, it has that to say.
fn asks(seen: &Seen<'_, Raft>, before: Known, view: &View) -> bool {
    let image = view.image();
    let (waiting, ever) = image.held();
    let asks = |message: &Theirs| message.msg_type == MessageType::MsgRequestPreVote;
    sends(seen, Kind::RequestPreVote) || ever > before.held && waiting.last().is_some_and(asks)
}

/// Whether it is a request that is passed on to the leader.
fn is_passed_on(theirs: &Theirs) -> bool {
    matches!(theirs.msg_type, MessageType::MsgPropose | MessageType::MsgReadIndex)
}

/// Whether the node sent a message of this kind.
fn sends(seen: &Seen<'_, Raft>, kind: Kind) -> bool {
    seen.sends.iter().any(|(_, wire)| wire.kind() == kind)
}

/// What a leader took and sent before its disk refused it: the image has none of it.
fn unwritten(seen: &Seen<'_, Raft>, me: NodeId, before: Known, view: &View, out: &mut Events) {
    let known = before.last.max(view.image().last_index());
    let beyond = |wire: &Wire| wire.message().entries.last().is_some_and(|entry| entry.index > known);
    let mut sent = seen.sends.iter().map(|(_, wire)| wire).filter(|wire| wire.kind() == Kind::Append);
    // All followers are sent the same, each from where it stands.
    if let Some(wire) = sent.find(|wire| before.role.leads() && beyond(wire)) {
        let new = wire.message().entries.iter().filter(|entry| entry.index > known);
        out.extend(
            new.map(|entry| Event::Action(Action::Propose { node: me, value: to_entry(entry).value })),
        );
    }
}

fn model_role(role: Role) -> model::Role {
    match role {
        Role::Follower | Role::Voter => model::Role::Follower,
        Role::PreCandidate => model::Role::PreCandidate,
        Role::Candidate => model::Role::Candidate,
        Role::Leader | Role::Leaving => model::Role::Leader,
    }
}

impl Mapping<Raft> for Steps {
    type Model = model::Raft;

    fn reset(&mut self, seen: &Seen<'_, Raft>) {
        self.known.clear();
        self.known.extend(seen.views.iter().map(Known::of));
        self.shadows.get_mut().resize_with(seen.views.len(), Shadow::default);
        self.deviates = None;
    }

    fn events(&mut self, seen: &Seen<'_, Raft>, out: &mut Events) {
        self.deviates = None;
        match seen.node {
            Some(node) => self.step(seen, node, out),
            None => out.push(Event::Ignored(LINKS)),
        }
    }

    fn recycle(&mut self, events: &mut Events) {
        for event in events.drain(..) {
            if let Event::Action(
                Action::Deliver(envelope)
                | Action::Hear(envelope)
                | Action::Send(envelope)
                | Action::Hold(envelope),
            ) = event
                && let Message::Append { entries, .. } = envelope.message
            {
                self.spare.give(entries);
            }
        }
    }

    fn expects(&self, seen: &Seen<'_, Raft>, menu: &Menu, out: &mut Vec<Expected<Action>>) {
        expect::expected(seen, menu, self.late_flush, out);
    }

    fn project(&self, seen: &Seen<'_, Raft>, state: &mut State, only: Option<NodeId>) {
        let only = only.or(self.deviates);
        let mut shadows = self.shadows.borrow_mut();
        for (node, shadow) in (0..).zip(shadows.iter_mut()) {
            if only.is_none_or(|only| only == node) {
                let projection = project_node(seen, node, shadow, state.committed());
                state.resync_node(node, &projection, shadow.log().entries());
                if self.membership {
                    let view = &seen.views[usize::from(node)];
                    state.resync_configuration(node, view.conf().to_model(), progress::applied(view));
                }
            }
        }
    }

    /// The model has judged what was sent, so that only the variables of the step's node are left to compare.
    fn compare(&self, seen: &Seen<'_, Raft>, state: &State, full: bool) -> Option<String> {
        let node = seen.node.filter(|_| full)?;
        let view = &seen.views[usize::from(node)];
        // Of a node that has stopped, the last view shows what it has not synced too: its start will tell.
        if view.is_halted() || view.unsynced && seen.up & (1 << node) == 0 {
            return None;
        }
        let mut shadows = self.shadows.borrow_mut();
        let theirs = project_node(seen, node, &mut shadows[usize::from(node)], state.committed());
        let ours = state.projection(node);
        let conf = (self.membership && theirs.up)
            .then(|| differ(node, "conf", &view.conf().to_model(), &state.node(node).configuration))
            .flatten();
        if theirs == ours {
            let ours = state.node(node).reads.len();
            let reads = if theirs.role == model::Role::Leader { view.reads() } else { 0 };
            return conf.or_else(|| differ(node, "reads", &reads, &ours));
        }
        differ(node, "up", &theirs.up, &ours.up)
            .or_else(|| differ(node, "term", &theirs.term, &ours.term))
            .or_else(|| differ(node, "vote", &theirs.vote, &ours.vote))
            .or_else(|| differ(node, "role", &theirs.role, &ours.role))
            .or_else(|| differ(node, "commit", &theirs.commit, &ours.commit))
            .or_else(|| differ(node, "log", &(theirs.length, theirs.log), &(ours.length, ours.log)))
    }
}

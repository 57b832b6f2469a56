//! Reads steps of the implementation as actions of the model.
//!
//! There are no declared deviations but that of crash points: with every setting of the target, each step of the protocol is an action
//! of the model. What the model does not speak of is in the table below, by declaration.
//!
//! | ignored | why nothing of the model can change |
//! | --- | --- |
//! | [`HEARTBEATS`] | elections are abstracted to their outcome, which shows in the promise after a tick |
//! | [`TRIMMING`] | the model keeps whole logs: a trimmed entry is one that the world still remembers, and where the protocol needs it the crate panics, so that there is no step to follow |
//! | [`LINKS`] | messages on links are not in an open model; a delivery carries its contents |
//! | [`QUIET_TICK`] | no election, and neither clock is due |

use crate::compat;
use crate::convert::{Spare, ballot, to_model};
use crate::message::Wire;
use crate::system::{APPEND, FLUSH_TICKS, Omnipaxos, RECONNECTED, Role, View};
use misrule_models::sequence_paxos::{self as model, Action, Ballot, Phase, Rules, SequencePaxos, State};
use misrule_models::{Event, NodeId};
use misrule_world::{Choice, Expected, Input, LinkOrder, Mapping, Menu, Seen, Setup, deliverable, differ};
use omnipaxos::messages::sequence_paxos::PaxosMsg;
use std::cell::RefCell;

const HEARTBEATS: &str = "messages of the leader election";
const TRIMMING: &str = "trimming";
const LINKS: &str = "what happens to links and to messages on them";
const QUIET_TICK: &str = "a tick in which nothing is due";

/// The model of the cluster that the setup describes; `None` where the release is not modelled.
pub(crate) fn model(setup: &Setup) -> Option<SequencePaxos> {
    let batch = setup.settings.integer("batch") as u32;
    let model =
        SequencePaxos::open(setup.settings.integer("nodes") as NodeId, Rules { batch, ..Rules::crate_0_2() });
    let ordered = setup.contract.order == LinkOrder::Fifo && !setup.contract.duplication;
    compat::MODELLED.then(|| if ordered { model } else { model.over_unordered_links() })
}

/// What the model must have sent in the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sent {
    /// Nothing: the step was no action.
    #[default]
    Nothing,
    /// What its last action sent.
    ByAction,
    /// It has lost the implementation.
    Unknown,
}

/// The mapping; it remembers what ticks are told by.
#[derive(Debug)]
pub(crate) struct Steps {
    promises: Vec<Ballot>,
    resend: u16,
    /// Zero where nothing is ever collected.
    flush: u16,
    sent: Sent,
    spare: RefCell<Spare>,
}

impl Steps {
    pub(crate) fn new(setup: &Setup) -> Self {
        let batches = setup.settings.integer("batch") > 1;
        Self {
            promises: Vec::new(),
            resend: setup.settings.integer("resend") as u16,
            flush: if batches { FLUSH_TICKS as u16 } else { 0 },
            sent: Sent::Nothing,
            spare: RefCell::default(),
        }
    }

    fn event(&mut self, seen: &Seen<'_, Omnipaxos>, node: NodeId) -> Event<Action> {
        let view = &seen.views[usize::from(node)];
        let before = std::mem::replace(&mut self.promises[usize::from(node)], promise(view));
        if seen.died {
            return Event::Action(Action::Crash { node });
        }
        match (seen.choice, seen.input) {
            (Choice::Crash { .. }, _) => Event::Action(Action::Crash { node }),
            (Choice::Restart { .. }, _) => Event::Action(Action::Restart { node }),
            (_, Some(Input::Message { from, message })) => match message {
                Wire::Heartbeat(_) => Event::Ignored(HEARTBEATS),
                Wire::Paxos(message) => match to_model(&message.msg, self.spare.get_mut()) {
                    Some(message) => Event::Action(Action::Deliver { from: *from, to: node, message }),
                    None if matches!(message.msg, PaxosMsg::Compaction(_)) => Event::Ignored(TRIMMING),
                    None => Event::Unmapped("a stop sign"),
                },
            },
            (_, Some(Input::Timer(_))) => {
                let elected = Some(self.promises[usize::from(node)]).filter(|after| *after != before);
                let resend = view.tick().is_multiple_of(self.resend);
                let flush = self.flush > 0 && view.tick().is_multiple_of(self.flush);
                if elected.is_none() && !resend && !flush {
                    return Event::Ignored(QUIET_TICK);
                }
                Event::Action(Action::Tick { node, elected, resend, flush })
            }
            (_, Some(Input::Request { operation: APPEND, argument, .. })) => {
                Event::Action(Action::Append { node, entry: *argument })
            }
            (_, Some(Input::Request { operation: RECONNECTED, argument, .. })) => {
                Event::Action(Action::Reconnected { node, peer: *argument as NodeId })
            }
            (_, Some(Input::Request { .. })) => Event::Ignored(TRIMMING),
            (_, Some(Input::Local(_)) | None) => Event::Unmapped("an input that the target does not take"),
        }
    }
}

impl Mapping<Omnipaxos> for Steps {
    type Model = SequencePaxos;

    fn reset(&mut self, seen: &Seen<'_, Omnipaxos>) {
        self.promises.clear();
        self.promises.extend(seen.views.iter().map(promise));
        self.sent = Sent::Nothing;
    }

    fn events(&mut self, seen: &Seen<'_, Omnipaxos>, out: &mut Vec<Event<Action>>) {
        let event = match seen.node {
            Some(node) => self.event(seen, node),
            None => Event::Ignored(LINKS),
        };
        self.sent = match event {
            Event::Action(_) => Sent::ByAction,
            Event::Ignored(_) => Sent::Nothing,
            _ => Sent::Unknown,
        };
        out.push(event);
    }

    fn recycle(&mut self, events: &mut Vec<Event<Action>>) {
        for event in events.drain(..) {
            if let Event::Action(Action::Deliver { message, .. }) = event {
                self.spare.get_mut().give(message);
            }
        }
    }

    /// What deliveries and starts would do. When a node next asks to be elected hangs on more than the views show.
    fn expects(&self, seen: &Seen<'_, Omnipaxos>, menu: &Menu, out: &mut Vec<Expected<Action>>) {
        for (from, to, message, deliver) in deliverable(menu, seen.links) {
            let Wire::Paxos(message) = message else { continue };
            let message = to_model(&message.msg, &mut self.spare.borrow_mut());
            let action = message.map(|message| Action::Deliver { from, to, message });
            out.extend(action.map(|action| Expected { choices: vec![deliver], actions: vec![action] }));
        }
        for node in (0..menu.nodes).filter(|node| !menu.is_up(*node)) {
            let choices = vec![Choice::Restart { node }];
            out.push(Expected { choices, actions: vec![Action::Restart { node }] });
        }
    }

    fn project(&self, seen: &Seen<'_, Omnipaxos>, state: &mut State, only: Option<NodeId>) {
        let chosen = |(node, _): &(NodeId, &View)| only.is_none_or(|only| only == *node);
        for (node, view) in (0..).zip(seen.views).filter(chosen) {
            let image = view.image();
            let up = seen.up & (1 << node) != 0;
            let (role, phase) = if up { role(view.role()) } else { (model::Role::Follower, Phase::None) };
            let seen = model::Projection {
                up,
                promise: promise(view),
                accepted_round: image.accepted_round().map(ballot).unwrap_or_default(),
                decided: image.decided() as u32,
                log: image.values(),
                role,
                phase,
            };
            state.resync_node(node, &seen);
        }
    }

    fn compare(&self, seen: &Seen<'_, Omnipaxos>, state: &State, full: bool) -> Option<String> {
        let expected = match self.sent {
            Sent::Nothing => &[],
            Sent::ByAction => state.sent(),
            Sent::Unknown => return None,
        };
        let wrong = wrong_message(seen, expected, &mut self.spare.borrow_mut());
        wrong.or_else(|| if full { wrong_variable(seen, state, seen.node?) } else { None })
    }
}

fn promise(view: &View) -> Ballot {
    view.image().promise().map(ballot).unwrap_or_default()
}

fn role(role: Role) -> (model::Role, Phase) {
    match role {
        Role::New => (model::Role::Follower, Phase::None),
        Role::Recovering => (model::Role::Follower, Phase::Recover),
        Role::Preparing => (model::Role::Follower, Phase::Prepare),
        Role::Following => (model::Role::Follower, Phase::Accept),
        Role::Electing => (model::Role::Leader, Phase::Prepare),
        Role::Leading => (model::Role::Leader, Phase::Accept),
    }
}

/// Names the first message in which the step's sends differ from the model's.
fn wrong_message(
    seen: &Seen<'_, Omnipaxos>,
    expected: &[model::Envelope],
    spare: &mut Spare,
) -> Option<String> {
    let mut expected = expected.iter();
    for (to, wire) in seen.sends {
        let Wire::Paxos(message) = wire else { continue };
        let Some(message) = to_model(&message.msg, spare) else { continue };
        let sent = expected.next();
        let same = sent
            .is_some_and(|sent| Some(sent.from) == seen.node && sent.to == *to && sent.message == message);
        if !same {
            let model =
                sent.map_or("nothing".to_owned(), |sent| format!("{:?} to {}", sent.message, sent.to + 1));
            return Some(format!(
                "sent: the implementation sends {message:?} to {}, the model {model}",
                to + 1
            ));
        }
        spare.give(message);
    }
    let missing = expected.next()?;
    Some(format!(
        "sent: the model sends {:?} to {}, the implementation nothing",
        missing.message,
        missing.to + 1
    ))
}

/// Names the first variable in which the node of the step differs from the model's.
fn wrong_variable(seen: &Seen<'_, Omnipaxos>, state: &State, node: NodeId) -> Option<String> {
    let (view, ours) = (&seen.views[usize::from(node)], state.node(node));
    let image = view.image();
    let up = seen.up & (1 << node) != 0;
    let accepting = up && view.is_accepting();
    let accepted_round = image.accepted_round().map(ballot).unwrap_or_default();
    let length = image.length() as u32;
    let log = (length, image.prefix_hash(image.length()));
    differ(node, "up", &up, &ours.up)
        .or_else(|| differ(node, "promise", &promise(view), &ours.promise))
        .or_else(|| differ(node, "accepted-round", &accepted_round, &ours.accepted_round))
        .or_else(|| differ(node, "decided", &(image.decided() as u32), &ours.decided))
        .or_else(|| differ(node, "log", &log, &(ours.log.len(), ours.log.digest())))
        .or_else(|| differ(node, "accepting", &accepting, &(ours.phase == Phase::Accept)))
}

#[cfg(test)]
mod tests;

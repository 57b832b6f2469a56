//! What the model would do if a message were delivered: for strategies that plan.

use super::is_passed_on;
use super::messages::{Spare, to_model};
use crate::system::Raft;
use misrule_models::raft::{Action, Envelope};
use misrule_world::{Expected, Menu, Seen, deliverable};

/// Appends what deliveries would do, with the sync that comes in the same step unless syncs are late. When an election
/// timeout passes, and what a node knows to be committed when it starts, hang on more than the views show.
pub(super) fn expected(
    seen: &Seen<'_, Raft>,
    menu: &Menu,
    late_flush: bool,
    out: &mut Vec<Expected<Action>>,
) {
    let mut spare = Spare::default();
    for (from, to, wire, deliver) in deliverable(menu, seen.links) {
        let theirs = wire.message();
        let message = if is_passed_on(theirs) { None } else { to_model(theirs, &mut spare) };
        let Some(message) = message else { continue };
        let mut actions = vec![Action::Deliver(Envelope { from, to, message })];
        if !late_flush {
            actions.push(Action::Persist { node: to });
        }
        out.push(Expected { choices: vec![deliver], actions });
    }
}

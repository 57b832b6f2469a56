//! What a node is after a step, what its disk has, and what it took, committed and applied on the way.

use super::messages::to_entry;
use super::{Events, Known, Steps, model_role};
use crate::image::{Image, Turn};
use crate::message::Kind;
use crate::system::Raft;
use crate::view::{Role, View};
use misrule_models::raft::{Action, Role as ModelRole};
use misrule_models::{Event, NodeId};
use misrule_world::{Choice, DiskOperation, Input, Seen};

impl Steps {
    /// What the node is by it, what its disk has, and what it knows to be committed.
    pub(super) fn became(
        &self,
        seen: &Seen<'_, Raft>,
        me: NodeId,
        before: Known,
        view: &View,
        out: &mut Events,
    ) {
        let won = matches!(seen.input, Some(Input::Message { message, .. })
            if message.kind() == Kind::RequestPreVoteResponse && view.role() == Role::Candidate);
        let restarts = matches!(seen.choice, Choice::Restart { .. });
        let synced = seen.operations.contains(&DiskOperation::Sync);
        let leads_anew = view.role().leads() && !(before.role.leads() && view.term() == before.term);
        if won && before.role == Role::PreCandidate {
            out.push(Event::Action(Action::Timeout { node: me }));
        }
        if leads_anew {
            // Who votes alone leads at once. Its vote is on its disk at the end of the step only, and what it has sent
            // by then nobody may count.
            if view.term() > before.term && synced {
                out.push(Event::Action(Action::Persist { node: me }));
            }
            out.push(Event::Action(Action::BecomeLeader { node: me }));
        } else if !before.role.leads() && steps_down(seen, before, view) {
            out.push(Event::Action(Action::StepDown { node: me }));
        }
        let leads_on =
            !restarts && (view.role().leads() || before.role.leads() && view.term() == before.term);
        if synced && !leads_on {
            out.push(Event::Action(Action::Persist { node: me }));
        }
        if restarts {
            if self.membership {
                out.push(Event::Action(Action::Reconfigure { node: me, index: applied(view) }));
            }
        } else if leads_on {
            let behind = if leads_anew {
                // Its empty entry is the model's own.
                before.last + 1
            } else if is_asked(seen) {
                asked_last(before, view)
            } else {
                before.last
            };
            led_on(me, before, view, behind, synced, out);
        } else {
            followed(seen, me, before, view, out);
        }
    }
}

/// Whether the node follows, in its term, and no message of a leader has told it to.
pub(super) fn steps_down(seen: &Seen<'_, Raft>, before: Known, view: &View) -> bool {
    let (was, is) = (model_role(before.role), model_role(view.role()));
    let restarts = matches!(seen.choice, Choice::Restart { .. });
    let same_term = view.term() == before.term;
    is == ModelRole::Follower && was != is && same_term && !restarts && !is_led(seen)
}

fn is_led(seen: &Seen<'_, Raft>) -> bool {
    matches!(seen.input, Some(Input::Message { message, .. })
        if matches!(message.kind(), Kind::Append | Kind::Heartbeat | Kind::Snapshot))
}

/// Up to where the node has applied its log, or had before it was started.
pub(super) fn applied(view: &View) -> u32 {
    view.applied().max(view.image().conf().1) as u32
}

/// A leader that has more entries than before has taken them; others have passed them on or dropped them. What it appended
/// after it had applied a change comes later.
pub(super) fn proposed(me: NodeId, before: Known, view: &View, out: &mut Events) {
    if before.role.leads() {
        take(me, view, before.last, asked_last(before, view), out);
    }
}

/// Whether the node was asked to take entries.
fn is_asked(seen: &Seen<'_, Raft>) -> bool {
    match seen.input {
        Some(Input::Request { .. }) => true,
        Some(Input::Message { message, .. }) => message.kind() == Kind::Propose,
        _ => false,
    }
}

/// The last entry of those that a leader was asked to take.
fn asked_last(before: Known, view: &View) -> u64 {
    let image = view.image();
    new_turns(&image, before).first().map_or(image.last_index(), |turn| turn.last)
}

/// The changes that were applied in the step.
fn new_turns(image: &Image, before: Known) -> &[Turn] {
    let (turns, ever) = image.turns();
    &turns[turns.len() - (ever - before.turns) as usize..]
}

/// A leader takes the entries behind one index, up to another.
fn take(me: NodeId, view: &View, behind: u64, last: u64, out: &mut Events) {
    let image = view.image();
    let base = image.base().index;
    let entries = image.entries().iter().take(last.saturating_sub(base) as usize);
    let new = entries.skip(behind.saturating_sub(base) as usize);
    out.extend(new.map(|entry| Event::Action(Action::Propose { node: me, value: to_entry(entry).value })));
}

/// What a leader committed and applied, change by change, when its disk was synced, and what it appended by itself then,
/// behind an index: the end of a joint configuration.
fn led_on(me: NodeId, before: Known, view: &View, behind: u64, synced: bool, out: &mut Events) {
    let image = view.image();
    let (mut commit, mut last, mut syncs) = (before.commit, behind, before.syncs);
    let advance = |is_more: bool| is_more.then_some(Event::Action(Action::AdvanceCommit { node: me }));
    let persist = |is_more: bool| is_more.then_some(Event::Action(Action::Persist { node: me }));
    for (turn, turns) in new_turns(&image, before).iter().zip(before.turns + 1..) {
        take(me, view, last, turn.last, out);
        out.extend(persist(turn.syncs > syncs));
        let (known, then) = turn.commit;
        out.extend(advance(known > commit));
        out.push(Event::Action(Action::Reconfigure { node: me, index: turn.index as u32 }));
        out.extend(advance(then > known));
        read(me, view, turns, out);
        (commit, last, syncs) = (then, last.max(turn.last), turn.syncs.max(syncs));
    }
    // A sync that fails is a sync of the step too.
    let is_synced = image.syncs() > syncs || synced && syncs == before.syncs;
    out.extend(persist(is_synced && view.unsynced));
    take(me, view, last, image.last_index(), out);
    out.extend(persist(is_synced && !view.unsynced));
    out.extend(advance(view.commit() > commit));
}

/// What a leader did with reads when it had ever applied so many changes.
pub(super) fn read(me: NodeId, view: &View, turns: u64, out: &mut Events) {
    let image = view.image();
    for step in image.reads.steps().iter().filter(|step| step.turns == turns) {
        out.push(Event::Action(match step.confirmed {
            None => Action::TakeRead { node: me, read: step.number },
            Some(index) => Action::ConfirmRead { node: me, read: step.number, index: index as u32 },
        }));
    }
}

/// What a follower learned to be committed, and applied of it.
fn followed(seen: &Seen<'_, Raft>, me: NodeId, before: Known, view: &View, out: &mut Events) {
    if view.commit() > before.commit && !is_led(seen) {
        out.push(Event::Action(Action::LearnCommit { node: me, index: view.commit() as u32 }));
    }
    for turn in new_turns(&view.image(), before) {
        out.push(Event::Action(Action::Reconfigure { node: me, index: turn.index as u32 }));
    }
}

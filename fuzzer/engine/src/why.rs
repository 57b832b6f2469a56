//! The causal cone of a step: the steps without which it would not have happened as it did.

use crate::replay::Trace;
use misrule_world::{Choice, NO_SESSION, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// The steps in the causal cone of step `step` of a trace, that step included, in order. Step 0 is the start.
///
/// A step follows from the step before at its node, a delivery also from the step that sent the message (Lamport
/// 1978, section "The partial ordering"), and what a session does from what it did before. A step of a recovery also
/// follows from the step that began it.
pub fn causal_cone(trace: &Trace, step: usize) -> Vec<usize> {
    let causes = causes(trace);
    let mut cone = BTreeSet::new();
    let mut open = vec![step.min(trace.steps.len().saturating_sub(1))];
    while let Some(at) = open.pop() {
        if cone.insert(at) {
            open.extend(causes.get(at).into_iter().flatten());
        }
    }
    cone.into_iter().collect()
}

/// For each step, the steps that it directly follows from.
fn causes(trace: &Trace) -> Vec<Vec<usize>> {
    let mut last: BTreeMap<NodeId, usize> = BTreeMap::new();
    let mut sessions: BTreeMap<u8, usize> = BTreeMap::new();
    let mut links: BTreeMap<(NodeId, NodeId), Vec<usize>> = BTreeMap::new();
    let mut all = Vec::with_capacity(trace.steps.len());
    let mut begun = None;
    for (at, step) in trace.steps.iter().enumerate() {
        let mut causes = Vec::new();
        causes.extend(begun.filter(|_| step.recovery));
        if let Some(Choice::Recover { .. }) = step.choice {
            begun = Some(at);
        }
        if let Some(choice) = step.choice {
            if let Some(slot) = choice.slot() {
                let waiting = links.entry((slot.from, slot.to)).or_default();
                let position = usize::from(slot.at).saturating_sub(1);
                if let Some(sent) = waiting.get(position).copied() {
                    causes.push(sent);
                    if !matches!(choice, Choice::Duplicate(_)) {
                        waiting.remove(position);
                    }
                }
            }
            if let Choice::Request { session, .. }
            | Choice::Retry { session, .. }
            | Choice::Abandon { session } = choice
                && session != NO_SESSION
            {
                causes.extend(sessions.insert(session, at));
            }
            if let Choice::Heal { from, to } | Choice::Unclog { from, to } = choice {
                causes.extend(last.get(&from).into_iter().chain(last.get(&to)));
            }
        }
        if let Some(node) = step.told.node {
            causes.extend(last.insert(node, at));
        }
        for (from, to, position) in &step.pushed {
            let waiting = links.entry((*from, *to)).or_default();
            waiting.insert(usize::from(*position).saturating_sub(1).min(waiting.len()), at);
        }
        all.push(causes);
    }
    all
}

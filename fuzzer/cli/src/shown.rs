//! Traces as reports show them.

use misrule_engine::Trace;
use misrule_report::{Fate, Field, Step, Taken};
use misrule_world::text::choice_line;
use misrule_world::{Change, Choice, NodeId, Slot, Vocabulary};

/// The steps of a trace, the start first.
pub(crate) fn steps(trace: &Trace, vocabulary: &Vocabulary) -> Vec<Step> {
    trace.steps.iter().enumerate().map(|(number, step)| one(number, step, vocabulary)).collect()
}

/// One step.
pub(crate) fn one(number: usize, step: &misrule_engine::Step, vocabulary: &Vocabulary) -> Step {
    let told = &step.told;
    let changes = match told.node {
        Some(node) => told.changes.iter().map(|change| field(Some(node), change)).collect(),
        None => start(&told.changes),
    };
    Step {
        number,
        node: told.node,
        choice: step.choice.map_or_else(|| "start".to_owned(), |choice| choice_line(vocabulary, choice)),
        effects: told.effects.clone(),
        changes,
        model: told.model.iter().map(|change| field(None, change)).collect(),
        log: told.log.clone(),
        pushed: step.pushed.clone(),
        taken: step.choice.and_then(taken),
        recovery: step.recovery,
    }
}

fn field(node: Option<NodeId>, change: &Change) -> Field {
    let name = match node {
        Some(node) => format!("n{}.{}", u32::from(node) + 1, change.field),
        None => change.field.clone(),
    };
    Field::new(name, change.before.clone(), change.after.clone())
}

/// The start tells the views of all nodes one after another: each begins with the same field.
fn start(changes: &[Change]) -> Vec<Field> {
    let first = changes.first().map(|change| change.field.as_str());
    let mut node = 0;
    let mut fields = Vec::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        if at > 0 && Some(change.field.as_str()) == first {
            node += 1;
        }
        fields.push(field(Some(node), change));
    }
    fields
}

fn taken(choice: Choice) -> Option<Taken> {
    let fate = match choice {
        Choice::Deliver(_) => Fate::Delivered,
        Choice::Drop(_) => Fate::Dropped,
        Choice::Duplicate(_) => Fate::Copied,
        _ => return None,
    };
    let Slot { from, to, at, .. } = choice.slot()?;
    Some(Taken { from, to, position: at, fate })
}

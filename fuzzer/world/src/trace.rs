//! Recording of steps for people, pages and the trace hash.

use crate::choice::Choice;
use crate::report::{Change, TraceStep};
use crate::text::choice_line;
use crate::vocabulary::Vocabulary;
use misrule_models::{Fields, NodeId};
use std::collections::BTreeMap;
use std::fmt::Display;
use xxhash_rust::xxh3::Xxh3;

/// Remembers the fields of views and model, to tell what changed.
#[derive(Default)]
pub(crate) struct Recorder {
    views: Vec<BTreeMap<String, String>>,
    model: BTreeMap<String, String>,
    pub(crate) step: TraceStep,
}

impl Recorder {
    pub(crate) fn reset(&mut self, nodes: NodeId) {
        self.views.clear();
        self.views.resize(usize::from(nodes), BTreeMap::new());
        self.model.clear();
        self.step = TraceStep::default();
    }

    /// Notes a line of what the step did.
    pub(crate) fn effect(&mut self, line: String) {
        self.step.effects.push(line);
    }

    /// Notes what changed in a node's view.
    pub(crate) fn view(&mut self, node: NodeId, view: &impl Fields) {
        let changes = changed(&mut self.views[usize::from(node)], |visit| view.fields(visit));
        self.step.changes.extend(changes);
    }

    /// Notes what changed in the model's state.
    pub(crate) fn model(&mut self, fields: impl FnOnce(&mut dyn FnMut(&str, &dyn Display))) {
        self.step.model = changed(&mut self.model, fields);
    }

    /// The finished step; the recorder starts the next one.
    pub(crate) fn take(&mut self) -> TraceStep {
        std::mem::take(&mut self.step)
    }
}

/// The fields that are new or differ from what is known of them, in the order in which they are shown. A field
/// that is not shown any more is forgotten.
fn changed(
    known: &mut BTreeMap<String, String>,
    fields: impl FnOnce(&mut dyn FnMut(&str, &dyn Display)),
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut shown = BTreeMap::new();
    fields(&mut |name, value| {
        let after = value.to_string();
        let before = known.remove(name);
        if before.as_ref() != Some(&after) {
            let before = before.unwrap_or_default();
            changes.push(Change { field: name.to_owned(), before, after: after.clone() });
        }
        shown.insert(name.to_owned(), after);
    });
    *known = shown;
    changes
}

/// The trace hash: xxh3 over the canonical lines of choice, effects and views of every step.
///
/// Log lines and the model's state are left out: a trace has one hash whatever was watched.
#[derive(Default)]
pub struct TraceHash(Xxh3);

impl TraceHash {
    /// Takes in the executed choice and what was recorded of it.
    pub fn update(&mut self, vocabulary: &Vocabulary, choice: Choice, step: &TraceStep) {
        self.line(&choice_line(vocabulary, choice));
        for effect in &step.effects {
            self.line(effect);
        }
        for change in &step.changes {
            self.line(&format!("{} {} -> {}", change.field, change.before, change.after));
        }
    }

    /// Takes in one line, such as the failure that ended the trace.
    pub fn line(&mut self, line: &str) {
        self.0.update(line.as_bytes());
        self.0.update(b"\n");
    }

    /// The hash so far, as 16 hex digits.
    pub fn digest(&self) -> String {
        format!("{:016x}", self.0.digest())
    }
}

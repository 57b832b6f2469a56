//! Recording of steps for people, pages and the trace hash.

use crate::choice::Choice;
use crate::report::{Change, TraceStep};
use crate::text::choice_line;
use crate::vocabulary::Vocabulary;
use misrule_models::{Fields, NodeId};
use std::fmt::{Display, Write};
use xxhash_rust::xxh3::Xxh3;

/// Remembers the fields of views and model, to tell what changed.
#[derive(Default)]
pub(crate) struct Recorder {
    views: Vec<Shown>,
    model: Shown,
    pub(crate) step: TraceStep,
}

impl Recorder {
    pub(crate) fn reset(&mut self, nodes: NodeId) {
        self.views.clear();
        self.views.resize_with(usize::from(nodes), Shown::default);
        self.model = Shown::default();
        self.step = TraceStep::default();
    }

    /// Notes a line of what the step did.
    pub(crate) fn effect(&mut self, line: String) {
        self.step.effects.push(line);
    }

    /// Notes what changed in a node's view.
    pub(crate) fn view(&mut self, node: NodeId, view: &impl Fields) {
        let changes = self.views[usize::from(node)].changed(|visit| view.fields(visit));
        self.step.changes.extend(changes);
    }

    /// Notes what changed in the model's state.
    pub(crate) fn model(&mut self, fields: impl FnOnce(&mut dyn FnMut(&str, &dyn Display))) {
        self.step.model = self.model.changed(fields);
    }

    /// The finished step; the recorder starts the next one.
    pub(crate) fn take(&mut self) -> TraceStep {
        std::mem::take(&mut self.step)
    }
}

/// What was shown last, in the order of showing: most fields stay as they were, and where they were.
#[derive(Default)]
struct Shown {
    fields: Vec<Field>,
    /// How often something was shown.
    round: u64,
    /// Memory for the text of a field.
    text: String,
}

/// A field as it was shown.
struct Field {
    name: String,
    text: String,
    /// When it was shown last.
    round: u64,
}

impl Shown {
    /// The fields that are new or differ from what is known of them, in the order in which they are shown. A field
    /// that is not shown any more is forgotten.
    fn changed(&mut self, fields: impl FnOnce(&mut dyn FnMut(&str, &dyn Display))) -> Vec<Change> {
        self.round += 1;
        let (mut changes, mut next) = (Vec::new(), 0);
        fields(&mut |name, value| {
            self.text.clear();
            // Writing to a string does not fail.
            let _ = write!(self.text, "{value}");
            let at = self.place(name, next);
            next = at + 1;
            let field = &mut self.fields[at];
            let is_new = field.round == 0;
            field.round = self.round;
            if is_new || field.text != self.text {
                let before = std::mem::replace(&mut field.text, self.text.clone());
                changes.push(Change { field: name.to_owned(), before, after: self.text.clone() });
            }
        });
        self.fields.retain(|field| field.round == self.round);
        changes
    }

    /// Where the field stands, most likely at `next`; there it is put where it is new.
    fn place(&mut self, name: &str, next: usize) -> usize {
        if self.fields.get(next).is_some_and(|field| field.name == name) {
            return next;
        }
        let known = self.fields.iter().position(|field| field.name == name);
        known.unwrap_or_else(|| {
            self.fields.insert(next, Field { name: name.to_owned(), text: String::new(), round: 0 });
            next
        })
    }
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
            for part in [&change.field, " ", &change.before, " -> ", &change.after, "\n"] {
                self.0.update(part.as_bytes());
            }
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

#[cfg(test)]
mod tests {
    use super::Shown;

    fn changes(shown: &mut Shown, fields: &[(&str, u32)]) -> Vec<String> {
        let changes = shown.changed(|visit| fields.iter().for_each(|(name, value)| visit(name, value)));
        changes.iter().map(|change| format!("{} {}->{}", change.field, change.before, change.after)).collect()
    }

    #[test]
    fn only_what_changed_is_told() {
        let mut shown = Shown::default();
        assert_eq!(changes(&mut shown, &[("a", 1), ("c", 3)]), ["a ->1", "c ->3"]);
        assert_eq!(changes(&mut shown, &[("a", 1), ("b", 2), ("c", 4)]), ["b ->2", "c 3->4"]);
        assert_eq!(changes(&mut shown, &[("c", 4), ("a", 1)]), [""; 0], "another order is no change");
        assert_eq!(changes(&mut shown, &[("b", 2), ("a", 1), ("c", 4)]), ["b ->2"], "it had been forgotten");
    }
}

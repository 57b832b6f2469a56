//! Step reports: what the execution of one choice did.

use crate::choice::Choice;
use crate::clients::ClientEvent;
use misrule_models::{Key, NodeId};

/// What one step did, in buffers that are reused.
#[derive(Clone, Debug)]
pub struct Report {
    /// The choice as it was executed: positions resolved, kinds filled in.
    pub choice: Choice,
    /// Whether it was executed.
    pub effect: Effect,
    /// The keys that the lenses made of the state after the step.
    pub keys: Vec<Key>,
    /// Links onto which the step put messages, in order: sender, receiver, and the position there, counted from 1.
    pub pushed: Vec<(NodeId, NodeId, u16)>,
    /// The first oracle that failed.
    pub failure: Option<Failure>,
    /// The `always` property that the model's own state breaks, whatever other oracle failed first.
    pub model_property: Option<&'static str>,
    /// What to tell people and to hash; only where the watch asks for it.
    pub trace: Option<TraceStep>,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            choice: Choice::Restart { node: 0 },
            effect: Effect::Applied,
            keys: Vec::new(),
            pushed: Vec::new(),
            failure: None,
            model_property: None,
            trace: None,
        }
    }
}

/// Whether a choice was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It was.
    Applied,
    /// It cannot apply now; the world is unchanged. The text says why.
    Skipped(&'static str),
    /// Another message stands at the slot than the guard names; the world is unchanged.
    Drift {
        /// The kind that stands there.
        found: u8,
    },
}

/// A failed oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which oracle: `panic`, `unknown-receiver`, `step-budget`, `boot`, `model`, `conformance`, or an
    /// oracle of the target.
    pub oracle: &'static str,
    /// What it found violated, in kebab case.
    pub property: String,
    /// Normalised detail that tells two findings of one property apart, such as a panic's place; part of the
    /// fingerprint, so never a value of the run.
    pub detail: String,
    /// For people; may hold values.
    pub message: String,
}

impl Failure {
    /// A failure without normalised detail.
    pub fn new(oracle: &'static str, property: impl Into<String>, message: impl Into<String>) -> Self {
        Self { oracle, property: property.into(), detail: String::new(), message: message.into() }
    }
}

/// What is recorded of a step for people, pages and the trace hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceStep {
    /// The node that the step was about.
    pub node: Option<NodeId>,
    /// Input, sends, disk operations, draws and what clients see, a line each.
    pub effects: Vec<String>,
    /// What clients did and saw; the effects tell it too, and only those are hashed.
    pub clients: Vec<ClientEvent>,
    /// Fields of the node's view that changed.
    pub changes: Vec<Change>,
    /// Fields of the model's state that changed; not part of the trace hash, since the model may be off.
    pub model: Vec<Change>,
    /// Lines that the target itself logged; not part of the trace hash.
    pub log: Vec<String>,
}

/// A field that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The field.
    pub field: String,
    /// Before; empty when it was not there.
    pub before: String,
    /// After.
    pub after: String,
}

/// What an execution computes besides running the target. Oracles of the target always run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches, each read alone")]
pub struct Watch {
    /// Lenses make keys.
    pub keys: bool,
    /// The model follows. Lenses at `@model` need it.
    pub model: bool,
    /// The model's state is compared with the implementation's after each step.
    pub conformance: bool,
    /// Steps are told in [`Report::trace`].
    pub trace: bool,
}

//! What judges the steps of a system: oracles, mapping, model and lenses of a target.

use crate::choice::Choice;
use crate::clients::ClientEvent;
use crate::disk::DiskOperation;
use crate::links::Links;
use crate::menu::Menu;
use crate::recovery::Recovers;
use crate::report::{Report, Watch};
use crate::search::Search;
use crate::system::{Input, System};
use misrule_models::{NodeId, Outcomes};
use std::any::Any;
use std::fmt::Display;

/// One step as a judge sees it.
pub struct Seen<'a, S: System> {
    /// The system.
    pub system: &'a S,
    /// What this execution computes.
    pub watch: Watch,
    /// The choice as executed.
    pub choice: Choice,
    /// The node that ran, stopped or started.
    pub node: Option<NodeId>,
    /// What the node was given; only where the watch asks for the model, or for keys and the judge
    /// [reads inputs](Judge::reads_input).
    pub input: Option<&'a Input<S::Message>>,
    /// What the node sent, in order, messages lost on the way included; only where the watch asks for keys or
    /// the model.
    pub sends: &'a [(NodeId, S::Message)],
    /// What clients did and saw, in order.
    pub clients: &'a [ClientEvent],
    /// The node's disk operations in order; only where the watch asks for the model.
    pub operations: &'a [DiskOperation],
    /// The views of all nodes after the step; the view of a stopped node is the last one it had.
    pub views: &'a [S::View],
    /// Bit set of nodes that run.
    pub up: u64,
    /// Whether the node stopped at a crash point in the middle of the step. Its view is the one it had before; what
    /// it sent and did to its disk before the point stands.
    pub died: bool,
    /// Bit set of nodes whose state or waiting messages the step changed.
    pub touched: u64,
    /// All waiting messages.
    pub links: &'a Links<S::Message>,
}

/// Judges the steps of a system.
pub trait Judge<S: System>: 'static {
    /// A new execution: all nodes have started. `seen` tells of no input and touches every node.
    fn reset(&mut self, seen: &Seen<'_, S>, report: &mut Report);

    /// After each step: puts keys and the first failure into `report`.
    fn after(&mut self, seen: &Seen<'_, S>, report: &mut Report);

    /// What is promised once faults have stopped; `None` where nothing is, and then no execution ends in a recovery.
    fn recovers(&self) -> Option<&dyn Recovers<S>> {
        None
    }

    /// Whether keys are made of [`Seen::input`]; the world then keeps a copy of each input where keys are
    /// watched. The model's input is always kept.
    fn reads_input(&self) -> bool {
        true
    }

    /// A copy of what the judge remembers of the execution, for snapshots; `None`, always, where it offers none.
    fn save(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// Takes up what [`save`](Self::save) returned.
    fn load(&mut self, _saved: &dyn Any) {}

    /// Searches the model that it follows with, where there is one; `seen` tells of no step and touches every node.
    fn plan(&self, _seen: &Seen<'_, S>, _menu: &Menu, _search: &mut Search<'_>) {}

    /// What was counted since the judge was made.
    fn tally(&self) -> Tally {
        Tally::default()
    }

    /// Shows the model's state field by field, for traces.
    fn model_fields(&self, _visit: &mut dyn FnMut(&str, &dyn Display)) {}
}

/// What a judge counts over all executions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Outcomes of events.
    pub events: Outcomes,
    /// Steps that the model was asked to follow.
    pub steps_followed: u64,
    /// Steps of those after which the model was in step with the implementation.
    pub steps_walked: u64,
    /// Declared deviations and how often each was used.
    pub deviations: Vec<(&'static str, u64)>,
    /// `sometimes` properties and in how many executions each was seen.
    pub sometimes: Vec<(&'static str, u64)>,
    /// Transitions of the model by name, and how often each was taken; empty where the model does not name them.
    pub transitions: Vec<(&'static str, u64)>,
    /// Oracles that could not decide, and in how many executions: neither pass nor fail.
    pub undecided: Vec<(&'static str, u64)>,
}

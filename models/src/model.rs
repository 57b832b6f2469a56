//! The trait that every model implements.

use std::fmt::{Debug, Display};
use std::hash::Hash;

/// A place in a cluster, counted from 0. Text and pages count from 1.
pub type NodeId = u8;

/// A value that can be shown field by field: states of models, views of nodes.
pub trait Fields {
    /// Calls `visit` with the name and value of each field, always in the same order. Values must not
    /// contain floats, addresses or anything else that differs between two runs.
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display));
}

/// An abstract protocol: a labelled transition system.
///
/// Every model's module has a section "What this model leaves out", and its reachable state count for small
/// bounds is a test.
pub trait Model: 'static {
    /// All variables of the protocol.
    type State: Clone + Eq + Hash + Fields + 'static;
    /// A transition with its parameters. Its `Debug` form is its name on pages and in files.
    type Action: Clone + Eq + Hash + Debug + 'static;

    /// Appends the initial states to `out`.
    fn initial(&self, out: &mut Vec<Self::State>);

    /// Takes `action` in place. A refused action leaves `state` untouched.
    fn step(&self, state: &mut Self::State, action: &Self::Action) -> Step<Self::State>;

    /// Appends the actions enabled in `state`, in a fixed order. Used by the explorer only,
    /// never while an implementation is followed.
    fn enabled(&self, state: &Self::State, out: &mut Vec<Self::Action>);

    /// What must always hold and what should be seen sometimes.
    fn properties(&self) -> &'static [Property<Self>]
    where
        Self: Sized;

    /// The names of the transitions that an implementation can make the model take, so that a campaign can say which
    /// were never taken; empty where the model does not name them. What only the explorer takes is left out.
    fn transitions(&self) -> &'static [&'static str] {
        &[]
    }

    /// The position of `action` among the [`transitions`](Self::transitions); beyond them where it is left out.
    fn transition(&self, _action: &Self::Action) -> usize {
        0
    }
}

/// What became of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<S> {
    /// The state was changed in place.
    Taken,
    /// The action has several outcomes; the state was left as it was.
    Branches(Vec<S>),
    /// The action is not enabled; the state was left as it was.
    Refused(Refusal),
}

/// Names the guard that failed, as a short fixed sentence fragment such as `ballot is older than the promise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Refusal(pub &'static str);

/// A named predicate over states.
pub struct Property<M: Model> {
    /// Kebab-case name, shown to users and part of fingerprints.
    pub name: &'static str,
    /// How the predicate is meant.
    pub kind: Kind,
    /// The predicate.
    pub holds: fn(&M, &M::State) -> bool,
}

/// How a property is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Holds in every reachable state; a state where it does not is a finding.
    Always,
    /// Holds in some reachable state; a campaign that never sees it says so.
    Sometimes,
}

impl Kind {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Sometimes => "sometimes",
        }
    }
}

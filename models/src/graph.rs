//! The state graph of a model: a breadth-first explorer that counts and checks, and the whole graph on
//! petgraph for drawing.
//!
//! The explorer keeps each distinct state once, in a hash map that is looked up and never iterated, and eight
//! bytes of ancestry a state; paths are found again by stepping. Edges are kept only by [`state_graph`].
//!
//! # How things are counted
//! *States* are the distinct reachable ones, the initial ones included. *Transitions* are counted as TLC counts
//! "states generated" and Stateright its `state_count`: one for the way into each initial state, and one for
//! each pair of a state and an enabled action (one for each branch of the action), whether or not the state
//! reached is new, self-loops included. *Edges* are the transitions without the ways into initial states.
//! *Depth* is the number of actions on the longest shortest path.

mod dot;
mod search;

pub use dot::to_dot;

use crate::{Kind, Model, ModelError, Property};
use petgraph::graph::{DiGraph, NodeIndex};
use search::{Search, Visitor};

/// Replaces a state by the representative of the states symmetric to it. Symmetric states must have the same
/// properties and symmetric successors, and equal representatives.
pub type Canonical<M> = fn(&M, &mut <M as Model>::State);

/// Where an exploration stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Stop when there is a distinct state beyond this many.
    pub stop_after_states: u32,
    /// Leave out the states that no path of this many actions reaches.
    pub stop_after_depth: u32,
}

impl Default for Limits {
    /// Four million states, any depth.
    fn default() -> Self {
        Self { stop_after_states: 4_000_000, stop_after_depth: u32::MAX }
    }
}

/// Which limit left states out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// [`Limits::stop_after_states`].
    States,
    /// [`Limits::stop_after_depth`].
    Depth,
}

impl Bound {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::States => "states",
            Self::Depth => "depth",
        }
    }
}

/// What an exploration says of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `always`, and it holds in every reachable state.
    Holds,
    /// `always`, and there is a state where it does not hold.
    Violated,
    /// `sometimes`, and there is a state where it holds.
    Seen,
    /// `sometimes`, and it holds in no reachable state.
    NotSeen,
    /// Nothing found, but a bound left states out.
    Undecided,
}

impl Verdict {
    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Violated => "violated",
            Self::Seen => "seen",
            Self::NotSeen => "not-seen",
            Self::Undecided => "undecided",
        }
    }
}

/// A property and what became of it. `A` is the model's action, or text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked<A> {
    /// The property's name.
    pub name: &'static str,
    /// How it is meant.
    pub kind: Kind,
    /// What the exploration says.
    pub verdict: Verdict,
    /// The shortest path to the violation, or to the state that was to be seen; empty where there is none and
    /// where the initial state is the one.
    pub path: Vec<A>,
}

/// The result of [`explore`]. The counts are of what lies within the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exploration<A> {
    /// Initial states.
    pub initial: u64,
    /// Distinct states.
    pub states: u64,
    /// Transitions to them as TLC counts, self-loops and the ways into initial states included.
    pub transitions: u64,
    /// Length of the longest shortest path.
    pub depth: u32,
    /// The limit that left states out, if one did.
    pub bound: Option<Bound>,
    /// The properties in the order of the model.
    pub properties: Vec<Checked<A>>,
}

impl<A> Exploration<A> {
    /// Transitions from one of the states to another or itself: what a [`StateGraph`] has as edges.
    pub fn edges(&self) -> u64 {
        self.transitions - self.initial
    }
}

/// Explores `model` breadth first. A violation does not stop it: the counts are complete and every property
/// gets its verdict. With `canonical`, symmetric states count once; the paths are still paths of the model.
///
/// # Errors
/// [`ModelError::EnabledRefused`], [`ModelError::PathLost`].
pub fn explore<M: Model>(
    model: &M,
    limits: Limits,
    canonical: Option<Canonical<M>>,
) -> Result<Exploration<M::Action>, ModelError> {
    let properties = model.properties();
    let mut counter = Counter { model, properties, found: vec![None; properties.len()], edges: 0 };
    let mut search = Search::new(model, canonical);
    let reached = search.run(limits, &mut counter)?;
    let mut checked = Vec::with_capacity(properties.len());
    for (property, found) in properties.iter().zip(&counter.found) {
        let verdict = match (property.kind, found, reached.bound) {
            (Kind::Always, Some(_), _) => Verdict::Violated,
            (Kind::Sometimes, Some(_), _) => Verdict::Seen,
            (_, None, Some(_)) => Verdict::Undecided,
            (Kind::Always, None, None) => Verdict::Holds,
            (Kind::Sometimes, None, None) => Verdict::NotSeen,
        };
        let path = found.map_or(Ok(Vec::new()), |id| search.path_to(id))?;
        checked.push(Checked { name: property.name, kind: property.kind, verdict, path });
    }
    Ok(Exploration {
        initial: u64::from(reached.initial),
        states: search.states() as u64,
        transitions: u64::from(reached.initial) + counter.edges,
        depth: reached.depth,
        bound: reached.bound,
        properties: checked,
    })
}

/// Counts edges and looks for the first state that decides each property.
struct Counter<'a, M: Model> {
    model: &'a M,
    properties: &'static [Property<M>],
    found: Vec<Option<u32>>,
    edges: u64,
}

impl<M: Model> Visitor<M> for Counter<'_, M> {
    fn state(&mut self, id: u32, state: &M::State) {
        for (property, found) in self.properties.iter().zip(&mut self.found) {
            if found.is_none() && (property.holds)(self.model, state) == (property.kind == Kind::Sometimes) {
                *found = Some(id);
            }
        }
    }
    fn transition(&mut self, _from: u32, _action: &M::Action, _to: u32) {
        self.edges += 1;
    }
}

/// A model's states and transitions in full. Nodes are in the order of the breadth-first search.
pub struct StateGraph<M: Model> {
    /// The graph.
    pub graph: DiGraph<M::State, M::Action>,
    /// The first nodes, this many, are the initial states.
    pub initial: u32,
}

/// Builds the graph of `model`, edges included.
///
/// # Errors
/// [`ModelError::TooManyStates`] when there are more than `states_max`; [`ModelError::EnabledRefused`].
pub fn state_graph<M: Model>(model: &M, states_max: u32) -> Result<StateGraph<M>, ModelError> {
    let mut builder = Builder::<M>(DiGraph::new());
    let limits = Limits { stop_after_states: states_max, stop_after_depth: u32::MAX };
    let reached = Search::new(model, None).run(limits, &mut builder)?;
    if reached.bound.is_some() {
        return Err(ModelError::TooManyStates { limit: states_max });
    }
    Ok(StateGraph { graph: builder.0, initial: reached.initial })
}

struct Builder<M: Model>(DiGraph<M::State, M::Action>);

impl<M: Model> Visitor<M> for Builder<M> {
    fn state(&mut self, _id: u32, state: &M::State) {
        self.0.add_node(state.clone());
    }
    fn transition(&mut self, from: u32, action: &M::Action, to: u32) {
        self.0.add_edge(NodeIndex::new(from as usize), NodeIndex::new(to as usize), action.clone());
    }
}

#[cfg(test)]
mod tests;

//! Abstract models of protocols, the lenses that say how finely their states are told apart, and the
//! explorer of their state graphs. A model knows nothing of the simulated world.
//!
//! What lives where: [`Model`] is the trait; [`Lens`] and [`Key`] are the granularity; [`Walk`] follows an
//! implementation through a model and counts the six outcomes; [`explore`] counts and checks all states of a
//! model; [`registry`] has the models by name.
//!
//! Two nodes that pass a token, explored and followed:
//!
//! ```
//! use misrule_models::*;
//!
//! struct TwoNodes;
//!
//! /// Who holds the token; nobody while it is on its way.
//! #[derive(Clone, PartialEq, Eq, Hash)]
//! struct Holder(Option<NodeId>, NodeId);
//!
//! #[derive(Clone, PartialEq, Eq, Hash, Debug)]
//! enum Action { Send(NodeId), Receive(NodeId) }
//!
//! impl Fields for Holder {
//!     fn fields(&self, visit: &mut dyn FnMut(&str, &dyn std::fmt::Display)) {
//!         visit("held", &self.0.is_some());
//!         visit("node", &self.1);
//!     }
//! }
//!
//! impl Model for TwoNodes {
//!     type State = Holder;
//!     type Action = Action;
//!     fn initial(&self, out: &mut Vec<Holder>) {
//!         out.push(Holder(Some(0), 0));
//!     }
//!     fn step(&self, state: &mut Holder, action: &Action) -> Step<Holder> {
//!         match *action {
//!             Action::Send(node) if state.0 == Some(node) => *state = Holder(None, 1 - node),
//!             Action::Receive(node) if *state == Holder(None, node) => state.0 = Some(node),
//!             Action::Send(_) => return Step::Refused(Refusal("the node has no token to send")),
//!             Action::Receive(_) => return Step::Refused(Refusal("no token is on its way there")),
//!         }
//!         Step::Taken
//!     }
//!     fn enabled(&self, state: &Holder, out: &mut Vec<Action>) {
//!         out.push(if state.0.is_some() { Action::Send(state.1) } else { Action::Receive(state.1) });
//!     }
//!     fn properties(&self) -> &'static [Property<Self>] {
//!         &[Property { name: "second-has-it", kind: Kind::Sometimes, holds: |_, state| state.0 == Some(1) }]
//!     }
//! }
//!
//! let found = explore(&TwoNodes, Limits::default(), None)?;
//! assert_eq!((found.states, found.edges(), found.depth), (4, 4, 3));
//! assert_eq!(found.properties[0].path, [Action::Send(0), Action::Receive(1)]);
//!
//! let mut walk = Walk::new(TwoNodes);
//! assert_eq!(walk.follow(&Event::Action(Action::Send(0))), Walked::Followed);
//! let refused = walk.follow(&Event::Action(Action::Send(0)));
//! assert_eq!(refused, Walked::Refused(Refusal("the node has no token to send")));
//! # Ok::<(), ModelError>(())
//! ```

mod error;
#[cfg(test)]
mod fixtures;
mod graph;
mod key;
mod lens;
mod log;
mod model;
pub mod presets;
pub mod raft;
pub mod registry;
pub mod sequence_paxos;
pub mod two_phase_commit;
mod walk;

pub use error::ModelError;
pub use graph::{
    Bound, Canonical, Checked, Exploration, Limits, StateGraph, Verdict, explore, state_graph, to_dot,
};
pub use key::{FacetId, Key, KeyWriter, StableHasher, relation, stable_hash};
pub use lens::{Lens, LensSet, ProjectionLenses};
pub use log::Log;
pub use model::{Fields, Kind, Model, NodeId, Property, Refusal, Step};
pub use presets::{LogRelation, Replica, Replicas};
pub use walk::{Event, Outcome, Outcomes, Position, Walk, Walked};

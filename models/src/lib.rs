//! Abstract models of protocols, the lenses that say how finely their states are told apart, and the
//! explorer of their state graphs. A model knows nothing of the simulated world.
//!
//! What lives where: [`Model`] is the trait; [`Lens`] and [`Key`] are the granularity; [`Walk`] follows an
//! implementation through a model and counts the six outcomes.

mod key;
mod lens;
mod model;
pub mod presets;
pub mod sequence_paxos;
mod walk;

pub use key::{Key, KeyWriter, StableHasher, relation, stable_hash};
pub use lens::{Lens, LensSet};
pub use model::{Fields, Kind, Model, NodeId, Property, Refusal, Step};
pub use presets::{LogRelation, Replica, Replicas};
pub use walk::{Event, Outcome, Outcomes, Walk, Walked};

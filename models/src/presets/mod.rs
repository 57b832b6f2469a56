//! The lens presets that every protocol ships, over small traits that a model's state and a projection of an
//! implementation both implement, so that `pairs@model` and `pairs@impl` are the same code.

mod delivery;
mod facets;
mod pairs;
mod waiting;
mod whole;

pub use delivery::{Delivered, Delivery, LastDelivery};
pub use facets::{FACETS, Facets};
pub use pairs::{LogRelation, Pairs, Replica, Replicas};
pub use waiting::{Inbox, Waiting, WaitingMessage, WaitingSet};
pub use whole::{Detail, Whole};

//! What comes out of a call that did not just return, as a failed oracle.

use crate::budget::Budget;
use crate::panics::{self, Unwound};
use crate::report::Failure;
use crate::system::BootError;
use misrule_models::NodeId;

/// What is wrong with a call into a node that did not return well.
#[cold]
pub(super) fn failure(unwound: Unwound, node: NodeId) -> Failure {
    match unwound {
        Unwound::Panicked(place) => panic_failure(place),
        Unwound::Thrown(payload) => thrown_failure(&*payload, node),
    }
}

pub(super) fn panic_failure(place: panics::Place) -> Failure {
    Failure {
        oracle: "panic",
        property: "no-panic".to_owned(),
        message: format!("panicked at {}: {}", place.place, place.message),
        detail: place.place,
    }
}

fn thrown_failure(payload: &(dyn std::any::Any + Send), node: NodeId) -> Failure {
    if let Some(BootError(why)) = payload.downcast_ref() {
        let text = format!("node {} did not start: {why}", node + 1);
        return Failure::new("boot", "node-starts", text);
    }
    match payload.downcast_ref::<Budget>() {
        Some(budget) => {
            let text = format!("node {} exceeded its budget in one step", node + 1);
            Failure::new("step-budget", budget.property(), text)
        }
        None => Failure::new("panic", "no-panic", "the target unwound without a panic"),
    }
}

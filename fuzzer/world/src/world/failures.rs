//! What comes out of a call that did not just return, as a failed oracle.

use crate::budget::Budget;
use crate::panics::{self, Guarded};
use crate::report::Failure;
use crate::system::BootError;
use misrule_models::NodeId;

/// What is wrong with a call into a node that did not return well.
#[cold]
pub(super) fn failure(result: Guarded<Result<(), BootError>>, node: NodeId) -> Option<Failure> {
    match result {
        Guarded::Returned(Ok(())) => None,
        Guarded::Returned(Err(error)) => {
            let text = format!("node {} did not start: {}", node + 1, error.0);
            Some(Failure::new("boot", "node-starts", text))
        }
        Guarded::Panicked(place) => Some(panic_failure(place)),
        Guarded::Unwound(payload) => Some(unwound_failure(&*payload, node)),
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

pub(super) fn unwound_failure(payload: &(dyn std::any::Any + Send), node: NodeId) -> Failure {
    match payload.downcast_ref::<Budget>() {
        Some(budget) => {
            let text = format!("node {} exceeded its budget in one step", node + 1);
            Failure::new("step-budget", budget.property(), text)
        }
        None => Failure::new("panic", "no-panic", "the target unwound without a panic"),
    }
}

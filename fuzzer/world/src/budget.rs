//! Step budgets: a target that loops over messages or disk operations inside one step is unwound and
//! becomes a finding. A loop that calls nothing of ours cannot be stopped from inside the process.

use std::panic::resume_unwind;

/// Which budget a step exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    Sends,
    DiskOperations,
    DiskBytes,
}

impl Budget {
    pub(crate) fn property(self) -> &'static str {
        match self {
            Self::Sends => "sends-per-step",
            Self::DiskOperations => "disk-operations-per-step",
            Self::DiskBytes => "disk-bytes-per-node",
        }
    }
}

/// Unwinds out of the target without running the panic hook; the world turns it into a failure.
pub(crate) fn exceed(budget: Budget) -> ! {
    resume_unwind(Box::new(budget))
}

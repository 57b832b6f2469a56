//! The observer: carries what the executor saw to the feedbacks.

use crate::observed::Observed;
use libafl::observers::Observer;
use libafl_bolts::Named;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Holds the last execution. It is never serialised with content: this engine runs in one process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunObserver {
    #[serde(skip)]
    pub(crate) observed: Observed,
}

impl Named for RunObserver {
    fn name(&self) -> &Cow<'static, str> {
        &Cow::Borrowed("run")
    }
}

impl<I, S> Observer<I, S> for RunObserver {}

//! What can go wrong when models are looked up and explored.

use crate::Refusal;

/// Why a model could not be checked or drawn. A violated property is no error but a
/// [`Verdict`](crate::Verdict).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No model has this name; nothing was explored.
    #[error("no model is called `{name}`; there are: {known}")]
    UnknownModel {
        /// The name asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// The model exists but not at this size; nothing was explored.
    #[error("model `{model}` has sizes {min} to {max} ({meaning}), not {size}")]
    SizeOutOfRange {
        /// The model.
        model: &'static str,
        /// The size asked for.
        size: u8,
        /// The smallest size.
        min: u8,
        /// The largest size.
        max: u8,
        /// What a size counts.
        meaning: &'static str,
    },
    /// The model names no representative of symmetric states; nothing was explored. Check it without.
    #[error("model `{model}` has no symmetry to make use of; check it without")]
    NoSymmetry {
        /// The model.
        model: &'static str,
    },
    /// The graph is larger than the caller wants it; the part built so far is dropped.
    #[error("the graph has more than {limit} states; take a smaller size or raise the limit")]
    TooManyStates {
        /// The limit given.
        limit: u32,
    },
    /// The model lists an action as enabled and then refuses it: an error of the model. The exploration
    /// stopped, its counts would mean nothing.
    #[error("the model lists {action} as enabled and refuses it ({}): its `enabled` and `step` differ", refusal.0)]
    EnabledRefused {
        /// The action, as its `Debug` form.
        action: String,
        /// What `step` said.
        refusal: Refusal,
    },
    /// A state was reached and the way to it cannot be found again: an error of the model. The verdicts would
    /// have no evidence, so there are none.
    #[error(
        "the way to a state cannot be found again: the model steps differently the second time (look for the \
         iteration of a hash map), or its symmetry is none"
    )]
    PathLost,
}

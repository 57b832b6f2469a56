//! What a run tells of its lenses: recorded in the run's folder, read again, and judged.

pub(crate) mod record;
pub(crate) mod verdict;

//! Fingerprints: when two failures are the same finding.

use misrule_world::Failure;
use serde::{Deserialize, Serialize};
use std::fmt;
use xxhash_rust::xxh3::Xxh3;

/// Oracle, property and normalised detail of a failure, hashed. Two failures with one fingerprint are one
/// finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// The fingerprint of a failure.
    pub fn of(failure: &Failure) -> Self {
        let mut hash = Xxh3::new();
        for part in [failure.oracle, &failure.property, &failure.detail] {
            hash.update(part.as_bytes());
            hash.update(b"\n");
        }
        Self(hash.digest())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

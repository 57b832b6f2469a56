//! The target as a whole: determinism, controls that stay silent, and findings that a random driver makes.

mod driver;

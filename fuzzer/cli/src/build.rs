//! What was built.

use misrule_engine::LIBAFL_VERSION;
use misrule_world::text::FORMAT;
use std::sync::LazyLock;

/// The commit that was built, or `unknown`.
pub(crate) const COMMIT: &str = env!("MISRULE_COMMIT");

/// Version of this crate and commit: `0.1.0 (1a2b3c4d5e6f)`.
pub(crate) fn version() -> String {
    format!("{} ({COMMIT})", env!("CARGO_PKG_VERSION"))
}

/// What `--version` says behind the name.
pub(crate) static LONG: LazyLock<String> = LazyLock::new(|| {
    format!("{} ({COMMIT}, libafl {LIBAFL_VERSION}, schedule format {FORMAT})", env!("CARGO_PKG_VERSION"))
});

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_of_libafl_is_the_pinned_one() {
        let pinned = format!("libafl = {{ version = \"={}\"", misrule_engine::LIBAFL_VERSION);
        assert!(include_str!("../../../Cargo.toml").contains(&pinned));
    }
}

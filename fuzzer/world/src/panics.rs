//! Panics inside a target: caught, kept silent, and told by their place.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<Place>> = const { RefCell::new(None) };
}

/// Where and why a target panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `crate/src/file.rs:line`, without machine, registry or version.
    pub(crate) place: String,
    /// The panic's message.
    pub(crate) message: String,
}

/// Why a guarded call did not return.
#[derive(Debug)]
pub(crate) enum Unwound {
    Panicked(Place),
    /// Unwound without the panic hook, with a value of its own.
    Thrown(Box<dyn Any + Send>),
}

impl Unwound {
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "a result is moved at every step, and is this hardly ever"
    )]
    #[cold]
    pub(crate) fn thrown(payload: impl Any + Send) -> Box<Self> {
        Box::new(Self::Thrown(Box::new(payload)))
    }
}

/// Runs `call`; a panic in it prints nothing and is returned, boxed, since results are moved at every step.
#[inline]
pub(crate) fn guard<R>(call: impl FnOnce() -> R) -> Result<R, Box<Unwound>> {
    INSIDE.set(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    INSIDE.set(false);
    result.map_err(unwound)
}

#[expect(
    clippy::unnecessary_box_returns,
    reason = "a result is moved at every step, and is this hardly ever"
)]
#[cold]
fn unwound(payload: Box<dyn Any + Send>) -> Box<Unwound> {
    Box::new(LAST.take().map_or(Unwound::Thrown(payload), Unwound::Panicked))
}

/// Installs the hook that records panics of targets, once a process; other panics go to the hook before.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !INSIDE.get() {
                return previous(info);
            }
            let place = info.location().map_or_else(
                || "unknown".to_owned(),
                |at| format!("{}:{}", normalised(at.file()), at.line()),
            );
            let message = info.payload_as_str().unwrap_or("no message").to_owned();
            LAST.set(Some(Place { place, message }));
        }));
    });
}

/// The path from the crate's folder on, the version cut from a registry folder's name.
fn normalised(file: &str) -> String {
    let file = file.replace('\\', "/");
    let parts: Vec<&str> = file.split('/').collect();
    let Some(src) = parts.iter().rposition(|part| matches!(*part, "src" | "tests" | "examples" | "benches"))
    else {
        return parts.last().copied().unwrap_or_default().to_owned();
    };
    if src == 0 {
        return file;
    }
    let name = match parts[src - 1].rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => parts[src - 1],
    };
    format!("{name}/{}", parts[src..].join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Unwound, guard, install, normalised};

    #[test]
    fn paths_lose_machine_and_version() {
        let path = "/home/x/.cargo/registry/src/index.crates.io-1949/omnipaxos-0.2.4/src/storage/mod.rs";
        assert_eq!(normalised(path), "omnipaxos/src/storage/mod.rs");
        assert_eq!(normalised("adapters/two-phase-commit/src/lib.rs"), "two-phase-commit/src/lib.rs");
        assert_eq!(normalised("src/lib.rs"), "src/lib.rs");
    }

    #[test]
    fn a_panic_is_caught_with_its_place() {
        install();
        let Unwound::Panicked(place) = *guard(|| panic!("value {}", 7)).unwrap_err() else {
            panic!("no place")
        };
        assert!(place.place.starts_with("world/src/panics.rs:"), "{}", place.place);
        assert_eq!(place.message, "value 7");
        assert!(matches!(guard(|| 3), Ok(3)));
    }
}

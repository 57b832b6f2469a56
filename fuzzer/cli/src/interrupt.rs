//! Ctrl-C: once to finish and save, twice to stop at once.

use crate::exit::INTERRUPTED;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Listens for Ctrl-C and termination from now on.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without a handler Ctrl-C stops at once: nothing that was saved is lost.
        let _ = ctrlc::set_handler(|| {
            if REQUESTED.swap(true, Ordering::SeqCst) {
                std::process::exit(i32::from(INTERRUPTED));
            }
        });
    });
}

/// Whether to finish and save.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

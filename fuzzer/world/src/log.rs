//! The target's own log lines, collected while a trace is recorded.

use std::cell::RefCell;
use std::fmt;

thread_local! {
    static LINES: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Whether log lines are wanted now; adapters that format expensively ask first.
pub fn wanted() -> bool {
    LINES.with(|lines| lines.borrow().is_some())
}

/// Records one line of the target's log, if a trace is being recorded; otherwise formats nothing.
pub fn line(text: fmt::Arguments<'_>) {
    LINES.with(|lines| {
        if let Some(lines) = lines.borrow_mut().as_mut() {
            lines.push(text.to_string());
        }
    });
}

pub(crate) fn start() {
    LINES.set(Some(Vec::new()));
}

pub(crate) fn take() -> Vec<String> {
    LINES.take().unwrap_or_default()
}

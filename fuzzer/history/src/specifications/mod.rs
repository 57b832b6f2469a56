//! The specifications that come with misrule, one file each, and their names.

mod cell;
mod log;
mod queue;

pub use cell::{Cell, CellCall};
pub use log::{AppendLog, LogCall};
pub use queue::{Queue, QueueCall};

use crate::{Checked, History, Limits, Misfit, Order, check};

/// A specification by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// [`Cell::register`].
    Register,
    /// [`Cell::cas_register`].
    CasRegister,
    /// [`Cell::key_value`].
    KeyValue,
    /// [`Queue`].
    Queue,
    /// [`AppendLog`].
    Log,
}

impl Named {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Register, Self::CasRegister, Self::KeyValue, Self::Queue, Self::Log];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::CasRegister => "cas-register",
            Self::KeyValue => "kv",
            Self::Queue => "queue",
            Self::Log => "log",
        }
    }

    /// The specification of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|named| named.name() == name)
    }

    /// Checks a history; see [`check`].
    ///
    /// # Errors
    /// When an operation does not exist in this specification.
    pub fn check(self, history: &History, order: Order, limits: Limits<'_>) -> Result<Checked, Misfit> {
        match self {
            Self::Register => check(&Cell::register(), history, order, limits),
            Self::CasRegister => check(&Cell::cas_register(), history, order, limits),
            Self::KeyValue => check(&Cell::key_value(), history, order, limits),
            Self::Queue => check(&Queue, history, order, limits),
            Self::Log => check(&AppendLog, history, order, limits),
        }
    }
}

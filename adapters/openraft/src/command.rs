//! What clients ask for, as it stands in entries.

use misrule_world::{Answer, Call, Keyed};
use std::fmt;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sets a key to a value.
    Put,
    /// Sets a key to a value if it has another one.
    Cas,
}

/// A command of a client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub action: Action,
    /// Its argument, a [`Keyed`].
    pub argument: u32,
    /// The call that waits for its answer.
    pub call: Option<Call>,
}

impl Command {
    /// The command as a word of a record: its call, action and argument.
    pub(crate) fn word(self) -> [u64; 2] {
        let call = self.call.map_or(0, |call| u64::from(call.session()) << 32 | u64::from(call.number()));
        [u64::from(self.action == Action::Cas) << 32 | u64::from(self.argument), call]
    }

    /// The command of such words.
    pub(crate) fn of([what, call]: [u64; 2]) -> Self {
        let action = if what >> 32 == 0 { Action::Put } else { Action::Cas };
        Self { action, argument: what as u32, call: Call::new((call >> 32) as u8, call as u32) }
    }

    /// What its client hears where it `took` effect.
    pub(crate) fn answer(self, took: bool) -> Answer {
        if self.action == Action::Put { Answer::Nothing } else { Answer::Bool(took) }
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Keyed { key, from, value } = Keyed::of(self.argument);
        match self.action {
            Action::Put => write!(f, "k{key}={value}")?,
            Action::Cas => write!(f, "k{key}={from}->{value}")?,
        }
        self.call.map_or(Ok(()), |call| write!(f, "({call})"))
    }
}

//! What clients ask for, as it stands in entries.

use misrule_world::{Call, Keyed};
use raft::eraftpb::{Entry, EntryType};
use std::fmt;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Action {
    /// Sets a key to a value.
    Put,
    /// Sets a key to a value if it has another one.
    Cas,
}

/// A command of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub action: Action,
    /// Its argument, a [`Keyed`].
    pub argument: u32,
    /// The call that waits for its answer.
    pub call: Option<Call>,
}

/// Bytes of a command in an entry.
const BYTES: usize = 9;

impl Command {
    /// The command of an entry; `None` for an entry of the crate's own and for a change of the configuration.
    pub fn of(entry: &Entry) -> Option<Self> {
        let bytes: &[u8; BYTES] = entry.data[..].try_into().ok()?;
        if entry.entry_type != EntryType::EntryNormal {
            return None;
        }
        let [action, a, b, c, d, rest @ ..] = *bytes;
        let call = u32::from_le_bytes(rest);
        Some(Self {
            action: if action == Action::Put as u8 { Action::Put } else { Action::Cas },
            argument: u32::from_le_bytes([a, b, c, d]),
            call: Call::new((call >> 24) as u8, call & Call::NUMBER_MAX),
        })
    }

    /// The bytes of the command.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.push(self.action as u8);
        bytes.extend_from_slice(&self.argument.to_le_bytes());
        bytes.extend_from_slice(&self.call.map_or(0, call_number).to_le_bytes());
        bytes
    }
}

/// A call as one number: session and number.
pub(crate) fn call_number(call: Call) -> u32 {
    u32::from(call.session()) << 24 | call.number()
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Keyed { key, from, value } = Keyed::of(self.argument);
        match self.action {
            Action::Put => write!(f, "k{key}={value}")?,
            Action::Cas => write!(f, "k{key}={from}->{value}")?,
        }
        self.call.map_or(Ok(()), |call| write!(f, "({call})"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Command};
    use misrule_world::Call;
    use raft::eraftpb::Entry;

    #[test]
    fn commands_read_back() {
        for (action, call) in [(Action::Put, Call::new(3, 77)), (Action::Cas, None)] {
            let command = Command { action, argument: 0x0102_0304, call };
            let entry = Entry { data: command.bytes().into(), ..Entry::default() };
            assert_eq!(Command::of(&entry), Some(command));
        }
        assert_eq!(Command::of(&Entry::default()), None);
    }
}

//! What commands have made: keys with values, and what each session was answered last.

use crate::command::{Action, Command};
use misrule_world::{Answer, Call, Keyed, mix};

/// Keys and sessions that there is room for.
pub(crate) const KEYS_MAX: usize = 16;
pub(crate) const SESSIONS_MAX: usize = 8;

/// Bytes of a copy, for a snapshot.
pub(crate) const BYTES: usize = 8 + 4 + 2 * KEYS_MAX + 4 * SESSIONS_MAX;

/// The state after some commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    /// A running hash of all commands.
    hash: u64,
    /// The number of the last call that took effect.
    pub(crate) called: u32,
    keys: [u16; KEYS_MAX],
    /// For each session the number of its last call, and whether that had an effect.
    sessions: [(u32, bool); SESSIONS_MAX],
}

impl Registers {
    /// Executes a command, unless it is a call that was executed before. Returns what its client hears; `None` where a
    /// later call of the session was executed, since nobody waits for that answer any more.
    pub(crate) fn apply(&mut self, command: Command) -> Option<Answer> {
        let [what, call] = command.word();
        self.hash = mix(mix(self.hash ^ what) ^ call);
        if let Some(call) = command.call
            && call.number() <= self.session(call).0
        {
            return self.answered(call, command);
        }
        let took = self.execute(command);
        if let Some(call) = command.call {
            self.called = self.called.max(call.number());
            self.sessions[usize::from(call.session()) % SESSIONS_MAX] = (call.number(), took);
        }
        Some(command.answer(took))
    }

    fn execute(&mut self, command: Command) -> bool {
        let Keyed { key, from, value } = Keyed::of(command.argument);
        let place = &mut self.keys[usize::from(key) % KEYS_MAX];
        let takes = command.action == Action::Put || *place == from;
        if takes {
            *place = value;
        }
        takes
    }

    fn session(&self, call: Call) -> (u32, bool) {
        self.sessions[usize::from(call.session()) % SESSIONS_MAX]
    }

    /// The answer to a call that has taken effect here, if it is the last one of its session.
    pub(crate) fn answered(&self, call: Call, command: Command) -> Option<Answer> {
        let (number, took) = self.session(call);
        (number == call.number()).then(|| command.answer(took))
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: u8) -> Answer {
        match self.keys[usize::from(key) % KEYS_MAX] {
            0 => Answer::Nothing,
            value => Answer::Number(u32::from(value)),
        }
    }

    /// A copy as bytes, [`BYTES`] of them.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(&self.hash.to_le_bytes());
        bytes.extend_from_slice(&self.called.to_le_bytes());
        self.keys.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        for (number, took) in self.sessions {
            bytes.extend_from_slice(&(number << 1 | u32::from(took)).to_le_bytes());
        }
        bytes
    }

    /// The copy that such bytes are; `None` where they are none.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let hash = u64::from_le_bytes(*take(&mut rest)?);
        let called = u32::from_le_bytes(*take(&mut rest)?);
        let mut copy = Self { hash, called, ..Self::default() };
        for value in &mut copy.keys {
            *value = u16::from_le_bytes(*take(&mut rest)?);
        }
        for session in &mut copy.sessions {
            let packed = u32::from_le_bytes(*take(&mut rest)?);
            *session = (packed >> 1, packed & 1 == 1);
        }
        rest.is_empty().then_some(copy)
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::{BYTES, Registers};
    use crate::command::{Action, Command};
    use misrule_world::{Answer, Call, Keyed};

    fn command(action: Action, from: u16, value: u16, call: Option<Call>) -> Command {
        Command { action, argument: Keyed { key: 1, from, value }.argument(), call }
    }

    #[test]
    fn a_call_takes_effect_once_and_copies_keep_that() {
        let (one, two, three) = (Call::new(0, 1), Call::new(1, 2), Call::new(1, 3));
        let mut registers = Registers::default();
        let rows = [
            (command(Action::Put, 0, 7, one), Some(Answer::Nothing), 7),
            (command(Action::Cas, 7, 8, two), Some(Answer::Bool(true)), 8),
            (command(Action::Put, 0, 7, one), Some(Answer::Nothing), 8),
            (command(Action::Cas, 7, 8, two), Some(Answer::Bool(true)), 8),
            (command(Action::Cas, 7, 9, three), Some(Answer::Bool(false)), 8),
            (command(Action::Cas, 7, 8, two), None, 8),
            (command(Action::Put, 0, 5, None), Some(Answer::Nothing), 5),
        ];
        for (command, answer, value) in rows {
            let before = registers;
            assert_eq!(registers.apply(command), answer, "{command:?}");
            assert_eq!(registers.get(1), Answer::Number(value), "{command:?}");
            assert_ne!(registers, before, "the hash tells every command");
            let bytes = registers.bytes();
            assert_eq!((bytes.len(), Registers::read(&bytes)), (BYTES, Some(registers)));
            assert_eq!(Registers::read(&bytes[1..]), None);
        }
        assert_eq!((registers.called, registers.get(0)), (3, Answer::Nothing));
    }

    #[test]
    fn commands_are_read_as_they_were_written() {
        for (action, call) in [(Action::Put, Call::new(3, 77)), (Action::Cas, None)] {
            let command = Command { action, argument: 0x0102_0304, call };
            assert_eq!(Command::of(command.word()), command);
        }
    }
}

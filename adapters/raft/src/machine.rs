//! The state machine of a node: keys and values, and what each session was answered last.

use crate::command::{Action, Command};
use crate::image::chain;
use crate::record::{Reader, Writer};
use misrule_world::{Answer, Call, Keyed};
use raft::eraftpb::Entry;

/// Keys and sessions that a machine has room for.
pub(crate) const KEYS_MAX: usize = 16;
pub(crate) const SESSIONS_MAX: usize = 8;

/// What entries up to an index have made of an empty machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Index of the last entry that was applied, and the hash of all that were.
    pub(crate) index: u64,
    pub(crate) hash: u64,
    /// The number of the last call that took effect.
    pub(crate) called: u32,
    keys: [u16; KEYS_MAX],
    /// For each session the number of its last call, and whether that had an effect.
    sessions: [(u32, bool); SESSIONS_MAX],
}

impl Machine {
    /// Applies the next entry. A call that comes twice takes effect once.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        self.index = entry.index;
        self.hash = chain(self.hash, entry);
        let Some(command) = Command::of(entry) else { return };
        if let Some(call) = command.call {
            let (number, _) = self.sessions[usize::from(call.session()) % SESSIONS_MAX];
            if call.number() <= number {
                return;
            }
            self.called = self.called.max(call.number());
        }
        let done = self.execute(command);
        if let Some(call) = command.call {
            self.sessions[usize::from(call.session()) % SESSIONS_MAX] = (call.number(), done);
        }
    }

    fn execute(&mut self, command: Command) -> bool {
        let Keyed { key, from, value } = Keyed::of(command.argument);
        let place = &mut self.keys[usize::from(key) % KEYS_MAX];
        let done = command.action == Action::Put || *place == from;
        if done {
            *place = value;
        }
        done
    }

    /// The answer to a call that has taken effect here.
    pub(crate) fn answer(&self, call: Call, action: Action) -> Option<Answer> {
        let (number, done) = self.sessions[usize::from(call.session()) % SESSIONS_MAX];
        let answer = if action == Action::Put { Answer::Nothing } else { Answer::Bool(done) };
        (number == call.number()).then_some(answer)
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: u8) -> Answer {
        match self.keys[usize::from(key) % KEYS_MAX] {
            0 => Answer::Nothing,
            value => Answer::Number(u32::from(value)),
        }
    }

    /// The machine as bytes, for a snapshot.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Writer::default();
        bytes.number(self.index).number(self.hash).number(u64::from(self.called));
        for value in self.keys {
            bytes.number(u64::from(value));
        }
        for (number, done) in self.sessions {
            bytes.number(u64::from(number) << 1 | u64::from(done));
        }
        bytes.bytes().to_vec()
    }

    /// The machine of a snapshot; `None` where the bytes are not one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let (index, hash) = (reader.number()?, reader.number()?);
        let mut machine = Self { index, hash, called: reader.number()? as u32, ..Self::default() };
        for value in &mut machine.keys {
            *value = reader.number()? as u16;
        }
        for session in &mut machine.sessions {
            let packed = reader.number()?;
            *session = ((packed >> 1) as u32, packed & 1 == 1);
        }
        Some(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::Machine;
    use crate::command::{Action, Command};
    use misrule_world::{Answer, Call, Keyed};
    use raft::eraftpb::Entry;

    fn entry(index: u64, action: Action, from: u16, value: u16, call: Option<Call>) -> Entry {
        let argument = Keyed { key: 1, from, value }.argument();
        Entry { index, data: Command { action, argument, call }.bytes().into(), ..Entry::default() }
    }

    #[test]
    fn a_call_takes_effect_once_and_snapshots_keep_that() {
        let (put, cas) = (Call::new(0, 1).unwrap(), Call::new(1, 2).unwrap());
        let mut machine = Machine::default();
        machine.apply(&entry(1, Action::Put, 0, 7, Some(put)));
        machine.apply(&entry(2, Action::Cas, 7, 8, Some(cas)));
        machine.apply(&entry(3, Action::Put, 0, 7, Some(put)));
        assert_eq!(machine.get(1), Answer::Number(8));
        let mut copy = Machine::read(&machine.bytes()).unwrap();
        assert_eq!(copy, machine);
        copy.apply(&entry(4, Action::Cas, 7, 9, Some(cas)));
        assert_eq!(
            (copy.get(1), copy.answer(cas, Action::Cas)),
            (Answer::Number(8), Some(Answer::Bool(true)))
        );
        assert_eq!(copy.answer(put, Action::Put), Some(Answer::Nothing));
        assert_eq!(Machine::read(&machine.bytes()[1..]), None);
    }
}

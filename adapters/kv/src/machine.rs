//! The state machine: keys with values, and for each session of clients the last call that took effect.

use crate::bytes::{Reader, Writer};
use crate::entry::{Entry, KEYS_MAX, Op, SESSIONS_MAX, Value};
use crate::log::Base;
use misrule_world::Call;
use std::cmp::Ordering;

/// What came of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// A value was put.
    #[default]
    Done,
    /// Whether a value stood there as compared, and another one was put.
    Swapped(bool),
    /// The value that was read; `Value(0)` stands for none.
    Found(Value),
}

/// The last call of a session that took effect. A call that comes again is answered from here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Its number; 0 before the first.
    pub number: u32,
    /// What came of it.
    pub outcome: Outcome,
}

/// The state after the entries up to an index: what a snapshot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The last entry that was applied.
    pub at: Base,
    /// The keys.
    pub values: [Value; KEYS_MAX],
    /// The sessions.
    pub sessions: [Session; SESSIONS_MAX],
}

impl Machine {
    /// Applies the next entry; `digest` is that of the log up to it. Returns what came of it, or nothing where
    /// nobody waits for that: a call that its session has left behind has no effect.
    pub fn apply(&mut self, entry: &Entry, digest: u64) -> Option<Outcome> {
        self.at = Base { index: self.at.index + 1, term: entry.term, digest };
        if let Some(call) = entry.call {
            let session = self.sessions.get(usize::from(call.session()))?;
            match call.number().cmp(&session.number) {
                Ordering::Less => return None,
                Ordering::Equal => return Some(session.outcome),
                Ordering::Greater => {}
            }
        }
        let outcome = match entry.op {
            Op::Noop => return None,
            Op::Get(key) => Outcome::Found(*self.values.get(usize::from(key))?),
            Op::Put(key, value) => {
                *self.values.get_mut(usize::from(key))? = value;
                Outcome::Done
            }
            Op::Cas(key, from, to) => {
                let place = self.values.get_mut(usize::from(key))?;
                let fits = *place == from;
                if fits {
                    *place = to;
                }
                Outcome::Swapped(fits)
            }
        };
        if let Some(call) = entry.call {
            self.sessions[usize::from(call.session())] = Session { number: call.number(), outcome };
        }
        Some(outcome)
    }

    /// What came of a call that has taken effect, if it is its session's last.
    pub fn answered(&self, call: Call) -> Option<Outcome> {
        let session = self.sessions.get(usize::from(call.session()))?;
        (session.number == call.number()).then_some(session.outcome)
    }

    /// Writes what is not as it was at the beginning.
    pub(crate) fn write(&self, out: &mut Writer<'_>, size: usize) {
        self.at.write(out);
        let values = || (0..).zip(self.values).filter(|(_, value)| *value != Value::default());
        out.u8(values().count() as u8);
        for (key, value) in values() {
            out.u8(key).value(value, size);
        }
        let sessions = || (0..).zip(self.sessions).filter(|(_, session)| session.number > 0);
        out.u8(sessions().count() as u8);
        for (session, Session { number, outcome }) in sessions() {
            out.u8(session).u32(number);
            match outcome {
                Outcome::Done => out.u8(0).u32(0),
                Outcome::Swapped(swapped) => out.u8(1).u32(u32::from(swapped)),
                Outcome::Found(value) => out.u8(2).u32(value.0),
            };
        }
    }

    /// Reads what [`write`](Self::write) wrote; nothing where it is not that.
    pub(crate) fn read(bytes: &mut Reader<'_>, size: usize) -> Option<Self> {
        let mut machine = Self { at: Base::read(bytes)?, ..Self::default() };
        for _ in 0..bytes.u8()? {
            let key = usize::from(bytes.u8()?);
            *machine.values.get_mut(key)? = bytes.value(size)?;
        }
        for _ in 0..bytes.u8()? {
            let session = machine.sessions.get_mut(usize::from(bytes.u8()?))?;
            session.number = bytes.u32()?;
            session.outcome = match (bytes.u8()?, bytes.u32()?) {
                (0, _) => Outcome::Done,
                (1, swapped) => Outcome::Swapped(swapped != 0),
                (2, value) => Outcome::Found(Value(value)),
                _ => return None,
            };
        }
        Some(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, Outcome};
    use crate::bytes::{Reader, Writer};
    use crate::entry::{Entry, Op, Value};
    use misrule_world::Call;

    fn apply(machine: &mut Machine, session: u8, number: u32, op: Op) -> Option<Outcome> {
        machine.apply(&Entry { term: 1, call: Call::new(session, number), op }, 7)
    }

    #[test]
    fn a_call_takes_effect_once() {
        let mut machine = Machine::default();
        let (one, two) = (Op::Put(1, Value(5)), Op::Cas(1, Value(5), Value(6)));
        assert_eq!(apply(&mut machine, 0, 1, one), Some(Outcome::Done));
        assert_eq!(apply(&mut machine, 1, 2, two), Some(Outcome::Swapped(true)));
        assert_eq!(apply(&mut machine, 1, 2, two), Some(Outcome::Swapped(true)), "as it was then");
        assert_eq!(apply(&mut machine, 0, 1, one), Some(Outcome::Done));
        assert_eq!(machine.values[1], Value(6), "the second time has no effect");
        assert_eq!(apply(&mut machine, 1, 3, two), Some(Outcome::Swapped(false)));
        assert_eq!(apply(&mut machine, 1, 2, Op::Put(1, Value(9))), None, "the session has gone on");
        assert_eq!(apply(&mut machine, 0, 4, Op::Get(1)), Some(Outcome::Found(Value(6))));
        assert_eq!(apply(&mut machine, 0, 0, Op::Noop), None);
        assert_eq!((machine.at.index, machine.at.term, machine.at.digest), (8, 1, 7));
    }

    #[test]
    fn snapshots_read_back() {
        let mut machine = Machine::default();
        for (number, op) in (1..).zip([Op::Put(7, Value(3)), Op::Get(7), Op::Cas(7, Value(3), Value(1))]) {
            apply(&mut machine, number as u8, number, op);
        }
        let mut bytes = Vec::new();
        machine.write(&mut Writer(&mut bytes), 100);
        assert_eq!(Machine::read(&mut Reader(&bytes), 100), Some(machine));
        assert_eq!(Machine::read(&mut Reader(&bytes[..bytes.len() - 1]), 100), None);
    }
}

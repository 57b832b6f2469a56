//! The state machine: keys with values, and for each session of clients the last call that took effect.

use crate::bugs::Bug;
use crate::bytes::{Reader, Writer};
use crate::entry::{Entry, KEYS_MAX, Op, SESSIONS_MAX, Value};
use crate::log::Base;
use crate::ring;
use misrule_history::cycle::rearranged;
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
    /// The ring as a number: four bits for what follows each element, element 0 in the lowest.
    Ring(u32),
    /// A transaction did not happen: what it had read was no longer so.
    Refused,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The last entry that was applied.
    pub at: Base,
    /// The keys.
    pub values: [Value; KEYS_MAX],
    /// The sessions.
    pub sessions: [Session; SESSIONS_MAX],
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            at: Base::default(),
            values: [Value::default(); KEYS_MAX],
            sessions: [Session::default(); SESSIONS_MAX],
        }
    }
}

impl Machine {
    /// The state before all entries, where the first so many keys are a ring: each holds the number of the next.
    pub(crate) fn ring(elements: u8) -> Self {
        let mut machine = Self::default();
        for (element, value) in (0..elements).zip(&mut machine.values) {
            *value = Value(u32::from((element + 1) % elements));
        }
        machine
    }

    /// Applies the next entry; `digest` is that of the log up to it. Returns what came of it, or nothing where
    /// nobody waits for that: a call that its session has left behind has no effect.
    pub fn apply(&mut self, entry: &Entry, digest: u64, bug: Bug) -> Option<Outcome> {
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
            Op::Ring => Outcome::Ring(ring::pack(&self.values)),
            Op::Rotate(element, behind) => {
                let holds = self.behind(element) == Some(behind) || bug == Bug::ValidatedBeforeCommit;
                if holds && self.rotate(element, behind) { Outcome::Done } else { Outcome::Refused }
            }
        };
        if let Some(call) = entry.call {
            self.sessions[usize::from(call.session())] = Session { number: call.number(), outcome };
        }
        Some(outcome)
    }

    /// The three elements behind one of the ring; nothing where a value is no element.
    pub(crate) fn behind(&self, element: u8) -> Option<[u8; 3]> {
        let next = |element: u8| {
            let value = self.values.get(usize::from(element))?.0;
            u8::try_from(value).ok().filter(|next| usize::from(*next) < KEYS_MAX)
        };
        let one = next(element)?;
        let two = next(one)?;
        Some([one, two, next(two)?])
    }

    /// Writes what a transaction writes that has read the three elements behind one. Returns whether there is anything
    /// to write.
    fn rotate(&mut self, element: u8, behind: [u8; 3]) -> bool {
        let [one, two, three] = behind.map(u64::from);
        let read = [(u64::from(element), one), (one, two), (two, three)];
        let next = |element| read.iter().find(|(known, _)| *known == element).map(|(_, next)| *next);
        let Some(writes) = rearranged(next, u64::from(element)) else { return false };
        for (element, next) in writes {
            if let Some(value) = self.values.get_mut(element as usize) {
                *value = Value(next as u32);
            }
        }
        true
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
                Outcome::Ring(pairs) => out.u8(3).u32(pairs),
                Outcome::Refused => out.u8(4).u32(0),
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
                (3, pairs) => Outcome::Ring(pairs),
                (4, _) => Outcome::Refused,
                _ => return None,
            };
        }
        Some(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, Outcome};
    use crate::bugs::Bug;
    use crate::bytes::{Reader, Writer};
    use crate::entry::{Entry, Op, Value};
    use crate::ring::{pack, pairs};
    use misrule_history::cycle::check_ring;
    use misrule_world::Call;

    fn apply(machine: &mut Machine, session: u8, number: u32, op: Op) -> Option<Outcome> {
        machine.apply(&Entry { term: 1, call: Call::new(session, number), op }, 7, Bug::None)
    }

    #[test]
    fn of_two_transactions_on_what_was_read_the_second_is_refused() {
        let mut machine = Machine::ring(4);
        assert_eq!(machine.behind(3), Some([0, 1, 2]));
        let [first, second] = [0, 1].map(|element| Op::Rotate(element, machine.behind(element).unwrap()));
        let mut careless = machine;
        for (number, op, outcome) in [
            (1, first, Outcome::Done),
            (1, second, Outcome::Done),
            (2, second, Outcome::Refused),
            (3, Op::Rotate(7, [0, 0, 0]), Outcome::Refused),
        ] {
            assert_eq!(apply(&mut machine, 0, number, op), Some(outcome), "{op:?}");
        }
        let whole = pack(&machine.values);
        assert_eq!(apply(&mut machine, 1, 4, Op::Ring), Some(Outcome::Ring(whole)));
        assert_eq!(pairs(whole, 4).map(|(_, next)| next).collect::<Vec<_>>(), [2, 3, 1, 0]);
        assert_eq!(check_ring(4, pairs(whole, 4)), Ok(()));

        for (number, op) in [(1, first), (2, second)] {
            let entry = Entry { term: 1, call: Call::new(0, number), op };
            let outcome = careless.apply(&entry, 7, Bug::ValidatedBeforeCommit);
            assert_eq!(outcome, Some(Outcome::Done));
        }
        assert!(check_ring(4, pairs(pack(&careless.values), 4)).is_err());
    }

    #[test]
    fn a_ring_that_is_no_ring_is_read_as_far_as_it_goes() {
        let mut machine = Machine::ring(3);
        machine.values[1] = Value(1 << 31);
        assert_eq!(machine.behind(0), None);
        assert!(check_ring(3, pairs(pack(&machine.values), 3)).is_err());
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
        for (number, op) in (1..).zip([
            Op::Put(7, Value(3)),
            Op::Get(7),
            Op::Cas(7, Value(3), Value(1)),
            Op::Ring,
            Op::Rotate(0, [1, 2, 3]),
        ]) {
            apply(&mut machine, number as u8, number, op);
        }
        let mut bytes = Vec::new();
        machine.write(&mut Writer(&mut bytes), 100);
        assert_eq!(Machine::read(&mut Reader(&bytes), 100), Some(machine));
        assert_eq!(Machine::read(&mut Reader(&bytes[..bytes.len() - 1]), 100), None);
    }
}

//! Clients as the world simulates them: sessions, their calls, and what they see.
//!
//! A session has at most one call open. It waits until a node answers, hands the call to some node again, or gives
//! up and goes on with another call; nobody will ever know then what became of the first. What clients saw in a
//! step is a list of [`ClientEvent`]s: all that an oracle of histories needs.

use crate::menu::Menu;
use crate::vocabulary::Vocabulary;
use misrule_models::NodeId;
use std::fmt;
use std::num::NonZeroU32;

/// The session of a request that nobody waits for: the target gets no call and nothing is told of an answer.
pub const NO_SESSION: u8 = u8::MAX;

/// How many sessions a vocabulary may have.
pub const SESSIONS_MAX: u8 = 64;

/// One call of a session; a retry has the number of the call. Of one session a later call has a greater number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call(NonZeroU32);

impl Call {
    /// Calls of one execution, all sessions together.
    pub const NUMBER_MAX: u32 = (1 << 24) - 1;

    /// The call of a session, counted from 0, with a number from 1 to [`Call::NUMBER_MAX`]; `None` beyond. Targets
    /// that write calls to their disk read them back with this.
    pub fn new(session: u8, number: u32) -> Option<Self> {
        if !(1..=Self::NUMBER_MAX).contains(&number) {
            return None;
        }
        NonZeroU32::new(u32::from(session) << 24 | number).map(Self)
    }

    /// The session, counted from 0.
    pub fn session(self) -> u8 {
        (self.0.get() >> 24) as u8
    }

    /// The number: calls of all sessions are numbered from 1 in the order in which they are made.
    pub fn number(self) -> u32 {
        self.0.get() & Self::NUMBER_MAX
    }
}

impl fmt::Display for Call {
    /// Session, counted from 1, and number: `s2#17`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}#{}", u16::from(self.session()) + 1, self.number())
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a node answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Done, or: there is no such value.
    Nothing,
    /// Whether it was done, such as a comparison that failed; or a truth that was asked for.
    Bool(bool),
    /// The value that was asked for.
    Number(u32),
    /// It did not happen, and never will: a node that does not lead refuses. Never for a call that may still take
    /// effect; such a call is not answered.
    Failed,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Bool(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Failed => f.write_str("failed"),
        }
    }
}

/// Something that a client did or saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// It asked.
    Asked {
        /// The call.
        call: Call,
        /// The node asked.
        node: NodeId,
        /// Position in the vocabulary's operations.
        operation: u8,
        /// Its argument; 0 where it has none.
        argument: u32,
    },
    /// It asked again.
    Retried {
        /// The call, still open.
        call: Call,
        /// The node asked.
        node: NodeId,
    },
    /// It was answered; the call is open no more.
    Answered {
        /// The call.
        call: Call,
        /// The answer.
        answer: Answer,
    },
    /// It gave up. The call may have taken effect, may still do so at any later time, or never.
    Abandoned {
        /// The call.
        call: Call,
    },
}

/// How often sessions did something, over all executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls made.
    pub asked: u64,
    /// Calls handed to a node again.
    pub retried: u64,
    /// Calls given up.
    pub abandoned: u64,
    /// Answers to open calls; [`Answer::Failed`] among them.
    pub answered: u64,
    /// Those that were [`Answer::Failed`].
    pub failed: u64,
    /// Answers to calls that were not open: given up, or answered before. They change nothing.
    pub ignored: u64,
}

/// A call that waits for its answer.
#[derive(Clone, Copy)]
pub(crate) struct Open {
    pub(crate) call: Call,
    pub(crate) operation: u8,
    pub(crate) argument: u32,
}

/// The sessions of a world.
#[derive(Clone)]
pub(crate) struct Clients {
    open: Vec<Option<Open>>,
    /// Calls made in this execution.
    number: u32,
    /// What clients did and saw in this step.
    pub(crate) events: Vec<ClientEvent>,
    pub(crate) counts: CallCounts,
}

impl Clients {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        Self {
            open: vec![None; usize::from(vocabulary.sessions)],
            number: 0,
            events: Vec::new(),
            counts: CallCounts::default(),
        }
    }

    /// Goes on from the calls of `other`; what is counted over all executions stays.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.open.clone_from(&other.open);
        self.number = other.number;
        self.events.clear();
    }

    /// A new execution.
    pub(crate) fn clear(&mut self) {
        self.open.fill(None);
        self.number = 0;
        self.events.clear();
    }

    /// Why a session cannot ask now.
    pub(crate) fn check_free(&self, session: u8) -> Result<(), &'static str> {
        match self.open.get(usize::from(session)) {
            Some(None) if self.number == Call::NUMBER_MAX => Err("too many calls"),
            Some(None) => Ok(()),
            Some(Some(_)) => Err("the session waits for an answer"),
            None => Err("no such session"),
        }
    }

    /// Why a session cannot retry or abandon now.
    pub(crate) fn check_waits(&self, session: u8) -> Result<(), &'static str> {
        match self.open.get(usize::from(session)) {
            Some(Some(_)) => Ok(()),
            Some(None) => Err("the session has no call open"),
            None => Err("no such session"),
        }
    }

    /// Opens a call of a session that is free.
    pub(crate) fn ask(&mut self, menu: &mut Menu, session: u8, operation: u8, argument: u32) -> Option<Call> {
        let open = self.open.get_mut(usize::from(session))?;
        self.number += 1;
        let call = Call::new(session, self.number)?;
        *open = Some(Open { call, operation, argument });
        menu.set_waits(session, true);
        self.counts.asked += 1;
        Some(call)
    }

    /// The call of a session that asks again.
    pub(crate) fn retry(&mut self, session: u8) -> Option<Open> {
        let open = (*self.open.get(usize::from(session))?)?;
        self.counts.retried += 1;
        Some(open)
    }

    /// Closes the call of a session that gives up.
    pub(crate) fn abandon(&mut self, menu: &mut Menu, session: u8) -> Option<Call> {
        let open = self.open.get_mut(usize::from(session))?.take()?;
        menu.set_waits(session, false);
        self.counts.abandoned += 1;
        self.events.push(ClientEvent::Abandoned { call: open.call });
        Some(open.call)
    }

    /// Takes an answer; returns whether the call was open.
    pub(crate) fn answer(&mut self, menu: &mut Menu, call: Call, answer: Answer) -> bool {
        let waits = self.open.get_mut(usize::from(call.session()));
        let Some(open) = waits.filter(|open| open.is_some_and(|open| open.call == call)) else {
            self.counts.ignored += 1;
            return false;
        };
        *open = None;
        menu.set_waits(call.session(), false);
        self.counts.answered += 1;
        self.counts.failed += u64::from(answer == Answer::Failed);
        self.events.push(ClientEvent::Answered { call, answer });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, SESSIONS_MAX};

    #[test]
    fn a_call_is_small_and_keeps_its_parts() {
        assert_eq!(size_of::<Option<Call>>(), 4);
        for session in [0, 1, SESSIONS_MAX - 1, u8::MAX] {
            for number in [1, 2, Call::NUMBER_MAX] {
                let call = Call::new(session, number).expect("within bounds");
                assert_eq!((call.session(), call.number()), (session, number));
            }
            assert_eq!(Call::new(session, 0), None);
            assert_eq!(Call::new(session, Call::NUMBER_MAX + 1), None);
        }
        let call = Call::new(1, 17).expect("within bounds");
        assert_eq!(format!("{call} {call:?}"), "s2#17 s2#17");
    }
}

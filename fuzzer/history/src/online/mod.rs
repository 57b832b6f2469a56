//! Linearizability while the history grows, one event at a time.
//!
//! After the just-in-time linearization of Lowe ("Testing for linearizability", 2017): an operation is placed when
//! its answer comes, with others that are open before it where that is needed. Lowe's graph search keeps all
//! configurations that explain the answers so far. Here one order is kept that does ([`witness`]), and with it the
//! configurations that were given up: what could not explain the answers so far cannot explain them and some more.
//! So none is ever tried twice, and an answer that fits the kept order costs no search.
//!
//! ```
//! use misrule_history::specifications::Cell;
//! use misrule_history::{Misfit, Online, OnlineVerdict, Operation, Outcome, Value};
//!
//! fn asked(process: u64, function: &'static str, argument: Value) -> Operation {
//!     let (key, outcome) = (None, Outcome::Unknown);
//!     Operation { process, function: function.into(), key, argument, outcome, invoked: 0, returned: None }
//! }
//!
//! let mut online = Online::new(Cell::register(), 100_000);
//! let mut write = asked(0, "write", Value::Integer(7));
//! let mut read = asked(1, "read", Value::Nil);
//! let (writing, reading) = (online.invoke(&write)?, online.invoke(&read)?);
//!
//! // Nobody has answered the write yet; the read may see it or not.
//! read.outcome = Outcome::Ok(Value::Integer(7));
//! assert_eq!(online.answer(reading, &read)?, OnlineVerdict::Holds);
//! write.outcome = Outcome::Ok(Value::Nil);
//! assert_eq!(online.answer(writing, &write)?, OnlineVerdict::Holds);
//!
//! // A stale read: the value was seen before.
//! let mut stale = asked(2, "read", Value::Nil);
//! let reading = online.invoke(&stale)?;
//! stale.outcome = Outcome::Ok(Value::Nil);
//! assert_eq!(online.answer(reading, &stale)?, OnlineVerdict::Broken);
//! assert_eq!(online.allowed(), ["7"]);
//!
//! // The next execution begins anew, in the same memory.
//! online.reset();
//! assert_eq!(online.verdict(), OnlineVerdict::Holds);
//! # Ok::<(), Misfit>(())
//! ```

mod witness;

use crate::{Misfit, Operation, Outcome, Specification, Value};
use rustc_hash::FxHashMap;
use witness::{Ended, Found, Witness};

/// Whether the answers so far can be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnlineVerdict {
    /// They can.
    Holds,
    /// They cannot, and no later event changes that.
    Broken,
    /// Nobody knows: the limit was exceeded, here or before.
    Unknown,
}

/// Judges a history while it grows. Objects are judged by themselves, as [`check`](crate::check) does.
///
/// Buffers are kept over [`reset`](Self::reset): where values are whole numbers, nothing is allocated once the
/// buffers are as large as the histories. Within one history they grow with every operation.
pub struct Online<S: Specification> {
    specification: S,
    limit: usize,
    /// How many configurations may still be given up.
    left: usize,
    events: u64,
    verdict: OnlineVerdict,
    /// The objects: first those of this history, then those that are kept for their memory.
    objects: Vec<Witness<S>>,
    used: usize,
    /// The object of operations without a key, and those of each key.
    plain: Option<usize>,
    keyed: FxHashMap<Value, usize>,
    /// By number of the operation: its object, and its number there.
    operations: Vec<(usize, usize)>,
    /// The object and the operation whose answer could not be placed.
    misplaced: Option<(usize, usize)>,
}

impl<S: Specification> Online<S> {
    /// Without operations. After more than `limit_of_configurations` that were tried and given up since the last
    /// reset, all is unknown; each takes some 50 bytes while it is remembered, and the states that occur in them.
    pub fn new(specification: S, limit_of_configurations: usize) -> Self {
        Self {
            specification,
            limit: limit_of_configurations,
            left: limit_of_configurations,
            events: 0,
            verdict: OnlineVerdict::Holds,
            objects: Vec::new(),
            used: 0,
            plain: None,
            keyed: FxHashMap::default(),
            operations: Vec::new(),
            misplaced: None,
        }
    }

    /// Forgets all operations and keeps the memory.
    pub fn reset(&mut self) {
        let init = self.specification.init();
        for object in &mut self.objects[..self.used] {
            object.reset(&init);
        }
        (self.left, self.events, self.used) = (self.limit, 0, 0);
        (self.verdict, self.plain, self.misplaced) = (OnlineVerdict::Holds, None, None);
        self.keyed.clear();
        self.operations.clear();
    }

    /// The verdict on all answers so far.
    pub fn verdict(&self) -> OnlineVerdict {
        self.verdict
    }

    /// How many configurations were given up since the last reset: a measure of the work.
    pub fn given_up(&self) -> usize {
        self.limit - self.left
    }

    /// An operation begins, whose outcome is still [`Outcome::Unknown`]. The result is its number, counted from 0
    /// since the last reset. Its fields `process`, `invoked` and `returned` are not looked at: the order is that of
    /// the calls to this and to [`answer`](Self::answer).
    ///
    /// Nothing is to be told when a client abandons an operation: it stays open.
    ///
    /// # Errors
    /// When no such operation exists. It has no number then, and nothing has changed.
    pub fn invoke(&mut self, operation: &Operation) -> Result<usize, Misfit> {
        let call = self.specification.call(operation)?;
        self.events += 1;
        let object = self.object(operation);
        let at = self.objects[object].invoke(&self.specification, call, self.events);
        self.operations.push((object, at));
        Ok(self.operations.len() - 1)
    }

    /// An operation ends: it is the one that was given to [`invoke`](Self::invoke), with its outcome. The result is
    /// [`Broken`](OnlineVerdict::Broken) exactly when the history up to here is not linearizable, and stays so. An
    /// unknown outcome, a number that does not exist and a second answer change nothing.
    ///
    /// # Errors
    /// When the operation cannot have that result. The operation is then still open.
    pub fn answer(&mut self, number: usize, operation: &Operation) -> Result<OnlineVerdict, Misfit> {
        let Some((object, at)) = self.operations.get(number).copied() else { return Ok(self.verdict) };
        if operation.outcome == Outcome::Unknown || self.verdict != OnlineVerdict::Holds {
            return Ok(self.verdict);
        }
        let call = self.specification.call(operation)?;
        self.events += 1;
        let ended = Ended { operation: at, call, event: self.events };
        self.verdict = match self.objects[object].answer(&self.specification, ended, &mut self.left) {
            Found::Order => OnlineVerdict::Holds,
            Found::Nothing => {
                self.misplaced = Some((object, at));
                OnlineVerdict::Broken
            }
            Found::Unknown => OnlineVerdict::Unknown,
        };
        Ok(self.verdict)
    }

    /// What the operation that broke the history could have been answered, along the order that explained all
    /// answers before it; without repetition, and empty where nothing is broken.
    pub fn allowed(&self) -> Vec<String> {
        let mut answers = Vec::new();
        if let Some((object, at)) = self.misplaced {
            for answer in self.objects[object].allowed(&self.specification, at) {
                if !answers.contains(&answer) {
                    answers.push(answer);
                }
            }
        }
        answers
    }

    /// The object that is asked.
    fn object(&mut self, operation: &Operation) -> usize {
        let key = self.specification.partition(operation);
        let known = key.map_or(self.plain, |key| self.keyed.get(key).copied());
        if let Some(object) = known {
            return object;
        }
        if self.used == self.objects.len() {
            self.objects.push(Witness::new(self.specification.init()));
        }
        match key {
            Some(key) => drop(self.keyed.insert(key.clone(), self.used)),
            None => self.plain = Some(self.used),
        }
        self.used += 1;
        self.used - 1
    }
}

//! Tiny models for tests.

use crate::{Fields, Kind, Model, NodeId, Property, Refusal, Step};
use std::fmt::Display;

/// A number, so that fixtures need no state types of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Number(pub(crate) i16);

impl Fields for Number {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("number", &self.0);
    }
}

/// What a clock does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tick;

/// Ticks between 0 and 1, and may start at either. "two" is never seen.
pub(crate) struct Clock;

impl Model for Clock {
    type State = Number;
    type Action = Tick;
    fn initial(&self, out: &mut Vec<Number>) {
        out.extend([Number(0), Number(1)]);
    }
    fn step(&self, state: &mut Number, _: &Tick) -> Step<Number> {
        state.0 = 1 - state.0;
        Step::Taken
    }
    fn enabled(&self, _: &Number, out: &mut Vec<Tick>) {
        out.push(Tick);
    }
    fn properties(&self) -> &'static [Property<Self>] {
        &[
            Property { name: "binary", kind: Kind::Always, holds: |_, state| state.0 == 0 || state.0 == 1 },
            Property { name: "two", kind: Kind::Sometimes, holds: |_, state| state.0 == 2 },
        ]
    }
}

/// What a counter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Count {
    /// Adds one.
    Add,
    /// Doubles.
    Double,
    /// Adds one, two or three: three branches.
    Jump,
    /// Turns the sign.
    Negate,
    /// Listed as enabled where the counter is [`Counter::broken`], never taken.
    Never,
}

/// Counts from 1 up to a bound. "below-ten" is violated, by 10 to 12; the shortest way is 1, 2, 3, 6, 12.
pub(crate) struct Counter {
    /// Neither sign goes beyond.
    pub(crate) bound: i16,
    /// Whether `enabled` lists an action that `step` refuses.
    pub(crate) broken: bool,
}

impl Counter {
    /// The absolute value, for which all actions are the same.
    pub(crate) fn canonical(_: &Self, state: &mut Number) {
        state.0 = state.0.abs();
    }
}

impl Model for Counter {
    type State = Number;
    type Action = Count;
    fn initial(&self, out: &mut Vec<Number>) {
        out.push(Number(1));
    }
    fn step(&self, state: &mut Number, action: &Count) -> Step<Number> {
        let sign = state.0.signum();
        let next = match action {
            Count::Add => state.0 + sign,
            Count::Double => state.0 * 2,
            Count::Negate => -state.0,
            Count::Jump if state.0.abs() + 3 <= self.bound => {
                return Step::Branches((1..=3).map(|by| Number(state.0 + sign * by)).collect());
            }
            Count::Jump => return Step::Refused(Refusal("a jump leads beyond the bound")),
            Count::Never => return Step::Refused(Refusal("never taken")),
        };
        if next.abs() > self.bound {
            return Step::Refused(Refusal("beyond the bound"));
        }
        state.0 = next;
        Step::Taken
    }
    fn enabled(&self, state: &Number, out: &mut Vec<Count>) {
        for action in [Count::Add, Count::Double, Count::Negate] {
            if !matches!(self.step(&mut state.clone(), &action), Step::Refused(_)) {
                out.push(action);
            }
        }
        if self.broken {
            out.push(Count::Never);
        }
    }
    fn properties(&self) -> &'static [Property<Self>] {
        &[
            Property { name: "below-ten", kind: Kind::Always, holds: |_, state| state.0.abs() < 10 },
            Property { name: "seven", kind: Kind::Sometimes, holds: |_, state| state.0.abs() == 7 },
        ]
    }
}

/// Two nodes with the fields that presets read.
pub(crate) struct Two(pub(crate) [crate::Replica; 2]);

impl crate::Replicas for Two {
    fn count(&self) -> NodeId {
        2
    }
    fn replica(&self, node: NodeId) -> crate::Replica {
        self.0[usize::from(node)]
    }
    fn logs(&self, _: NodeId, _: NodeId) -> crate::LogRelation {
        crate::LogRelation::Prefix
    }
}

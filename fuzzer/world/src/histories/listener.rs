//! What a judge needs of the clients of its target.

use super::Linearizable;
use crate::choice::Choice;
use crate::clients::ClientEvent;
use crate::report::Report;
use misrule_history::Specification;

/// Listens to clients: counts their calls, and hands what they saw to an oracle, if there is one. Sessions whose last
/// call is one of operators, which the specification does not have, are left out.
pub struct Listener<S: Specification> {
    /// `None` where nobody looks.
    oracle: Option<Box<Linearizable<S>>>,
    /// Sessions that ask for something else than the specification has: bit set.
    operators: u64,
    /// What the others did and saw in a step; its memory is used again.
    heard: Vec<ClientEvent>,
    /// Number of the last call that a client has made, and of the last one before the recovery.
    calls: u32,
    calls_before: u32,
}

impl<S: Specification> Default for Listener<S> {
    fn default() -> Self {
        Self::new(None)
    }
}

impl<S: Specification> Listener<S> {
    /// A listener; without an oracle it only counts.
    pub fn new(oracle: Option<Linearizable<S>>) -> Self {
        Self { oracle: oracle.map(Box::new), operators: 0, heard: Vec::new(), calls: 0, calls_before: 0 }
    }

    /// A new execution.
    pub fn reset(&mut self) {
        if let Some(oracle) = &mut self.oracle {
            oracle.reset();
        }
        self.operators = 0;
        (self.calls, self.calls_before) = (0, 0);
    }

    /// Takes in a step: its choice, and what clients did and saw in it. `is_of_operators` tells of an operation whether
    /// the specification leaves it out.
    #[inline]
    pub fn after(
        &mut self,
        choice: Choice,
        clients: &[ClientEvent],
        is_of_operators: impl Fn(u8) -> bool,
        report: &mut Report,
    ) {
        if let Choice::Recover { .. } = choice {
            self.calls_before = self.calls;
        }
        if !clients.is_empty() {
            self.listen(clients, is_of_operators, report);
        }
    }

    /// The number of the last call that a client had made when the recovery began.
    pub fn calls_before(&self) -> u32 {
        self.calls_before
    }

    /// In how many executions the oracle gave up; for [`Tally::undecided`](crate::Tally::undecided).
    pub fn undecided(&self) -> Vec<(&'static str, u64)> {
        self.oracle.iter().map(|oracle| oracle.undecided()).collect()
    }

    fn listen(&mut self, clients: &[ClientEvent], is_of_operators: impl Fn(u8) -> bool, report: &mut Report) {
        self.heard.clear();
        for event in clients {
            let (ClientEvent::Asked { call, .. }
            | ClientEvent::Retried { call, .. }
            | ClientEvent::Answered { call, .. }
            | ClientEvent::Abandoned { call }) = *event;
            let session = 1 << call.session();
            if let ClientEvent::Asked { operation, .. } = *event {
                self.calls = call.number();
                let is_other = is_of_operators(operation);
                self.operators = if is_other { self.operators | session } else { self.operators & !session };
            }
            if self.operators & session == 0 {
                self.heard.push(*event);
            }
        }
        if let Some(oracle) = &mut self.oracle {
            oracle.after(&self.heard, report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Listener;
    use crate::choice::Choice;
    use crate::clients::{Answer, Call, ClientEvent};
    use crate::histories::Linearizable;
    use crate::report::Report;
    use crate::vocabulary::{Argument, Operation, Vocabulary};
    use misrule_history::specifications::Cell;

    const READ: u8 = 0;
    const OPERATORS: u8 = 1;

    fn listener() -> Listener<Cell> {
        let operation = |name| Operation { name, argument: Argument::None, weight: 1 };
        let operations = vec![operation("read"), operation("compact")];
        let vocabulary = Vocabulary { nodes: 1, operations, sessions: 2, ..Vocabulary::default() };
        Listener::new(Some(Linearizable::new(&vocabulary, Cell::register())))
    }

    /// A session asks and is answered 5, which nobody wrote. Returns whether that is a failure.
    fn fails(listener: &mut Listener<Cell>, session: u8, number: u32, operation: u8) -> bool {
        let call = Call::new(session, number).expect("a call");
        let mut report = Report::default();
        for event in [
            ClientEvent::Asked { call, node: 0, operation, argument: 0 },
            ClientEvent::Answered { call, answer: Answer::Number(5) },
        ] {
            let retry = Choice::Heal { from: 0, to: 0 };
            listener.after(retry, &[event], |it| it == OPERATORS, &mut report);
        }
        report.failure.is_some()
    }

    #[test]
    fn a_session_is_left_out_while_its_call_is_one_of_operators() {
        let mut listener = listener();
        assert!(!fails(&mut listener, 0, 1, OPERATORS));
        assert!(fails(&mut listener, 0, 2, READ), "the same session asks as a client");
        listener.reset();
        assert!(!fails(&mut listener, 0, 1, OPERATORS));
        assert!(fails(&mut listener, 1, 2, READ), "another session");
        assert_eq!(listener.undecided(), [("linearizable", 0)]);
    }

    #[test]
    fn calls_before_the_recovery_are_counted_with_and_without_an_oracle() {
        for mut listener in [listener(), Listener::default()] {
            fails(&mut listener, 0, 1, READ);
            fails(&mut listener, 1, 2, OPERATORS);
            assert_eq!(listener.calls_before(), 0);
            listener.after(Choice::Recover { core: 1 }, &[], |_| false, &mut Report::default());
            fails(&mut listener, 0, 3, READ);
            assert_eq!(listener.calls_before(), 2);
            listener.reset();
            assert_eq!(listener.calls_before(), 0);
        }
        assert!(Listener::<Cell>::default().undecided().is_empty());
    }
}

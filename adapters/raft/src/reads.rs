//! What a leader did with reads in its last step, for the mapping: one step may take or confirm several.

use misrule_world::mix;

/// A read that a leader took, or confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadStep {
    /// The number of its context.
    pub(crate) number: u32,
    /// The index that it was confirmed with; `None` where it was taken.
    pub(crate) confirmed: Option<u64>,
    /// How many changes of the configuration the node had ever applied by then.
    pub(crate) turns: u64,
}

/// The reads of a node.
#[derive(Debug, Default)]
pub(crate) struct ReadLog {
    /// The term in which the node led when it was looked at last.
    term: u64,
    /// Those that waited then, oldest first.
    waiting: Vec<u32>,
    steps: Vec<ReadStep>,
}

/// The number of a read's context; 0 for none. Contexts of one execution have different numbers, but by a chance of one in
/// 2^31 for two of them.
pub(crate) fn number_of(context: &[u8]) -> u32 {
    let hash = context.iter().fold(0, |hash: u64, byte| mix(hash.rotate_left(7) ^ u64::from(*byte)));
    if context.is_empty() { 0 } else { hash as u32 | 1 }
}

impl ReadLog {
    /// A new start of the node.
    pub(crate) fn clear(&mut self) {
        self.enter(0);
        self.begin();
    }

    /// A new step of the node.
    pub(crate) fn begin(&mut self) {
        self.steps.clear();
    }

    /// What the last step did, in order.
    pub(crate) fn steps(&self) -> &[ReadStep] {
        &self.steps
    }

    /// A node that leads in this term has confirmed a read. One that did not wait was taken by the same call.
    pub(crate) fn confirm(&mut self, term: u64, context: &[u8], index: u64, turns: u64) {
        self.enter(term);
        let number = number_of(context);
        if !self.waiting.contains(&number) {
            self.steps.push(ReadStep { number, confirmed: None, turns });
        }
        self.steps.push(ReadStep { number, confirmed: Some(index), turns });
    }

    /// These wait now.
    pub(crate) fn wait<'a>(&mut self, term: u64, contexts: impl Iterator<Item = &'a [u8]>, turns: u64) {
        self.enter(term);
        let known = self.waiting.len();
        for number in contexts.map(number_of) {
            if !self.waiting[..known].contains(&number) {
                self.steps.push(ReadStep { number, confirmed: None, turns });
            }
            self.waiting.push(number);
        }
        self.waiting.drain(..known);
    }

    fn enter(&mut self, term: u64) {
        if self.term != term {
            self.term = term;
            self.waiting.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ReadLog, ReadStep, number_of};

    #[test]
    fn what_is_new_is_taken_and_what_is_confirmed_was_taken_before() {
        let (mut log, context) = (ReadLog::default(), [[1], [2], [3]]);
        let [a, b, c] = context.map(|context| number_of(&context));
        let took = |number| ReadStep { number, confirmed: None, turns: 4 };
        let confirmed = |number, index| ReadStep { number, confirmed: Some(index), turns: 4 };
        let wait = |log: &mut ReadLog, term, which: &[usize]| {
            log.wait(term, which.iter().map(|at| &context[*at][..]), 4);
        };
        wait(&mut log, 1, &[0, 1]);
        assert_eq!(log.steps(), [took(a), took(b)]);
        log.begin();
        log.confirm(1, &context[0], 9, 4);
        log.confirm(1, &context[2], 9, 4);
        wait(&mut log, 1, &[1]);
        assert_eq!(log.steps(), [confirmed(a, 9), took(c), confirmed(c, 9)]);
        log.begin();
        wait(&mut log, 2, &[1]);
        assert_eq!(log.steps(), [took(b)], "a new term begins without reads");
        assert_eq!(number_of(&[]), 0);
    }
}

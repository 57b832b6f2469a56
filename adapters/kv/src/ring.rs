//! The ring of the cycle workload as a client is told it, and the oracle of that.
//!
//! The keys are a ring at first: each holds the number of the next one. An answer has 32 bits, and a ring has at most
//! eight elements: four bits each.

use crate::entry::{KEYS_MAX, Value};
use misrule_history::cycle::check_ring;
use misrule_world::{Answer, ClientEvent, Failure, Report};

/// Bits of an element.
const BITS: usize = 4;
/// What stands for a value that is no element.
const STRAY: u32 = (1 << BITS) - 1;

/// The ring as a number: what follows element 0 in the lowest four bits, and so on; 15 stands for a value that is no
/// element.
pub(crate) fn pack(values: &[Value; KEYS_MAX]) -> u32 {
    values.iter().rev().fold(0, |packed, value| packed << BITS | value.0.min(STRAY))
}

/// The first so many pairs of what [`pack`] packed.
pub(crate) fn pairs(packed: u32, elements: u8) -> impl Iterator<Item = (u64, u64)> {
    (0..u64::from(elements))
        .map(move |element| (element, u64::from(packed) >> (element * BITS as u64) & u64::from(STRAY)))
}

/// Every ring that a client is told is whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingIntact {
    pub(crate) elements: u8,
}

impl RingIntact {
    /// Looks at what clients saw in a step. In this workload a number is a ring: transactions are answered otherwise.
    pub(crate) fn after(self, clients: &[ClientEvent], report: &mut Report) {
        for event in clients {
            let ClientEvent::Answered { call, answer: Answer::Number(packed) } = *event else { continue };
            if let Err(broken) = check_ring(u64::from(self.elements), pairs(packed, self.elements)) {
                let text = format!("call {call} is told a ring that is none: {broken}");
                report.failure.get_or_insert_with(|| Failure::new("history", "ring-intact", text));
            }
        }
    }
}

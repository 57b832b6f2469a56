//! The records on the disk: a tag and little-endian numbers.

use crate::log::Log;
use crate::message::{Entry, Payload};
use misrule_models::NodeId;

const HARD: u8 = 0;
const ENTRY: u8 = 1;
const LENGTH: u8 = 2;

/// Term and vote.
pub(crate) fn hard(term: u32, vote: Option<NodeId>) -> [u8; 6] {
    let [a, b, c, d] = term.to_le_bytes();
    [HARD, vote.map_or(0, |node| node + 1), a, b, c, d]
}

/// An entry at an index: whatever stood there is gone, and nothing else.
pub(crate) fn entry(index: u32, entry: Entry) -> [u8; 14] {
    let (tag, value) = match entry.payload {
        Payload::Nothing => (0, 0),
        Payload::Command(call) => (1, call),
        Payload::Members(members) => (2, u32::from(members)),
    };
    let mut record = [0; 14];
    record[0] = ENTRY;
    record[1] = tag;
    for (at, number) in [index, entry.term, value].into_iter().enumerate() {
        record[2 + at * 4..6 + at * 4].copy_from_slice(&number.to_le_bytes());
    }
    record
}

/// The log is cut to so many entries.
pub(crate) fn length(len: u32) -> [u8; 5] {
    let [a, b, c, d] = len.to_le_bytes();
    [LENGTH, a, b, c, d]
}

/// Reads a record back. `None` where it cannot be read.
pub(crate) fn replay(
    record: &[u8],
    (term, vote): (&mut u32, &mut Option<NodeId>),
    log: &mut Log,
) -> Option<()> {
    let (tag, rest) = record.split_first()?;
    let number = |at: usize| rest.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    match *tag {
        HARD => (*vote, *term) = (rest.first()?.checked_sub(1), number(1)?),
        ENTRY => {
            let payload = match (*rest.first()?, number(9)?) {
                (0, _) => Payload::Nothing,
                (1, call) => Payload::Command(call),
                (_, members) => Payload::Members(members as u8),
            };
            let (index, entry) = (number(1)?, Entry { term: number(5)?, payload });
            if index <= log.len() {
                log.replace(index, entry);
            } else {
                log.push(entry);
            }
        }
        _ => log.truncate(number(0)?),
    }
    Some(())
}

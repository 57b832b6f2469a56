//! Reads a segment of the write-ahead log: where it ends, and what it says.
//!
//! A record that is not whole may be one that was being written when the node crashed: then it was never durable,
//! and nor was anything behind it; the log ends before it and is cut there. Or the disk has lost what it had promised
//! to keep: then the log must not be cut. What tells them apart is that each record says which ones were durable when
//! it was written. Where a whole record behind the bad one says that the bad one was, the disk has broken its promise,
//! and the node refuses to start. The same where a record is whole and says what cannot be. A durable record that is
//! lost with none behind it cannot be told from one that was never durable: nothing in the file can.

use crate::bugs::Bug;
use crate::bytes::Reader;
use crate::entry::{Entry, Promise};
use crate::log::{Base, Log};
use crate::store::{Options, Trouble};
use crate::wal::{ENTRIES, HEAD, Head, OPENING, PROMISE};

/// What a segment says.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) promise: Promise,
    pub(crate) log: Log,
    /// Where its last whole record ends.
    pub(crate) end: usize,
    /// The number of the next record.
    pub(crate) next: u64,
}

/// Reads a segment. Nothing where not even its first record is whole: it was never begun.
pub(crate) fn scan(bytes: &[u8], segment: u32, options: &Options) -> Result<Option<Scan>, Trouble> {
    let mut scan = Scan { promise: Promise::default(), log: Log::default(), end: 0, next: 1 };
    let mut zeros = Vec::new();
    while scan.end < bytes.len() {
        let rest = &bytes[scan.end..];
        let head = Head::read(rest, segment).filter(|head| head.number == scan.next);
        let body = head.and_then(|head| rest.get(HEAD..HEAD + head.body).map(|body| (head, body)));
        let whole = body
            .filter(|(head, body)| head.fits(body, segment) || options.bug == Bug::AtomicMultiBlock)
            .map(|(_, body)| body);
        let body = match (whole, head) {
            (Some(body), _) => body,
            (None, head) => {
                refuse_loss(bytes, &scan, segment, options)?;
                match head.filter(|_| options.bug == Bug::TornTail) {
                    Some(head) => {
                        let there = &rest[HEAD..rest.len().min(HEAD + head.body)];
                        zeros.extend_from_slice(there);
                        zeros.resize(head.body, 0);
                        &zeros
                    }
                    None => break,
                }
            }
        };
        let said = scan.take(body, options);
        said.ok_or(Trouble::Contradiction("a record of the log says what cannot be"))?;
        scan.end += options.padded(HEAD + body.len());
        scan.next += 1;
        zeros.clear();
    }
    Ok((scan.next > 1).then_some(scan))
}

/// Refuses a segment in which a record behind the bad one says that the bad one was durable.
fn refuse_loss(bytes: &[u8], scan: &Scan, segment: u32, options: &Options) -> Result<(), Trouble> {
    let mut at = scan.end + options.block;
    while at + HEAD <= bytes.len() {
        let head = Head::read(&bytes[at..], segment).filter(|head| head.synced >= scan.next);
        if head.is_some_and(|head| {
            bytes.get(at + HEAD..at + HEAD + head.body).is_some_and(|body| head.fits(body, segment))
        }) {
            return Err(Trouble::Contradiction("a record of the log that was durable is not whole"));
        }
        at += options.block;
    }
    Ok(())
}

impl Scan {
    /// Takes in what a record says; nothing where that cannot be.
    fn take(&mut self, body: &[u8], options: &Options) -> Option<()> {
        let mut reader = Reader(body);
        match (reader.u8()?, self.next) {
            (OPENING, 1) => {
                self.log = Log::new(Base::read(&mut reader)?);
                self.promise = Promise::read(&mut reader)?;
                self.entries(&mut reader, options)
            }
            (PROMISE, 2..) => {
                self.promise = Promise::read(&mut reader)?;
                Some(())
            }
            (ENTRIES, 2..) => self.entries(&mut reader, options),
            _ => None,
        }
    }

    fn entries(&mut self, reader: &mut Reader<'_>, options: &Options) -> Option<()> {
        let (from, count) = (reader.u64()?, reader.u32()?);
        if from <= self.log.base().index || from > self.log.last() + 1 {
            return None;
        }
        self.log.truncate(from);
        for _ in 0..count {
            self.log.push(Entry::read(reader, options.value)?);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::scan;
    use crate::bugs::Bug;
    use crate::bytes::Writer;
    use crate::entry::{Entry, Op, Promise, Value};
    use crate::log::Base;
    use crate::store::{Options, Trouble};
    use crate::wal::{ENTRIES, OPENING, PROMISE, begin, seal, write_entries};

    const OPTIONS: Options = Options { block: 64, value: 40, bug: Bug::None };
    const SEGMENT: u32 = 3;

    fn options(bug: Bug) -> Options {
        Options { bug, ..OPTIONS }
    }

    fn put(value: u32) -> Entry {
        Entry { term: 1, call: None, op: Op::Put(0, Value(value)) }
    }

    /// A record with its number, and what was durable when it was written.
    fn record(number: u64, synced: u64, write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut begin(&mut bytes));
        seal(&mut bytes, SEGMENT, number, synced);
        bytes.resize(OPTIONS.padded(bytes.len()), 0);
        bytes
    }

    fn opening() -> Vec<u8> {
        record(1, 0, |out| {
            out.u8(OPENING);
            Base { index: 4, term: 1, digest: 9 }.write(out);
            Promise { term: 2, vote: Some(1) }.write(out);
            write_entries(out, 5, &[put(5)], &OPTIONS);
        })
    }

    fn entries(number: u64, synced: u64, from: u64) -> Vec<u8> {
        record(number, synced, |out| {
            out.u8(ENTRIES);
            write_entries(out, from, &[put(from as u32)], &OPTIONS);
        })
    }

    /// Where the log ends, in records and entries; what is wrong; or that nothing was begun.
    fn read(records: &[Vec<u8>], bug: Bug) -> Result<Option<(u64, u64)>, &'static str> {
        match scan(&records.concat(), SEGMENT, &options(bug)) {
            Ok(scan) => Ok(scan.map(|scan| (scan.next - 1, scan.log.last()))),
            Err(Trouble::Contradiction(what)) => Err(what),
            Err(Trouble::Disk(error)) => panic!("{error}"),
        }
    }

    const LOST: &str = "a record of the log that was durable is not whole";
    const IMPOSSIBLE: &str = "a record of the log says what cannot be";

    fn spoilt(mut record: Vec<u8>) -> Vec<u8> {
        record[64] ^= 1;
        record
    }

    fn gone(record: &[u8]) -> Vec<u8> {
        vec![0; record.len()]
    }

    #[test]
    fn a_log_ends_before_what_was_never_durable() {
        let (first, second) = (opening(), entries(2, 1, 6));
        assert_eq!(read(&[first.clone(), second.clone(), entries(3, 2, 7)], Bug::None), Ok(Some((3, 7))));
        // The last one is torn, lost, or cut off.
        assert_eq!(read(&[first.clone(), spoilt(second.clone())], Bug::None), Ok(Some((1, 5))));
        assert_eq!(read(&[first.clone(), gone(&second)], Bug::None), Ok(Some((1, 5))));
        assert_eq!(read(&[first.clone(), second[..64].to_vec()], Bug::None), Ok(Some((1, 5))));
        // What is behind it was written before the other was synced, and goes too.
        for bad in [spoilt(second.clone()), gone(&second)] {
            assert_eq!(read(&[first.clone(), bad, entries(3, 1, 7)], Bug::None), Ok(Some((1, 5))));
        }
        // A record from before the cut does not count again.
        assert_eq!(read(&[first, second.clone(), entries(2, 1, 7)], Bug::None), Ok(Some((2, 6))));
        assert_eq!(read(&[], Bug::None), Ok(None));
        assert_eq!(read(&[spoilt(opening())], Bug::None), Ok(None));
    }

    #[test]
    fn a_log_that_lost_what_was_durable_is_refused() {
        let (first, second, third) = (opening(), entries(2, 1, 6), entries(3, 2, 7));
        for bad in [spoilt(second.clone()), gone(&second)] {
            assert_eq!(read(&[first.clone(), bad, third.clone()], Bug::None), Err(LOST));
        }
        assert_eq!(read(&[gone(&first), second.clone()], Bug::None), Err(LOST));
        // A whole record further on is found too, but not one that is spoilt itself.
        let fourth = entries(4, 3, 8);
        assert_eq!(read(&[first.clone(), gone(&second), gone(&third), fourth.clone()], Bug::None), Err(LOST));
        assert_eq!(read(&[first, gone(&second), gone(&third), spoilt(fourth)], Bug::None), Ok(Some((1, 5))));
    }

    #[test]
    fn a_record_that_says_what_cannot_be_is_refused() {
        for second in [
            entries(2, 1, 8),
            entries(2, 1, 4),
            opening_again(),
            record(2, 1, |out| {
                out.u8(PROMISE).u8(1);
            }),
            record(2, 1, |out| {
                out.u8(99);
            }),
        ] {
            assert_eq!(read(&[opening(), second], Bug::None), Err(IMPOSSIBLE));
        }
        // A segment begins with its opening.
        assert_eq!(read(&[entries(1, 0, 5)], Bug::None), Err(IMPOSSIBLE));
    }

    fn opening_again() -> Vec<u8> {
        record(2, 1, |out| {
            out.u8(OPENING);
        })
    }

    #[test]
    fn bugs_take_what_is_not_whole() {
        let (first, second) = (opening(), entries(2, 1, 6));
        let torn = [first.clone(), spoilt(second.clone())];
        assert_eq!(read(&torn, Bug::TornTail), Ok(Some((2, 6))));
        assert_eq!(read(&torn, Bug::AtomicMultiBlock), Ok(Some((2, 6))));
        // One that is cut off is seen by who looks at its length.
        let short = [first, second[..64].to_vec()];
        assert_eq!(read(&short, Bug::TornTail), Ok(Some((2, 6))));
        assert_eq!(read(&short, Bug::AtomicMultiBlock), Ok(Some((1, 5))));
    }
}

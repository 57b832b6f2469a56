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

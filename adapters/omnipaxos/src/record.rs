//! The bytes of disk records: little-endian numbers of fixed width.

use omnipaxos::ballot_leader_election::Ballot;

/// Writes one record into a buffer that is reused.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn tag(&mut self, tag: u8) -> &mut Self {
        self.0.push(tag);
        self
    }

    pub(crate) fn value(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// An index of a log; logs are shorter than 2^32.
    pub(crate) fn index(&mut self, index: usize) -> &mut Self {
        self.value(index as u32)
    }

    pub(crate) fn ballot(&mut self, ballot: Ballot) -> &mut Self {
        self.value(ballot.config_id).value(ballot.n).value(ballot.priority);
        self.value(ballot.pid as u32)
    }
}

/// Reads one record; every method returns `None` at its end.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(record: &'a [u8]) -> Self {
        Self(record)
    }

    pub(crate) fn tag(&mut self) -> Option<u8> {
        let (tag, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*tag)
    }

    pub(crate) fn value(&mut self) -> Option<u32> {
        let (value, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*value))
    }

    pub(crate) fn index(&mut self) -> Option<usize> {
        self.value().map(|value| value as usize)
    }

    pub(crate) fn ballot(&mut self) -> Option<Ballot> {
        let (config_id, n, priority) = (self.value()?, self.value()?, self.value()?);
        Some(Ballot::with(config_id, n, priority, u64::from(self.value()?)))
    }
}

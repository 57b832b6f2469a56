//! Integers and values as bytes: little endian, without padding.

use crate::entry::Value;

/// Appends to a buffer.
#[derive(Debug)]
pub(crate) struct Writer<'a>(pub(crate) &'a mut Vec<u8>);

impl Writer<'_> {
    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A value of `size` bytes.
    pub(crate) fn value(&mut self, value: Value, size: usize) -> &mut Self {
        let end = self.0.len() + size;
        while self.0.len() < end {
            let word = value.0.to_le_bytes();
            let bytes = word.len().min(end - self.0.len());
            self.0.extend_from_slice(&word[..bytes]);
        }
        self
    }
}

/// Reads from the front of bytes; nothing where they end too early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// A value of `size` bytes.
    pub(crate) fn value(&mut self, size: usize) -> Option<Value> {
        self.take(size).map(Value::of)
    }
}

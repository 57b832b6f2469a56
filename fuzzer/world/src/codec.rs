//! The binary form of values that programs keep for themselves: caches and checkpoints, never schedules for
//! people (those are text). Layout and versions: `docs/formats.md`. The only module that knows bincode.

use bincode::config::{Configuration, standard};
use bincode::error::DecodeError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// The version that this build reads and writes.
pub const VERSION: u16 = 1;

/// Bytes in front of the payload: magic, version, payload length, checksum.
pub const HEADER_BYTES: usize = 4 + 2 + 8 + 8;

/// The largest payload that is read or written, whatever the caller allows: 256 MiB.
pub const PAYLOAD_BYTES_MAX: usize = 256 << 20;

/// Bytes that cannot be read, or a value that cannot be written. No value was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// Another sort of file.
    #[error("wrong magic: expected {}, found {}", Magic(.expected), Magic(.found))]
    WrongMagic {
        /// What these files begin with.
        expected: [u8; 4],
        /// What the bytes begin with; shorter when there are fewer than four.
        found: Vec<u8>,
    },
    /// Written by a newer misrule.
    #[error("binary format {found} is newer than this build, which reads {VERSION}")]
    NewerVersion {
        /// The version of the bytes.
        found: u16,
    },
    /// A version that was never in use, or is no longer read: make the cache anew.
    #[error("binary format {found} is not read by this build, which reads {VERSION}")]
    OtherVersion {
        /// The version of the bytes.
        found: u16,
    },
    /// The end is missing.
    #[error("truncated: {expected} bytes expected, {found} found")]
    Truncated {
        /// How many bytes there should be; the header's size while that is incomplete.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// More bytes than were written.
    #[error("{extra} bytes too many at the end")]
    TrailingBytes {
        /// How many.
        extra: u64,
    },
    /// The payload is larger than the caller, or [`PAYLOAD_BYTES_MAX`], allows.
    #[error("payload of {found} bytes is over the limit of {limit}")]
    TooLarge {
        /// The size of the payload.
        found: u64,
        /// The limit.
        limit: usize,
    },
    /// The payload is damaged.
    #[error("checksum mismatch: {expected:016x} written, {found:016x} computed")]
    Checksum {
        /// As written in the header.
        expected: u64,
        /// As computed over the payload.
        found: u64,
    },
    /// The payload is intact but not a value of the type asked for: the type changed without a new magic, or
    /// the magic stands for another type.
    #[error("payload does not fit the type: {0}")]
    WrongType(String),
    /// The value cannot be written in this form, such as a sequence of unknown length.
    #[error("value cannot be written: {0}")]
    Unwritable(String),
}

/// Shows a magic as text where it is printable.
struct Magic<'a>(&'a [u8]);

impl fmt::Display for Magic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("nothing") } else { write!(f, "`{}`", self.0.escape_ascii()) }
    }
}

/// The bytes of `value`, marked with `magic`. Each type that is written has a magic of its own; a change of
/// the type's shape takes a new one.
///
/// # Errors
/// [`CodecError::Unwritable`], for types whose serde form bincode lacks, and [`CodecError::TooLarge`].
pub fn encode<T: Serialize + ?Sized>(magic: [u8; 4], value: &T) -> Result<Vec<u8>, CodecError> {
    let mut bytes = vec![0; HEADER_BYTES];
    bincode::serde::encode_into_std_write(value, &mut bytes, standard())
        .map_err(|error| CodecError::Unwritable(error.to_string()))?;
    let payload = &bytes[HEADER_BYTES..];
    let (length, checksum) = (payload.len() as u64, xxh3_64(payload));
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(CodecError::TooLarge { found: length, limit: PAYLOAD_BYTES_MAX });
    }
    bytes[..4].copy_from_slice(&magic);
    bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
    bytes[6..14].copy_from_slice(&length.to_le_bytes());
    bytes[14..22].copy_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// The value in `bytes`, which must be exactly what [`encode`] made with the same magic and type. `limit` is
/// the largest payload that is read, in bytes. A length inside the payload cannot make this allocate more
/// than 256 times the payload, or 4 KiB; it is not for types with sequences of elements that take no bytes.
///
/// # Errors
/// Every variant but [`CodecError::Unwritable`].
pub fn decode<T: DeserializeOwned>(magic: [u8; 4], bytes: &[u8], limit: usize) -> Result<T, CodecError> {
    let payload = open(magic, bytes, limit.min(PAYLOAD_BYTES_MAX))?;
    // Bincode counts what a value takes in memory, at most 16 bytes for one in the payload (a `u128`), and
    // wants its limit at compile time: take the next of a ladder.
    let (value, read) = match payload.len().saturating_mul(16) {
        0..=0x1000 => read::<T, 0x1000>(payload),
        0x1001..=0x1_0000 => read::<T, 0x1_0000>(payload),
        0x1_0001..=0x10_0000 => read::<T, 0x10_0000>(payload),
        0x10_0001..=0x100_0000 => read::<T, 0x100_0000>(payload),
        0x100_0001..=0x1000_0000 => read::<T, 0x1000_0000>(payload),
        _ => read::<T, { u32::MAX as usize }>(payload),
    }?;
    match payload.len() - read {
        0 => Ok(value),
        extra => Err(CodecError::WrongType(format!("{extra} bytes of the payload are left over"))),
    }
}

fn read<T: DeserializeOwned, const LIMIT: usize>(payload: &[u8]) -> Result<(T, usize), CodecError> {
    let config: Configuration<_, _, bincode::config::Limit<LIMIT>> = standard().with_limit::<LIMIT>();
    bincode::serde::decode_from_slice(payload, config).map_err(|error| {
        CodecError::WrongType(match error {
            DecodeError::UnexpectedEnd { .. } => "it ends inside the value".to_owned(),
            DecodeError::LimitExceeded => "a length in it is out of all proportion".to_owned(),
            error => error.to_string(),
        })
    })
}

/// Checks everything around the payload.
fn open(magic: [u8; 4], bytes: &[u8], limit: usize) -> Result<&[u8], CodecError> {
    if !(bytes.starts_with(&magic) || bytes.len() < magic.len() && magic.starts_with(bytes)) {
        let found = bytes.iter().copied().take(4).collect();
        return Err(CodecError::WrongMagic { expected: magic, found });
    }
    let header_cut_off = CodecError::Truncated { expected: HEADER_BYTES as u64, found: bytes.len() as u64 };
    let Some((version, rest)) = bytes.get(4..).and_then(<[u8]>::split_first_chunk) else {
        return Err(header_cut_off);
    };
    match u16::from_le_bytes(*version) {
        VERSION => {}
        found if found > VERSION => return Err(CodecError::NewerVersion { found }),
        found => return Err(CodecError::OtherVersion { found }),
    }
    let Some((length, rest)) = rest.split_first_chunk() else { return Err(header_cut_off) };
    let Some((checksum, payload)) = rest.split_first_chunk() else { return Err(header_cut_off) };
    let (length, found) = (u64::from_le_bytes(*length), payload.len() as u64);
    if length > limit as u64 {
        return Err(CodecError::TooLarge { found: length, limit });
    }
    if found < length {
        let header = HEADER_BYTES as u64;
        return Err(CodecError::Truncated { expected: header + length, found: header + found });
    }
    if found > length {
        return Err(CodecError::TrailingBytes { extra: found - length });
    }
    let (expected, found) = (u64::from_le_bytes(*checksum), xxh3_64(payload));
    if expected == found { Ok(payload) } else { Err(CodecError::Checksum { expected, found }) }
}

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

#[cfg(test)]
mod tests {
    use super::{CodecError, HEADER_BYTES, VERSION, decode, encode};
    use crate::choice::{Choice, Slot};
    use crate::keep::Keep;
    use crate::profile::FaultProfile;
    use crate::rng::Rng;
    use crate::schedule::{Expectation, Header, Schedule, Tail};

    const MAGIC: [u8; 4] = *b"MSCH";
    const LIMIT: usize = 1 << 20;

    fn sample() -> (Header, Schedule) {
        let header = Header {
            target: "canary".to_owned(),
            version: "0.1.0".to_owned(),
            settings: vec![("nodes".to_owned(), "3".to_owned())],
            contract: "fifo".to_owned(),
            seed: 1 << 40,
            expect: Expectation::Pass,
            trace_hash: None,
        };
        let slot = Slot { from: 0, to: 1, at: 2, kind: Slot::ANY_KIND };
        let choices = vec![
            Choice::Deliver(slot),
            Choice::Crash { node: 2, keep: Keep::prefix(300) },
            Choice::Cut { from: 1, to: 0 },
        ];
        let tail = Some(Tail { seed: 7, steps: 300, faults: FaultProfile::Heavy });
        (header, Schedule { choices, tail })
    }

    /// Written by version 1. This must read for as long as version 1 is read: never edit it.
    const GOLDEN_1: &str = "4d53434801003a000000000000001ab1345a04f358dd\
        0663616e61727905302e312e3001056e6f6465730133046669666ffd000000000001000001000300000102ff\
        0602fb2c010801000107fb2c0103";

    fn golden() -> Vec<u8> {
        (0..GOLDEN_1.len() / 2)
            .map(|at| u8::from_str_radix(&GOLDEN_1[2 * at..2 * at + 2], 16).unwrap())
            .collect()
    }

    #[test]
    fn version_1_is_written_and_read_as_ever() {
        let bytes = encode(MAGIC, &sample()).unwrap();
        assert_eq!(bytes, golden());
        assert_eq!(decode(MAGIC, &golden(), LIMIT), Ok(sample()));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let read = |bytes: &[u8]| decode::<(Header, Schedule)>(MAGIC, bytes, LIMIT).unwrap_err();
        let bytes = golden();
        let with = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            bytes
        };
        let size = bytes.len() as u64;
        for (bytes, message) in [
            (with(0, b'\n'), "wrong magic: expected `MSCH`, found `\\nSCH`".to_owned()),
            (b"x".to_vec(), "wrong magic: expected `MSCH`, found `x`".to_owned()),
            (with(4, 2), "binary format 2 is newer than this build, which reads 1".to_owned()),
            (with(4, 0), "binary format 0 is not read by this build, which reads 1".to_owned()),
            (Vec::new(), "truncated: 22 bytes expected, 0 found".to_owned()),
            (bytes[..21].to_vec(), "truncated: 22 bytes expected, 21 found".to_owned()),
            (bytes[..30].to_vec(), format!("truncated: {size} bytes expected, 30 found")),
            ([&bytes[..], &[0, 0]].concat(), "2 bytes too many at the end".to_owned()),
            (
                with(13, 1),
                format!("payload of {} bytes is over the limit of 1048576", (1_u64 << 56) + size - 22),
            ),
        ] {
            assert_eq!(read(&bytes).to_string(), message);
        }
        assert!(matches!(read(&with(25, 0)), CodecError::Checksum { .. }));
        assert!(matches!(read(&with(14, 0)), CodecError::Checksum { .. }));
        let limited = decode::<(Header, Schedule)>(MAGIC, &bytes, 8).unwrap_err();
        assert_eq!(limited, CodecError::TooLarge { found: size - 22, limit: 8 });
    }

    #[test]
    fn another_type_is_refused() {
        let bytes = encode(MAGIC, &[1_u8, 2, 3]).unwrap();
        let left = CodecError::WrongType("1 bytes of the payload are left over".to_owned());
        assert_eq!(decode::<(u8, u8)>(MAGIC, &bytes, LIMIT), Err(left));
        let ends = CodecError::WrongType("it ends inside the value".to_owned());
        assert_eq!(decode::<[u8; 4]>(MAGIC, &bytes, LIMIT), Err(ends));
    }

    #[test]
    fn a_length_cannot_claim_more_than_the_payload_allows() {
        // A string of 2^63 bytes.
        let bytes = encode(MAGIC, &(1_u64 << 63)).unwrap();
        let error = decode::<String>(MAGIC, &bytes, LIMIT).unwrap_err();
        assert_eq!(error, CodecError::WrongType("a length in it is out of all proportion".to_owned()));
        // A list of 2^63 numbers.
        assert!(matches!(decode::<Vec<u64>>(MAGIC, &bytes, LIMIT), Err(CodecError::WrongType(_))));
    }

    #[test]
    fn values_of_every_size_read_back() {
        let wide: Vec<u128> = vec![1; 300_000];
        assert_eq!(decode(MAGIC, &encode(MAGIC, &wide).unwrap(), LIMIT).as_ref(), Ok(&wide));
        let text = "x".repeat(LIMIT - 5);
        assert_eq!(decode(MAGIC, &encode(MAGIC, &text).unwrap(), LIMIT).as_ref(), Ok(&text));
        assert_eq!(decode(MAGIC, &encode(MAGIC, &()).unwrap(), 0), Ok(()));
        let large = vec![u64::MAX; 3_000_000];
        let bytes = encode(MAGIC, &large).unwrap();
        assert_eq!(decode(MAGIC, &bytes, usize::MAX).as_ref(), Ok(&large));
        assert_eq!(bytes.len(), HEADER_BYTES + 5 + 9 * large.len());
    }

    #[test]
    fn damaged_bytes_are_refused_in_good_order() {
        let (bytes, mut rng) = (golden(), Rng::new(3));
        for end in 0..bytes.len() {
            let error = decode::<(Header, Schedule)>(MAGIC, &bytes[..end], LIMIT).unwrap_err();
            assert!(matches!(error, CodecError::Truncated { .. }), "{error}");
        }
        for _ in 0..20_000 {
            let mut damaged = bytes.clone();
            let at = rng.below(damaged.len() as u32) as usize;
            damaged[at] ^= 1 + rng.below(255) as u8;
            assert!(decode::<(Header, Schedule)>(MAGIC, &damaged, LIMIT).is_err());
            // The same with a checksum that fits: the payload itself is hostile.
            let payload: Vec<u8> = damaged[HEADER_BYTES..].to_vec();
            let mut sealed = bytes[..6].to_vec();
            sealed.extend((payload.len() as u64).to_le_bytes());
            sealed.extend(xxhash_rust::xxh3::xxh3_64(&payload).to_le_bytes());
            sealed.extend(&payload);
            if let Err(error) = decode::<(Header, Schedule)>(MAGIC, &sealed, LIMIT) {
                assert!(matches!(error, CodecError::WrongType(_)), "{error}");
            }
        }
        assert_eq!(VERSION, 1, "a new version needs golden bytes of its own");
    }
}

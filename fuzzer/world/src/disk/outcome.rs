//! How a disk operation may end other than well, and the errors that a target sees.

use serde::{Deserialize, Serialize};
use std::io;

/// How a disk operation ends when a choice decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum DiskOutcome {
    /// A sync reports an error. What it was to make durable is not; the contract says whether a retry can.
    SyncFails,
    /// A sync reports success and does nothing.
    SyncLies,
    /// A write, change of length or change of names reports an error and does nothing.
    WriteError,
    /// A write, change of length or creation finds no space and does nothing.
    NoSpace,
    /// A write to a file stores the first half and reports how much.
    ShortWrite,
    /// A write to a file reports success and never reaches the disk, whatever is synced; until the next start
    /// the cache shows it.
    PhantomWrite,
    /// A write to a file reaches the disk a block off; until the next start the cache shows it in its place.
    MisdirectedWrite,
    /// A read reports an error.
    ReadError,
    /// A read of a file returns a wrong byte.
    ReadCorrupt,
    /// A read of a file returns what stands a block off.
    MisdirectedRead,
    /// A read of a file returns what is durable instead of what was written last.
    StaleRead,
    /// A read of a file returns the first half.
    ShortRead,
}

/// What a disk operation is, for outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Reads of the log.
    ReadLog,
    /// Reads of a file.
    Read,
    /// Appends to the log.
    WriteLog,
    /// Writes to a file.
    Write,
    /// Changes of length and creations.
    Grow,
    /// Other changes of names.
    Names,
    /// Syncs.
    Sync,
    /// What no outcome can befall: the length of a file, the list of names.
    Look,
}

impl Class {
    /// Whether the disk stays as it is.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::ReadLog | Self::Look)
    }
}

impl DiskOutcome {
    /// All outcomes with the words of the schedule text.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::SyncFails, "sync-fails"),
        (Self::SyncLies, "sync-lies"),
        (Self::WriteError, "write-error"),
        (Self::NoSpace, "no-space"),
        (Self::ShortWrite, "short-write"),
        (Self::PhantomWrite, "phantom-write"),
        (Self::MisdirectedWrite, "misdirected-write"),
        (Self::ReadError, "read-error"),
        (Self::ReadCorrupt, "read-corrupt"),
        (Self::MisdirectedRead, "misdirected-read"),
        (Self::StaleRead, "stale-read"),
        (Self::ShortRead, "short-read"),
    ];

    /// The outcome of that word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(outcome, _)| *outcome)
    }

    /// The word of the schedule text.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether a contract names it among its media faults; what syncs do is a field of its own.
    pub fn is_media(self) -> bool {
        !matches!(self, Self::SyncFails | Self::SyncLies)
    }

    /// Whether it can befall such an operation.
    pub(crate) fn befalls(self, class: Class) -> bool {
        match self {
            Self::SyncFails | Self::SyncLies => class == Class::Sync,
            Self::WriteError => {
                matches!(class, Class::WriteLog | Class::Write | Class::Grow | Class::Names)
            }
            Self::NoSpace => matches!(class, Class::WriteLog | Class::Write | Class::Grow),
            Self::ShortWrite | Self::PhantomWrite | Self::MisdirectedWrite => class == Class::Write,
            Self::ReadError => matches!(class, Class::ReadLog | Class::Read),
            Self::ReadCorrupt | Self::MisdirectedRead | Self::StaleRead | Self::ShortRead => {
                class == Class::Read
            }
        }
    }
}

/// Why a disk operation was not done. Except for [`DiskError::Short`] the disk is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// The disk was used outside a call from the world. From another thread, the name says which: a thread
    /// that the world does not control.
    #[error("disk used outside a step, on thread `{0}`: threads of the target are not controlled")]
    OutsideStep(String),
    /// The node has passed its crash point; nothing that it does matters any more.
    #[error("the node has crashed")]
    Crashed,
    /// There is no file of that name, or the file is gone: removed, or from before the node's last start.
    #[error("no such file")]
    NotFound,
    /// There is a file of that name already.
    #[error("the file exists already")]
    Exists,
    /// A name that no file can have: empty, `.` or `..`, with `/`, or with white space or control characters.
    #[error("not a file name: `{0}`")]
    BadName(String),
    /// There is no space on the disk.
    #[error("no space left on the disk")]
    NoSpace,
    /// Only the first bytes were written.
    #[error("only {done} bytes were written")]
    Short {
        /// How many.
        done: usize,
    },
    /// The disk failed.
    #[error("input or output error")]
    Other,
}

impl DiskError {
    /// The error kind that the standard library would report.
    pub fn kind(&self) -> io::ErrorKind {
        match self {
            Self::NotFound => io::ErrorKind::NotFound,
            Self::Exists => io::ErrorKind::AlreadyExists,
            Self::BadName(_) => io::ErrorKind::InvalidInput,
            Self::NoSpace => io::ErrorKind::StorageFull,
            Self::Short { .. } => io::ErrorKind::WriteZero,
            Self::OutsideStep(_) | Self::Crashed | Self::Other => io::ErrorKind::Other,
        }
    }
}

impl From<DiskError> for io::Error {
    fn from(error: DiskError) -> Self {
        Self::new(error.kind(), error)
    }
}

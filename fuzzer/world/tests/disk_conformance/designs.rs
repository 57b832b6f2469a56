//! Small storage designs, right and wrong ones, as systems of one node: each stores the values it is asked to and
//! acknowledges them.

use misrule_world::{
    Argument, BootError, Context, DiskError, DiskFile, DiskHandle, Fields, Input, Operation, System,
    Vocabulary,
};
use std::fmt::Display;

/// Bytes of a value as it is stored: it spans blocks of 64 bytes and ends in the middle of one.
const RECORD: usize = 150;
/// The same, filled up to whole blocks.
const PADDED: usize = 192;

/// How values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Design {
    /// A log that is never synced.
    NoSync,
    /// A log that trusts every record of full length.
    LogPlain,
    /// A log whose records carry a checksum and have blocks of their own.
    LogChecked,
    /// The same, where records share blocks.
    LogShared,
    /// Values in one file, their places in another, both synced only at the end.
    DataIndex,
    /// A new file for each value, synced and renamed over the old one.
    Rename,
    /// The same, and the directory is synced.
    RenameDirSync,
    /// The checked log; a sync that fails is tried again.
    RetrySync,
    /// The checked log; a sync that fails stops the node. So it does in all designs but the last.
    StopSync,
}

impl Design {
    pub(crate) const ALL: [(Self, &str); 9] = [
        (Self::NoSync, "no sync"),
        (Self::LogPlain, "log, no checksum"),
        (Self::LogChecked, "log + checksum"),
        (Self::LogShared, "..., shared blocks"),
        (Self::DataIndex, "data + index"),
        (Self::Rename, "rename"),
        (Self::RenameDirSync, "rename + dir sync"),
        (Self::RetrySync, "retry failed sync"),
        (Self::StopSync, "stop at failed sync"),
    ];

    fn is_snapshot(self) -> bool {
        matches!(self, Self::Rename | Self::RenameDirSync)
    }

    fn slot(self) -> usize {
        if self == Self::LogShared { RECORD } else { PADDED }
    }
}

/// A value in bytes: checksum, value, and a body that follows from the value.
fn encode(value: u32, bytes: &mut [u8; RECORD]) {
    bytes[4..8].copy_from_slice(&value.to_le_bytes());
    for (at, byte) in bytes[8..].iter_mut().enumerate() {
        *byte = (value as usize * 31 + at) as u8 | 1;
    }
    let sum = checksum(&bytes[4..]);
    bytes[..4].copy_from_slice(&sum.to_le_bytes());
}

fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// The value in bytes, or nothing where they are not what some value was stored as.
fn decode(bytes: &[u8; RECORD]) -> Option<u32> {
    let value = u32::from_le_bytes(bytes[4..8].try_into().ok()?);
    let mut right = [0; RECORD];
    encode(value, &mut right);
    (*bytes == right).then_some(value)
}

/// A running node.
pub(crate) struct Node {
    recovered: Vec<Option<u32>>,
    /// Where the next record of a log goes, or how many entries the index has.
    end: u64,
    files: Vec<DiskFile>,
    stopped: bool,
}

/// What the last start recovered; nothing in the place of a value that is not one.
#[derive(Clone, Default)]
pub(crate) struct View {
    pub(crate) recovered: Vec<Option<u32>>,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("recovered", &format_args!("{:?}", self.recovered));
    }
}

/// A design as a system.
pub(crate) struct Store {
    pub(crate) design: Design,
    vocabulary: Vocabulary,
}

impl Store {
    pub(crate) fn new(design: Design) -> Self {
        let put = Operation { name: "put", argument: Argument::Fresh, weight: 1 };
        let vocabulary =
            Vocabulary { nodes: 1, kinds: vec!["Ack"], operations: vec![put], ..Vocabulary::default() };
        Self { design, vocabulary }
    }

    fn recover(&self, node: &mut Node, disk: DiskHandle) -> Result<(), DiskError> {
        let mut record = [0; RECORD];
        match self.design {
            Design::Rename | Design::RenameDirSync => {
                if let Ok(file) = disk.open("state") {
                    let whole = file.read_at(0, &mut record)? == RECORD;
                    node.recovered.push(if whole { decode(&record) } else { None });
                }
                return Ok(());
            }
            Design::DataIndex => {
                let (data, index) = (disk.open_or_create("data")?, disk.open_or_create("index")?);
                node.files.extend([data, index]);
                node.end = index.len()? / 8;
                for at in 0..node.end {
                    let mut place = [0; 8];
                    index.read_at(8 * at, &mut place)?;
                    let whole = data.read_at(u64::from_le_bytes(place), &mut record)? == RECORD;
                    node.recovered.push(if whole { decode(&record) } else { None });
                }
            }
            design => {
                let log = disk.open_or_create("log")?;
                node.files.push(log);
                while log.read_at(node.end, &mut record)? == RECORD {
                    let value = decode(&record);
                    if value.is_none() && design != Design::LogPlain {
                        break;
                    }
                    node.recovered.push(value);
                    node.end += design.slot() as u64;
                }
                if log.len()? > node.end {
                    log.set_len(node.end)?;
                }
                if design == Design::NoSync {
                    return Ok(());
                }
                self.sync(log)?;
            }
        }
        disk.sync_dir()
    }

    fn put(&self, node: &mut Node, value: u32, disk: DiskHandle) -> Result<(), DiskError> {
        let mut record = [0; RECORD];
        encode(value, &mut record);
        match self.design {
            Design::Rename | Design::RenameDirSync => {
                let file = disk.open_or_create("new")?;
                file.set_len(0)?;
                file.write_at(0, &record)?;
                file.sync_all()?;
                disk.rename("new", "state")?;
                if self.design == Design::RenameDirSync {
                    disk.sync_dir()?;
                }
            }
            Design::DataIndex => {
                let [data, index] = node.files[..] else { return Err(DiskError::NotFound) };
                let place = data.append(&record)?;
                index.write_at(8 * node.end, &place.to_le_bytes())?;
                node.end += 1;
                data.sync_all()?;
                index.sync_all()?;
            }
            design => {
                let log = node.files[0];
                let mut slot = [0; PADDED];
                slot[..RECORD].copy_from_slice(&record);
                log.write_at(node.end, &slot[..design.slot()])?;
                node.end += design.slot() as u64;
                if design != Design::NoSync {
                    self.sync(log)?;
                }
            }
        }
        Ok(())
    }

    fn sync(&self, file: DiskFile) -> Result<(), DiskError> {
        match file.sync_data() {
            Err(DiskError::Other) if self.design == Design::RetrySync => self.sync(file),
            other => other,
        }
    }
}

impl System for Store {
    type Node = Node;
    /// The acknowledgement of a value.
    type Message = u32;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<u32>) -> Result<Node, BootError> {
        let mut node = Node { recovered: Vec::new(), end: 0, files: Vec::new(), stopped: false };
        node.stopped = self.recover(&mut node, cx.disk()).is_err();
        Ok(node)
    }

    fn handle(&self, node: &mut Node, input: Input<u32>, cx: &mut Context<u32>) {
        let Input::Request { argument, .. } = input else { return };
        if node.stopped {
            return;
        }
        match self.put(node, argument, cx.disk()) {
            Ok(()) => cx.send(0, argument),
            Err(_) => node.stopped = true,
        }
    }

    fn view(&self, node: &Node, out: &mut View) {
        out.recovered.clone_from(&node.recovered);
    }

    fn kind(&self, _message: &u32) -> u8 {
        0
    }
}

impl Store {
    /// What is wrong with what a start recovered, given what was asked for and what was acknowledged.
    pub(crate) fn wrong(
        &self,
        recovered: &[Option<u32>],
        asked: u32,
        acknowledged: &[u32],
    ) -> Option<&'static str> {
        let values: Option<Vec<u32>> = recovered.iter().copied().collect();
        let Some(values) = values else { return Some("a value is no value") };
        if values.iter().any(|value| *value == 0 || *value > asked) {
            return Some("a value was never asked for");
        }
        let there = if self.design.is_snapshot() {
            acknowledged.last() <= values.last()
        } else {
            acknowledged.iter().all(|value| values.contains(value))
        };
        if there { None } else { Some("an acknowledged value is lost") }
    }
}

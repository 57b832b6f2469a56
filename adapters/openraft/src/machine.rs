//! The state machine: registers, and how far they are. It lives in memory; a restart builds it again from the last
//! snapshot and the committed entries.

use crate::image::{Change, lock};
use crate::oracles::{CHANGED, INSTALLED, JOINT};
use crate::record::snapshot_id;
use crate::registers::Registers;
use crate::store::{Bug, Store};
use crate::types::{Entry, LogId, SnapshotMeta, StorageError, StoredMembership, Types};
use misrule_world::Answer;
use openraft::storage::RaftStateMachine;
use openraft::{AnyError, EntryPayload, OptionalSend, RaftSnapshotBuilder, Snapshot, StorageIOError};
use std::io::Cursor;

/// The state after some entries.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    store: Store,
    registers: Registers,
    applied: Option<LogId>,
    membership: StoredMembership,
}

impl Machine {
    /// The state that the last snapshot holds, or the first of all.
    pub(crate) fn open(store: Store) -> Result<Self, String> {
        let mut machine = Self {
            store,
            registers: Registers::default(),
            applied: None,
            membership: StoredMembership::default(),
        };
        let snapshot = lock(&machine.store.image).snapshot.clone();
        if let Some((meta, data)) = snapshot {
            machine.restore(&meta, &data).ok_or("a snapshot cannot be read")?;
        }
        Ok(machine)
    }

    fn restore(&mut self, meta: &SnapshotMeta, data: &[u8]) -> Option<()> {
        self.registers = Registers::read(data)?;
        self.applied = meta.last_log_id;
        self.membership = meta.last_membership.clone();
        let mut image = lock(&self.store.image);
        (image.applied, image.registers) = (self.applied, self.registers);
        Some(())
    }

    /// Keeps a snapshot durably.
    #[expect(clippy::result_large_err, reason = "the library's error")]
    fn keep(&self, meta: &SnapshotMeta, data: &[u8]) -> Result<(), StorageError> {
        let change = Change::Snapshot(meta.clone(), data.to_vec());
        lock(&self.store.image).write(change).map_err(|error| {
            StorageIOError::write_snapshot(Some(meta.signature()), AnyError::error(error))
        })?;
        // Whoever waits for the disk has waited long enough.
        self.store.flush();
        Ok(())
    }

    /// The library promises to apply committed entries one after the other, and none twice.
    fn check(&self, entry: &Entry) {
        let next = self.applied.map_or(0, |applied| applied.index + 1);
        if entry.log_id.index != next {
            let text = format!("entry {} is applied where {next} is the next", entry.log_id.index);
            lock(&self.store.image).contradict(text);
        }
    }
}

impl RaftStateMachine<Types> for Machine {
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), StorageError> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Option<Answer>>, StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let (mut answers, mut seen) = (Vec::new(), 0);
        for entry in entries {
            self.check(&entry);
            let mut answer = None;
            match entry.payload {
                EntryPayload::Blank => {}
                EntryPayload::Normal(command) => answer = self.registers.apply(command),
                EntryPayload::Membership(membership) => {
                    let is_joint = membership.get_joint_config().len() > 1;
                    let is_first = entry.log_id.index == 0;
                    seen |= if is_joint { JOINT } else { CHANGED * u8::from(!is_first) };
                    if is_first || self.store.bug != Bug::MembershipForgotten {
                        self.membership = StoredMembership::new(Some(entry.log_id), membership);
                    }
                }
            }
            self.applied = Some(entry.log_id);
            answers.push(answer);
        }
        let mut image = lock(&self.store.image);
        (image.applied, image.registers) = (self.applied, self.registers);
        image.seen |= seen;
        image.changes += 1;
        Ok(answers)
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError> {
        let data = snapshot.into_inner();
        self.keep(meta, &data)?;
        lock(&self.store.image).seen |= INSTALLED;
        self.restore(meta, &data).ok_or_else(|| {
            let error = AnyError::error("a snapshot of another length than the sender's");
            StorageIOError::read_snapshot(Some(meta.signature()), error).into()
        })
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, StorageError> {
        let kept = lock(&self.store.image).snapshot.clone();
        Ok(kept.map(|(meta, data)| Snapshot { meta, snapshot: Box::new(Cursor::new(data)) }))
    }
}

impl RaftSnapshotBuilder<Types> for Machine {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, StorageError> {
        let meta = SnapshotMeta {
            last_log_id: self.applied,
            last_membership: self.membership.clone(),
            snapshot_id: snapshot_id(self.applied.as_ref()),
        };
        let data = self.registers.bytes();
        self.keep(&meta, &data)?;
        Ok(Snapshot { meta, snapshot: Box::new(Cursor::new(data)) })
    }
}

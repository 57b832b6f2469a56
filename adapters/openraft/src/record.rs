//! Records of the disk's log: words of eight bytes, least significant byte first.

use crate::command::Command;
use crate::image::Change;
use crate::types::{Entry, LogId, Membership, SnapshotMeta, StoredMembership, Vote};
use openraft::{CommittedLeaderId, EntryPayload};
use std::collections::BTreeSet;

const VOTE: u64 = 1;
const APPEND: u64 = 2;
const TRUNCATE: u64 = 3;
const PURGE: u64 = 4;
const COMMITTED: u64 = 5;
const SNAPSHOT: u64 = 6;

const BLANK: u64 = 0;
const COMMAND: u64 = 1;
const MEMBERSHIP: u64 = 2;

/// Writes a change as a record.
pub(crate) fn write(change: &Change, out: &mut Vec<u8>) {
    out.clear();
    let mut out = Writer(out);
    match change {
        Change::Vote(vote) => {
            out.words(&[VOTE, vote.leader_id.term, vote.leader_id.node_id, u64::from(vote.committed)]);
        }
        Change::Append(entries) => {
            out.words(&[APPEND, entries.len() as u64]);
            for entry in entries {
                out.entry(entry);
            }
        }
        Change::Truncate(from) => out.words(&[TRUNCATE, *from]),
        Change::Purge(upto) => {
            out.words(&[PURGE]);
            out.log_id(upto);
        }
        Change::Committed(committed) => {
            out.words(&[COMMITTED]);
            out.maybe_log_id(committed.as_ref());
        }
        Change::Snapshot(meta, data) => {
            out.words(&[SNAPSHOT]);
            out.maybe_log_id(meta.last_log_id.as_ref());
            out.maybe_log_id(meta.last_membership.log_id().as_ref());
            out.membership(meta.last_membership.membership());
            out.words(&[data.len() as u64]);
            out.0.extend_from_slice(data);
        }
    }
}

/// The change that a record holds; `None` where it holds none.
pub(crate) fn read(record: &[u8]) -> Option<Change> {
    let mut from = Reader(record);
    let change = match from.word()? {
        VOTE => {
            let (term, node) = (from.word()?, from.word()?);
            let mut vote = Vote::new(term, node);
            vote.committed = from.word()? == 1;
            Change::Vote(vote)
        }
        APPEND => {
            let count = from.word()?;
            Change::Append((0..count).map(|_| from.entry()).collect::<Option<_>>()?)
        }
        TRUNCATE => Change::Truncate(from.word()?),
        PURGE => Change::Purge(from.log_id()?),
        COMMITTED => Change::Committed(from.maybe_log_id()?),
        SNAPSHOT => {
            let last_log_id = from.maybe_log_id()?;
            let membership_at = from.maybe_log_id()?;
            let last_membership = StoredMembership::new(membership_at, from.membership()?);
            let length = usize::try_from(from.word()?).ok()?;
            let data = from.0.get(..length)?.to_vec();
            let snapshot_id = snapshot_id(last_log_id.as_ref());
            Change::Snapshot(SnapshotMeta { last_log_id, last_membership, snapshot_id }, data)
        }
        _ => return None,
    };
    Some(change)
}

/// The name of a snapshot: what it holds.
pub(crate) fn snapshot_id(last: Option<&LogId>) -> String {
    last.map_or_else(|| "empty".to_owned(), ToString::to_string)
}

struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    fn words(&mut self, words: &[u64]) {
        for word in words {
            self.0.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn log_id(&mut self, id: &LogId) {
        self.words(&[id.leader_id.term, id.leader_id.node_id, id.index]);
    }

    fn maybe_log_id(&mut self, id: Option<&LogId>) {
        self.words(&[u64::from(id.is_some())]);
        if let Some(id) = id {
            self.log_id(id);
        }
    }

    fn entry(&mut self, entry: &Entry) {
        self.log_id(&entry.log_id);
        match &entry.payload {
            EntryPayload::Blank => self.words(&[BLANK]),
            EntryPayload::Normal(command) => {
                let [what, call] = command.word();
                self.words(&[COMMAND, what, call]);
            }
            EntryPayload::Membership(membership) => {
                self.words(&[MEMBERSHIP]);
                self.membership(membership);
            }
        }
    }

    fn membership(&mut self, membership: &Membership) {
        let configs = membership.get_joint_config();
        self.words(&[configs.len() as u64]);
        for config in configs {
            self.words(&[config.len() as u64]);
            for id in config {
                self.words(&[*id]);
            }
        }
        self.words(&[membership.nodes().count() as u64]);
        for (id, _) in membership.nodes() {
            self.words(&[*id]);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn log_id(&mut self) -> Option<LogId> {
        let leader = CommittedLeaderId::new(self.word()?, self.word()?);
        Some(LogId::new(leader, self.word()?))
    }

    /// `None` where the record is too short; `Some(None)` where it says that there is none.
    #[expect(clippy::option_option, reason = "a record that cannot be read, and one that holds no id")]
    fn maybe_log_id(&mut self) -> Option<Option<LogId>> {
        match self.word()? {
            0 => Some(None),
            _ => self.log_id().map(Some),
        }
    }

    fn entry(&mut self) -> Option<Entry> {
        let log_id = self.log_id()?;
        let payload = match self.word()? {
            BLANK => EntryPayload::Blank,
            COMMAND => EntryPayload::Normal(Command::of([self.word()?, self.word()?])),
            MEMBERSHIP => EntryPayload::Membership(self.membership()?),
            _ => return None,
        };
        Some(Entry { log_id, payload })
    }

    fn ids(&mut self) -> Option<BTreeSet<u64>> {
        let count = self.word()?;
        (0..count).map(|_| self.word()).collect()
    }

    fn membership(&mut self) -> Option<Membership> {
        let configs = self.word()?;
        let configs: Vec<BTreeSet<u64>> = (0..configs).map(|_| self.ids()).collect::<Option<_>>()?;
        Some(Membership::new(configs, self.ids()?))
    }
}

#[cfg(test)]
mod tests {
    use super::{read, snapshot_id, write};
    use crate::command::{Action, Command};
    use crate::image::Change;
    use crate::types::{Entry, LogId, Membership, SnapshotMeta, StoredMembership, Vote};
    use misrule_world::Call;
    use openraft::{CommittedLeaderId, EntryPayload};
    use std::collections::BTreeSet;

    fn id(index: u64) -> LogId {
        LogId::new(CommittedLeaderId::new(3, 2), index)
    }

    fn membership() -> Membership {
        Membership::new(vec![BTreeSet::from([1, 2]), BTreeSet::from([2, 3])], BTreeSet::from([4]))
    }

    #[test]
    fn records_are_read_as_they_were_written_and_never_cut_short() {
        let command = Command { action: Action::Cas, argument: 7, call: Call::new(1, 2) };
        let payloads =
            [EntryPayload::Blank, EntryPayload::Normal(command), EntryPayload::Membership(membership())];
        let entries =
            payloads.into_iter().zip(1..).map(|(payload, index)| Entry { log_id: id(index), payload });
        let meta = SnapshotMeta {
            last_log_id: Some(id(4)),
            last_membership: StoredMembership::new(None, membership()),
            snapshot_id: snapshot_id(Some(&id(4))),
        };
        let changes = [
            Change::Vote(Vote::new_committed(5, 1)),
            Change::Vote(Vote::new(5, 1)),
            Change::Append(entries.collect()),
            Change::Truncate(9),
            Change::Purge(id(2)),
            Change::Committed(None),
            Change::Committed(Some(id(3))),
            Change::Snapshot(meta, vec![1, 2, 3]),
        ];
        let mut record = Vec::new();
        for change in changes {
            write(&change, &mut record);
            assert_eq!(read(&record).as_ref(), Some(&change));
            for length in 0..record.len() {
                assert_eq!(read(&record[..length]), None, "{change:?} cut to {length} bytes");
            }
        }
        assert_eq!(read(&99_u64.to_le_bytes()), None);
    }
}

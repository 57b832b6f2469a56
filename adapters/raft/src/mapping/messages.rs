//! Messages and entries of the crate as those of the model.

use crate::compat;
use crate::reads::number_of;
use misrule_models::NodeId;
use misrule_models::raft::{LogEntry, Message};
use raft::eraftpb::{Entry, EntryType, Message as Theirs, MessageType};

/// Memory of lists of entries, for the next ones.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<Vec<LogEntry>>);

impl Spare {
    fn take(&mut self) -> Vec<LogEntry> {
        self.0.pop().unwrap_or_default()
    }

    pub(super) fn give(&mut self, mut entries: Vec<LogEntry>) {
        entries.clear();
        self.0.push(entries);
    }
}

/// The node of a number of the crate's, which count from 1; `None` for 0.
pub(super) fn node(number: u64) -> Option<NodeId> {
    number.checked_sub(1).map(|node| node as NodeId)
}

/// An entry as the model has it: an empty one is 0, a change of the configuration is the model's, and any other is told
/// by a hash of its content.
pub(super) fn to_entry(entry: &Entry) -> LogEntry {
    let value = match compat::change(entry) {
        Some(change) => change.value(),
        None if entry.data.is_empty() && entry.entry_type == EntryType::EntryNormal => 0,
        None => crate::image::chain(0, entry) as u32 | 1,
    };
    LogEntry { term: entry.term as u32, value }
}

/// Whether it answers another message.
pub(super) fn is_answer(theirs: &Theirs) -> bool {
    matches!(
        theirs.msg_type,
        MessageType::MsgAppendResponse
            | MessageType::MsgRequestVoteResponse
            | MessageType::MsgHeartbeatResponse
            | MessageType::MsgRequestPreVoteResponse
    )
}

/// The message as the model has it; `None` where it has none such.
pub(super) fn to_model(theirs: &Theirs, spare: &mut Spare) -> Option<Message> {
    let term = theirs.term as u32;
    let last = (theirs.index as u32, theirs.log_term as u32);
    let granted = !theirs.reject;
    Some(match theirs.msg_type {
        MessageType::MsgRequestVote => Message::Vote { term, last },
        MessageType::MsgRequestVoteResponse => Message::VoteReply { term, granted },
        MessageType::MsgRequestPreVote => Message::PreVote { term, last },
        MessageType::MsgRequestPreVoteResponse => Message::PreVoteReply { term, granted },
        MessageType::MsgAppend => {
            let mut entries = spare.take();
            entries.extend(theirs.entries.iter().map(to_entry));
            Message::Append { term, previous: last, entries, commit: theirs.commit as u32 }
        }
        MessageType::MsgAppendResponse => {
            // Where to go on is the leader's own affair in an open network.
            let matched = granted.then_some(theirs.index as u32);
            Message::AppendReply { term, matched, hint: (0, 0) }
        }
        MessageType::MsgHeartbeat => {
            Message::Heartbeat { term, commit: theirs.commit as u32, read: number_of(&theirs.context) }
        }
        MessageType::MsgHeartbeatResponse => {
            Message::HeartbeatReply { term, read: number_of(&theirs.context) }
        }
        MessageType::MsgTimeoutNow => Message::TimeoutNow { term },
        MessageType::MsgSnapshot => {
            let metadata = theirs.get_snapshot().get_metadata();
            Message::Snapshot { term, last: (metadata.index as u32, metadata.term as u32) }
        }
        // Requests to the leader that others pass on. What they ask for is none of the model's.
        MessageType::MsgTransferLeader | MessageType::MsgReadIndexResp => Message::Note { term },
        _ => return None,
    })
}

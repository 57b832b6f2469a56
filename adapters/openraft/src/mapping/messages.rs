//! Messages and entries of the crate as those of the model.

use crate::members::configuration;
use crate::message::{Body, Wire};
use crate::types::{Entry, LogId, Vote};
use misrule_models::NodeId;
use misrule_models::raft::{Change, LogEntry, Message, owned_term};
use misrule_world::mix;
use openraft::EntryPayload;
use openraft::raft::AppendEntriesResponse;

/// The node of a number of the crate's, which count from 1; `None` for 0.
pub(super) fn peer(number: u64) -> Option<NodeId> {
    number.checked_sub(1).map(|node| node as NodeId)
}

/// Term and node of a vote as a term of the model.
pub(super) fn rank((term, number): (u64, u64)) -> u32 {
    owned_term(term as u32, peer(number))
}

pub(super) fn rank_of(vote: &Vote) -> u32 {
    rank((vote.leader_id.term, vote.leader_id.node_id))
}

/// The index of an entry. Entry 0 is the beginning of the log, like none.
pub(super) fn upto(id: Option<&LogId>) -> u32 {
    id.map_or(0, |id| id.index as u32)
}

/// Index and term of an entry.
fn place(id: Option<&LogId>) -> (u32, u32) {
    id.map_or((0, 0), |id| (id.index as u32, rank((id.leader_id.term, id.leader_id.node_id))))
}

/// An entry as the model has it: an empty one is 0, a membership a change, any other is told by a hash of its content.
pub(super) fn to_entry(entry: &Entry) -> LogEntry {
    let value = match &entry.payload {
        EntryPayload::Blank => 0,
        EntryPayload::Normal(command) => {
            let [what, call] = command.word();
            mix(mix(what) ^ call) as u32 | 1
        }
        EntryPayload::Membership(membership) => Change::whole(configuration(membership)).value(),
    };
    LogEntry { term: place(Some(&entry.log_id)).1, value }
}

/// The message as the model has it; `None` where it has none such: an error in place of an answer.
pub(super) fn to_model(wire: &Wire) -> Option<Message> {
    let asked = wire.asked;
    let asked_term = asked.vote.as_ref().map_or(0, rank_of);
    Some(match &wire.body {
        Body::Append(request) => Message::Append {
            term: rank_of(&request.vote),
            previous: place(request.prev_log_id.as_ref()),
            entries: request.entries.iter().filter(|entry| entry.log_id.index > 0).map(to_entry).collect(),
            commit: upto(request.leader_commit.as_ref()),
        },
        Body::Appended(response) => {
            let (term, matched) = match response {
                AppendEntriesResponse::Success => (asked_term, Some(upto(asked.upto.as_ref()))),
                AppendEntriesResponse::PartialSuccess(last) => (asked_term, Some(upto(last.as_ref()))),
                AppendEntriesResponse::Conflict => (asked_term, None),
                AppendEntriesResponse::HigherVote(vote) => (rank_of(vote), None),
            };
            Message::AppendReply { term, matched, hint: (0, 0) }
        }
        Body::Vote(request) => {
            Message::Vote { term: rank_of(&request.vote), last: place(request.last_log_id.as_ref()) }
        }
        Body::Voted(response) => {
            Message::VoteReply { term: rank_of(&response.vote), granted: response.vote_granted }
        }
        Body::Install(request) => {
            Message::Snapshot { term: rank_of(&request.vote), last: place(request.meta.last_log_id.as_ref()) }
        }
        Body::Installed(Ok(response)) => {
            let term = rank_of(&response.vote);
            // Only the last part of a snapshot says how far the node is by it.
            if asked.done && term == asked_term {
                Message::AppendReply { term, matched: Some(upto(asked.upto.as_ref())), hint: (0, 0) }
            } else {
                Message::Note { term }
            }
        }
        Body::Installed(Err(_)) => return None,
    })
}

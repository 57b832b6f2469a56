//! Messages: a request of openraft, and its answer. Each is on its way by itself.

use crate::types::{LogId, Types, Vote};
use openraft::error::InstallSnapshotError;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::{EntryPayload, MessageSummary};
use std::fmt;
use std::sync::Arc;

/// The kinds of messages, in the order of [`Body::kind`].
pub(crate) const KINDS: [&str; 7] =
    ["Append", "Appended", "Vote", "Voted", "Install", "Installed", "Heartbeat"];

pub(crate) const APPEND: u8 = 0;
pub(crate) const HEARTBEAT: u8 = 6;

/// What a message says.
pub(crate) enum Body {
    Append(AppendEntriesRequest<Types>),
    Appended(AppendEntriesResponse<u64>),
    Vote(VoteRequest<u64>),
    Voted(VoteResponse<u64>),
    Install(InstallSnapshotRequest<Types>),
    Installed(Result<InstallSnapshotResponse<u64>, InstallSnapshotError>),
}

/// The start of a node that a request comes from: a node that has started again does not know the requests that it had
/// made before, as if their connections were closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin(Arc<()>);

impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What a request is about; of an answer, what the request was about, which no answer says itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) vote: Option<Vote>,
    /// The last entry that it brings or speaks of.
    pub(crate) upto: Option<LogId>,
    /// Whether it is the last part of a snapshot.
    pub(crate) done: bool,
    /// The entry with the membership for which the leader sends it.
    pub(crate) members: Option<LogId>,
}

/// A message between nodes.
pub struct Wire {
    /// Number of the request among those of its origin.
    pub(crate) request: u64,
    pub(crate) origin: Origin,
    pub(crate) asked: Asked,
    pub(crate) body: Body,
}

/// What lenses read of a message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// Term and node of the vote.
    pub(crate) vote: Option<(u64, u64)>,
    /// The last entry that is spoken of.
    pub(crate) index: Option<u64>,
}

impl Body {
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Self::Append(request) if request.entries.is_empty() => HEARTBEAT,
            Self::Append(_) => APPEND,
            Self::Appended(_) => 1,
            Self::Vote(_) => 2,
            Self::Voted(_) => 3,
            Self::Install(_) => 4,
            Self::Installed(_) => 5,
        }
    }

    /// What a request is about.
    pub(crate) fn asks(&self) -> Asked {
        match self {
            Self::Append(request) => {
                let last = request.entries.last().map(|entry| entry.log_id);
                Asked { vote: Some(request.vote), upto: last.or(request.prev_log_id), ..Asked::default() }
            }
            Self::Install(request) => Asked {
                vote: Some(request.vote),
                upto: request.meta.last_log_id,
                done: request.done,
                ..Asked::default()
            },
            Self::Vote(request) => Asked { vote: Some(request.vote), ..Asked::default() },
            Self::Appended(_) | Self::Voted(_) | Self::Installed(_) => Asked::default(),
        }
    }

    /// Whether it answers a request.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Appended(_) | Self::Voted(_) | Self::Installed(_))
    }

    pub(crate) fn facts(&self) -> Facts {
        let of = |vote: &Vote| Some((vote.leader_id.term, vote.leader_id.node_id));
        let at = |id: Option<&LogId>| id.map(|id| id.index + 1);
        match self {
            Self::Append(request) => {
                let last = request.entries.last().map(|entry| &entry.log_id);
                Facts { vote: of(&request.vote), index: at(last.or(request.prev_log_id.as_ref())) }
            }
            Self::Appended(AppendEntriesResponse::HigherVote(vote)) => Facts { vote: of(vote), index: None },
            Self::Appended(AppendEntriesResponse::PartialSuccess(last)) => {
                Facts { vote: None, index: at(last.as_ref()) }
            }
            Self::Vote(request) => Facts { vote: of(&request.vote), index: at(request.last_log_id.as_ref()) },
            Self::Voted(response) => {
                Facts { vote: of(&response.vote), index: at(response.last_log_id.as_ref()) }
            }
            Self::Install(request) => {
                Facts { vote: of(&request.vote), index: at(request.meta.last_log_id.as_ref()) }
            }
            Self::Installed(Ok(response)) => Facts { vote: of(&response.vote), index: None },
            Self::Appended(_) | Self::Installed(Err(_)) => Facts::default(),
        }
    }
}

impl Clone for Body {
    fn clone(&self) -> Self {
        match self {
            Self::Append(request) => Self::Append(request.clone()),
            Self::Appended(response) => Self::Appended(match response {
                AppendEntriesResponse::Success => AppendEntriesResponse::Success,
                AppendEntriesResponse::PartialSuccess(last) => AppendEntriesResponse::PartialSuccess(*last),
                AppendEntriesResponse::Conflict => AppendEntriesResponse::Conflict,
                AppendEntriesResponse::HigherVote(vote) => AppendEntriesResponse::HigherVote(*vote),
            }),
            Self::Vote(request) => Self::Vote(request.clone()),
            Self::Voted(response) => Self::Voted(response.clone()),
            Self::Install(request) => Self::Install(request.clone()),
            Self::Installed(response) => Self::Installed(match response {
                Ok(response) => Ok(InstallSnapshotResponse { vote: response.vote }),
                Err(refusal) => Err(refusal.clone()),
            }),
        }
    }
}

impl Clone for Wire {
    fn clone(&self) -> Self {
        Self {
            request: self.request,
            origin: self.origin.clone(),
            asked: self.asked,
            body: self.body.clone(),
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{} ", KINDS[usize::from(self.body.kind())], self.request)?;
        match &self.body {
            Body::Append(request) => {
                let last = |id: &Option<LogId>| id.summary();
                write!(
                    f,
                    "vote {} after {} commit {}",
                    request.vote,
                    last(&request.prev_log_id),
                    last(&request.leader_commit)
                )?;
                for entry in &request.entries {
                    let id = entry.log_id;
                    match &entry.payload {
                        EntryPayload::Normal(value) => write!(f, " {id}={value:?}")?,
                        EntryPayload::Blank => write!(f, " {id}=blank")?,
                        EntryPayload::Membership(members) => {
                            write!(f, " {id}={:?}", members.get_joint_config())?;
                        }
                    }
                }
                Ok(())
            }
            Body::Appended(response) => write!(f, "{response}"),
            Body::Vote(request) => write!(f, "{request}"),
            Body::Voted(response) => write!(f, "{response} granted {}", response.vote_granted),
            Body::Install(request) => write!(f, "{request}"),
            Body::Installed(Ok(response)) => write!(f, "vote {}", response.vote),
            Body::Installed(Err(refusal)) => write!(f, "{refusal}"),
        }
    }
}

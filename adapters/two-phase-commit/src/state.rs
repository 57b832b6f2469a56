//! What nodes say and know: messages, records on disk, the state of one node.

use crate::bugs::Bug;
use misrule_world::{Context, DiskError, DiskHandle, Fields, NodeId};
use std::fmt::{self, Debug, Display};

/// The most transactions that run at once.
pub const LANES_MAX: usize = 4;

/// The coordinator's node.
pub(crate) const COORDINATOR: NodeId = 0;

/// Timer of the coordinator: gives up waiting for votes.
pub(crate) const VOTE_TIMEOUT: u8 = 0;
/// Timer of the coordinator: sends again what was not answered.
pub(crate) const RESEND: u8 = 1;
/// Timer of a manager: asks everybody for the outcome.
pub(crate) const ASK_OUTCOME: u8 = 2;

/// Local step: syncs the disk and then says what the records allow to say (group commit).
pub(crate) const FLUSH: u8 = 0;

/// Draw of a manager: 0 is a vote against.
pub(crate) const VOTE: u8 = 0;
/// Bound of the draw.
pub(crate) const VOTE_BELOW: u32 = 8;

/// A transaction: the round of a lane. A lane's next round begins when every manager has acknowledged the
/// outcome of the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Txn {
    /// The lane, counted from 0.
    pub lane: u8,
    /// The round, counted from 1.
    pub round: u32,
}

impl Debug for Txn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}.{}", self.lane + 1, self.round)
    }
}

/// What nodes send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A manager passes a client's wish for a transaction on to the coordinator.
    Submit,
    /// The coordinator asks for a vote.
    Prepare(Txn),
    /// A manager votes: yes or no.
    Vote(Txn, bool),
    /// The outcome: commit or abort. From the coordinator, or from a manager that was told.
    Decision(Txn, bool),
    /// A manager has the outcome on its disk.
    Ack(Txn),
    /// A manager that waits for the outcome asks for it.
    Ask(Txn),
}

impl Message {
    /// Names of the kinds, in the order of [`kind`](Self::kind).
    pub const KINDS: [&'static str; 8] =
        ["Submit", "Prepare", "VoteYes", "VoteNo", "Commit", "Abort", "Ack", "Ask"];

    /// Position in [`KINDS`](Self::KINDS).
    pub fn kind(self) -> u8 {
        match self {
            Self::Submit => 0,
            Self::Prepare(_) => 1,
            Self::Vote(_, true) => 2,
            Self::Vote(_, false) => 3,
            Self::Decision(_, true) => 4,
            Self::Decision(_, false) => 5,
            Self::Ack(_) => 6,
            Self::Ask(_) => 7,
        }
    }

    /// The transaction that the message is about.
    pub fn txn(self) -> Option<Txn> {
        match self {
            Self::Submit => None,
            Self::Prepare(txn)
            | Self::Vote(txn, _)
            | Self::Decision(txn, _)
            | Self::Ack(txn)
            | Self::Ask(txn) => Some(txn),
        }
    }
}

/// How far a node is with the transaction of a lane, as far as its disk says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing is on disk.
    #[default]
    Idle,
    /// Coordinator: waits for votes.
    Preparing,
    /// Manager: has voted yes and waits for the outcome.
    Prepared,
    /// Committed.
    Committed,
    /// Aborted.
    Aborted,
}

impl Phase {
    /// Whether the outcome is known.
    pub fn decided(self) -> bool {
        matches!(self, Self::Committed | Self::Aborted)
    }
}

/// A record in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Record {
    /// Coordinator: the round has begun.
    Begin = 1,
    /// Manager: will vote yes.
    Prepare = 2,
    /// Manager: will vote no, and has aborted.
    Refuse = 3,
    /// The outcome is to commit.
    Commit = 4,
    /// The outcome is to abort.
    Abort = 5,
    /// Coordinator: the outcome is to abort, since votes are missing.
    GiveUp = 6,
}

impl Record {
    const ALL: [Self; 6] =
        [Self::Begin, Self::Prepare, Self::Refuse, Self::Commit, Self::Abort, Self::GiveUp];

    /// The phase that the record leads to.
    pub fn phase(self) -> Phase {
        match self {
            Self::Begin => Phase::Preparing,
            Self::Prepare => Phase::Prepared,
            Self::Commit => Phase::Committed,
            Self::Refuse | Self::Abort | Self::GiveUp => Phase::Aborted,
        }
    }
}

/// What a node knows of the transaction of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// The round; 0 before the first.
    pub round: u32,
    /// What the disk says for sure, and what was therefore said to others.
    pub phase: Phase,
    /// A record that waits for the sync. Nobody is told of it before.
    pub pending: Option<Record>,
    /// Position of that record among the node's unsynced ones, counted from 1.
    pub pending_at: u16,
    /// Coordinator: who has voted yes.
    pub votes: u16,
    /// Coordinator: who has acknowledged the outcome.
    pub acks: u16,
    /// Manager: has voted yes since it started last, or found that it had.
    pub voted: bool,
    /// Manager: has the outcome from the coordinator, not from its own vote.
    pub told: bool,
    /// The node has restarted since the disk came to say what it says.
    pub recovered: bool,
    /// How many votes were counted, how often the outcome was asked for or sent again: what planted bugs go by.
    pub count: u8,
}

impl Lane {
    /// Begins a round in the lane.
    pub(crate) fn start(&mut self, round: u32) {
        *self = Self { round, ..Self::default() };
    }

    /// Whether the node is prepared and had to restart since.
    pub fn in_doubt(&self) -> bool {
        self.recovered && self.phase == Phase::Prepared
    }
}

/// One running node. Everything in it but `bug` and `count` comes from the disk at a restart.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) lanes: [Lane; LANES_MAX],
    pub(crate) count: u8,
    pub(crate) unsynced: u16,
    pub(crate) bug: Bug,
    /// A write has failed; only a restart helps.
    pub(crate) stopped: bool,
}

impl Node {
    /// Starts from the disk.
    pub(crate) fn recover(count: u8, bug: Bug, disk: DiskHandle) -> Result<Self, DiskError> {
        let mut node = Self { lanes: Default::default(), count, unsynced: 0, bug, stopped: false };
        disk.read(|bytes| {
            let [record, lane, round @ ..] = bytes else { return };
            let (Ok(round), Some(lane)) = (round.try_into(), node.lanes.get_mut(usize::from(*lane))) else {
                return;
            };
            let round = u32::from_le_bytes(round);
            if let Some(record) = Record::ALL.into_iter().find(|known| *known as u8 == *record) {
                if record == Record::Prepare && bug == Bug::ForgetVoteOnRestart {
                    return;
                }
                if lane.round != round {
                    lane.start(round);
                }
                lane.phase = record.phase();
                lane.told = matches!(record, Record::Commit | Record::Abort);
                lane.recovered = true;
            }
        })?;
        Ok(node)
    }

    /// The lanes in use.
    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes[..usize::from(self.count)]
    }

    /// The lane of `txn`, or `None` for a number that no lane has.
    pub(crate) fn lane(&mut self, txn: Txn) -> Option<&mut Lane> {
        self.lanes[..usize::from(self.count)].get_mut(usize::from(txn.lane))
    }

    /// The transaction of the lane numbered `at`.
    pub(crate) fn txn(&self, at: usize) -> Txn {
        Txn { lane: at as u8, round: self.lanes[at].round }
    }

    /// Appends a record for the transaction of a lane, to be synced by the next flush.
    pub(crate) fn log(&mut self, at: usize, record: Record, disk: DiskHandle) -> Result<(), DiskError> {
        let [a, b, c, d] = self.lanes[at].round.to_le_bytes();
        disk.append(&[record as u8, at as u8, a, b, c, d])?;
        self.unsynced += 1;
        let lane = &mut self.lanes[at];
        (lane.pending, lane.pending_at) = (Some(record), self.unsynced);
        Ok(())
    }

    /// Syncs; then calls `say` for every record that waited, with the number of its lane.
    pub(crate) fn flush(
        &mut self,
        cx: &mut Context<Message>,
        mut say: impl FnMut(&Self, usize, Record, &mut Context<Message>),
    ) -> Result<(), DiskError> {
        cx.disk().sync()?;
        self.unsynced = 0;
        for at in 0..usize::from(self.count) {
            let lane = &mut self.lanes[at];
            let Some(record) = lane.pending.take() else { continue };
            lane.pending_at = 0;
            lane.phase = record.phase();
            lane.recovered = false;
            lane.voted |= record == Record::Prepare;
            lane.told = matches!(record, Record::Commit | Record::Abort);
            lane.count = 0;
            say(self, at, record, cx);
        }
        Ok(())
    }
}

/// The projection of a node: its lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The lanes; those from `count` on are not used.
    pub lanes: [Lane; LANES_MAX],
    /// How many lanes are used.
    pub count: u8,
    /// Whether the node does nothing more, since a write has failed.
    pub stopped: bool,
}

impl View {
    /// The lanes in use.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes[..usize::from(self.count)]
    }
}

/// A set of nodes, as `{2,3}`.
struct Nodes(u16);

impl Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        let mut separator = "";
        for node in (0..16).filter(|node| self.0 & (1 << node) != 0) {
            write!(f, "{separator}{}", node + 1)?;
            separator = ",";
        }
        f.write_str("}")
    }
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        for (at, lane) in self.lanes().iter().enumerate() {
            let mut field = |name: &str, value: &dyn Display| visit(&format!("t{}.{name}", at + 1), value);
            field("round", &lane.round);
            field("phase", &format_args!("{:?}", lane.phase));
            match lane.pending {
                Some(record) => field("unsynced", &format_args!("{record:?}")),
                None => field("unsynced", &"-"),
            }
            field("votes", &Nodes(lane.votes));
            field("acks", &Nodes(lane.acks));
            field("voted", &lane.voted);
            field("recovered", &lane.recovered);
        }
    }
}

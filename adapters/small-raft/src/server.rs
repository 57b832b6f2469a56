//! A server: what it knows, what is on its disk, and how inputs go in. Elections, replication and what clients ask are
//! in modules of their own.
//!
//! Whatever says something about the disk (votes, acknowledgements, requests for votes) waits in `held` until the local
//! step `sync` has made it true. A leader sends entries at once: it counts itself only when they are synced (thesis,
//! section 10.2.1).

use crate::bugs::{Bug, LONG_LOG};
use crate::client::Read;
use crate::log::Log;
use crate::message::{Entry, Message, Payload, bit};
use crate::record;
use misrule_models::NodeId;
use misrule_world::{Context, DiskError, Input};

/// The most servers.
pub const NODES_MAX: usize = 7;

/// Timer of followers and candidates.
pub(crate) const ELECTION: u8 = 0;
/// Timer of leaders.
pub(crate) const HEARTBEAT: u8 = 1;
/// The local step that makes durable what is written.
pub(crate) const SYNC: u8 = 0;

/// What a server is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It follows.
    #[default]
    Follower,
    /// It asks for votes.
    Candidate,
    /// It leads.
    Leader,
}

/// What a leader knows of another server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The entry to send next.
    pub(crate) next: u32,
    /// Up to where its log is known to be the leader's, on its disk.
    pub(crate) matched: u32,
    /// The last round of heartbeats that it has answered.
    pub(crate) confirmed: u32,
}

/// One running server, as plain data.
#[derive(Debug, Default)]
pub struct Server {
    pub(crate) me: NodeId,
    pub(crate) bug: Bug,
    // On the disk.
    pub(crate) term: u32,
    pub(crate) vote: Option<NodeId>,
    pub(crate) log: Log,
    // What of it is there for sure.
    /// Term and vote differ from what was written last.
    pub(crate) hard_changed: bool,
    /// Something is written that is not synced; what is said waits.
    pub(crate) dirty: bool,
    /// How many entries are synced.
    pub(crate) durable: u32,
    /// Messages that wait for the sync.
    pub(crate) held: Vec<(NodeId, Message)>,
    // In memory only.
    pub(crate) role: Role,
    /// How often the election timer has fired since the server heard of a leader or gave its vote.
    pub(crate) quiet: u8,
    pub(crate) votes: u8,
    pub(crate) commit: u32,
    pub(crate) peers: [Peer; NODES_MAX],
    /// The last round of heartbeats of this leader.
    pub(crate) round: u32,
    pub(crate) reads: Vec<Read>,
    /// The servers of the last configuration in the log, committed or not, and where it stands.
    pub(crate) members: u8,
    pub(crate) members_at: u32,
    /// The servers of an empty log.
    pub(crate) members_first: u8,
    /// The highest term that was told to others.
    pub(crate) told: u32,
    /// A disk operation has failed: what is on the disk is not known before the next start.
    pub(crate) halted: bool,
}

impl Server {
    /// Starts from the disk, in memory that was used before.
    ///
    /// # Errors
    /// The disk cannot be read; `Ok(false)` where a record cannot be.
    pub(crate) fn start(
        &mut self,
        nodes: NodeId,
        bug: Bug,
        cx: &mut Context<Message>,
    ) -> Result<bool, DiskError> {
        self.log.clear();
        self.held.clear();
        self.reads.clear();
        let mut log = std::mem::take(&mut self.log);
        let (held, reads) = (std::mem::take(&mut self.held), std::mem::take(&mut self.reads));
        let (mut term, mut vote, mut readable) = (0, None, true);
        cx.disk().read(|bytes| {
            readable &= record::replay(bytes, (&mut term, &mut vote), &mut log).is_some();
        })?;
        let first = ((1_u16 << nodes) - 1) as u8;
        let (members, members_at) = log.last_members().unwrap_or((first, 0));
        let durable = log.len();
        *self = Self {
            me: cx.me(),
            bug,
            term,
            vote,
            log,
            durable,
            held,
            reads,
            members,
            members_at,
            members_first: first,
            ..Self::default()
        };
        cx.set_timer(ELECTION);
        Ok(readable)
    }

    /// Takes an input.
    ///
    /// # Errors
    /// The disk refused an operation: the server can do nothing more.
    pub(crate) fn handle(
        &mut self,
        input: &Input<Message>,
        cx: &mut Context<Message>,
    ) -> Result<(), DiskError> {
        match *input {
            Input::Message { from, message } => self.receive(from, message, cx)?,
            Input::Timer(ELECTION) => self.election_timer(cx),
            Input::Timer(_) => self.heartbeat_timer(cx),
            Input::Local(_) => self.sync(cx)?,
            Input::Request { operation, argument, call } => self.request(operation, argument, call, cx)?,
        }
        self.settle(cx)
    }

    fn receive(
        &mut self,
        from: NodeId,
        message: Message,
        cx: &mut Context<Message>,
    ) -> Result<(), DiskError> {
        if message.term() > self.term {
            self.follow(message.term(), cx);
        }
        match message {
            Message::RequestVote { term, last_index, last_term } => {
                self.vote_requested(from, term, (last_term, last_index), cx);
                Ok(())
            }
            Message::Vote { term, granted } => self.voted(from, term, granted, cx),
            Message::Append { term, prev_index, prev_term, commit, round, count, entries } => {
                if !self.accepts_leader(from, term, cx) {
                    return Ok(());
                }
                let entries = &entries[..usize::from(count)];
                self.append_requested(from, (prev_index, prev_term), entries, (commit, round), cx)
            }
            Message::Appended { term, index, round } => {
                self.appended(from, term, (index, round), cx);
                Ok(())
            }
            Message::Rejected { term, index } => {
                self.rejected(from, term, index, cx);
                Ok(())
            }
        }
    }

    /// Becomes a follower in `term`, which is no lower than the current one.
    pub(crate) fn follow(&mut self, term: u32, cx: &mut Context<Message>) {
        if term > self.term || self.bug == Bug::VoteTwiceAfterTermBump {
            (self.term, self.vote) = (term, None);
            self.hard_changed = true;
        }
        if self.role == Role::Leader {
            self.refuse_reads(cx);
            cx.cancel_timer(HEARTBEAT);
            cx.set_timer(ELECTION);
        }
        (self.role, self.quiet) = (Role::Follower, 0);
    }

    /// Says something once all that is written is synced.
    pub(crate) fn say(&mut self, to: NodeId, message: Message, cx: &mut Context<Message>) {
        let early = match message {
            Message::RequestVote { .. } | Message::Vote { .. } => self.bug == Bug::VoteBeforeSync,
            Message::Appended { .. } => self.bug == Bug::AppendAfterCrashUnsynced,
            _ => false,
        };
        if early {
            if self.bug == Bug::VoteBeforeSync {
                self.told = self.told.max(message.term());
            }
            cx.send(to, message);
        } else {
            self.held.push((to, message));
        }
    }

    /// Writes term and vote where they changed, and says what may be said.
    fn settle(&mut self, cx: &mut Context<Message>) -> Result<(), DiskError> {
        self.write_hard(cx)?;
        if self.dirty {
            cx.enable_local(SYNC);
            return Ok(());
        }
        for (to, message) in self.held.drain(..) {
            self.told = self.told.max(message.term());
            cx.send(to, message);
        }
        Ok(())
    }

    fn write_hard(&mut self, cx: &mut Context<Message>) -> Result<(), DiskError> {
        if !self.hard_changed {
            return Ok(());
        }
        self.hard_changed = false;
        let long = self.log.len() >= LONG_LOG;
        if self.bug == Bug::VoteNotDurable || (self.bug == Bug::VoteLostInLongLog && long) {
            return self.write_vote_late(cx);
        }
        self.write(&record::hard(self.term, self.vote), cx)
    }

    /// What two bugs do: the term is synced at once, and the vote is written without anybody waiting for its sync.
    fn write_vote_late(&mut self, cx: &mut Context<Message>) -> Result<(), DiskError> {
        cx.disk().append(&record::hard(self.term, None))?;
        self.sync(cx)?;
        if self.vote.is_some() {
            cx.disk().append(&record::hard(self.term, self.vote))?;
            cx.enable_local(SYNC);
        }
        Ok(())
    }

    fn write(&mut self, record: &[u8], cx: &mut Context<Message>) -> Result<(), DiskError> {
        self.dirty = true;
        cx.disk().append(record)
    }

    /// Makes durable what is written.
    fn sync(&mut self, cx: &mut Context<Message>) -> Result<(), DiskError> {
        cx.disk().sync()?;
        (self.dirty, self.durable) = (false, self.log.len());
        cx.disable_local(SYNC);
        match self.role {
            Role::Follower => Ok(()),
            Role::Candidate => self.count_votes(bit(self.me), cx),
            Role::Leader => {
                self.advance_commit(self.durable, cx);
                Ok(())
            }
        }
    }

    /// Appends an entry to the log.
    pub(crate) fn push(&mut self, entry: Entry, cx: &mut Context<Message>) -> Result<(), DiskError> {
        self.write_hard(cx)?;
        self.log.push(entry);
        if let Payload::Members(members) = entry.payload {
            (self.members, self.members_at) = (members, self.log.len());
        }
        self.write(&record::entry(self.log.len(), entry), cx)
    }

    /// Keeps the first `len` entries.
    pub(crate) fn truncate(&mut self, len: u32, cx: &mut Context<Message>) -> Result<(), DiskError> {
        self.write_hard(cx)?;
        self.log.truncate(len);
        self.durable = self.durable.min(len);
        if self.members_at > len && self.bug != Bug::MembersKeptAfterTruncation {
            (self.members, self.members_at) = self.log.last_members().unwrap_or((self.members_first, 0));
        }
        self.write(&record::length(len), cx)
    }

    /// What a bug does: another entry in the place of one, and what stands behind it stays.
    pub(crate) fn replace(
        &mut self,
        index: u32,
        entry: Entry,
        cx: &mut Context<Message>,
    ) -> Result<(), DiskError> {
        self.write_hard(cx)?;
        self.log.replace(index, entry);
        (self.members, self.members_at) = self.log.last_members().unwrap_or((self.members_first, 0));
        self.write(&record::entry(index, entry), cx)
    }

    /// How many of the members are a majority.
    pub(crate) fn quorum(&self) -> u32 {
        let members = self.members.count_ones();
        if self.bug == Bug::QuorumOffByOne { members.div_ceil(2) } else { members / 2 + 1 }
    }

    /// The members but this one: bit set.
    pub(crate) fn others(&self) -> u8 {
        self.members & !bit(self.me)
    }

    /// Copies another server into the memory of this one.
    pub(crate) fn copy(&mut self, other: &Self) {
        let (mut log, mut held, mut reads) =
            (std::mem::take(&mut self.log), std::mem::take(&mut self.held), std::mem::take(&mut self.reads));
        log.copy(&other.log);
        held.clone_from(&other.held);
        reads.clone_from(&other.reads);
        *self = Self { log, held, reads, peers: other.peers, ..*other };
    }
}

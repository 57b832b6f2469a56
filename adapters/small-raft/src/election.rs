//! Elections: section 5.2 and 5.4.1 of the paper.

use crate::bugs::Bug;
use crate::message::{Entry, Message, Payload, bit};
use crate::server::{ELECTION, HEARTBEAT, Peer, Role, Server};
use misrule_models::NodeId;
use misrule_world::{Context, DiskError, bits};

/// The election timer fires so often without word of a leader before a server asks for votes: timers fire at any time
/// here, and with 1 hardly a leader would live.
const PATIENCE: u8 = 4;

impl Server {
    pub(crate) fn election_timer(&mut self, cx: &mut Context<Message>) {
        cx.set_timer(ELECTION);
        self.quiet = self.quiet.saturating_add(1);
        if self.quiet >= PATIENCE && self.members & bit(self.me) != 0 {
            self.campaign(cx);
        }
    }

    fn campaign(&mut self, cx: &mut Context<Message>) {
        self.term += 1;
        (self.vote, self.hard_changed) = (Some(self.me), true);
        // Its own vote counts once it is synced.
        (self.role, self.quiet, self.votes) = (Role::Candidate, 0, 0);
        let ask = Message::RequestVote {
            term: self.term,
            last_index: self.log.len(),
            last_term: self.log.last_term(),
        };
        for to in bits(u64::from(self.others())) {
            self.say(to, ask, cx);
        }
    }

    pub(crate) fn vote_requested(
        &mut self,
        from: NodeId,
        term: u32,
        last: (u32, u32),
        cx: &mut Context<Message>,
    ) {
        let mine = (self.log.last_term(), self.log.len());
        let up_to_date = match self.bug {
            Bug::VoteIgnoresLog => true,
            Bug::VoteByLength => last.1 >= mine.1,
            _ => last >= mine,
        };
        let free = self.vote.is_none_or(|vote| vote == from);
        let granted = term == self.term && free && up_to_date;
        if granted {
            self.hard_changed |= self.vote.is_none();
            (self.vote, self.quiet) = (Some(from), 0);
        }
        self.say(from, Message::Vote { term: self.term, granted }, cx);
    }

    pub(crate) fn voted(
        &mut self,
        from: NodeId,
        term: u32,
        granted: bool,
        cx: &mut Context<Message>,
    ) -> Result<(), DiskError> {
        let current = term == self.term || self.bug == Bug::StaleVoteCounted;
        if self.role != Role::Candidate || !current || !granted {
            return Ok(());
        }
        self.count_votes(bit(from), cx)
    }

    /// Counts more votes, and leads with a majority of the members.
    pub(crate) fn count_votes(&mut self, more: u8, cx: &mut Context<Message>) -> Result<(), DiskError> {
        self.votes |= more;
        if (self.votes & self.members).count_ones() >= self.quorum() { self.lead(cx) } else { Ok(()) }
    }

    fn lead(&mut self, cx: &mut Context<Message>) -> Result<(), DiskError> {
        self.role = Role::Leader;
        self.peers = [Peer { next: self.log.len() + 1, matched: 0, confirmed: 0 }; _];
        self.round = 0;
        cx.cancel_timer(ELECTION);
        cx.set_timer(HEARTBEAT);
        self.push(Entry { term: self.term, payload: Payload::Nothing }, cx)?;
        self.broadcast(cx);
        Ok(())
    }
}

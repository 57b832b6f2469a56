//! Elections.

use crate::bugs::Bug;
use crate::entry::{Entry, Op, Promise};
use crate::message::Message;
use crate::node::{ELECTION, HEARTBEAT, Node, PATIENCE, Role};
use crate::store::Trouble;
use misrule_world::{Context, NodeId};

impl Node {
    /// The election timer has fired.
    pub(crate) fn election_timer(&mut self, cx: &mut Context<Message>) -> Result<(), Trouble> {
        cx.set_timer(ELECTION);
        self.missed += 1;
        if self.missed <= self.patience || (self.role == Role::Candidate && self.bug == Bug::NoReelection) {
            return Ok(());
        }
        self.campaign(cx)
    }

    /// Asks for votes in a new term.
    fn campaign(&mut self, cx: &mut Context<Message>) -> Result<(), Trouble> {
        // Those who tie draw again.
        self.patience = 1 + cx.draw(PATIENCE);
        self.missed = 0;
        self.follow(None, cx);
        self.role = Role::Candidate;
        self.votes = 1 << self.me;
        self.make(Promise { term: self.promise.term + 1, vote: Some(self.me) }, cx)?;
        let (term, last, last_term) = (self.promise.term, self.log.last(), self.log.last_term());
        for peer in self.peers() {
            cx.send(peer, Message::RequestVote { term, last, last_term });
        }
        self.count_votes(cx)
    }

    /// A candidate asks for a vote.
    pub(crate) fn request_vote(
        &mut self,
        from: NodeId,
        (term, last, last_term): (u32, u64, u32),
        cx: &mut Context<Message>,
    ) -> Result<(), Trouble> {
        let mut promise = self.promise;
        if term > promise.term {
            self.follow(None, cx);
            promise = Promise { term, vote: None };
        }
        let is_free = promise.vote.is_none_or(|vote| vote == from);
        let is_current = (last_term, last) >= (self.log.last_term(), self.log.last());
        let granted = term == promise.term && is_free && is_current;
        if granted {
            promise.vote = Some(from);
            self.missed = 0;
        }
        if promise != self.promise {
            self.make(promise, cx)?;
        }
        cx.send(from, Message::Vote { term: promise.term, granted });
        Ok(())
    }

    /// A vote has come.
    pub(crate) fn vote(
        &mut self,
        from: NodeId,
        term: u32,
        granted: bool,
        cx: &mut Context<Message>,
    ) -> Result<(), Trouble> {
        self.hear(term, cx)?;
        if self.role == Role::Candidate && term == self.promise.term && granted {
            self.votes |= 1 << from;
            self.count_votes(cx)?;
        }
        Ok(())
    }

    fn count_votes(&mut self, cx: &mut Context<Message>) -> Result<(), Trouble> {
        if self.votes.count_ones() >= self.majority() { self.lead(cx) } else { Ok(()) }
    }

    /// Begins to lead. What is committed shows once an entry of the new term is.
    fn lead(&mut self, cx: &mut Context<Message>) -> Result<(), Trouble> {
        (self.role, self.leader) = (Role::Leader, Some(self.me));
        self.next = [self.log.last() + 1; _];
        self.matched = [0; _];
        cx.cancel_timer(ELECTION);
        cx.set_timer(HEARTBEAT);
        self.propose(Entry { term: self.promise.term, call: None, op: Op::Noop }, cx)
    }
}

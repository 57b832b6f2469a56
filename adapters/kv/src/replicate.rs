//! Replication of the log.

use crate::entry::Entry;
use crate::machine::Machine;
use crate::message::{Batch, Message};
use crate::node::{HEARTBEAT, NODES_MAX, Node, Role};
use crate::store::Trouble;
use misrule_world::{Context, NodeId};

impl Node {
    /// Leader: appends an entry and sends it to everybody, before it is on its own disk.
    pub(crate) fn propose(&mut self, entry: Entry, cx: &mut Context<Message>) -> Result<(), Trouble> {
        self.write(self.log.last() + 1, &[entry], cx)?;
        self.settle(cx);
        self.broadcast(cx);
        Ok(())
    }

    /// The heartbeat timer has fired.
    pub(crate) fn heartbeat_timer(&mut self, cx: &mut Context<Message>) {
        if self.role == Role::Leader {
            cx.set_timer(HEARTBEAT);
            self.broadcast(cx);
        }
    }

    fn broadcast(&self, cx: &mut Context<Message>) {
        self.peers().for_each(|peer| self.send_append(peer, cx));
    }

    /// Sends what the node needs next, or only that this one leads.
    fn send_append(&self, to: NodeId, cx: &mut Context<Message>) {
        let (term, prev) = (self.promise.term, self.next[usize::from(to)] - 1);
        let message = match self.log.term(prev) {
            Some(prev_term) => {
                let entries = Batch::of(self.log.from(prev + 1));
                Message::Append { term, prev, prev_term, entries, commit: self.commit }
            }
            None => Message::Install { term, machine: Box::new(self.machine) },
        };
        cx.send(to, message);
    }

    /// Entries, or none, have come from a leader.
    pub(crate) fn append(
        &mut self,
        from: NodeId,
        (term, prev, prev_term, commit): (u32, u64, u32, u64),
        batch: &Batch,
        cx: &mut Context<Message>,
    ) -> Result<(), Trouble> {
        if !self.accept(from, term, cx)? {
            return Ok(());
        }
        // What the snapshot holds is committed: the leader has the same.
        let known = self.log.base().index.saturating_sub(prev).min(batch.entries().len() as u64);
        let (entries, first) = (&batch.entries()[known as usize..], prev + known + 1);
        let fits = prev < self.log.base().index || self.log.term(prev) == Some(prev_term);
        if !fits {
            let hint = self.log.last().min(prev - 1);
            cx.send(from, Message::Rejected { term: self.promise.term, hint });
            return Ok(());
        }
        let matched = prev + batch.entries().len() as u64;
        let news = (first..).zip(entries).find(|(index, entry)| self.log.term(*index) != Some(entry.term));
        if let Some((index, _)) = news {
            if index <= self.commit {
                return Err(Trouble::Contradiction("a leader replaces entries that are committed"));
            }
            self.write(index, &entries[(index - first) as usize..], cx)?;
        }
        self.commit = self.commit.max(commit.min(matched));
        self.apply(cx);
        self.owe(matched, cx);
        Ok(())
    }

    /// A leader's state machine has come.
    pub(crate) fn take_install(
        &mut self,
        from: NodeId,
        term: u32,
        machine: &Machine,
        cx: &mut Context<Message>,
    ) -> Result<(), Trouble> {
        if !self.accept(from, term, cx)? {
            return Ok(());
        }
        if machine.at.index > self.commit {
            self.install(machine, cx)?;
        }
        self.owe(machine.at.index, cx);
        Ok(())
    }

    /// Whether the sender leads; a former leader is told so.
    fn accept(&mut self, from: NodeId, term: u32, cx: &mut Context<Message>) -> Result<bool, Trouble> {
        self.hear(term, cx)?;
        if term < self.promise.term {
            cx.send(from, Message::Rejected { term: self.promise.term, hint: 0 });
            return Ok(false);
        }
        if self.role == Role::Leader {
            return Ok(false);
        }
        self.follow(Some(from), cx);
        self.missed = 0;
        Ok(true)
    }

    /// Owes the leader an answer for the log up to the index.
    fn owe(&mut self, index: u64, cx: &mut Context<Message>) {
        self.owed = self.owed.max(index);
        self.settle(cx);
    }

    /// A follower has stored the log up to an index.
    pub(crate) fn appended(
        &mut self,
        from: NodeId,
        term: u32,
        matched: u64,
        cx: &mut Context<Message>,
    ) -> Result<(), Trouble> {
        self.hear(term, cx)?;
        if self.role != Role::Leader || term != self.promise.term {
            return Ok(());
        }
        let at = usize::from(from);
        // An answer that says nothing new is not answered: else old ones go round for as long as clients ask.
        let is_news = matched > self.matched[at];
        self.matched[at] = self.matched[at].max(matched);
        self.next[at] = self.next[at].max(matched + 1);
        self.advance(cx);
        if is_news && self.next[at] <= self.log.last() {
            self.send_append(from, cx);
        }
        Ok(())
    }

    /// A follower needs older entries, or this node leads no more.
    pub(crate) fn rejected(
        &mut self,
        from: NodeId,
        term: u32,
        hint: u64,
        cx: &mut Context<Message>,
    ) -> Result<(), Trouble> {
        self.hear(term, cx)?;
        if self.role != Role::Leader || term != self.promise.term {
            return Ok(());
        }
        let at = usize::from(from);
        self.next[at] = (hint + 1).min(self.next[at] - 1).max(self.matched[at] + 1);
        self.send_append(from, cx);
        Ok(())
    }

    /// Leader: commits what a majority has stored, if the last of it is of this term.
    pub(crate) fn advance(&mut self, cx: &mut Context<Message>) {
        let mut matched: [u64; NODES_MAX] = self.matched;
        let matched = &mut matched[..usize::from(self.nodes)];
        matched.sort_unstable_by_key(|index| std::cmp::Reverse(*index));
        let index = matched[self.majority() as usize - 1];
        if index > self.commit && self.log.term(index) == Some(self.promise.term) {
            self.commit = index;
            self.apply(cx);
        }
    }
}

//! What clients ask: to append, to read (thesis, section 6.4), and to add or remove a server (thesis, section 4.1, with
//! the correction of 2015: a leader changes nothing before it has committed an entry of its own term).

use crate::bugs::Bug;
use crate::message::{Entry, Message, Payload, bit};
use crate::server::{Role, Server};
use misrule_world::{Answer, Call, Context, DiskError, bits};

/// Operations of the workload.
pub(crate) const APPEND: u8 = 0;
pub(crate) const READ: u8 = 1;
pub(crate) const ADD: u8 = 2;

/// A read that waits for a majority to confirm that its leader still leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    call: Call,
    /// The round of heartbeats that began with it.
    round: u32,
}

impl Server {
    pub(crate) fn request(
        &mut self,
        operation: u8,
        argument: u32,
        call: Option<Call>,
        cx: &mut Context<Message>,
    ) -> Result<(), DiskError> {
        match operation {
            APPEND if self.role == Role::Leader => {
                let number = call.map_or(0, |call| u32::from(call.session()) << 24 | call.number());
                self.propose(Payload::Command(number), cx)
            }
            // Another server may have taken the call: nobody knows whether it is done.
            APPEND => Ok(()),
            READ => {
                self.read(call, cx);
                Ok(())
            }
            _ => {
                // What becomes of a change is seen in the log: operators do not wait.
                if let Some(call) = call {
                    cx.answer(call, Answer::Nothing);
                }
                self.change(operation == ADD, argument as u8, cx)
            }
        }
    }

    fn propose(&mut self, payload: Payload, cx: &mut Context<Message>) -> Result<(), DiskError> {
        self.push(Entry { term: self.term, payload }, cx)?;
        self.broadcast(cx);
        Ok(())
    }

    /// Whether an entry of the own term is committed: until then a leader does not know what is.
    fn knows_commit(&self) -> bool {
        self.log.term(self.commit) == Some(self.term)
    }

    fn read(&mut self, call: Option<Call>, cx: &mut Context<Message>) {
        let Some(call) = call else { return };
        let ready = self.knows_commit() || self.bug == Bug::ReadBeforeOwnEntry;
        if self.role != Role::Leader || !ready {
            cx.answer(call, Answer::Failed);
            return;
        }
        if self.bug == Bug::StaleRead {
            cx.answer(call, Answer::Number(self.commit));
            return;
        }
        self.round += 1;
        self.reads.push(Read { call, round: self.round });
        self.answer_reads(cx);
        self.broadcast(cx);
    }

    /// Answers reads whose round a majority has answered. What is committed by then contains what was when they came.
    pub(crate) fn answer_reads(&mut self, cx: &mut Context<Message>) {
        if self.reads.is_empty() {
            return;
        }
        let (quorum, others) = (self.quorum(), self.others());
        let own = u32::from(self.members & bit(self.me) != 0);
        let (peers, commit) = (&self.peers, self.commit);
        self.reads.retain(|read| {
            let confirms = |node: &u8| peers[usize::from(*node)].confirmed >= read.round;
            let waits = own + (bits(u64::from(others)).filter(confirms).count() as u32) < quorum;
            if !waits {
                cx.answer(read.call, Answer::Number(commit));
            }
            waits
        });
    }

    /// A leader that leads no more cannot answer.
    pub(crate) fn refuse_reads(&mut self, cx: &mut Context<Message>) {
        for read in self.reads.drain(..) {
            cx.answer(read.call, Answer::Failed);
        }
    }

    /// Adds or removes one server.
    fn change(&mut self, add: bool, node: u8, cx: &mut Context<Message>) -> Result<(), DiskError> {
        let members = if add { self.members | bit(node) } else { self.members & !bit(node) };
        let pending = self.members_at > self.commit && self.bug != Bug::TwoChangesAtOnce;
        let ready = self.knows_commit() || self.bug == Bug::MembershipBeforeOwnEntry;
        if self.role != Role::Leader || pending || !ready || members == self.members || members == 0 {
            return Ok(());
        }
        self.propose(Payload::Members(members), cx)
    }
}

//! Messages of the crate as messages of the model, in space that is used again.

use crate::compat;
use crate::system::Value;
use misrule_models::sequence_paxos::{Ballot, LogSync, Message, Sequence};
use omnipaxos::ballot_leader_election;
use omnipaxos::messages::sequence_paxos::PaxosMsg;
use omnipaxos::util::SequenceNumber;

/// Space for entries, used again.
#[derive(Debug, Default)]
pub(crate) struct Spare(Vec<Vec<u32>>);

impl Spare {
    fn copy(&mut self, entries: &[Value]) -> Vec<u32> {
        let mut space = self.0.pop().unwrap_or_default();
        space.extend(entries.iter().map(|entry| entry.0));
        space
    }

    /// Takes back the space of a message.
    pub(crate) fn give(&mut self, message: Message) {
        if let Some(mut space) = message.into_entries() {
            space.clear();
            self.0.push(space);
        }
    }
}

/// A ballot of the model. Configuration and priority are the same everywhere.
pub(crate) fn ballot(ballot: ballot_leader_election::Ballot) -> Ballot {
    Ballot { n: ballot.n, pid: ballot.pid as u8 }
}

fn sequence(number: SequenceNumber) -> Sequence {
    Sequence { session: number.session as u32, counter: number.counter as u32 }
}

fn short(index: compat::Index) -> u32 {
    compat::index(index) as u32
}

/// The model's message; `None` for what the model does not have: compaction and stop signs.
pub(crate) fn to_model(message: &PaxosMsg<Value>, spare: &mut Spare) -> Option<Message> {
    Some(match message {
        PaxosMsg::Prepare(m) => Message::Prepare {
            n: ballot(m.n),
            accepted_round: ballot(m.n_accepted),
            accepted: short(m.accepted_idx),
            decided: short(m.decided_idx),
        },
        PaxosMsg::Promise(m) => Message::Promise {
            n: ballot(m.n),
            accepted_round: ballot(m.n_accepted),
            accepted: short(m.accepted_idx),
            decided: short(m.decided_idx),
            sync: compat::promise_sync(m)
                .map(|(at, entries)| LogSync { at: at as u32, entries: spare.copy(entries) }),
        },
        PaxosMsg::AcceptSync(m) => {
            let (at, entries) = compat::accept_sync(m);
            Message::AcceptSync {
                n: ballot(m.n),
                sequence: sequence(m.seq_num),
                decided: short(m.decided_idx),
                sync: LogSync { at: at as u32, entries: spare.copy(entries) },
            }
        }
        PaxosMsg::AcceptDecide(m) => Message::AcceptDecide {
            n: ballot(m.n),
            sequence: sequence(m.seq_num),
            decided: short(m.decided_idx),
            entries: spare.copy(&m.entries),
        },
        PaxosMsg::Accepted(m) => Message::Accepted { n: ballot(m.n), accepted: short(m.accepted_idx) },
        PaxosMsg::Decide(m) => {
            Message::Decide { n: ballot(m.n), sequence: sequence(m.seq_num), decided: short(m.decided_idx) }
        }
        PaxosMsg::ProposalForward(entries) => Message::ProposalForward { entries: spare.copy(entries) },
        PaxosMsg::Compaction(_) | PaxosMsg::AcceptStopSign(_) | PaxosMsg::ForwardStopSign(_) => return None,
        other => {
            let n = ballot(compat::asked_ballot(other)?);
            if matches!(other, PaxosMsg::PrepareReq { .. }) {
                Message::PrepareReq { n }
            } else {
                Message::NotAccepted { n }
            }
        }
    })
}

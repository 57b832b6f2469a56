//! Requests of clients and operators.
//!
//! A client writes with `Raft::client_write` and reads with `Raft::get_read_log_id`, at whichever node it is told: one
//! that does not lead refuses, and the client asks again elsewhere. It hears what the library answers; a read once the
//! node has applied what it is to have seen. Errors are told to nobody, since a call that came twice may have taken
//! effect: of a call that comes twice the registers know.

use crate::command::{Action, Command};
use crate::image::{Image, lock};
use crate::message::Wire;
use crate::store::Bug;
use crate::system::Node;
use crate::types::Vote;
use misrule_world::{Answer, Argument, Call, Context, Keyed, KeyedValues, Operation, Settings};
use openraft::{ChangeMembers, EmptyNode, LogIdOptionExt};
use std::sync::{Arc, Mutex};

/// Operations of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Put,
    Get,
    Cas,
    Snapshot,
    Elect,
    AddLearner,
    RemoveLearner,
    AddVoter,
    Demote,
    Remove,
    Joint,
}

impl Asked {
    /// Whether this is what operators do to the cluster. Nobody waits for what becomes of it, and it is answered as soon
    /// as it is asked.
    pub(crate) fn is_of_operators(self) -> bool {
        !matches!(self, Self::Put | Self::Get | Self::Cas)
    }
}

/// The operations that the settings ask for.
pub(crate) fn workload(settings: &Settings) -> Vec<(Asked, Operation)> {
    let keyed = |values| Argument::Keyed { keys: settings.integer("keys") as u8, values };
    let mut operations = vec![
        (Asked::Put, "put", keyed(KeyedValues::Fresh), 6),
        (Asked::Get, "get", keyed(KeyedValues::None), 4),
        (Asked::Cas, "cas", keyed(KeyedValues::FromTo), 2),
    ];
    if settings.is_on("snapshots") {
        operations.push((Asked::Snapshot, "snapshot", Argument::None, 1));
    }
    let nodes = settings.integer("nodes") + settings.integer("learners");
    let node = Argument::Below(nodes as u32);
    if settings.is_on("transfer") {
        operations.push((Asked::Elect, "elect", Argument::None, 1));
    }
    let membership = settings.word("membership");
    if membership != "off" || settings.integer("learners") > 0 {
        operations.push((Asked::AddLearner, "add-learner", node, 2));
        operations.push((Asked::RemoveLearner, "remove-learner", node, 1));
    }
    if membership != "off" {
        operations.push((Asked::AddVoter, "add-voter", node, 2));
        operations.push((Asked::Demote, "demote", node, 1));
        operations.push((Asked::Remove, "remove", node, 1));
    }
    if membership == "joint" {
        operations.push((Asked::Joint, "joint", Argument::Below(1 << nodes), 2));
    }
    let named = |(asked, name, argument, weight)| (asked, Operation { name, argument, weight });
    operations.into_iter().map(named).collect()
}

/// What became of a call.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    Answer(Answer),
    /// A read of this key is allowed once so many entries are applied.
    Read(u8, u64),
}

/// Outcomes that clients have not heard of.
#[derive(Clone, Debug)]
pub(crate) struct Outcomes {
    open: Arc<Mutex<Vec<(Call, Outcome)>>>,
    /// The vote with which the node leads on since it started, and how many entries it had then.
    leads_on: Option<(Vote, u64)>,
}

impl Outcomes {
    /// None, of a node that starts with this image. A leader leads on, and knows of no commit that it has not kept: the
    /// library leaves it to its user to answer no read by then (see `RaftLogStorage::save_committed`).
    pub(crate) fn new(image: &Image, me: u64, reads_at_once: bool) -> Self {
        let own =
            image.vote().filter(|vote| vote.committed && vote.leader_id.node_id == me && !reads_at_once);
        Self { open: Arc::default(), leads_on: own.map(|vote| (vote, image.now.length())) }
    }

    fn tell(&self, call: Call, outcome: Outcome) {
        lock(&self.open).push((call, outcome));
    }

    /// How many entries are to be applied, at the least, before a read is answered that is asked now. That stays so when
    /// the node leads no more: what it was allowed to read then is no fresher.
    fn least(&self, image: &Image) -> u64 {
        self.leads_on.filter(|(vote, _)| image.vote() == Some(*vote)).map_or(0, |(_, length)| length)
    }
}

impl Node {
    /// Somebody asks this node for an operation.
    pub(crate) fn request(
        &mut self,
        asked: Asked,
        argument: u32,
        call: Option<Call>,
        cx: &mut Context<Wire>,
    ) {
        if let Some(call) = call.filter(|_| asked.is_of_operators()) {
            cx.answer(call, Answer::Nothing);
        }
        let raft = self.raft.clone();
        let id = u64::from(argument) + 1;
        match asked {
            Asked::Put => self.command(Command { action: Action::Put, argument, call }),
            Asked::Cas => self.command(Command { action: Action::Cas, argument, call }),
            Asked::Get => self.read(Keyed::of(argument).key, call),
            // What a node that has stopped says is told by its metrics.
            Asked::Snapshot => self.call("snapshot", async move { drop(raft.trigger().snapshot().await) }),
            Asked::Elect => self.call("elect", async move { drop(raft.trigger().elect().await) }),
            Asked::AddLearner => {
                self.call("change", async move { drop(raft.add_learner(id, EmptyNode {}, false).await) });
            }
            Asked::RemoveLearner => self.change(ChangeMembers::RemoveNodes([id].into()), false),
            Asked::AddVoter => self.change(ChangeMembers::AddVoterIds([id].into()), true),
            Asked::Demote => self.change(ChangeMembers::RemoveVoters([id].into()), true),
            Asked::Remove => self.change(ChangeMembers::RemoveVoters([id].into()), false),
            Asked::Joint => {
                let voters = (0..u64::from(u32::BITS)).filter(|at| argument & 1 << at != 0);
                self.change(ChangeMembers::ReplaceAllVoters(voters.map(|at| at + 1).collect()), false);
            }
        }
    }

    /// Asks for other members; with `retain`, voters that are left out stay as learners. The library goes through a joint
    /// configuration by itself where voters change, and what it refuses is not asked for again.
    fn change(&mut self, members: ChangeMembers<u64, EmptyNode>, retain: bool) {
        let raft = self.raft.clone();
        self.call("change", async move { drop(raft.change_membership(members, retain).await) });
    }

    fn command(&mut self, command: Command) {
        let raft = self.raft.clone();
        let Some(call) = command.call else {
            return self.call("write", async move { drop(raft.client_write_ff(command).await) });
        };
        let outcomes = self.outcomes.clone();
        if let Some(answer) = lock(&self.store.image).registers.answered(call, command) {
            return outcomes.tell(call, Outcome::Answer(answer));
        }
        self.call("write", async move {
            if let Ok(written) = raft.client_write(command).await
                && let Some(answer) = written.data
            {
                outcomes.tell(call, Outcome::Answer(answer));
            }
        });
    }

    fn read(&mut self, key: u8, call: Option<Call>) {
        let Some(call) = call else { return };
        if self.store.bug == Bug::LocalRead {
            return self.outcomes.tell(call, Outcome::Read(key, 0));
        }
        let (raft, outcomes) = (self.raft.clone(), self.outcomes.clone());
        let least = outcomes.least(&lock(&self.store.image));
        self.call("read", async move {
            if let Ok((upto, _)) = raft.get_read_log_id().await {
                outcomes.tell(call, Outcome::Read(key, upto.next_index().max(least)));
            }
        });
    }

    /// Tells clients what they can be told now.
    pub(crate) fn answer(&mut self, cx: &mut Context<Wire>) {
        let mut open = lock(&self.outcomes.open);
        if open.is_empty() {
            return;
        }
        let image = lock(&self.store.image);
        open.retain(|&(call, outcome)| {
            let answer = match outcome {
                Outcome::Answer(answer) => answer,
                Outcome::Read(_, upto) if image.applied.next_index() < upto => return true,
                Outcome::Read(key, _) => image.registers.get(key),
            };
            cx.answer(call, answer);
            false
        });
    }
}

//! Sequence Paxos with ballot leader election.
//!
//! After Ng, Haridi and Carbone, "Omni-Paxos: Breaking the Barriers of Partial Connectivity" (2023):
//! the Sequence Paxos pseudocode, with the election abstracted to its outcome ([`Action::Elect`]), and the
//! authors' `PlusCal` module of the same algorithm. [`Rules::paper`] is that; [`Rules::crate_0_2`] adds what the
//! published crate omnipaxos 0.2.4 does, and follows it step by step.
//!
//! # Variables
//!
//! Of each node, durable: promise, accepted round, log, decided index. Volatile: up, role, phase, buffered
//! proposals; of a leader, each node's promise (round, length, decided index), accepted lengths, and the round
//! and length of the best promise, with what the leader lacks of it while it prepares. The crate's rules add
//! sequence numbers and the `Prepare` last answered. A leader's variables are cleared when it stops to lead.
//! Bounded networks add the messages, the number of entries proposed and of faults.
//!
//! # Networks
//!
//! The paper assumes links that keep order within a session and tell both ends when a session ended:
//! [`Network::Fifo`]. [`Network::Tracked`] drops that assumption (any message may be lost, late or repeated)
//! and the protocol is *not* safe there: an old `AcceptSync` truncates what was accepted since. The always
//! properties hold under `Fifo` and show the damage under `Tracked`; both are tests.
//! [`Network::Open`] keeps no messages, for following an implementation: a delivery carries its contents, and
//! whoever follows compares [`State::sent`] with what the implementation sent. It refuses what no correct sender
//! can have sent over links that keep order; [`SequencePaxos::over_unordered_links`] takes that too.
//!
//! # Rules beyond the paper
//!
//! | switch | the crate | without |
//! | --- | --- | --- |
//! | [`decided_in_accept`](Rules::decided_in_accept) | `AcceptSync` and `AcceptDecide` carry the decided index, a new leader adopts the highest of its promises, no index goes beyond the log | only `Decide` does; a late promise is answered with one |
//! | [`sequence_numbers`](Rules::sequence_numbers) | session and counter on what a leader sends; a gap makes the follower recover | links are trusted |
//! | [`resend`](Rules::resend) | [`Action::Resend`] repeats `Prepare`, `Promise` or `PrepareReq` | refused |
//! | [`not_accepted`](Rules::not_accepted) | a message of a lower ballot is answered with `NotAccepted`, one of a higher ballot without `Prepare` with `PrepareReq` | both are dropped |
//! | [`forwarding`](Rules::forwarding) | a follower forwards proposals or keeps them until there is a leader | only a leader takes proposals |
//! | [`same_round_sync`](Rules::same_round_sync) | a follower that accepted in the leader's own round is synchronised from the end of its log | from its decided index |
//! | [`batch`](Rules::batch) | so many entries are collected before they are stored, sent and acknowledged; [`Action::Tick`] flushes fewer | each is stored at once |
//! | [`counted_accepted`](Rules::counted_accepted) | the accepted index is counted beside the log, and after a synchronisation beyond the log's end stands above its length; with ordered links there is none | it is the length of the log |
//! | [`guarded_prepare_req`](Rules::guarded_prepare_req) | `PrepareReq` carries the sender's promise; a leader answers if it is not above its own, and forgets the sender's promise | always answered, nothing forgotten |
//!
//! In both: a `Prepare` of the promised ballot itself is answered only while recovering, and a late promise of
//! the best round is synchronised from the shorter of its log and the best promise's (the `PlusCal` module takes
//! the best promise's length, which leaves a hole where the late log is shorter).
//!
//! # What this model leaves out
//!
//! - The election itself (heartbeats, connectivity, priorities): any own ballot above the promise may be
//!   elected. A ballot is (n, pid); a custom priority between the two is not modelled.
//! - Trimming, snapshots, reconfiguration and stop signs.
//! - Merged messages: a step is taken to be followed by taking its outgoing messages, so that messages of
//!   different steps are never merged.
//! - Flexible quorums: majorities only.
//! - The moments between two writes of one handler: a crash falls between actions. A restart always finds a
//!   promise on disk, if only the zero ballot that the first start writes.
//! - A node that steps down without a `Prepare` ([`Action::Elect`] with another's ballot) forgets the promise
//!   it would send again; the crate has the code but never calls it so.

mod follower;
mod leader;
mod lenses;
mod message;
mod properties;
mod state;
mod step;
mod traffic;

pub use message::{Ballot, Envelope, LogSync, Message, Sequence};
pub use state::{Leading, NodeState, Phase, Projection, PromiseMeta, Promised, Role, State, role_code};

use crate::{Model, NodeId, Property, Step};
use traffic::Traffic;

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Queues between nodes, part of the state; a cut loses what is in flight and both ends notice.
    Fifo,
    /// The set of messages ever sent, part of the state: any may arrive at any time, again and again.
    Tracked,
    /// No messages in the state; a delivery is believed.
    Open,
}

/// Which rules of the crate are in force. See the module's documentation.
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each a row of the table above")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// `AcceptSync` and `AcceptDecide` carry the decided index.
    pub decided_in_accept: bool,
    /// What a leader sends to a follower is numbered.
    pub sequence_numbers: bool,
    /// There is a resend timer.
    pub resend: bool,
    /// Messages of another ballot are answered.
    pub not_accepted: bool,
    /// Followers forward or keep proposals.
    pub forwarding: bool,
    /// A log accepted in the leader's own round is kept whole.
    pub same_round_sync: bool,
    /// `PrepareReq` carries a ballot and resets the promise.
    pub guarded_prepare_req: bool,
    /// The accepted index is counted beside the log.
    pub counted_accepted: bool,
    /// How many entries are collected before they are stored.
    pub batch: u32,
}

impl Rules {
    /// The paper's rules only.
    pub const fn paper() -> Self {
        Self {
            decided_in_accept: false,
            sequence_numbers: false,
            resend: false,
            not_accepted: false,
            forwarding: false,
            same_round_sync: false,
            guarded_prepare_req: false,
            counted_accepted: false,
            batch: 1,
        }
    }

    /// Everything that omnipaxos 0.2.4 does, with its default of no batching.
    pub const fn crate_0_2() -> Self {
        Self {
            decided_in_accept: true,
            sequence_numbers: true,
            resend: true,
            not_accepted: true,
            forwarding: true,
            same_round_sync: true,
            guarded_prepare_req: true,
            counted_accepted: true,
            batch: 1,
        }
    }
}

/// Limits of exploration. Following an implementation knows none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The highest ballot number.
    pub ballot_max: u32,
    /// How many entries are proposed.
    pub entries_max: u32,
    /// How many crashes, cuts, reconnections and resends there are in all.
    pub faults_max: u8,
}

/// The model.
#[derive(Clone, Copy, Debug)]
pub struct SequencePaxos {
    nodes: NodeId,
    rules: Rules,
    network: Network,
    bounds: Bounds,
    /// Whether to refuse what no correct sender can have sent over links that keep order. A bounded network
    /// takes it as the paper says, so that the properties show where it leads.
    strict: bool,
}

impl SequencePaxos {
    /// A model to explore.
    ///
    /// # Panics
    /// When there is no node, or more than 64, or the network is open: such a model is not finite.
    pub fn bounded(nodes: NodeId, rules: Rules, network: Network, bounds: Bounds) -> Self {
        assert!((1..=64).contains(&nodes), "a cluster has 1 to 64 nodes");
        assert!(network != Network::Open, "an open network has no bounds");
        Self { nodes, rules, network, bounds, strict: false }
    }

    /// A model that follows an implementation.
    ///
    /// # Panics
    /// When there is no node, or more than 64.
    pub fn open(nodes: NodeId, rules: Rules) -> Self {
        assert!((1..=64).contains(&nodes), "a cluster has 1 to 64 nodes");
        let bounds = Bounds { ballot_max: 0, entries_max: 0, faults_max: 0 };
        Self { nodes, rules, network: Network::Open, bounds, strict: true }
    }

    /// The same model, to follow an implementation over links that lose order or repeat messages. The paper
    /// excludes them. Whatever arrives is handled as the rules say, and `decided-needs-accept-quorum` is not
    /// judged: it breaks steps before anyone could tell from outside, and here that is known.
    #[must_use]
    pub fn over_unordered_links(self) -> Self {
        Self { strict: false, ..self }
    }

    /// The rules in force.
    pub fn rules(&self) -> Rules {
        self.rules
    }
}

/// What a node does, as omnipaxos or the paper spells it. Nodes are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The leader election tells `node` that the owner of `ballot` leads.
    Elect {
        /// Who is told.
        node: NodeId,
        /// Above the node's promise.
        ballot: Ballot,
    },
    /// A message is handled; where nothing in it concerns the receiver, nothing changes.
    Deliver {
        /// The sender.
        from: NodeId,
        /// The receiver.
        to: NodeId,
        /// The message, with its contents.
        message: Message,
    },
    /// A client proposes an entry at `node`.
    Append {
        /// Where.
        node: NodeId,
        /// The entry's id.
        entry: u32,
    },
    /// The resend timer of `node` fires.
    Resend {
        /// Whose timer.
        node: NodeId,
    },
    /// What the crate does in one tick, in this order; for following, exploring has the parts.
    Tick {
        /// Whose tick.
        node: NodeId,
        /// An election told to the node, as in [`Elect`](Self::Elect).
        elected: Option<Ballot>,
        /// Whether the resend timer fires, as in [`Resend`](Self::Resend).
        resend: bool,
        /// Whether the flush timer fires: what is collected is stored, even where it is less than a batch.
        flush: bool,
    },
    /// `node` is told that its connection to `peer` was lost and is back.
    Reconnected {
        /// Who is told.
        node: NodeId,
        /// About whom.
        peer: NodeId,
    },
    /// `node` stops; what is volatile is lost.
    Crash {
        /// Who.
        node: NodeId,
    },
    /// `node` starts again from what is durable.
    Restart {
        /// Who.
        node: NodeId,
    },
    /// Everything in flight between two nodes is lost, and both reconnect. In a FIFO network only.
    Cut {
        /// One end.
        a: NodeId,
        /// The other.
        b: NodeId,
    },
}

impl Model for SequencePaxos {
    type State = State;
    type Action = Action;

    fn initial(&self, out: &mut Vec<State>) {
        out.push(State::new(self.nodes, Traffic::new(self.network, self.nodes)));
    }

    fn step(&self, state: &mut State, action: &Action) -> Step<State> {
        match self.take(state, action) {
            Ok(()) => Step::Taken,
            Err(refusal) => Step::Refused(refusal),
        }
    }

    fn enabled(&self, state: &State, out: &mut Vec<Action>) {
        self.enumerate(state, out);
    }

    fn properties(&self) -> &'static [Property<Self>] {
        properties::PROPERTIES
    }

    fn transitions(&self) -> &'static [&'static str] {
        &TRANSITIONS
    }

    fn transition(&self, action: &Action) -> usize {
        const KINDS: usize = Message::KINDS.len();
        match action {
            Action::Deliver { message, .. } => usize::from(message.kind()),
            Action::Append { .. } => KINDS,
            Action::Tick { elected: Some(_), .. } => KINDS + 1,
            Action::Tick { elected: None, .. } => KINDS + 2,
            Action::Reconnected { .. } => KINDS + 3,
            Action::Crash { .. } => KINDS + 4,
            Action::Restart { .. } => KINDS + 5,
            Action::Elect { .. } | Action::Resend { .. } | Action::Cut { .. } => TRANSITIONS.len(),
        }
    }
}

/// Deliveries by kind, in the order of [`Message::KINDS`], and what else an implementation does. Parts of a tick and
/// cuts are the explorer's.
const TRANSITIONS: [&str; Message::KINDS.len() + 6] = [
    "Deliver Prepare",
    "Deliver Promise",
    "Deliver AcceptSync",
    "Deliver AcceptDecide",
    "Deliver Accepted",
    "Deliver NotAccepted",
    "Deliver Decide",
    "Deliver PrepareReq",
    "Deliver ProposalForward",
    "Append",
    "Tick with an election",
    "Tick",
    "Reconnected",
    "Crash",
    "Restart",
];

#[cfg(test)]
mod tests {
    use super::{Message, TRANSITIONS};

    #[test]
    fn deliveries_are_named_by_kind() {
        for (kind, name) in Message::KINDS.iter().zip(TRANSITIONS) {
            assert_eq!(name, format!("Deliver {kind}"));
        }
    }
}

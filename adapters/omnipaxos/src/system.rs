//! omnipaxos as a system of the world: the public interface, driven as a user would.

use crate::compat;
use crate::image::{BallotWrite, Image, SharedImage};
use crate::message::{KINDS, Kind, Wire};
use crate::store::Store;
use misrule_models::{Fields, NodeId};
use misrule_world::{Argument, BootError, Context, Input, Operation, Setup, System, Vocabulary};
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::macros::Entry;
use omnipaxos::messages::Message;
use omnipaxos::{ClusterConfig, OmniPaxos, OmniPaxosConfig, ServerConfig};
use std::fmt::{self, Display};
use std::rc::Rc;

/// Ticks after which a batch that is not full is flushed. The crate's default is 200; a small number lets short
/// schedules reach what follows.
pub(crate) const FLUSH_TICKS: u64 = 3;
/// First size of the buffers of outgoing messages; the crate's default of 100,000 makes a start slow.
const BUFFER_SIZE: usize = 64;

/// The timer that drives elections, resending and flushing.
const TICK: u8 = 0;
/// Ticks of simulated time in one of the crate's: a heartbeat and its answer fit into it where a message takes up to 4.
const TICK_TICKS: u32 = 10;

pub(crate) const APPEND: u8 = 0;
pub(crate) const RECONNECTED: u8 = 1;

/// An entry of the log.
#[derive(Clone, Entry)]
pub struct Value(pub u32);

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, f)
    }
}

/// A cluster of omnipaxos servers.
#[derive(Debug)]
pub struct Omnipaxos {
    vocabulary: Vocabulary,
    batch: usize,
    /// Ticks after which unanswered messages are sent again.
    resend: u16,
    /// For each node the memory that its image uses, whatever the execution; emptied at every start.
    images: Vec<SharedImage>,
}

impl Omnipaxos {
    /// The cluster that the settings describe.
    pub(crate) fn new(setup: &Setup) -> Self {
        let nodes = setup.settings.integer("nodes") as NodeId;
        let mut operations = vec![
            Operation { name: "append", argument: Argument::Fresh, weight: 8 },
            Operation { name: "reconnected", argument: Argument::Peer, weight: 2 },
        ];
        if setup.settings.is_on("trim") {
            operations.push(Operation { name: "trim", argument: Argument::None, weight: 1 });
        }
        Self {
            vocabulary: Vocabulary {
                nodes,
                kinds: KINDS.to_vec(),
                timers: vec!["tick"],
                timer_ticks: vec![TICK_TICKS],
                operations,
                ..Vocabulary::default()
            },
            batch: setup.settings.integer("batch") as usize,
            resend: setup.settings.integer("resend") as u16,
            images: (0..nodes).map(|_| SharedImage::default()).collect(),
        }
    }

    fn config(&self, node: NodeId) -> OmniPaxosConfig {
        OmniPaxosConfig {
            cluster_config: ClusterConfig {
                configuration_id: 1,
                nodes: (1..=u64::from(self.vocabulary.nodes)).collect(),
                flexible_quorum: None,
            },
            server_config: compat::finish(ServerConfig {
                pid: pid(node),
                election_tick_timeout: 1,
                resend_message_tick_timeout: u64::from(self.resend),
                buffer_size: BUFFER_SIZE,
                batch_size: self.batch,
                ..ServerConfig::default()
            }),
        }
    }
}

/// The crate's number of a node: they count from 1.
pub(crate) fn pid(node: NodeId) -> u64 {
    u64::from(node) + 1
}

/// A running server.
pub struct Node {
    paxos: OmniPaxos<Value, Store>,
    image: SharedImage,
    outgoing: Vec<Message<Value>>,
    pid: u64,
    role: Role,
    tick: u16,
}

/// Role and phase of a server, as far as they can be seen from outside: by the ballots it stores and the
/// messages it sends. A leader that steps down without a word still counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Role {
    /// Has promised nothing.
    #[default]
    New,
    /// Asked to be prepared again, after a restart or a lost message.
    Recovering,
    /// Has promised a leader and waits for its log.
    Preparing,
    /// Has taken over the leader's log.
    Following,
    /// Leads and waits for promises.
    Electing,
    /// Leads and has a majority of promises.
    Leading,
}

impl Role {
    /// The role in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Recovering => "recovering",
            Self::Preparing => "preparing",
            Self::Following => "following",
            Self::Electing => "electing",
            Self::Leading => "leading",
        }
    }
}

impl Node {
    /// Hands on what the server sends and follows its role.
    fn settle(&mut self, cx: &mut Context<Wire>) {
        compat::take_messages(&mut self.paxos, &mut self.outgoing);
        let write = self.image.borrow_mut().take_ballot_write();
        if let Some(write) = write {
            self.role = match (write, self.leader() == self.pid) {
                (BallotWrite::Promise, true) => Role::Electing,
                (BallotWrite::Promise, false) => Role::Preparing,
                (BallotWrite::AcceptedRound, true) => Role::Leading,
                (BallotWrite::AcceptedRound, false) => Role::Following,
            };
        }
        if self.outgoing.is_empty() {
            return;
        }
        let leader = self.leader();
        for message in self.outgoing.drain(..) {
            let (to, message) = Wire::pack(message);
            if message.kind() == Kind::PrepareReq && to.map(pid) == Some(leader) {
                self.role = Role::Recovering;
            }
            cx.send(to.unwrap_or(Context::<Wire>::NOBODY), message);
        }
    }

    /// The server whose ballot is promised; 0 for none.
    fn leader(&self) -> u64 {
        self.image.borrow().promise().map_or(0, |ballot| ballot.pid)
    }
}

impl System for Omnipaxos {
    type Node = Node;
    type Message = Wire;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Self::Message>) -> Result<Node, BootError> {
        let shared = &self.images[usize::from(cx.me())];
        let mut image = shared.borrow_mut();
        image.clear();
        let mut readable = Some(());
        cx.disk()
            .read(|record| readable = readable.and(image.replay(record)))
            .map_err(|error| BootError(error.to_string()))?;
        readable.ok_or_else(|| BootError("a disk record cannot be read".to_owned()))?;
        let role = if image.promise().is_some() { Role::Recovering } else { Role::New };
        drop(image);
        let paxos = self
            .config(cx.me())
            .build(Store::new(Rc::clone(shared), cx.disk()))
            .map_err(|error| BootError(format!("{error:?}")))?;
        shared.borrow_mut().take_ballot_write();
        let image = Rc::clone(shared);
        let mut node = Node { paxos, image, outgoing: Vec::new(), pid: pid(cx.me()), role, tick: 0 };
        node.settle(cx);
        cx.set_timer(TICK);
        Ok(node)
    }

    fn handle(&self, node: &mut Node, input: Input<Self::Message>, cx: &mut Context<Self::Message>) {
        match input {
            Input::Message { message, .. } => node.paxos.handle_incoming(message.unpack()),
            Input::Timer(_) => {
                node.paxos.tick();
                node.tick = (node.tick + 1) % (self.resend * FLUSH_TICKS as u16);
                cx.set_timer(TICK);
            }
            // What the server refuses it hands back: the client has no answer, and nothing changed.
            Input::Request { operation: APPEND, argument, .. } => drop(node.paxos.append(Value(argument))),
            Input::Request { operation: RECONNECTED, argument, .. } => {
                node.paxos.reconnected(u64::from(argument) + 1);
            }
            Input::Request { .. } => drop(node.paxos.trim(None)),
            Input::Local(_) => {}
        }
        node.settle(cx);
    }

    fn view(&self, node: &Node, out: &mut View) {
        if !Rc::ptr_eq(&node.image, &out.image) {
            out.image = Rc::clone(&node.image);
        }
        out.role = node.role;
        out.tick = node.tick;
        out.accepting = compat::accepting(&node.paxos);
    }

    fn kind(&self, message: &Self::Message) -> u8 {
        message.kind() as u8
    }
}

/// What is seen of a server. It shares the server's image: nothing is copied to look at it.
#[derive(Clone, Debug, Default)]
pub struct View {
    image: SharedImage,
    role: Role,
    tick: u16,
    accepting: bool,
}

impl View {
    /// Role and phase.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Ticks since the start, modulo the period of the clocks behind them.
    pub fn tick(&self) -> u16 {
        self.tick
    }

    /// Whether the server says that its promised leader's log is in force: the accept phase. False where the
    /// release does not tell.
    pub fn is_accepting(&self) -> bool {
        self.accepting
    }

    /// What the server keeps on its disk.
    pub fn image(&self) -> std::cell::Ref<'_, Image> {
        self.image.borrow()
    }

    pub(crate) fn shared_image(&self) -> &SharedImage {
        &self.image
    }
}

/// How many entries a log shows at its end.
const SHOWN: usize = 12;

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        let image = self.image.borrow();
        visit("role", &self.role.name());
        visit("promise", &ShownBallot(image.promise()));
        visit("leader", &image.promise().map_or(0, |ballot| ballot.pid));
        visit("accepted_round", &ShownBallot(image.accepted_round()));
        visit("length", &image.length());
        visit("log", &ShownLog(image.values()));
        visit("log_hash", &format_args!("{:016x}", image.prefix_hash(image.length())));
        visit("decided", &image.decided());
        visit("trimmed", &image.trimmed());
    }
}

/// A ballot as people write it: number and server.
struct ShownBallot(Option<Ballot>);

impl Display for ShownBallot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(ballot) if ballot.n > 0 => write!(f, "{}.{}", ballot.n, ballot.pid),
            _ => f.write_str("none"),
        }
    }
}

/// The last entries of a log.
struct ShownLog<'a>(&'a [u32]);

impl Display for ShownLog<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.0.len().saturating_sub(SHOWN);
        f.write_str(if hidden > 0 { "... " } else { "" })?;
        for (at, value) in self.0[hidden..].iter().enumerate() {
            f.write_str(if at > 0 { " " } else { "" })?;
            value.fmt(f)?;
        }
        Ok(())
    }
}

//! The crate as a system of the world: the public interface, driven as a user would.

use crate::bugs::Bug;
use crate::client::Asked;
use crate::compat;
use crate::conf::{Conf, joint_below};
use crate::image::SharedImage;
use crate::machine::Machine;
use crate::message::{KINDS, Kind, Packing, Wire};
use crate::node::{APPLY, Flush, Node, Options, REPORT, number};
use crate::store::Store;
use crate::view::View;
use misrule_models::NodeId;
use misrule_world::{
    Argument, BootError, Context, DrawName, Input, KeyedValues, Operation, Settings, Setup, SetupError,
    System, Vocabulary,
};
use raft::{Config, ReadOnlyOption};
use std::cell::RefCell;
use std::rc::Rc;

/// The timer that drives elections and heartbeats.
const TICK: u8 = 0;
/// Ticks of simulated time in one of the crate's: a heartbeat and its answer fit into it where a message takes up to 4.
const TICK_TICKS: u32 = 10;
/// Ticks between two heartbeats of a leader.
const HEARTBEAT_TICKS: usize = 1;
/// The crate draws election timeouts below this: far above any that is set, so that they are told apart.
const LONGEST_TIMEOUT: usize = 1 << 40;
/// Bytes of entries in one message: as many as there are.
const MESSAGE_BYTES: u64 = 1 << 20;

/// How many of the crate's own numbers a byte of a configuration has room for.
const NODES_MAX: u64 = 8;

/// A cluster of nodes of the crate.
pub struct Raft {
    vocabulary: Vocabulary,
    /// For each operation of the vocabulary what it is.
    asked: Vec<Asked>,
    options: Options,
    configured: Configured,
    /// For each node the memory that its image uses, whatever the execution; emptied at every start.
    images: Vec<SharedImage>,
    packing: RefCell<Packing>,
}

impl std::fmt::Debug for Raft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Raft").field("vocabulary", &self.vocabulary).finish_non_exhaustive()
    }
}

impl Raft {
    /// The cluster that the settings describe.
    ///
    /// # Errors
    /// A node set or a configuration that is refused.
    pub(crate) fn new(setup: &Setup) -> Result<Self, SetupError> {
        let settings = &setup.settings;
        let nodes = settings.integer("nodes");
        if nodes.is_multiple_of(2) || nodes > NODES_MAX {
            return Err(SetupError("raft runs with nodes=3, 5 or 7".to_owned()));
        }
        let configured = Configured::new(settings);
        configured
            .config(0, 0)
            .validate()
            .map_err(|error| SetupError(format!("raft refuses this: {error}")))?;
        let (asked, operations) = workload(settings).into_iter().unzip();
        Ok(Self {
            vocabulary: Vocabulary {
                nodes: nodes as NodeId,
                kinds: KINDS.to_vec(),
                timers: vec!["tick"],
                timer_ticks: vec![TICK_TICKS],
                locals: vec!["report-snapshot", "apply", "flush"],
                operations,
                draws: vec![DrawName { name: "timeout", below: configured.election_ticks as u32 }],
                sessions: settings.integer("sessions") as u8,
            },
            asked,
            options: Options {
                election_ticks: configured.election_ticks,
                applies_later: settings.word("apply") == "later",
                flush: match settings.word("flush") {
                    "later" => Flush::Later,
                    "always-later" => Flush::AlwaysLater,
                    _ => Flush::AtOnce,
                },
                syncs_all: settings.word("sync") == "always",
                leaver_steps_down: settings.is_on("leaver-steps-down"),
                bug: Bug::named(settings.word("bug")),
            },
            configured,
            images: (0..nodes).map(|_| SharedImage::default()).collect(),
            packing: RefCell::default(),
        })
    }

    /// Whether an operation of the vocabulary is of operators: no specification has it.
    pub(crate) fn is_of_operators(&self, operation: u8) -> bool {
        self.asked.get(usize::from(operation)).is_some_and(|asked| asked.is_of_operators())
    }

    fn start(&self, cx: &Context<Wire>) -> Result<Node, BootError> {
        let shared = &self.images[usize::from(cx.me())];
        let mut image = shared.borrow_mut();
        image.clear(Conf::of_voters(self.vocabulary.nodes), self.options.bug);
        let mut readable = Some(());
        cx.disk()
            .read(|record| readable = readable.and_then(|()| image.replay(record)))
            .map_err(|error| BootError(error.to_string()))?;
        let unreadable = || BootError("a disk record cannot be read".to_owned());
        readable.ok_or_else(unreadable)?;
        image.begin();
        let applied = image.base().index;
        let machine = match applied {
            0 => Machine::default(),
            _ => Machine::read(&image.base().data).ok_or_else(unreadable)?,
        };
        drop(image);
        let store = Store::new(Rc::clone(shared), cx.disk());
        let config = self.configured.config(cx.me(), applied);
        let raft = compat::open(&config, store, u64::from(self.vocabulary.nodes)).map_err(BootError)?;
        Ok(Node::new(raft, Rc::clone(shared), machine, self.options))
    }
}

/// What all nodes are configured with.
#[derive(Clone, Copy, Debug)]
struct Configured {
    election_ticks: usize,
    in_flight: usize,
    pre_vote: bool,
    check_quorum: bool,
    read_only_option: ReadOnlyOption,
}

impl Configured {
    fn new(settings: &Settings) -> Self {
        Self {
            election_ticks: settings.integer("election-ticks") as usize,
            in_flight: settings.integer("in-flight") as usize,
            pre_vote: settings.is_on("pre-vote"),
            check_quorum: settings.is_on("check-quorum"),
            read_only_option: match settings.word("reads") {
                "lease" => ReadOnlyOption::LeaseBased,
                _ => ReadOnlyOption::Safe,
            },
        }
    }

    /// The configuration of a node that has applied the first so many entries.
    fn config(&self, node: NodeId, applied: u64) -> Config {
        Config {
            id: number(node),
            election_tick: self.election_ticks,
            heartbeat_tick: HEARTBEAT_TICKS,
            applied,
            max_size_per_msg: MESSAGE_BYTES,
            max_inflight_msgs: self.in_flight,
            check_quorum: self.check_quorum,
            pre_vote: self.pre_vote,
            min_election_tick: self.election_ticks,
            max_election_tick: LONGEST_TIMEOUT,
            read_only_option: self.read_only_option,
            ..Config::default()
        }
    }
}

/// The operations that the settings ask for.
fn workload(settings: &Settings) -> Vec<(Asked, Operation)> {
    let nodes = settings.integer("nodes") as u8;
    let keyed = |values| Argument::Keyed { keys: settings.integer("keys") as u8, values };
    let node = Argument::Below(u32::from(nodes));
    let mut operations = vec![
        (Asked::Put, "put", keyed(KeyedValues::Fresh), 6),
        (Asked::Get, "get", keyed(KeyedValues::None), 4),
        (Asked::Cas, "cas", keyed(KeyedValues::FromTo), 2),
    ];
    if settings.is_on("transfer") {
        operations.push((Asked::Transfer, "transfer", node, 1));
    }
    if settings.is_on("snapshots") {
        operations.push((Asked::Compact, "compact", Argument::None, 1));
    }
    let membership = settings.word("membership");
    if membership != "off" {
        operations.push((Asked::AddVoter, "add-voter", node, 2));
        operations.push((Asked::AddLearner, "add-learner", node, 1));
        operations.push((Asked::Remove, "remove", node, 1));
    }
    if membership == "joint" {
        operations.push((Asked::Joint, "joint", Argument::Below(joint_below(nodes)), 2));
        operations.push((Asked::LeaveJoint, "leave-joint", Argument::None, 1));
    }
    let named = |(asked, name, argument, weight)| (asked, Operation { name, argument, weight });
    operations.into_iter().map(named).collect()
}

impl System for Raft {
    type Node = Node;
    type Message = Wire;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Self::Message>) -> Result<Node, BootError> {
        let mut node = self.start(cx)?;
        node.settle(&mut self.packing.borrow_mut(), cx);
        cx.set_timer(TICK);
        Ok(node)
    }

    fn handle(&self, node: &mut Node, input: Input<Self::Message>, cx: &mut Context<Self::Message>) {
        node.image.borrow_mut().reads.begin();
        if node.halted {
            return;
        }
        let mut packing = self.packing.borrow_mut();
        match input {
            Input::Message { message, .. } => {
                let mut message = packing.unpack(message);
                if self.options.bug == Bug::RejectLost {
                    message.reject &= Kind::of(&message) != Kind::RequestVoteResponse;
                }
                node.step(message);
            }
            Input::Timer(_) => {
                node.sync_late();
                node.tick();
                cx.set_timer(TICK);
            }
            Input::Request { operation, argument, call } => {
                if let Some(asked) = self.asked.get(usize::from(operation)) {
                    node.request(*asked, argument, call, cx);
                }
            }
            Input::Local(REPORT) => node.report_snapshots(),
            Input::Local(APPLY) => node.apply_later(cx),
            Input::Local(_) => node.flush_later(&mut packing, cx),
        }
        node.settle(&mut packing, cx);
    }

    fn view(&self, node: &Node, out: &mut View) {
        out.refresh(node);
    }

    fn kind(&self, message: &Self::Message) -> u8 {
        message.kind() as u8
    }
}

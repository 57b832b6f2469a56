//! The crate as a system of the world: the public interface, driven as a user would.

use crate::bugs::Bug;
use crate::image::SharedImage;
use crate::message::{KINDS, Kind, Packing, Wire};
use crate::node::{Node, Options, number};
use crate::store::Store;
use crate::view::View;
use misrule_models::NodeId;
use misrule_world::{
    Argument, BootError, Context, DrawName, Input, Operation, Setup, SetupError, System, Vocabulary,
};
use raft::{Config, RawNode};
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

/// A cluster of nodes of the crate.
#[derive(Debug)]
pub struct Raft {
    vocabulary: Vocabulary,
    options: Options,
    in_flight: usize,
    /// For each node the memory that its image uses, whatever the execution; emptied at every start.
    images: Vec<SharedImage>,
    packing: RefCell<Packing>,
}

impl Raft {
    /// The cluster that the settings describe.
    ///
    /// # Errors
    /// A configuration that the crate refuses.
    pub(crate) fn new(setup: &Setup) -> Result<Self, SetupError> {
        let settings = &setup.settings;
        let nodes = settings.integer("nodes") as NodeId;
        let election_ticks = settings.integer("election-ticks") as usize;
        let raft = Self {
            vocabulary: Vocabulary {
                nodes,
                kinds: KINDS.to_vec(),
                timers: vec!["tick"],
                timer_ticks: vec![TICK_TICKS],
                operations: vec![Operation { name: "propose", argument: Argument::Fresh, weight: 8 }],
                draws: vec![DrawName { name: "timeout", below: election_ticks as u32 }],
                ..Vocabulary::default()
            },
            options: Options { election_ticks, bug: Bug::named(settings.word("bug")) },
            in_flight: settings.integer("in-flight") as usize,
            images: (0..nodes).map(|_| SharedImage::default()).collect(),
            packing: RefCell::default(),
        };
        raft.config(0).validate().map_err(|error| SetupError(format!("raft refuses this: {error}")))?;
        Ok(raft)
    }

    fn config(&self, node: NodeId) -> Config {
        Config {
            id: number(node),
            election_tick: self.options.election_ticks,
            heartbeat_tick: HEARTBEAT_TICKS,
            min_election_tick: self.options.election_ticks,
            max_election_tick: LONGEST_TIMEOUT,
            max_size_per_msg: MESSAGE_BYTES,
            max_inflight_msgs: self.in_flight,
            ..Config::default()
        }
    }
}

impl System for Raft {
    type Node = Node;
    type Message = Wire;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Self::Message>) -> Result<Node, BootError> {
        let shared = &self.images[usize::from(cx.me())];
        let mut image = shared.borrow_mut();
        image.clear(self.options.bug);
        let mut readable = Some(());
        cx.disk()
            .read(|record| readable = readable.and_then(|()| image.replay(record)))
            .map_err(|error| BootError(error.to_string()))?;
        readable.ok_or_else(|| BootError("a disk record cannot be read".to_owned()))?;
        image.begin();
        drop(image);
        let store = Store::new(Rc::clone(shared), cx.disk(), u64::from(self.vocabulary.nodes));
        let raft = RawNode::new(&self.config(cx.me()), store, &crate::logger::shared())
            .map_err(|error| BootError(error.to_string()))?;
        let mut node = Node::new(raft, Rc::clone(shared), self.options);
        node.settle(&mut self.packing.borrow_mut(), cx);
        cx.set_timer(TICK);
        Ok(node)
    }

    fn handle(&self, node: &mut Node, input: Input<Self::Message>, cx: &mut Context<Self::Message>) {
        if node.halted {
            return;
        }
        let mut packing = self.packing.borrow_mut();
        match input {
            // What the crate refuses of a message or a proposal it says: nothing has changed then.
            Input::Message { message, .. } => {
                let mut message = packing.unpack(message);
                if self.options.bug == Bug::RejectLost {
                    message.reject &= Kind::of(&message) != Kind::RequestVoteResponse;
                }
                drop(node.raft.step(message));
            }
            Input::Timer(_) => {
                node.sync_late();
                node.raft.tick();
                cx.set_timer(TICK);
            }
            Input::Request { argument, .. } => {
                drop(node.raft.propose(Vec::new(), argument.to_le_bytes().to_vec()));
            }
            Input::Local(_) => {}
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

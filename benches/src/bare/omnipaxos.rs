//! Servers of omnipaxos with the settings of the adapter and trimming off.

use super::store::{Disk, Store};
use super::{Act, Random, Servers, peer};
use omnipaxos::macros::Entry;
use omnipaxos::messages::Message;
use omnipaxos::{ClusterConfig, OmniPaxos, OmniPaxosConfig, ServerConfig};
use slog::Logger;
use std::cell::RefCell;
use std::rc::Rc;

// Of the requests, eight in ten append and two say that a peer was reconnected.
const OPERATIONS: u32 = 10;
const APPENDS: u32 = 8;

/// An entry of the log.
#[derive(Clone, Debug, Entry)]
pub struct Value(pub u32);

/// A cluster of omnipaxos.
pub struct Omnipaxos {
    nodes: Vec<Option<OmniPaxos<Value, Store>>>,
    disks: Vec<Rc<RefCell<Disk>>>,
    outgoing: Vec<Message<Value>>,
    logger: Logger,
    fresh: u32,
}

impl Omnipaxos {
    /// So many servers.
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes: (0..nodes).map(|_| None).collect(),
            disks: (0..nodes).map(|_| Rc::default()).collect(),
            outgoing: Vec::new(),
            logger: Logger::root(slog::Discard, slog::o!()),
            fresh: 1,
        }
    }

    fn start(&mut self, node: usize) {
        let config = OmniPaxosConfig {
            cluster_config: ClusterConfig {
                configuration_id: 1,
                nodes: (1..=self.nodes.len() as u64).collect(),
                flexible_quorum: None,
            },
            server_config: ServerConfig {
                pid: node as u64 + 1,
                election_tick_timeout: 1,
                resend_message_tick_timeout: 5,
                flush_batch_tick_timeout: 3,
                buffer_size: 64,
                batch_size: 1,
                custom_logger: Some(self.logger.clone()),
                ..ServerConfig::default()
            },
        };
        match config.build(Store::new(Rc::clone(&self.disks[node]))) {
            Ok(paxos) => self.nodes[node] = Some(paxos),
            Err(error) => panic!("omnipaxos does not start: {error:?}"),
        }
    }
}

impl Servers for Omnipaxos {
    type Message = Message<Value>;
    const REQUEST: u32 = 500;

    fn clear(&mut self) {
        self.fresh = 1;
        self.nodes.fill_with(|| None);
        self.disks.iter().for_each(|disk| disk.borrow_mut().clear());
    }

    fn act(
        &mut self,
        node: usize,
        act: Act<Message<Value>>,
        random: &mut Random,
        out: &mut Vec<(usize, Message<Value>)>,
    ) {
        match act {
            Act::Start => self.start(node),
            Act::Stop => self.nodes[node] = None,
            _ => {}
        }
        let nodes = self.nodes.len();
        let Some(paxos) = &mut self.nodes[node] else { return };
        match act {
            Act::Start | Act::Stop => {}
            Act::Tick => paxos.tick(),
            Act::Handle(message) => paxos.handle_incoming(message),
            Act::Request if random.below(OPERATIONS) < APPENDS => {
                let value = Value(self.fresh);
                self.fresh += 1;
                drop(paxos.append(value));
            }
            Act::Request => paxos.reconnected(peer(node, nodes, random) as u64 + 1),
        }
        paxos.take_outgoing_messages(&mut self.outgoing);
        out.extend(self.outgoing.drain(..).map(|message| (message.get_receiver() as usize - 1, message)));
    }

    fn decided(&self, node: usize) -> u64 {
        self.disks[node].borrow().decided() as u64
    }
}

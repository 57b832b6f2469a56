//! A bare hand-written random driver of omnipaxos: what one would write in an afternoon, without a world.
//!
//! It draws the same kinds of choices with the same weights as the engine's `random`, with the same settings of
//! the crate, the same capacity of links, under the contract `fifo,explicit-sync` with trimming off, and judges
//! nothing. Storage is a struct in memory that survives a crash: the adapter syncs before each call of the
//! storage returns, so that nothing is ever lost there either.

mod store;

use omnipaxos::macros::Entry;
use omnipaxos::messages::Message;
use omnipaxos::{ClusterConfig, OmniPaxos, OmniPaxosConfig, ServerConfig};
use slog::Logger;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use store::{Disk, Store};

/// An entry of the log.
#[derive(Clone, Debug, Entry)]
pub struct Value(pub u32);

/// Servers.
const NODES: usize = 3;
/// Messages that a link holds; more are lost. The engine's default.
const CAPACITY: usize = 48;
/// Lengths of executions, with equal steps each. The engine's ladder.
pub const LENGTHS: [u32; 7] = [30, 100, 300, 1_000, 3_000, 10_000, 30_000];

// Weights of choices, as in the engine's default fault profile.
const DELIVER: u32 = 7000;
const TIMER: u32 = 2000;
const REQUEST: u32 = 500;
const CRASH: u32 = 20;
const RESTART: u32 = 300;
const ISOLATE: u32 = 20;
const CUT: u32 = 20;
const HEAL: u32 = 150;
// Of the requests, eight in ten append and two say that a peer was reconnected.
const OPERATIONS: u32 = 10;
const APPENDS: u32 = 8;

/// How often each kind of choice was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the choices")]
pub struct Counts {
    pub deliver: u64,
    pub timer: u64,
    pub request: u64,
    pub crash: u64,
    pub restart: u64,
    pub cut: u64,
    pub heal: u64,
}

/// What can be chosen: messages to deliver, servers that run, links that are cut.
struct Menu {
    waiting: u32,
    up: u32,
    cuts: u32,
}

/// The driver.
pub struct Bare {
    nodes: [Option<OmniPaxos<Value, Store>>; NODES],
    disks: [Rc<RefCell<Disk>>; NODES],
    links: [VecDeque<Message<Value>>; NODES * NODES],
    cut: [bool; NODES * NODES],
    pending: Vec<(usize, bool)>,
    outgoing: Vec<Message<Value>>,
    logger: Logger,
    fresh: u32,
    random: u64,
    /// What was executed since the driver was made.
    pub counts: Counts,
    /// The highest decided index of any execution: a driver that never decides anything is measured in vain.
    pub decided_max: usize,
}

impl Bare {
    /// A driver for `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            nodes: [const { None }; NODES],
            disks: std::array::from_fn(|_| Rc::default()),
            links: std::array::from_fn(|_| VecDeque::new()),
            cut: [false; NODES * NODES],
            pending: Vec::new(),
            outgoing: Vec::new(),
            logger: Logger::root(slog::Discard, slog::o!()),
            fresh: 1,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            counts: Counts::default(),
            decided_max: 0,
        }
    }

    /// One execution from empty disks, of so many steps. Returns how many were executed.
    ///
    /// # Panics
    /// When omnipaxos refuses the configuration, which it does not.
    pub fn execute(&mut self, length: u32) -> u32 {
        self.links.iter_mut().for_each(VecDeque::clear);
        self.cut = [false; NODES * NODES];
        self.pending.clear();
        self.fresh = 1;
        for node in 0..NODES {
            self.nodes[node] = None;
            self.disks[node].borrow_mut().clear();
        }
        (0..NODES).for_each(|node| self.boot(node));
        (0..length).for_each(|_| self.step());
        let decided = self.disks.iter().map(|disk| disk.borrow().decided());
        self.decided_max = decided.fold(self.decided_max, usize::max);
        length
    }

    fn boot(&mut self, node: usize) {
        let config = OmniPaxosConfig {
            cluster_config: ClusterConfig {
                configuration_id: 1,
                nodes: (1..=NODES as u64).collect(),
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
        self.send(node);
    }

    fn send(&mut self, node: usize) {
        let Some(paxos) = &mut self.nodes[node] else { return };
        paxos.take_outgoing_messages(&mut self.outgoing);
        for message in self.outgoing.drain(..) {
            let link = node * NODES + message.get_receiver() as usize - 1;
            if !self.cut[link] && self.links[link].len() < CAPACITY {
                self.links[link].push_back(message);
            }
        }
    }

    fn step(&mut self) {
        while let Some((link, cut)) = self.pending.pop() {
            if self.cut[link] != cut {
                return self.set_cut(link, cut);
            }
        }
        let waiting: u32 = (0..NODES * NODES).map(|link| self.deliverable(link)).sum();
        let up = self.nodes.iter().flatten().count() as u32;
        let cuts = self.cut.iter().filter(|cut| **cut).count() as u32;
        let when = |enabled: bool, weight: u32| if enabled { weight } else { 0 };
        let menu = Menu { waiting, up, cuts };
        let down = NODES as u32 - up;
        let weights = [
            when(waiting > 0, DELIVER),
            // Every running server has its timer set.
            when(up > 0, TIMER),
            when(up > 0, REQUEST),
            when(up > 0, CRASH),
            when(down > 0, RESTART),
            ISOLATE + CUT,
            when(cuts > 0, HEAL),
        ];
        let sum = weights.iter().sum();
        // A cut may find nothing left to cut; then the kind is drawn again.
        while !self.act(&weights, sum, &menu) {}
    }

    /// Draws a kind of choice and executes one; false where the kind had nothing to offer.
    fn act(&mut self, weights: &[u32; 7], sum: u32, menu: &Menu) -> bool {
        let mut at = self.below(sum);
        let mut kind = 0;
        while at >= weights[kind] {
            at -= weights[kind];
            kind += 1;
        }
        match kind {
            0 => self.deliver(menu.waiting),
            1 => {
                let node = self.nth(true, menu.up);
                self.counts.timer += 1;
                self.call(node, OmniPaxos::tick);
            }
            2 => self.request(menu.up),
            3 => {
                let node = self.nth(true, menu.up);
                self.counts.crash += 1;
                self.nodes[node] = None;
            }
            4 => {
                let node = self.nth(false, NODES as u32 - menu.up);
                self.counts.restart += 1;
                self.boot(node);
            }
            5 => return self.cut(),
            _ => self.heal(menu.cuts),
        }
        true
    }

    fn call(&mut self, node: usize, act: impl FnOnce(&mut OmniPaxos<Value, Store>)) {
        if let Some(paxos) = &mut self.nodes[node] {
            act(paxos);
        }
        self.send(node);
    }

    fn deliverable(&self, link: usize) -> u32 {
        if self.cut[link] || self.nodes[link % NODES].is_none() { 0 } else { self.links[link].len() as u32 }
    }

    fn deliver(&mut self, waiting: u32) {
        let mut at = self.below(waiting);
        for link in 0..NODES * NODES {
            let count = self.deliverable(link);
            if at < count {
                self.counts.deliver += 1;
                if let Some(message) = self.links[link].pop_front() {
                    self.call(link % NODES, |paxos| paxos.handle_incoming(message));
                }
                return;
            }
            at -= count;
        }
    }

    fn request(&mut self, up: u32) {
        let node = self.nth(true, up);
        self.counts.request += 1;
        if self.below(OPERATIONS) < APPENDS {
            let value = Value(self.fresh);
            self.fresh += 1;
            self.call(node, |paxos| drop(paxos.append(value)));
        } else {
            let peer = self.peer(node);
            self.call(node, |paxos| paxos.reconnected(peer as u64 + 1));
        }
    }

    fn set_cut(&mut self, link: usize, cut: bool) {
        self.cut[link] = cut;
        if cut {
            self.counts.cut += 1;
        } else {
            self.counts.heal += 1;
        }
    }

    /// Cuts one direction of a link, or all links of a server, one a step; false where all is cut already.
    fn cut(&mut self) -> bool {
        let node = self.below(NODES as u32) as usize;
        if self.below(ISOLATE + CUT) < CUT {
            let link = node * NODES + self.peer(node);
            let open = !self.cut[link];
            if open {
                self.set_cut(link, true);
            }
            return open;
        }
        for other in (0..NODES).filter(|other| *other != node) {
            self.pending.push((node * NODES + other, true));
            self.pending.push((other * NODES + node, true));
        }
        let cut = self.cut;
        self.pending.retain(|(link, _)| !cut[*link]);
        let Some((link, _)) = self.pending.pop() else { return false };
        self.set_cut(link, true);
        true
    }

    /// Heals one cut, or all of them, one a step.
    fn heal(&mut self, cuts: u32) {
        let all = self.below(2) == 0;
        let one = if all { 0 } else { self.below(cuts) as usize };
        let links = (0..NODES * NODES).filter(|link| self.cut[*link]);
        self.pending
            .extend(links.skip(one).take(if all { NODES * NODES } else { 1 }).map(|link| (link, false)));
        if let Some((link, _)) = self.pending.pop() {
            self.set_cut(link, false);
        }
    }

    /// One of the servers that run, or that do not.
    fn nth(&mut self, up: bool, count: u32) -> usize {
        let number = self.below(count) as usize;
        (0..NODES).filter(|node| self.nodes[*node].is_some() == up).nth(number).unwrap_or(0)
    }

    fn peer(&mut self, node: usize) -> usize {
        let other = self.below(NODES as u32 - 1) as usize;
        if other >= node { other + 1 } else { other }
    }

    /// A number below `bound`, from a xorshift generator.
    fn below(&mut self, bound: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((u128::from(self.random) * u128::from(bound)) >> 64) as u32
    }
}

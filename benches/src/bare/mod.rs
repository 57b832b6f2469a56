//! Bare hand-written random drivers: what one would write in an afternoon, without a world.
//!
//! A driver draws the same kinds of choices with the same weights as the engine's `random`, with the same
//! capacity of links, under the contract `fifo,explicit-sync`, and judges nothing. Storage is a struct in memory that
//! survives a crash: the adapters sync before they go on, so that nothing is ever lost there either. [`Omnipaxos`] and
//! [`Raft`] are driven.

mod omnipaxos;
mod raft;
mod store;

pub use omnipaxos::{Omnipaxos, Value};
pub use raft::Raft;

use std::collections::VecDeque;

/// Messages that a link holds; more are lost. The engine's default.
const CAPACITY: usize = 48;
/// Lengths of executions, with equal steps each. The engine's ladder.
pub const LENGTHS: [u32; 7] = [30, 100, 300, 1_000, 3_000, 10_000, 30_000];

// Weights of choices, as in the engine's default fault profile.
const DELIVER: u32 = 7000;
const TIMER: u32 = 2000;
const CRASH: u32 = 20;
const RESTART: u32 = 300;
const ISOLATE: u32 = 20;
const CUT: u32 = 20;
const HEAL: u32 = 150;

/// What a server is to do.
#[derive(Debug)]
pub enum Act<M> {
    /// Start from its disk.
    Start,
    /// Crash.
    Stop,
    /// One tick of its clock.
    Tick,
    /// A message has arrived.
    Handle(M),
    /// A client asks for an operation, which the server draws.
    Request,
}

/// The servers of a cluster.
pub trait Servers {
    /// What they send.
    type Message;

    /// The weight of requests.
    const REQUEST: u32;

    /// Empties all disks. No server runs.
    fn clear(&mut self);

    /// Has a server do something, and puts receivers and messages into `out`. Only servers that run are asked to tick, to
    /// handle and for operations.
    fn act(
        &mut self,
        node: usize,
        act: Act<Self::Message>,
        random: &mut Random,
        out: &mut Vec<(usize, Self::Message)>,
    );

    /// How many entries a server knows to be decided.
    fn decided(&self, node: usize) -> u64;
}

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

/// A xorshift generator.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u32
    }
}

/// What can be chosen: messages to deliver, servers that run, links that are cut.
struct Menu {
    waiting: u32,
    up: u32,
    cuts: u32,
}

/// The driver of `N` servers.
pub struct Bare<S: Servers, const N: usize> {
    servers: S,
    up: [bool; N],
    /// From each server to each.
    links: [[VecDeque<S::Message>; N]; N],
    cut: [[bool; N]; N],
    /// Ends of links that are to be cut or healed next.
    pending: Vec<((usize, usize), bool)>,
    outgoing: Vec<(usize, S::Message)>,
    random: Random,
    /// What was executed since the driver was made.
    pub counts: Counts,
    /// The most entries decided in any execution: a driver that never decides anything is measured in vain.
    pub decided_max: u64,
    /// In how many executions a server decided an entry, an empty one of a new leader included.
    pub deciding: u64,
}

/// The driver of omnipaxos with three servers.
pub fn omnipaxos(seed: u64) -> Bare<Omnipaxos, 3> {
    Bare::new(Omnipaxos::new(3), seed)
}

/// The driver of raft with five servers.
pub fn raft(seed: u64) -> Bare<Raft, 5> {
    Bare::new(Raft::new(5), seed)
}

impl<S: Servers, const N: usize> Bare<S, N> {
    fn new(servers: S, seed: u64) -> Self {
        Self {
            servers,
            up: [false; N],
            links: std::array::from_fn(|_| std::array::from_fn(|_| VecDeque::new())),
            cut: [[false; N]; N],
            pending: Vec::new(),
            outgoing: Vec::new(),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            counts: Counts::default(),
            decided_max: 0,
            deciding: 0,
        }
    }

    /// One execution from empty disks, of so many steps. Returns how many were executed.
    ///
    /// # Panics
    /// When the implementation refuses its configuration, which it does not.
    pub fn execute(&mut self, length: u32) -> u32 {
        self.links.iter_mut().flatten().for_each(VecDeque::clear);
        self.cut = [[false; N]; N];
        self.pending.clear();
        self.servers.clear();
        (0..N).for_each(|node| self.start(node));
        (0..length).for_each(|_| self.step());
        let decided = (0..N).map(|node| self.servers.decided(node)).max().unwrap_or(0);
        self.decided_max = self.decided_max.max(decided);
        self.deciding += u64::from(decided > 0);
        length
    }

    fn start(&mut self, node: usize) {
        self.up[node] = true;
        self.call(node, Act::Start);
    }

    fn call(&mut self, node: usize, act: Act<S::Message>) {
        self.servers.act(node, act, &mut self.random, &mut self.outgoing);
        for (to, message) in self.outgoing.drain(..) {
            let link = &mut self.links[node][to];
            if !self.cut[node][to] && link.len() < CAPACITY {
                link.push_back(message);
            }
        }
    }

    fn step(&mut self) {
        while let Some((link, cut)) = self.pending.pop() {
            if self.cut[link.0][link.1] != cut {
                return self.set_cut(link, cut);
            }
        }
        let waiting: u32 = ends::<N>().map(|link| self.deliverable(link)).sum();
        let up = self.up.iter().filter(|up| **up).count() as u32;
        let cuts = self.cut.iter().flatten().filter(|cut| **cut).count() as u32;
        let when = |enabled: bool, weight: u32| if enabled { weight } else { 0 };
        let menu = Menu { waiting, up, cuts };
        let down = N as u32 - up;
        let weights = [
            when(waiting > 0, DELIVER),
            // Every running server has its timer set.
            when(up > 0, TIMER),
            when(up > 0, S::REQUEST),
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
        let mut at = self.random.below(sum);
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
                self.call(node, Act::Tick);
            }
            2 => {
                let node = self.nth(true, menu.up);
                self.counts.request += 1;
                self.call(node, Act::Request);
            }
            3 => {
                let node = self.nth(true, menu.up);
                self.counts.crash += 1;
                self.up[node] = false;
                self.call(node, Act::Stop);
            }
            4 => {
                let node = self.nth(false, N as u32 - menu.up);
                self.counts.restart += 1;
                self.start(node);
            }
            5 => return self.cut(),
            _ => self.heal(menu.cuts),
        }
        true
    }

    fn deliverable(&self, (from, to): (usize, usize)) -> u32 {
        if self.cut[from][to] || !self.up[to] { 0 } else { self.links[from][to].len() as u32 }
    }

    fn deliver(&mut self, waiting: u32) {
        let mut at = self.random.below(waiting);
        for (from, to) in ends::<N>() {
            let count = self.deliverable((from, to));
            if at < count {
                self.counts.deliver += 1;
                if let Some(message) = self.links[from][to].pop_front() {
                    self.call(to, Act::Handle(message));
                }
                return;
            }
            at -= count;
        }
    }

    fn set_cut(&mut self, (from, to): (usize, usize), cut: bool) {
        self.cut[from][to] = cut;
        if cut {
            self.counts.cut += 1;
        } else {
            self.counts.heal += 1;
        }
    }

    /// Cuts one direction of a link, or all links of a server, one a step; false where all is cut already.
    fn cut(&mut self) -> bool {
        let node = self.random.below(N as u32) as usize;
        if self.random.below(ISOLATE + CUT) < CUT {
            let peer = peer(node, N, &mut self.random);
            let open = !self.cut[node][peer];
            if open {
                self.set_cut((node, peer), true);
            }
            return open;
        }
        for other in (0..N).filter(|other| *other != node) {
            self.pending.push(((node, other), true));
            self.pending.push(((other, node), true));
        }
        let cut = self.cut;
        self.pending.retain(|((from, to), _)| !cut[*from][*to]);
        let Some((link, _)) = self.pending.pop() else { return false };
        self.set_cut(link, true);
        true
    }

    /// Heals one cut, or all of them, one a step.
    fn heal(&mut self, cuts: u32) {
        let all = self.random.below(2) == 0;
        let one = if all { 0 } else { self.random.below(cuts) as usize };
        let links = ends::<N>().filter(|(from, to)| self.cut[*from][*to]);
        self.pending.extend(links.skip(one).take(if all { N * N } else { 1 }).map(|link| (link, false)));
        if let Some((link, _)) = self.pending.pop() {
            self.set_cut(link, false);
        }
    }

    /// One of the servers that run, or that do not.
    fn nth(&mut self, up: bool, count: u32) -> usize {
        let number = self.random.below(count) as usize;
        (0..N).filter(|node| self.up[*node] == up).nth(number).unwrap_or(0)
    }
}

/// Sender and receiver of each link.
fn ends<const N: usize>() -> impl Iterator<Item = (usize, usize)> {
    (0..N).flat_map(|from| (0..N).map(move |to| (from, to)))
}

/// One of the other servers.
fn peer(node: usize, nodes: usize, random: &mut Random) -> usize {
    let other = random.below(nodes as u32 - 1) as usize;
    if other >= node { other + 1 } else { other }
}

//! Servers of raft over the crate's own storage in memory, driven as its documentation says, with the settings of the
//! adapter and `snapshots=off`, `transfer=off`. Clients have no sessions: nobody waits for an answer.

use super::{Act, Random, Servers};
use raft::eraftpb::{ConfState, Message};
use raft::storage::MemStorage;
use raft::{Config, RawNode};
use slog::Logger;

/// Ticks of an election timeout, at least; at most one less than twice as many.
const ELECTION_TICKS: usize = 3;
/// What the crate may draw itself, told apart from what is set here.
const LONGEST_TIMEOUT: usize = 1 << 40;
// Of the requests, eight in twelve write and four read.
const OPERATIONS: u32 = 12;
const WRITES: u32 = 8;

/// A cluster of raft.
pub struct Raft {
    nodes: Vec<Option<RawNode<MemStorage>>>,
    disks: Vec<MemStorage>,
    logger: Logger,
    fresh: u32,
}

impl Raft {
    /// So many servers.
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes: (0..nodes).map(|_| None).collect(),
            disks: Vec::new(),
            logger: Logger::root(slog::Discard, slog::o!()),
            fresh: 0,
        }
    }

    fn start(&mut self, node: usize) {
        let config = Config {
            id: node as u64 + 1,
            election_tick: ELECTION_TICKS,
            heartbeat_tick: 1,
            max_size_per_msg: 1 << 20,
            min_election_tick: ELECTION_TICKS,
            max_election_tick: LONGEST_TIMEOUT,
            ..Config::default()
        };
        match RawNode::new(&config, self.disks[node].clone(), &self.logger) {
            Ok(raft) => self.nodes[node] = Some(raft),
            Err(error) => panic!("raft does not start: {error:?}"),
        }
    }
}

impl Servers for Raft {
    type Message = Message;
    /// As many as clients ask that wait for answers in three sessions; with the weight of the engine's profile it would be
    /// 2.4 times as many.
    const REQUEST: u32 = 200;

    fn clear(&mut self) {
        let voters: Vec<u64> = (1..=self.nodes.len() as u64).collect();
        self.nodes.fill_with(|| None);
        self.disks.clear();
        self.disks.extend(
            self.nodes
                .iter()
                .map(|_| MemStorage::new_with_conf_state(ConfState::from((voters.clone(), Vec::new())))),
        );
        self.fresh = 0;
    }

    fn act(&mut self, node: usize, act: Act<Message>, random: &mut Random, out: &mut Vec<(usize, Message)>) {
        match act {
            Act::Start => self.start(node),
            Act::Stop => self.nodes[node] = None,
            _ => {}
        }
        let Some(raft) = &mut self.nodes[node] else { return };
        match act {
            Act::Start | Act::Stop => {}
            Act::Tick => drop(raft.tick()),
            // What is refused changes nothing.
            Act::Handle(message) => drop(raft.step(message)),
            Act::Request => {
                self.fresh += 1;
                let bytes = self.fresh.to_le_bytes().to_vec();
                if random.below(OPERATIONS) < WRITES {
                    drop(raft.propose(Vec::new(), bytes));
                } else {
                    raft.read_index(bytes);
                }
            }
        }
        if raft.raft.randomized_election_timeout() >= 2 * ELECTION_TICKS {
            let drawn = ELECTION_TICKS + random.below(ELECTION_TICKS as u32) as usize;
            raft.raft.set_randomized_election_timeout(drawn);
        }
        while raft.has_ready() {
            settle(raft, out);
        }
    }

    fn decided(&self, node: usize) -> u64 {
        self.disks[node].rl().hard_state().commit
    }
}

/// Does what the crate asks for: nothing has to be applied but the number of entries.
fn settle(raft: &mut RawNode<MemStorage>, out: &mut Vec<(usize, Message)>) {
    let mut send = |messages: Vec<Message>| {
        out.extend(messages.into_iter().map(|message| (message.to as usize - 1, message)));
    };
    let mut ready = raft.ready();
    send(ready.take_messages());
    let storage = raft.store().clone();
    let mut disk = storage.wl();
    if let Err(error) = disk.append(ready.entries()) {
        panic!("raft's storage takes no entries: {error:?}");
    }
    if let Some(hard) = ready.hs() {
        disk.set_hardstate(hard.clone());
    }
    drop(disk);
    send(ready.take_persisted_messages());
    let mut light = raft.advance(ready);
    send(light.take_messages());
    if let Some(commit) = light.commit_index() {
        storage.wl().mut_hard_state().commit = commit;
    }
    raft.advance_apply();
}

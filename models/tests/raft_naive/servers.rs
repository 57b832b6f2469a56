//! The servers of Figure 2, and what they send each other.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Server = usize;
pub(crate) type Servers = BTreeSet<Server>;
/// Term, command.
pub(crate) type Entry = (u32, Command);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Command {
    /// The number of a client's.
    Client(u32),
    /// The servers of a new configuration.
    Configuration(Servers),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rpc {
    RequestVote {
        term: u32,
        last_log_index: usize,
        last_log_term: u32,
    },
    RequestVoteResult {
        term: u32,
        vote_granted: bool,
    },
    AppendEntries {
        term: u32,
        prev_log_index: usize,
        prev_log_term: u32,
        entries: Vec<Entry>,
        leader_commit: usize,
    },
    /// The paper's result says success or not; which request it answers is known by its match index.
    AppendEntriesResult {
        term: u32,
        success: Option<usize>,
    },
    /// A heartbeat of the round that began with this read or after it.
    Heartbeat {
        term: u32,
        round: u32,
    },
    /// The round where the sender was the leader still.
    HeartbeatResult {
        term: u32,
        round: Option<u32>,
    },
}

impl Rpc {
    pub(crate) fn term(&self) -> u32 {
        match self {
            Self::RequestVote { term, .. }
            | Self::RequestVoteResult { term, .. }
            | Self::AppendEntries { term, .. }
            | Self::AppendEntriesResult { term, .. }
            | Self::Heartbeat { term, .. }
            | Self::HeartbeatResult { term, .. } => *term,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Persistent {
    pub(crate) current_term: u32,
    pub(crate) voted_for: Option<Server>,
    pub(crate) log: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Query {
    pub(crate) number: u32,
    pub(crate) read_index: usize,
    pub(crate) acknowledged_by: BTreeSet<Server>,
}

/// The state of a server's rules, with the variables of that state only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    Down,
    Follower,
    Candidate { votes: BTreeSet<Server> },
    Leader { next_index: BTreeMap<Server, usize>, match_index: BTreeMap<Server, usize>, queries: Vec<Query> },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Vars {
    pub(crate) state: State,
    pub(crate) memory: Persistent,
    pub(crate) stable: Persistent,
    pub(crate) commit_index: usize,
    /// Leaves when stable storage has caught up.
    pub(crate) unsent: BTreeSet<(Server, Rpc)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cluster {
    pub(crate) servers: Vec<Vars>,
    pub(crate) network: BTreeSet<(Server, Server, Rpc)>,
    pub(crate) commands: u32,
    pub(crate) queries: u32,
    pub(crate) crashes: u8,
}

impl Vars {
    pub(crate) fn last_log_index(&self) -> usize {
        self.memory.log.len()
    }

    pub(crate) fn term_of(&self, index: usize) -> u32 {
        if index == 0 { 0 } else { self.memory.log[index - 1].0 }
    }

    /// The latest configuration in the log, committed or not; at first all are in it.
    pub(crate) fn configuration(&self, all: usize) -> Servers {
        let latest = self.memory.log.iter().rev().find_map(|(_, command)| match command {
            Command::Configuration(servers) => Some(servers.clone()),
            Command::Client(_) => None,
        });
        latest.unwrap_or_else(|| (0..all).collect())
    }

    /// A configuration waits until the one before it is committed, and an entry of the leader's term.
    pub(crate) fn may_change(&self) -> bool {
        let waits = |(_, command): &Entry| matches!(command, Command::Configuration(_));
        !self.memory.log[self.commit_index..].iter().any(waits)
            && self.term_of(self.commit_index) == self.memory.current_term
    }

    pub(crate) fn must_write(&self) -> bool {
        self.memory != self.stable || !self.unsent.is_empty()
    }
}

impl Cluster {
    pub(crate) fn write_stable(&mut self, me: Server) {
        let v = &mut self.servers[me];
        v.stable = v.memory.clone();
        let log = v.last_log_index();
        match &mut v.state {
            State::Candidate { votes } => {
                votes.insert(me);
            }
            State::Leader { match_index, .. } => {
                match_index.insert(me, log);
            }
            State::Follower | State::Down => {}
        }
        for (to, rpc) in std::mem::take(&mut v.unsent) {
            self.network.insert((me, to, rpc));
        }
    }

    pub(crate) fn append(&mut self, me: Server, command: Command) {
        self.commands += 1;
        let memory = &mut self.servers[me].memory;
        memory.log.push((memory.current_term, command));
    }

    /// A leader begins to replicate to the servers that its configuration has got since.
    pub(crate) fn begin_replication(&mut self, me: Server, before: &Servers) {
        let configuration = self.servers[me].configuration(self.servers.len());
        let next = self.servers[me].last_log_index() + 1;
        if let State::Leader { next_index, match_index, .. } = &mut self.servers[me].state {
            for joined in configuration.difference(before).filter(|joined| **joined != me) {
                next_index.insert(*joined, next);
                match_index.insert(*joined, 0);
            }
        }
    }

    pub(crate) fn read_request(&mut self, me: Server) {
        self.queries += 1;
        let v = &mut self.servers[me];
        let acknowledged_by = BTreeSet::new();
        let query = Query { number: self.queries, read_index: v.commit_index, acknowledged_by };
        if let State::Leader { queries, .. } = &mut v.state {
            queries.push(query);
        }
    }

    pub(crate) fn crash(&mut self, me: Server) {
        self.crashes += 1;
        let stable = self.servers[me].stable.clone();
        self.servers[me] = Vars {
            state: State::Down,
            memory: stable.clone(),
            stable,
            commit_index: 0,
            unsent: BTreeSet::new(),
        };
    }

    pub(crate) fn election_timeout(&mut self, me: Server) {
        let servers = self.servers.len();
        let v = &mut self.servers[me];
        v.memory.current_term += 1;
        v.memory.voted_for = Some(me);
        v.state = State::Candidate { votes: BTreeSet::new() };
        let last_log_index = v.last_log_index();
        let rpc = Rpc::RequestVote {
            term: v.memory.current_term,
            last_log_index,
            last_log_term: v.term_of(last_log_index),
        };
        v.unsent.extend((0..servers).filter(|to| *to != me).map(|to| (to, rpc.clone())));
    }

    pub(crate) fn win_election(&mut self, me: Server) {
        let servers = 0..self.servers.len();
        let v = &mut self.servers[me];
        let next_index = servers.clone().map(|of| (of, v.last_log_index() + 1)).collect();
        let own = |of| if of == me { v.stable.log.len() } else { 0 };
        let match_index = servers.map(|of| (of, own(of))).collect();
        v.state = State::Leader { next_index, match_index, queries: Vec::new() };
    }

    pub(crate) fn append_entries(&mut self, me: Server, to: Server) {
        let v = &self.servers[me];
        let State::Leader { next_index, .. } = &v.state else { return };
        let prev_log_index = next_index[&to] - 1;
        let entries: Vec<Entry> = v.memory.log[prev_log_index..].iter().take(1).cloned().collect();
        let rpc = Rpc::AppendEntries {
            term: v.memory.current_term,
            prev_log_index,
            prev_log_term: v.term_of(prev_log_index),
            leader_commit: v.commit_index.min(prev_log_index + entries.len()),
            entries,
        };
        self.network.insert((me, to, rpc));
    }

    /// A new round of heartbeats.
    pub(crate) fn heartbeat(&mut self, me: Server, to: Server) {
        let v = &self.servers[me];
        let State::Leader { queries, .. } = &v.state else { return };
        let Some(newest) = queries.last() else { return };
        let rpc = Rpc::Heartbeat { term: v.memory.current_term, round: newest.number };
        self.network.insert((me, to, rpc));
    }

    pub(crate) fn receive(&mut self, from: Server, me: Server, rpc: Rpc) {
        let all = self.servers.len();
        let v = &mut self.servers[me];
        // Rules for all servers.
        if rpc.term() > v.memory.current_term {
            v.memory.current_term = rpc.term();
            v.memory.voted_for = None;
            v.state = State::Follower;
        }
        let term = v.memory.current_term;
        let is_member = v.configuration(all).contains(&from);
        match rpc {
            Rpc::RequestVote { term: asked, last_log_index, last_log_term } => {
                let (last, last_term) = (v.last_log_index(), v.term_of(v.last_log_index()));
                let up_to_date =
                    last_log_term > last_term || last_log_term == last_term && last_log_index >= last;
                let free = v.memory.voted_for.is_none() || v.memory.voted_for == Some(from);
                let vote_granted = asked >= term && free && up_to_date;
                if vote_granted {
                    v.memory.voted_for = Some(from);
                }
                v.unsent.insert((from, Rpc::RequestVoteResult { term, vote_granted }));
            }
            Rpc::RequestVoteResult { term: voted, vote_granted } => {
                if let State::Candidate { votes } = &mut v.state
                    && voted == term
                    && vote_granted
                {
                    votes.insert(from);
                }
            }
            Rpc::AppendEntries { term: led, prev_log_index, prev_log_term, entries, leader_commit } => {
                let success = (led >= term)
                    .then(|| v.append_entries(prev_log_index, prev_log_term, &entries, leader_commit));
                v.unsent.insert((from, Rpc::AppendEntriesResult { term, success: success.flatten() }));
            }
            Rpc::Heartbeat { term: led, round } => {
                if led >= term {
                    v.state = State::Follower;
                }
                let round = (led >= term).then_some(round);
                v.unsent.insert((from, Rpc::HeartbeatResult { term, round }));
            }
            Rpc::HeartbeatResult { term: answered, round } => {
                if let (State::Leader { queries, .. }, true) = (&mut v.state, answered == term && is_member) {
                    let served = queries.iter_mut().filter(|query| Some(query.number) <= round);
                    served.for_each(|query| {
                        query.acknowledged_by.insert(from);
                    });
                }
            }
            Rpc::AppendEntriesResult { term: answered, success } => {
                if answered < term || !is_member {
                    return;
                }
                if let State::Leader { next_index, match_index, .. } = &mut v.state {
                    let (next, matched) = (next_index[&from], match_index[&from]);
                    if let Some(index) = success {
                        match_index.insert(from, index.max(matched));
                        next_index.insert(from, next.max(index + 1));
                    } else {
                        // Never below what is known to match: a late refusal says nothing of that.
                        next_index.insert(from, (next - 1).max(matched + 1));
                    }
                }
            }
        }
    }
}

impl Vars {
    /// Steps 2 to 5 of the receiver, in a term that is the leader's.
    pub(crate) fn append_entries(
        &mut self,
        prev: usize,
        prev_term: u32,
        entries: &[Entry],
        commit: usize,
    ) -> Option<usize> {
        self.state = State::Follower;
        if prev > self.last_log_index() || self.term_of(prev) != prev_term {
            return None;
        }
        for (offset, entry) in entries.iter().enumerate() {
            let index = prev + offset + 1;
            if index <= self.last_log_index() && self.term_of(index) != entry.0 {
                self.memory.log.truncate(index - 1);
            }
            if index > self.last_log_index() {
                self.memory.log.push(entry.clone());
            }
        }
        let last_new = prev + entries.len();
        if commit > self.commit_index {
            self.commit_index = self.commit_index.max(commit.min(last_new));
        }
        Some(last_new)
    }
}

//! Raft once more: a slow version for Stateright, written from Figure 2 of the paper with its names, without
//! calling the model. Both must have the same number of reachable states, and of transitions, within the same bounds.
//!
//! What the paper leaves open is taken as the model's documentation says: every message ever sent may arrive at any
//! time and again; an `AppendEntries` carries one entry or none; a server's stable storage is written after each
//! action, or, where it lags, by an action of its own, and what answers for it waits until then. History variables of
//! the model are left out on its side, since the paper has none.

#![expect(clippy::print_stdout, reason = "a test")]

use misrule_models::raft::{Bounds, Raft, Rules, State as ModelState};
use misrule_models::{Limits, explore};
use stateright::{Checker, Model, Property};
use std::collections::{BTreeMap, BTreeSet};

type Server = usize;
/// Term, command.
type Entry = (u32, u32);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Rpc {
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
}

impl Rpc {
    fn term(&self) -> u32 {
        match self {
            Self::RequestVote { term, .. }
            | Self::RequestVoteResult { term, .. }
            | Self::AppendEntries { term, .. }
            | Self::AppendEntriesResult { term, .. } => *term,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Persistent {
    current_term: u32,
    voted_for: Option<Server>,
    log: Vec<Entry>,
}

/// The state of a server's rules, with the variables of that state only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    Down,
    Follower,
    Candidate { votes: BTreeSet<Server> },
    Leader { next_index: BTreeMap<Server, usize>, match_index: BTreeMap<Server, usize> },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Vars {
    state: State,
    memory: Persistent,
    stable: Persistent,
    commit_index: usize,
    /// Leaves when stable storage has caught up.
    unsent: BTreeSet<(Server, Rpc)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Cluster {
    servers: Vec<Vars>,
    network: BTreeSet<(Server, Server, Rpc)>,
    commands: u32,
    crashes: u8,
}

#[derive(Clone, Debug, PartialEq)]
enum Act {
    ElectionTimeout(Server),
    WinElection(Server),
    ClientRequest(Server),
    AppendEntries(Server, Server),
    AdvanceCommitIndex(Server, usize),
    WriteStable(Server),
    Receive(Server, Server, Rpc),
    Crash(Server),
    Restart(Server),
}

struct Naive {
    servers: usize,
    lags: bool,
    bounds: Bounds,
}

impl Vars {
    fn last_log_index(&self) -> usize {
        self.memory.log.len()
    }

    fn term_of(&self, index: usize) -> u32 {
        if index == 0 { 0 } else { self.memory.log[index - 1].0 }
    }

    fn must_write(&self) -> bool {
        self.memory != self.stable || !self.unsent.is_empty()
    }
}

impl Cluster {
    fn write_stable(&mut self, me: Server) {
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

    fn election_timeout(&mut self, me: Server) {
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

    fn append_entries(&mut self, me: Server, to: Server) {
        let v = &self.servers[me];
        let State::Leader { next_index, .. } = &v.state else { return };
        let prev_log_index = next_index[&to] - 1;
        let entries: Vec<Entry> = v.memory.log[prev_log_index..].iter().take(1).copied().collect();
        let rpc = Rpc::AppendEntries {
            term: v.memory.current_term,
            prev_log_index,
            prev_log_term: v.term_of(prev_log_index),
            leader_commit: v.commit_index.min(prev_log_index + entries.len()),
            entries,
        };
        self.network.insert((me, to, rpc));
    }

    fn receive(&mut self, from: Server, me: Server, rpc: Rpc) {
        let v = &mut self.servers[me];
        // Rules for all servers.
        if rpc.term() > v.memory.current_term {
            v.memory.current_term = rpc.term();
            v.memory.voted_for = None;
            v.state = State::Follower;
        }
        let term = v.memory.current_term;
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
            Rpc::AppendEntriesResult { term: answered, success } => {
                if answered < term {
                    return;
                }
                if let State::Leader { next_index, match_index } = &mut v.state {
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
    fn append_entries(
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
                self.memory.log.push(*entry);
            }
        }
        let last_new = prev + entries.len();
        if commit > self.commit_index {
            self.commit_index = self.commit_index.max(commit.min(last_new));
        }
        Some(last_new)
    }
}

impl Naive {
    fn majority(&self, count: usize) -> bool {
        2 * count > self.servers
    }

    /// The largest N of the last rule for leaders.
    fn commit_index(&self, v: &Vars) -> Option<usize> {
        let State::Leader { match_index, .. } = &v.state else { return None };
        (v.commit_index + 1..=v.last_log_index()).rfind(|n| {
            self.majority(match_index.values().filter(|index| *index >= n).count())
                && v.term_of(*n) == v.memory.current_term
        })
    }
}

impl Model for Naive {
    type State = Cluster;
    type Action = Act;

    fn init_states(&self) -> Vec<Cluster> {
        let server = Vars {
            state: State::Follower,
            memory: Persistent::default(),
            stable: Persistent::default(),
            commit_index: 0,
            unsent: BTreeSet::new(),
        };
        vec![Cluster {
            servers: vec![server; self.servers],
            network: BTreeSet::new(),
            commands: 0,
            crashes: 0,
        }]
    }

    fn actions(&self, c: &Cluster, out: &mut Vec<Act>) {
        for (s, v) in c.servers.iter().enumerate() {
            if v.state == State::Down {
                out.push(Act::Restart(s));
                continue;
            }
            match &v.state {
                State::Leader { .. } => {
                    if c.commands < self.bounds.entries_max {
                        out.push(Act::ClientRequest(s));
                    }
                    out.extend((0..self.servers).filter(|to| *to != s).map(|to| Act::AppendEntries(s, to)));
                    out.extend(self.commit_index(v).map(|index| Act::AdvanceCommitIndex(s, index)));
                }
                State::Candidate { votes } if self.majority(votes.len()) => out.push(Act::WinElection(s)),
                _ => {}
            }
            let leads = matches!(v.state, State::Leader { .. });
            if !leads && v.memory.current_term < self.bounds.term_max {
                out.push(Act::ElectionTimeout(s));
            }
            if v.must_write() {
                out.push(Act::WriteStable(s));
            }
            if c.crashes < self.bounds.faults_max {
                out.push(Act::Crash(s));
            }
        }
        let arrivals = c.network.iter().filter(|(_, to, _)| c.servers[*to].state != State::Down);
        out.extend(arrivals.cloned().map(|(from, to, rpc)| Act::Receive(from, to, rpc)));
    }

    fn next_state(&self, last: &Cluster, action: Act) -> Option<Cluster> {
        let mut c = last.clone();
        let me = match action {
            Act::ElectionTimeout(s) => {
                c.election_timeout(s);
                s
            }
            Act::WinElection(s) => {
                let v = &mut c.servers[s];
                let next_index = (0..self.servers).map(|of| (of, v.last_log_index() + 1)).collect();
                let own = |of| if of == s { v.stable.log.len() } else { 0 };
                let match_index = (0..self.servers).map(|of| (of, own(of))).collect();
                v.state = State::Leader { next_index, match_index };
                s
            }
            Act::ClientRequest(s) => {
                c.commands += 1;
                let memory = &mut c.servers[s].memory;
                memory.log.push((memory.current_term, c.commands));
                s
            }
            Act::AppendEntries(s, to) => {
                c.append_entries(s, to);
                s
            }
            Act::AdvanceCommitIndex(s, index) => {
                c.servers[s].commit_index = index;
                s
            }
            Act::WriteStable(s) => {
                c.write_stable(s);
                s
            }
            Act::Receive(from, to, rpc) => {
                c.receive(from, to, rpc);
                to
            }
            Act::Crash(s) => {
                c.crashes += 1;
                let stable = c.servers[s].stable.clone();
                c.servers[s] = Vars {
                    state: State::Down,
                    memory: stable.clone(),
                    stable,
                    commit_index: 0,
                    unsent: BTreeSet::new(),
                };
                s
            }
            Act::Restart(s) => {
                c.servers[s].state = State::Follower;
                s
            }
        };
        if !self.lags && c.servers[me].state != State::Down {
            c.write_stable(me);
        }
        Some(c)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn one_leader(_: &Naive, c: &Cluster) -> bool {
            let leads = |v: &&Vars| matches!(v.state, State::Leader { .. });
            let terms: Vec<_> = c.servers.iter().filter(leads).map(|v| v.memory.current_term).collect();
            terms.iter().collect::<BTreeSet<_>>().len() == terms.len()
        }
        fn agree(_: &Naive, c: &Cluster) -> bool {
            let committed = |v: &Vars| v.memory.log[..v.commit_index.min(v.last_log_index())].to_vec();
            let logs: Vec<_> = c.servers.iter().map(committed).collect();
            logs.iter().all(|a| logs.iter().all(|b| a.starts_with(b) || b.starts_with(a)))
        }
        vec![Property::always("election safety", one_leader), Property::always("state machine safety", agree)]
    }
}

/// Distinct states and transitions of the model without its history.
fn ours(model: &Raft) -> (u64, u64) {
    let limits = Limits { stop_after_states: 20_000_000, ..Limits::default() };
    let found =
        explore(model, limits, Some(|_, state: &mut ModelState| state.forget_history())).expect("explored");
    assert_eq!(found.bound, None);
    (found.states, found.edges())
}

/// The same of the naive version.
fn naive(naive: Naive) -> (u64, u64) {
    let checker = naive.checker().spawn_bfs().join();
    assert!(checker.discoveries().is_empty(), "the paper is safe");
    (checker.unique_state_count() as u64, checker.state_count() as u64 - 1)
}

/// Servers, whether stable storage lags, bounds (terms, entries, crashes), states and transitions.
type Case = (usize, bool, (u32, u32, u8), (u64, u64));

const CASES: &[Case] = &[
    (2, false, (1, 1, 0), (137, 934)),
    (2, false, (2, 1, 1), (31_582, 305_046)),
    (2, false, (2, 2, 0), (99_107, 1_354_754)),
    (2, true, (1, 1, 1), (4_216, 32_626)),
    (2, true, (2, 1, 0), (113_285, 1_369_002)),
    (3, false, (1, 1, 0), (247_385, 3_934_149)),
    (3, true, (1, 0, 0), (26_724, 323_580)),
];

#[test]
fn both_versions_have_the_same_states() {
    let mut wrong = 0;
    for &(servers, lags, (term_max, entries_max, faults_max), expected) in CASES {
        let bounds = Bounds { term_max, entries_max, faults_max };
        let rules = if lags { Rules::lagging() } else { Rules::paper() };
        let model = Raft::new(servers as u8, rules, bounds).expect("a cluster");
        let (ours, naive) = (ours(&model), naive(Naive { servers, lags, bounds }));
        println!("{servers} servers, lags {lags}, {bounds:?}: model {ours:?}, naive {naive:?}");
        wrong += usize::from((ours, naive) != (expected, expected));
    }
    assert_eq!(wrong, 0, "see above");
}

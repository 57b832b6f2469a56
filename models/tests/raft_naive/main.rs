//! Raft once more: a slow version for Stateright, written from Figure 2 of the paper with its names, without
//! calling the model. Both must have the same number of reachable states, and of transitions, within the same bounds.
//!
//! What the paper leaves open is taken as the model's documentation says: every message ever sent may arrive at any
//! time and again; an `AppendEntries` carries one entry or none; a server's stable storage is written after each
//! action, or, where it lags, by an action of its own, and what answers for it waits until then. History variables of
//! the model are left out on its side, since the paper has none.
//!
//! Reads are those of the thesis, section 6.4, steps 1 to 3; a round of heartbeats is for all reads that have come by then,
//! and told by the newest of them.
//!
//! Changes of membership are those of the thesis, section 4.1, one server at a time, with what its author added in 2015: a
//! leader changes the configuration once it has committed an entry of its term. A server uses the latest configuration in
//! its log. A leader that is not in it may step down (section 4.2.2), and hears nobody who is not.

#![expect(clippy::print_stdout, reason = "a test")]

mod servers;

use misrule_models::raft::{Bounds, Membership, Raft, Reads, Rules, State as ModelState};
use misrule_models::{Limits, explore};
use servers::{Cluster, Command, Persistent, Query, Rpc, Server, Servers, State, Vars};
use stateright::{Checker, Model, Property};
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq)]
enum Act {
    ElectionTimeout(Server),
    WinElection(Server),
    ClientRequest(Server),
    ChangeConfiguration(Server, Servers),
    StepDown(Server),
    AppendEntries(Server, Server),
    AdvanceCommitIndex(Server, usize),
    ReadRequest(Server),
    Heartbeat(Server, Server),
    AnswerRead(Server, u32),
    WriteStable(Server),
    Receive(Server, Server, Rpc),
    Crash(Server),
    Restart(Server),
}

struct Naive {
    servers: usize,
    lags: bool,
    changes: bool,
    bounds: Bounds,
}

impl Naive {
    /// Whether these are a majority of the configuration that a server uses.
    fn majority(&self, v: &Vars, of: impl Iterator<Item = Server>) -> bool {
        let configuration = v.configuration(self.servers);
        2 * of.filter(|server| configuration.contains(server)).count() > configuration.len()
    }

    /// The configurations with one server more or less than that of a leader.
    fn configurations(&self, v: &Vars) -> Vec<Servers> {
        let changed = (0..self.servers).map(|server| {
            let mut servers = v.configuration(self.servers);
            if !servers.remove(&server) {
                servers.insert(server);
            }
            servers
        });
        let may = self.changes && v.may_change();
        changed.filter(|servers| may && !servers.is_empty()).collect()
    }

    /// What a leader does by itself.
    fn lead(&self, c: &Cluster, s: Server, queries: &[Query], out: &mut Vec<Act>) {
        let v = &c.servers[s];
        let configuration = v.configuration(self.servers);
        let others = || configuration.iter().copied().filter(|to| *to != s);
        if c.queries < self.bounds.reads_max && v.term_of(v.commit_index) == v.memory.current_term {
            out.push(Act::ReadRequest(s));
        }
        if !queries.is_empty() {
            out.extend(others().map(|to| Act::Heartbeat(s, to)));
        }
        // The leader is one of those that follow it.
        let led = queries.iter().filter(|it| self.majority(v, it.acknowledged_by.iter().copied().chain([s])));
        out.extend(led.map(|query| Act::AnswerRead(s, query.number)));
        if c.commands < self.bounds.entries_max {
            out.push(Act::ClientRequest(s));
            out.extend(
                self.configurations(v).into_iter().map(|servers| Act::ChangeConfiguration(s, servers)),
            );
        }
        out.extend(others().map(|to| Act::AppendEntries(s, to)));
        out.extend(self.commit_index(v).map(|index| Act::AdvanceCommitIndex(s, index)));
        if !configuration.contains(&s) {
            out.push(Act::StepDown(s));
        }
    }

    /// The largest N of the last rule for leaders.
    fn commit_index(&self, v: &Vars) -> Option<usize> {
        let State::Leader { match_index, .. } = &v.state else { return None };
        (v.commit_index + 1..=v.last_log_index()).rfind(|n| {
            let has = match_index.iter().filter(|(_, index)| *index >= n).map(|(server, _)| *server);
            self.majority(v, has) && v.term_of(*n) == v.memory.current_term
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
            queries: 0,
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
                State::Leader { queries, .. } => self.lead(c, s, queries, out),
                State::Candidate { votes } if self.majority(v, votes.iter().copied()) => {
                    out.push(Act::WinElection(s));
                }
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
                c.win_election(s);
                s
            }
            Act::ClientRequest(s) => {
                c.append(s, Command::Client(c.commands + 1));
                s
            }
            Act::ChangeConfiguration(s, servers) => {
                c.append(s, Command::Configuration(servers));
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
            Act::ReadRequest(s) => {
                c.read_request(s);
                s
            }
            Act::Heartbeat(s, to) => {
                c.heartbeat(s, to);
                s
            }
            Act::AnswerRead(s, number) => {
                if let State::Leader { queries, .. } = &mut c.servers[s].state {
                    queries.retain(|query| query.number != number);
                }
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
                c.crash(s);
                s
            }
            Act::StepDown(s) | Act::Restart(s) => {
                c.servers[s].state = State::Follower;
                s
            }
        };
        let before = last.servers[me].configuration(self.servers);
        c.begin_replication(me, &before);
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

/// Servers, whether stable storage lags, bounds (terms, entries, crashes, reads), states and transitions.
type Case = (usize, bool, (u32, u32, u8, u32), (u64, u64));

fn same(cases: &[Case], changes: bool) {
    let mut wrong = 0;
    for &(servers, lags, (term_max, entries_max, faults_max, reads_max), expected) in cases {
        let bounds = Bounds { term_max, entries_max, faults_max, reads_max };
        let rules = Rules {
            reads: if reads_max > 0 { Reads::Index } else { Reads::Off },
            membership: if changes { Membership::Single } else { Membership::Off },
            ..if lags { Rules::lagging() } else { Rules::paper() }
        };
        let model = Raft::new(servers as u8, rules, bounds).expect("a cluster");
        let (ours, naive) = (ours(&model), naive(Naive { servers, lags, changes, bounds }));
        println!("{servers} servers, lags {lags}, {bounds:?}: model {ours:?}, naive {naive:?}");
        wrong += usize::from((ours, naive) != (expected, expected));
    }
    assert_eq!(wrong, 0, "see above");
}

const CASES: &[Case] = &[
    (2, false, (1, 1, 0, 0), (137, 934)),
    (2, false, (2, 1, 1, 0), (31_582, 305_046)),
    (2, false, (2, 2, 0, 0), (99_107, 1_354_754)),
    (2, true, (1, 1, 1, 0), (4_216, 32_626)),
    (2, true, (2, 1, 0, 0), (113_285, 1_369_002)),
    (3, false, (1, 1, 0, 0), (247_385, 3_934_149)),
    (3, true, (1, 0, 0, 0), (26_724, 323_580)),
];

#[test]
fn both_versions_have_the_same_states() {
    same(CASES, false);
}

const READS: &[Case] = &[
    (2, false, (1, 1, 0, 1), (497, 4_630)),
    (2, false, (1, 1, 0, 2), (2_441, 27_886)),
    (2, false, (1, 1, 0, 3), (13_457, 177_790)),
    (2, false, (2, 1, 0, 1), (26_219, 326_054)),
    (2, false, (1, 1, 1, 1), (1_976, 16_198)),
    (2, true, (1, 1, 0, 1), (5_496, 59_070)),
    (2, true, (1, 1, 1, 1), (17_896, 179_354)),
];

#[test]
fn both_versions_read_alike() {
    same(READS, false);
}

const CHANGES: &[Case] = &[
    (2, false, (1, 2, 0, 0), (2_897, 28_666)),
    (2, false, (1, 3, 0, 0), (64_001, 816_622)),
    (2, false, (1, 2, 1, 0), (11_984, 109_000)),
    (2, false, (1, 2, 0, 1), (19_673, 240_682)),
    (2, true, (1, 2, 0, 0), (62_776, 725_802)),
];

#[test]
fn both_versions_change_the_configuration_alike() {
    same(CHANGES, true);
}

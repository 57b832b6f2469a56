//! openraft as a system of the world.

use crate::client::{Asked, Outcomes, workload};
use crate::image::{Image, SharedImage, lock};
use crate::machine::Machine;
use crate::message::{Body, KINDS, Wire};
use crate::network::{Network, SharedPost};
use crate::registers;
use crate::store::{Bug, Store};
use crate::types::{Types, Vote, number};
use crate::view::View;
use misrule_executor::{EventId, EventKind, Executor, spawn_named};
use misrule_models::NodeId;
use misrule_world::{BootError, Context, DrawName, Input, Setup, SetupError, System, Vocabulary};
use openraft::error::RaftError;
use openraft::{Config, Raft, SnapshotPolicy};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Milliseconds between heartbeats. openraft looks at its clock every three halves of this.
const HEARTBEAT_MS: u64 = 50;
/// Bounds of election timeouts in milliseconds. The upper one is a leader's lease too: after two ticks without a leader
/// a node votes for another one.
const ELECTION_MS: (u64, u64) = (60, 90);

/// How much later than it should a timeout may be.
const LATEST: Duration = Duration::from_millis(2 * HEARTBEAT_MS);

/// The tick of openraft's own clock.
pub(crate) const TICK: u8 = 0;
/// Timeouts of requests, pauses before they are made again.
pub(crate) const TIMEOUT: u8 = 1;
/// An election that the operator asks for.
const ELECT: u8 = 2;

/// The sync of the disk.
const FLUSH: u8 = 0;
/// A task that can run, where tasks run by choice.
const RUN: u8 = 1;

/// Which of several tasks or timeouts comes first.
const PICK: u8 = 0;
/// Divisible by each number up to 10, so that none of several has a better chance.
const PICK_BELOW: u32 = 2_520;
/// Where a node's random numbers begin.
const SEED: u8 = 1;

/// How elections begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Elections {
    Trigger,
    Ticks,
}

/// In which order tasks of a node run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tasks {
    /// As they are woken, until none can.
    Fifo,
    /// In any order, until none can.
    Any,
    /// One in a local step.
    Step,
}

/// What the storage and the network do.
#[derive(Clone, Copy, Debug)]
struct Options {
    flushes_late: bool,
    /// Whether a leader that has started again answers reads as soon as the library lets it.
    reads_at_once: bool,
    drops_stale: bool,
    bug: Bug,
}

/// A cluster of openraft nodes.
#[derive(Debug)]
pub struct Openraft {
    vocabulary: Vocabulary,
    /// How many nodes start as voters.
    voters: NodeId,
    /// For each operation of the vocabulary what it is.
    asked: Vec<Asked>,
    elections: Elections,
    tasks: Tasks,
    options: Options,
    config: Arc<Config>,
}

impl Openraft {
    /// The cluster that the settings describe.
    pub(crate) fn new(setup: &Setup) -> Result<Self, SetupError> {
        let settings = &setup.settings;
        let elections =
            if settings.word("elections") == "ticks" { Elections::Ticks } else { Elections::Trigger };
        let tasks = match settings.word("tasks") {
            "fifo" => Tasks::Fifo,
            "step" => Tasks::Step,
            _ => Tasks::Any,
        };
        let config = Config {
            cluster_name: "misrule".to_owned(),
            heartbeat_interval: HEARTBEAT_MS,
            election_timeout_min: ELECTION_MS.0,
            election_timeout_max: ELECTION_MS.1,
            enable_elect: elections == Elections::Ticks,
            snapshot_policy: SnapshotPolicy::Never,
            max_in_snapshot_log_to_keep: 0,
            // A snapshot takes two messages, and a batch two entries.
            snapshot_max_chunk_size: registers::BYTES.div_ceil(2) as u64,
            max_payload_entries: 2,
            ..Config::default()
        };
        let config = config.validate().map_err(|error| SetupError(error.to_string()))?;
        let (asked, operations) = workload(settings).into_iter().unzip();
        let vocabulary = Vocabulary {
            nodes: (settings.integer("nodes") + settings.integer("learners")) as NodeId,
            kinds: KINDS.to_vec(),
            timers: vec!["tick", "timeout", "elect"],
            locals: vec!["flush", "run"],
            operations,
            draws: vec![
                DrawName { name: "pick", below: PICK_BELOW },
                DrawName { name: "seed", below: u32::MAX },
            ],
            sessions: settings.integer("sessions") as u8,
            ..Vocabulary::default()
        };
        let options = Options {
            flushes_late: settings.word("flush") == "late",
            reads_at_once: settings.word("reads") == "at-once",
            drops_stale: settings.word("stale-appends") == "dropped",
            bug: Bug::named(settings.word("bug")),
        };
        Ok(Self {
            vocabulary,
            voters: settings.integer("nodes") as NodeId,
            asked,
            elections,
            tasks,
            options,
            config: Arc::new(config),
        })
    }

    /// Whether an operation of the vocabulary is of operators: no specification has it.
    pub(crate) fn is_of_operators(&self, operation: u8) -> bool {
        self.asked.get(usize::from(operation)).is_some_and(|asked| asked.is_of_operators())
    }

    /// Starts a node from its disk; the library's random numbers begin with the seed.
    pub(crate) fn start(&self, cx: &mut Context<Wire>, seed: u64) -> Result<Node, BootError> {
        let voters = Some(self.voters).filter(|voters| cx.me() < *voters);
        let image = Image::open(cx.disk(), voters).map_err(BootError)?;
        let image: SharedImage = Arc::new(Mutex::new(image));
        let Options { flushes_late, reads_at_once, bug, .. } = self.options;
        let store = Store { image, flushes_late, bug };
        let machine = Machine::open(store.clone()).map_err(BootError)?;
        let post = SharedPost::new(store.image.clone());
        let mut executor = Executor::new(seed);
        let (id, config) = (number(cx.me()), self.config.clone());
        let (network, log) =
            (Network { post: post.clone(), drops_stale: self.options.drops_stale }, store.clone());
        let starting = executor.enter(|| spawn_named("start", Raft::new(id, config, network, log, machine)));
        executor.settle(|_| 0).map_err(|endless| BootError(endless.to_string()))?;
        let raft = match starting.take() {
            Some(Ok(raft)) => raft,
            Some(Err(fatal)) => return Err(BootError(fatal.to_string())),
            None => {
                let tasks: Vec<String> = executor.tasks().map(|task| task.to_string()).collect();
                return Err(BootError(format!("the start waits: {}", tasks.join("; "))));
            }
        };
        let outcomes = Outcomes::new(&lock(&store.image), number(cx.me()), reads_at_once);
        let mut node = Node { executor, raft, store, post, outcomes, heard: false, vote: None };
        self.expect_leader(cx);
        self.settle(&mut node, cx);
        Ok(node)
    }

    /// Lets tasks run, hands on what they send, and offers what can be chosen next.
    fn settle(&self, node: &mut Node, cx: &mut Context<Wire>) {
        let settled = match self.tasks {
            Tasks::Fifo => node.executor.settle(|_| 0),
            Tasks::Any => node.executor.settle(|ready| cx.draw(PICK) as usize % ready),
            Tasks::Step => Ok(0),
        };
        if let Err(endless) = settled {
            lock(&node.store.image).contradict(endless.to_string());
        }
        node.post.send_all(|to, wire| cx.send(to, wire));
        node.answer(cx);
        // A node that votes for another one gives it time.
        let vote = lock(&node.store.image).vote();
        if vote != node.vote && vote.is_some_and(|vote| vote.leader_id.node_id != number(cx.me())) {
            self.expect_leader(cx);
        }
        node.vote = vote;
        self.offer(node, cx);
    }

    fn offer(&self, node: &Node, cx: &mut Context<Wire>) {
        if lock(&node.store.image).has_waiters() {
            cx.enable_local(FLUSH);
        } else {
            cx.disable_local(FLUSH);
        }
        if self.tasks == Tasks::Step && !node.executor.is_idle() {
            cx.enable_local(RUN);
        }
        for (timer, is_tick) in [(TICK, true), (TIMEOUT, false)] {
            if node.find_timer(is_tick).is_some() {
                cx.set_timer(timer);
            } else {
                cx.cancel_timer(timer);
            }
        }
    }

    /// The operator's election timeout, which begins anew with each word of a leader.
    fn expect_leader(&self, cx: &mut Context<Wire>) {
        if self.elections == Elections::Trigger {
            cx.set_timer(ELECT);
        }
    }

    fn timer(&self, node: &mut Node, timer: u8, cx: &mut Context<Wire>) {
        match timer {
            TICK => {
                if let Some(tick) = node.find_timer(true) {
                    node.executor.fire(tick);
                }
                if node.is_leader() {
                    self.expect_leader(cx);
                }
            }
            TIMEOUT => node.fire_timeout(cx),
            _ => {
                self.expect_leader(cx);
                let raft = node.raft.clone();
                // What a node that has stopped says to it is told by its metrics.
                node.call("elect", async move { drop(raft.trigger().elect().await) });
            }
        }
    }

    fn local(&self, node: &mut Node, step: u8, cx: &mut Context<Wire>) {
        if step == FLUSH {
            let store = node.store.clone();
            node.executor.enter(|| store.flush());
        } else if self.tasks == Tasks::Step {
            let ready = node.executor.ready();
            let position = if ready < 2 { 0 } else { cx.draw(PICK) as usize % ready };
            node.executor.poll(position);
        }
    }
}

/// A running node.
pub struct Node {
    /// Dropped first: with its tasks everything goes that the library has.
    executor: Executor,
    pub(crate) raft: Raft<Types>,
    pub(crate) store: Store,
    post: SharedPost,
    /// What clients are to be told.
    pub(crate) outcomes: Outcomes,
    /// Whether somebody waited for the answer that came in last.
    pub(crate) heard: bool,
    /// Its vote after the last step.
    vote: Option<Vote>,
}

/// The task whose timers are the ticks of openraft's clock.
const TICK_LOOP: &str = "::tick_loop";

/// The names of tasks that answer requests: what they wait for is the node itself.
const ANSWERS: &str = "answer";

impl Node {
    /// Runs a call of the library as a task.
    pub(crate) fn call(&mut self, name: &str, call: impl Future<Output = ()> + 'static) {
        self.executor.enter(|| drop(spawn_named(name, call)));
    }

    fn is_leader(&self) -> bool {
        self.raft.metrics().borrow().state.is_leader()
    }

    /// The earliest tick, or the earliest of the other timers.
    fn find_timer(&self, is_tick: bool) -> Option<EventId> {
        self.executor.find_event(|kind, task| {
            matches!(kind, EventKind::Timer(_)) && task.ends_with(TICK_LOOP) == is_tick
        })
    }

    /// Fires one of the timers that are no tick.
    fn fire_timeout(&mut self, cx: &mut Context<Wire>) {
        let mut events = self.executor.events();
        events.retain(|event| matches!(event.kind, EventKind::Timer(_)) && !event.task.ends_with(TICK_LOOP));
        let position = match events.len() {
            0 => return,
            1 => 0,
            several => cx.draw(PICK) as usize % several,
        };
        self.executor.fire(events[position].id);
        // No clock lets a timeout wait for ever: those that are long over fire as well.
        let now = self.executor.now();
        let is_over = |kind| matches!(kind, EventKind::Timer(deadline) if deadline + LATEST < now);
        events.into_iter().filter(|event| is_over(event.kind)).for_each(|event| {
            self.executor.fire(event.id);
        });
    }

    /// A message has arrived.
    fn receive(&mut self, from: NodeId, wire: Wire) {
        if wire.body.is_answer() {
            let post = self.post.clone();
            self.heard = self.executor.enter(|| post.take_in(wire));
            return;
        }
        let (raft, post) = (self.raft.clone(), self.post.clone());
        self.call(ANSWERS, async move {
            let Wire { request, origin, asked, body } = wire;
            // A node that has stopped does not answer.
            let answer = match body {
                Body::Append(append) => raft.append_entries(append).await.ok().map(Body::Appended),
                Body::Vote(vote) => raft.vote(vote).await.ok().map(Body::Voted),
                Body::Install(install) => match raft.install_snapshot(install).await {
                    Ok(response) => Some(Body::Installed(Ok(response))),
                    Err(RaftError::APIError(refusal)) => Some(Body::Installed(Err(refusal))),
                    Err(RaftError::Fatal(_)) => None,
                },
                Body::Appended(_) | Body::Voted(_) | Body::Installed(_) => None,
            };
            if let Some(body) = answer {
                post.answer(from, Wire { request, origin, asked, body });
            }
        });
    }

    /// Whether requests wait for a node that waits for nothing: not for its disk, not for a timer of its own. Its
    /// tasks then, and what they wait for.
    fn deadlock(&self) -> Option<String> {
        if lock(&self.store.image).has_waiters() {
            return None;
        }
        let is_timer = |kind, task: &str| matches!(kind, EventKind::Timer(_)) && !task.ends_with(TICK_LOOP);
        if self.executor.find_event(is_timer).is_some() {
            return None;
        }
        self.executor.deadlock(|task| task != ANSWERS)?;
        let tasks: Vec<String> = self.executor.tasks().map(|task| task.to_string()).collect();
        Some(tasks.join("; "))
    }
}

impl System for Openraft {
    type Node = Node;
    type Message = Wire;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Wire>) -> Result<Node, BootError> {
        let seed = u64::from(cx.draw(SEED));
        self.start(cx, seed)
    }

    fn handle(&self, node: &mut Node, input: Input<Wire>, cx: &mut Context<Wire>) {
        lock(&node.store.image).journal.clear();
        match input {
            Input::Message { from, message } => {
                if matches!(message.body, Body::Append(_) | Body::Install(_)) {
                    self.expect_leader(cx);
                }
                node.receive(from, message);
            }
            Input::Timer(timer) => self.timer(node, timer, cx),
            Input::Local(step) => self.local(node, step, cx),
            Input::Request { operation, argument, call } => {
                if let Some(asked) = self.asked.get(usize::from(operation)) {
                    node.request(*asked, argument, call, cx);
                }
            }
        }
        self.settle(node, cx);
    }

    fn view(&self, node: &Node, out: &mut View) {
        out.show(node, node.deadlock());
    }

    fn kind(&self, message: &Wire) -> u8 {
        message.body.kind()
    }
}

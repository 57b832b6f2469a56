//! What the tests share: the target in a world, with the views that its judge saw; every crash of a node.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a module of tests")]

use misrule_kv::{Bug, Kv, KvJudge, Options, View, Workload as Clients, WorkloadKind, kv};
use misrule_world::{
    Choice, Contract, DiskOutcome, Effect, Failure, Judge, Keep, NodeId, Report, Run, Seen, Settings, Setup,
    Watch, World, text,
};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// What a test opens the service with.
#[derive(Clone, Debug)]
pub struct Config {
    pub nodes: NodeId,
    pub keys: u8,
    pub sessions: u8,
    pub snapshot_every: u64,
    pub value: usize,
    pub bug: Bug,
    pub contract: Contract,
}

/// The target's judge, and a copy of the views.
struct Watched {
    judge: KvJudge,
    views: Rc<RefCell<Vec<View>>>,
}

impl Judge<Kv> for Watched {
    fn reset(&mut self, seen: &Seen<'_, Kv>, report: &mut Report) {
        *self.views.borrow_mut() = seen.views.to_vec();
        self.judge.reset(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, Kv>, report: &mut Report) {
        if let Some(node) = seen.node.map(usize::from) {
            self.views.borrow_mut()[node].clone_from(&seen.views[node]);
        }
        self.judge.after(seen, report);
    }
}

/// The contract with another disk, in blocks of 64 bytes.
pub fn small_blocks(contract: Contract, disk: &str) -> Contract {
    contract.overridden(disk).unwrap().overridden("block=64").unwrap()
}

/// A world with the service in it.
pub struct Cluster {
    run: World<Kv, Watched>,
    views: Rc<RefCell<Vec<View>>>,
    pub report: Report,
}

impl Cluster {
    pub fn new(config: &Config) -> Self {
        let options =
            Options { block: config.contract.disk.tear.unit as usize, value: config.value, bug: config.bug };
        let clients = Clients { kind: WorkloadKind::Keys, keys: config.keys, sessions: config.sessions };
        let system = Kv::new(config.nodes, clients, config.snapshot_every, options);
        let judge = KvJudge::new(&system, &config.contract, &[]).unwrap();
        let views = Rc::default();
        let run = World::new(system, Watched { judge, views: Rc::clone(&views) }, config.contract);
        Self { run, views, report: Report::default() }
    }

    pub fn run(&self) -> &dyn Run {
        &self.run
    }

    pub fn view(&self, node: NodeId) -> View {
        self.views.borrow()[usize::from(node)].clone()
    }

    /// Starts anew and executes the choices, each of which must apply and pass.
    pub fn play(&mut self, seed: u64, choices: &[Choice]) {
        self.run.reset(seed, Watch::default(), &mut self.report);
        for choice in choices {
            assert_eq!(self.step(*choice), None, "{choice:?}");
        }
    }

    /// Executes a choice, which must apply; what fails.
    pub fn step(&mut self, choice: Choice) -> Option<Failure> {
        self.run.step(choice, &mut self.report);
        assert_eq!(self.report.effect, Effect::Applied, "{choice:?}");
        self.report.failure.take()
    }
}

/// A schedule of the folder `workloads`: its settings over those of the target, its seed, its choices.
pub struct Workload {
    pub config: Config,
    pub seed: u64,
    pub choices: Vec<Choice>,
}

/// Reads a workload.
pub fn workload(name: &str) -> Workload {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads").join(format!("{name}.schedule"));
    let content = std::fs::read_to_string(path).unwrap();
    let (header, body) = text::parse_header(&content).unwrap();
    let target = kv();
    let settings = Settings::resolve(&target.settings, &header.settings).unwrap();
    let contract = target.contract.overridden(&header.contract).unwrap();
    let setup = Setup { settings: settings.clone(), contract, lenses: Vec::new() };
    let run = target.open(&setup).unwrap();
    let file = text::parse_body(header, body, run.about().vocabulary).unwrap();
    let number = |name| settings.integer(name);
    let config = Config {
        nodes: number("nodes") as u8,
        keys: number("keys") as u8,
        sessions: number("sessions") as u8,
        snapshot_every: number("snapshot-every"),
        value: number("value") as usize,
        bug: Bug::None,
        contract,
    };
    Workload { config, seed: file.header.seed, choices: file.schedule.choices }
}

/// What may be found on the disk of a node that stopped in a step, or behind it.
pub struct Legal<'a> {
    /// Views of the node: what one of them holds for durable must have survived.
    pub any: Vec<View>,
    /// The views that the node has had: what is not durable may be from any of them. A leader may replace entries
    /// that were durable, and until that is durable itself the old ones may come back.
    pub past: &'a [View],
}

impl Legal<'_> {
    /// Why what a start has recovered is not legal.
    pub fn refuse(&self, recovered: &View) -> Option<String> {
        if let Some(trouble) = &recovered.trouble {
            return Some(format!("refuses its disk: {trouble}"));
        }
        let agree = |view: &View, index: u64| {
            view.digest(index).is_some_and(|digest| recovered.digest(index) == Some(digest))
        };
        let known = |index: u64| {
            let mut views = self.past.iter().chain(&self.any);
            views.any(|view| view.digest(index).is_some_and(|digest| recovered.digest(index) == Some(digest)))
        };
        let fits = |view: &View| {
            let promise = (recovered.term, recovered.vote) == (view.term, view.vote);
            // The snapshot may be ahead of what had to be durable.
            let kept = recovered.base.index >= view.durable || agree(view, view.durable);
            promise && kept && recovered.base.index >= view.base.index
        };
        if self.any.iter().any(fits) && known(recovered.last()) && known(recovered.base.index) {
            return None;
        }
        let shown = |view: &View| {
            format!(
                "term {} vote {:?} snapshot {} log {} durable {}",
                view.term,
                view.vote,
                view.base.index,
                view.last(),
                view.durable
            )
        };
        let any: Vec<String> = self.any.iter().map(shown).collect();
        Some(format!("recovers {} and none of {any:?}", shown(recovered)))
    }
}

/// Counts of an exhaustive run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Crash points, between steps and in them.
    pub points: usize,
    /// Sets of units that the contract permits, over all points.
    pub sets: usize,
    /// Images of the disk that they leave.
    pub images: usize,
    /// The same for crashes in the start that follows.
    pub points_again: usize,
    pub images_again: usize,
}

/// What an exhaustive run does.
pub struct Exhaustive<'a> {
    pub workload: &'a Workload,
    pub config: Config,
    /// The node that crashes.
    pub node: NodeId,
    /// Whether the start after the crash crashes too, at each of its operations.
    pub twice: bool,
    /// Whether syncs go wrong, as the contract permits, and the node crashes behind the step.
    pub sync_outcomes: bool,
    /// Images and sets at each crash point of each step.
    pub each: Vec<(usize, usize, usize)>,
    pub counts: Counts,
    /// The views of the node before each choice, without a crash.
    past: Vec<View>,
}

/// The node that a choice calls.
fn called(choice: Choice) -> Option<NodeId> {
    match choice {
        Choice::Deliver(slot) => Some(slot.to),
        Choice::Timer { node, .. } | Choice::Local { node, .. } | Choice::Request { node, .. } => Some(node),
        _ => None,
    }
}

/// Syncs of one step, at most.
const SYNCS_MAX: u16 = 5;

/// Sets of units that are gone through at a point.
const LIMIT: usize = 1 << 20;

impl<'a> Exhaustive<'a> {
    pub fn new(workload: &'a Workload, node: NodeId) -> Self {
        let config = workload.config.clone();
        let (each, counts) = (Vec::new(), Counts::default());
        Self { workload, config, node, twice: false, sync_outcomes: false, each, counts, past: Vec::new() }
    }

    /// Goes through every crash of the workload; the first that recovers to a state that is not legal, or fails an
    /// oracle.
    pub fn run(&mut self) -> Option<String> {
        let mut cluster = Cluster::new(&self.config);
        self.past.clear();
        for count in 0..=self.workload.choices.len() {
            self.replay(&mut cluster, count);
            self.past.push(cluster.view(self.node));
        }
        for at in 0..=self.workload.choices.len() {
            let wrong = self.between(&mut cluster, at);
            let wrong = wrong.or_else(|| self.inside(&mut cluster, at));
            let wrong = wrong.or_else(|| self.after_outcome(&mut cluster, at));
            if wrong.is_some() {
                return wrong.map(|wrong| format!("step {at}: {wrong}"));
            }
        }
        None
    }

    /// The first choices, so many, again.
    fn replay(&self, cluster: &mut Cluster, count: usize) {
        cluster.play(self.workload.seed, &self.workload.choices[..count]);
    }

    /// Crashes after so many choices.
    fn between(&mut self, cluster: &mut Cluster, count: usize) -> Option<String> {
        self.replay(cluster, count);
        let any = vec![cluster.view(self.node)];
        let node = self.node;
        let crash = |keep| vec![Choice::Crash { node, keep }];
        self.each_state(cluster, count, &crash, any, 0)
    }

    /// Crashes at each disk operation of a step.
    fn inside(&mut self, cluster: &mut Cluster, count: usize) -> Option<String> {
        let choice = *self.workload.choices.get(count)?;
        let node = self.node;
        self.replay(cluster, count);
        let before = cluster.view(node);
        assert_eq!(cluster.step(choice), None, "{choice:?}");
        let any = vec![before, cluster.view(node)];
        for at in 0.. {
            let crash = |keep| vec![Choice::CrashAt { node, at, keep }, choice];
            self.replay(cluster, count);
            for choice in crash(Keep::NONE) {
                if let Some(failure) = cluster.step(choice) {
                    return Some(failure.message);
                }
            }
            if cluster.run().menu().is_up(node) {
                return None;
            }
            let wrong = self.each_state(cluster, count, &crash, any.clone(), usize::from(at) + 1);
            if wrong.is_some() {
                return wrong.map(|wrong| format!("crash at {at}: {wrong}"));
            }
        }
        None
    }

    /// Crashes after a step of which one sync has gone wrong.
    fn after_outcome(&mut self, cluster: &mut Cluster, count: usize) -> Option<String> {
        let choice = *self.workload.choices.get(count).filter(|_| self.sync_outcomes)?;
        let node = self.node;
        if called(choice) != Some(node) {
            return None;
        }
        self.replay(cluster, count);
        let before = cluster.view(node);
        assert_eq!(cluster.step(choice), None, "{choice:?}");
        let stopped = vec![before, cluster.view(node)];
        let disk = self.config.contract.disk;
        for (outcome, at) in [DiskOutcome::SyncFails, DiskOutcome::SyncLies]
            .into_iter()
            .filter(|outcome| disk.allows(*outcome))
            .flat_map(|outcome| (1..=SYNCS_MAX).map(move |at| (outcome, at)))
        {
            let first = [Choice::Disk { node, outcome, at }, choice];
            let crash = |keep| first.into_iter().chain([Choice::Crash { node, keep }]).collect();
            self.replay(cluster, count);
            for choice in first {
                if let Some(failure) = cluster.step(choice) {
                    return Some(failure.message);
                }
            }
            let after = cluster.view(node);
            let any = if after.trouble.is_some() { stopped.clone() } else { vec![after] };
            let wrong = self.each_state(cluster, count, &crash, any, 0);
            if wrong.is_some() {
                return wrong.map(|wrong| format!("{} at {at}: {wrong}", outcome.word()));
            }
        }
        None
    }

    /// Starts the node from each state that the crash may leave.
    fn each_state(
        &mut self,
        cluster: &mut Cluster,
        count: usize,
        crash: &dyn Fn(Keep) -> Vec<Choice>,
        any: Vec<View>,
        point: usize,
    ) -> Option<String> {
        let past = std::mem::take(&mut self.past);
        let legal = Legal { any, past: &past[..=count] };
        let wrong = self.each_legal(cluster, count, crash, &legal, point);
        self.past = past;
        wrong
    }

    fn each_legal(
        &mut self,
        cluster: &mut Cluster,
        count: usize,
        crash: &dyn Fn(Keep) -> Vec<Choice>,
        legal: &Legal<'_>,
        point: usize,
    ) -> Option<String> {
        let node = self.node;
        let found = cluster.run().crash_states(node, LIMIT);
        assert!(found.complete, "{} units", found.units);
        self.each.push((point, found.sets, found.states.len()));
        self.counts.points += 1;
        self.counts.sets += found.sets;
        self.counts.images += found.states.len();
        for state in found.states {
            self.replay(cluster, count);
            let mut choices = crash(state.keep);
            choices.push(Choice::Restart { node });
            for choice in &choices {
                if let Some(failure) = cluster.step(*choice) {
                    return Some(format!("keep={}: {}", state.keep, failure.message));
                }
            }
            if let Some(wrong) = legal.refuse(&cluster.view(node)) {
                return Some(format!("keep={}: {wrong}", state.keep));
            }
            if self.twice {
                choices.pop();
                let wrong = self.again(cluster, count, &choices, legal);
                if wrong.is_some() {
                    return wrong.map(|wrong| format!("keep={}: {wrong}", state.keep));
                }
            }
        }
        None
    }

    /// Crashes at each disk operation of the start after a crash.
    fn again(
        &mut self,
        cluster: &mut Cluster,
        count: usize,
        crash: &[Choice],
        legal: &Legal<'_>,
    ) -> Option<String> {
        let node = self.node;
        for at in 0.. {
            let second = |keep| [Choice::CrashAt { node, at, keep }, Choice::Restart { node }];
            self.replay(cluster, count);
            for choice in crash.iter().copied().chain(second(Keep::NONE)) {
                assert_eq!(cluster.step(choice), None);
            }
            if cluster.run().menu().is_up(node) {
                return None;
            }
            let found = cluster.run().crash_states(node, LIMIT);
            assert!(found.complete);
            self.counts.points_again += 1;
            self.counts.images_again += found.states.len();
            for state in found.states {
                self.replay(cluster, count);
                let last = [Choice::Restart { node }];
                for choice in crash.iter().copied().chain(second(state.keep)).chain(last) {
                    if let Some(failure) = cluster.step(choice) {
                        return Some(format!("again at {at} keep={}: {}", state.keep, failure.message));
                    }
                }
                if let Some(wrong) = legal.refuse(&cluster.view(node)) {
                    return Some(format!("again at {at} keep={}: {wrong}", state.keep));
                }
            }
        }
        None
    }
}

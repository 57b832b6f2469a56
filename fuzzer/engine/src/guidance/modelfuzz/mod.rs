//! `modelfuzz` and `modelfuzz-as-published`: Algorithm 1 with its own schedules, mutators and parameters.
//!
//! After Gulcan, Ozkan, Majumdar, Nagendra 2025, "Model-guided Fuzzing of Distributed Systems", section
//! 3 and Algorithm 1, with the parameters of its benchmark of Redis: a queue of schedules, first in first out; each
//! schedule that met new states of the model leaves three mutants for each; every 200 executions the queue is
//! replaced by 20 random schedules.
//!
//! What is published has defects, all but the first two of which are left out here in both forms:
//!
//! - `modelfuzz-as-published` replays all requests at the first step, where nobody can serve them. Schedules of the
//!   population count as replays too, so that only those drawn for an empty queue have their requests in time.
//! - Its exchange of deliveries has no effect, and a mutator that cannot work voids the mutant.
//! - Restarts without the disk, events that the model's mapping loses, and the key that a trailing stutter hides belong to
//!   the world, the mapping and the lens, which are ours.

mod schedule;

use super::random::Random;
use super::{Guidance, Plan, asks_for};
use crate::archive::Archive;
use crate::execute::Execution;
use misrule_world::{
    Choice, ChoiceKind, FaultKind, FaultProfile, Keep, Menu, NodeId, Report, Rng, Run, Slot, TIMERS_MAX, mix,
};
use schedule::{HORIZON, Schedule};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Mutants for each new state.
const MUTANTS: u32 = 3;
/// Random schedules at each start over.
const POPULATION: u32 = 20;
/// Executions between two starts over.
const PERIOD: u64 = 200;
/// Entries of the queue; what is beyond waits in vain anyway, for the queue is emptied every [`PERIOD`].
const QUEUE_MAX: usize = PERIOD as usize;
/// Steps from when a timer is set until it fires: at least so many, and less than twice as many. The published
/// cluster ticks thrice a step and times out after 20 ticks.
const PATIENCE: u64 = 4;

/// What is to be executed.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// A random schedule, of the population or for an empty queue.
    Random { seed: u64, replayed: bool },
    /// A mutant of a parent.
    Mutant { parent: usize, seed: u64 },
}

/// What is left to do in a step.
#[derive(Clone, Copy, Debug)]
enum Todo {
    Crash(NodeId),
    Restart(NodeId),
    Deliver(NodeId, NodeId),
    Request(u64),
    Tick(NodeId),
    Local(NodeId),
}

/// Algorithm 1.
pub(super) struct ModelFuzz {
    /// Draws what requests ask.
    random: Random,
    as_published: bool,
    crashes: bool,
    steps_max: u32,
    executions: u64,
    queue: VecDeque<Entry>,
    /// Schedules that have mutants in the queue; the first so many are in use.
    parents: Vec<Schedule>,
    used: usize,
    entry: Option<Entry>,
    schedule: Schedule,
    /// Steps with new keys.
    news: u32,
    step: u32,
    todo: VecDeque<Todo>,
    /// For each timer of each node the step at which it fires; 0 for those that are not set.
    due: Vec<u32>,
}

impl ModelFuzz {
    pub(super) fn new(faults: FaultProfile, steps_max: u32, as_published: bool) -> Self {
        Self {
            random: Random::new(faults, steps_max),
            as_published,
            crashes: asks_for(faults, FaultKind::Crash),
            steps_max,
            executions: 0,
            queue: VecDeque::with_capacity(QUEUE_MAX),
            parents: Vec::new(),
            used: 0,
            entry: None,
            schedule: Schedule::default(),
            news: 0,
            step: 0,
            todo: VecDeque::new(),
            due: Vec::new(),
        }
    }

    /// Makes the schedule of the entry, now that the number of nodes is known.
    fn begin(&mut self, entry: Entry, menu: &Menu) {
        let replayed = match entry {
            Entry::Random { seed, replayed } => {
                self.schedule.draw(menu.nodes, self.crashes, &mut Rng::new(seed));
                replayed
            }
            Entry::Mutant { parent, seed } => {
                self.schedule.copy(&self.parents[parent]);
                let mut rng = Rng::new(seed);
                if !self.schedule.mutate(self.as_published, &mut rng) {
                    // The mutant is void: the next one of the queue would be random in the end.
                    self.schedule.draw(menu.nodes, self.crashes, &mut rng);
                }
                true
            }
        };
        if replayed && self.as_published {
            self.schedule.forget_steps_of_requests();
        }
        self.todo.clear();
        self.due.clear();
        self.due.resize(usize::from(menu.nodes) * TIMERS_MAX, 0);
        self.step = 0;
    }

    /// Lists what a step is to do, in the published order.
    fn fill(&mut self, menu: &Menu) {
        let now = self.step;
        let at = |(step, node): &(u32, NodeId)| (*step == now).then_some(*node);
        self.todo.extend(self.schedule.crashes.iter().filter_map(at).map(Todo::Crash));
        self.todo.extend(self.schedule.restarts.iter().filter_map(at).map(Todo::Restart));
        let Some(delivery) = self.schedule.deliveries.get(now as usize) else { return };
        self.todo.extend((0..delivery.messages).map(|_| Todo::Deliver(delivery.from, delivery.to)));
        let requests = self.schedule.requests.iter().filter(|(step, _)| *step == now);
        self.todo.extend(requests.map(|(_, seed)| Todo::Request(*seed)));
        for node in 0..menu.nodes {
            self.todo.extend([Todo::Tick(node), Todo::Local(node)]);
        }
    }

    /// The choice of an item, if it applies now.
    fn choice(&mut self, todo: Todo, menu: &Menu) -> Option<Choice> {
        match todo {
            Todo::Crash(node) => menu.is_up(node).then_some(Choice::Crash { node, keep: Keep::NONE }),
            Todo::Restart(node) => (!menu.is_up(node)).then_some(Choice::Restart { node }),
            Todo::Deliver(from, to) => {
                let waits = menu.deliverable[menu.link(from, to)] > 0;
                waits.then_some(Choice::Deliver(Slot { from, to, at: 1, kind: Slot::ANY_KIND }))
            }
            Todo::Request(seed) => self.random.of_kind(ChoiceKind::Request, menu, &mut Rng::new(seed)),
            Todo::Tick(node) => self.tick(node, menu),
            Todo::Local(node) => {
                let locals = u64::from(menu.locals[usize::from(node)]);
                let step = misrule_world::nth_bit(locals, self.step % locals.count_ones().max(1))?;
                Some(Choice::Local { node, step })
            }
        }
    }

    /// A timer of the node that is due, if there is one.
    fn tick(&mut self, node: NodeId, menu: &Menu) -> Option<Choice> {
        let set = menu.timers[usize::from(node)];
        let mut fires = None;
        for timer in 0..TIMERS_MAX as u8 {
            let place = usize::from(node) * TIMERS_MAX + usize::from(timer);
            let due = &mut self.due[place];
            if set & (1 << timer) == 0 {
                *due = 0;
            } else if *due == 0 {
                let spread = mix(self.schedule.timeouts ^ ((place as u64) << 32) ^ u64::from(self.step));
                *due = self.step + (PATIENCE + spread % PATIENCE) as u32;
            } else if self.step >= *due && fires.is_none() {
                *due = 0;
                fires = Some(Choice::Timer { node, timer });
            }
        }
        fires
    }
}

impl Guidance for ModelFuzz {
    fn plan(&mut self, archive: &Archive, rng: &mut Rng) -> Plan {
        // So that requests are drawn as in a fresh execution.
        self.random.plan(archive, rng);
        if self.executions.is_multiple_of(PERIOD) {
            self.queue.clear();
            self.used = 0;
            let population = (0..POPULATION).map(|_| Entry::Random { seed: rng.next(), replayed: true });
            self.queue.extend(population);
        }
        self.executions += 1;
        let unplanned = Entry::Random { seed: rng.next(), replayed: false };
        self.entry = Some(self.queue.pop_front().unwrap_or(unplanned));
        self.news = 0;
        Plan::fresh(self.steps_max, 0)
    }

    fn saw(&mut self, _report: &Report, news: bool, left: u32) -> u32 {
        self.news += u32::from(news);
        left
    }

    fn pick(&mut self, run: &dyn Run, _rng: &mut Rng) -> Option<Choice> {
        let menu = run.menu();
        if let Some(entry) = self.entry.take() {
            self.begin(entry, menu);
            self.fill(menu);
        }
        loop {
            while let Some(todo) = self.todo.pop_front() {
                if let Some(choice) = self.choice(todo, menu) {
                    return Some(choice);
                }
            }
            self.step += 1;
            if self.step >= HORIZON {
                return None;
            }
            self.fill(menu);
        }
    }

    fn learn(&mut self, _plan: &Plan, _run: &Execution) -> ControlFlow<()> {
        let room = QUEUE_MAX - self.queue.len();
        let mutants = ((self.news * MUTANTS) as usize).min(room);
        if mutants > 0 {
            if self.used == self.parents.len() {
                self.parents.push(Schedule::default());
            }
            self.parents[self.used].copy(&self.schedule);
            let seed = mix(self.executions ^ self.schedule.timeouts);
            let mutant = |n| Entry::Mutant { parent: self.used, seed: mix(seed ^ n as u64) };
            self.queue.extend((0..mutants).map(mutant));
            self.used += 1;
        }
        ControlFlow::Continue(())
    }
}

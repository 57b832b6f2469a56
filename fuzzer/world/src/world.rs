//! The world: the passive step machine over one system and its judge.

mod check;
mod clients;
mod clogs;
mod disks;
mod failures;
mod finish;
mod messages;
mod recover;
mod snapshot;
mod time;

use crate::choice::{Choice, ChoiceKind};
use crate::clients::{Clients, SESSIONS_MAX};
use crate::clock::Clock;
use crate::contract::Contract;
use crate::disk::{self, CrashStates, Disk};
use crate::judge::Judge;
use crate::links::Links;
use crate::log;
use crate::menu::Menu;
use crate::panics::{self, Unwound, guard};
use crate::probe::{self, Section};
use crate::recovery::{Recovers, Recovery, Standing};
use crate::report::{Effect, Failure, Report, Watch};
use crate::run::{About, FaultCount, Run, Snapshot};
use crate::search::Search;
use crate::system::{BootError, Context, Draws, Input, System};
use crate::trace::Recorder;
use crate::vocabulary::Vocabulary;
use failures::failure;
use misrule_models::NodeId;
use recover::Ongoing;

/// One system with its judge, simulated. It does nothing by itself.
pub struct World<S: System, J> {
    system: S,
    judge: J,
    vocabulary: Vocabulary,
    nodes: Vec<Option<S::Node>>,
    disks: Vec<Option<Box<Disk>>>,
    views: Vec<S::View>,
    cx: Context<S::Message>,
    clients: Clients,
    menu: Menu,
    /// Simulated time, where the contract has a clock.
    clock: Option<Box<Clock>>,
    watch: Watch,
    input: Option<Input<S::Message>>,
    sends: Vec<(NodeId, S::Message)>,
    touched: u64,
    /// Whether the step has passed a crash point.
    died: bool,
    faults: [FaultCount; ChoiceKind::COUNT],
    /// For each cut link, whether the cut has blocked or lost a message.
    cut_counted: Vec<bool>,
    /// For each clogged link, whether the clog has held a message.
    clog_counted: Vec<bool>,
    overflow: u64,
    recorder: Recorder,
    /// The recovery that ends the execution.
    recovery: Option<Box<Ongoing>>,
    /// Whether the parts of this execution's steps are timed.
    timed: bool,
}

impl<S: System, J: Judge<S>> World<S, J> {
    /// A world for a system, its judge and a contract; [`Run::reset`] comes first.
    ///
    /// # Panics
    /// When the vocabulary has no nodes, more than 64, or more than 64 sessions: an error of the adapter.
    pub fn new(system: S, judge: J, contract: Contract) -> Self {
        panics::install();
        let vocabulary = system.vocabulary().clone();
        assert!((1..=64).contains(&vocabulary.nodes), "a world has 1 to 64 nodes");
        assert!(vocabulary.sessions <= SESSIONS_MAX, "a world has at most 64 sessions");
        let nodes = usize::from(vocabulary.nodes);
        let bounds: Vec<u32> = vocabulary.draws.iter().map(|draw| draw.below).collect();
        let draws = Draws {
            seed: 0,
            counts: vec![0; nodes * bounds.len()],
            fixed: vec![None; nodes * bounds.len()],
            bounds,
            made: Vec::new(),
        };
        Self {
            nodes: (0..nodes).map(|_| None).collect(),
            disks: (0..nodes).map(|_| Some(Box::new(Disk::new(contract.disk)))).collect(),
            views: (0..nodes).map(|_| S::View::default()).collect(),
            cx: Context {
                me: 0,
                nodes: vocabulary.nodes,
                links: Links::new(vocabulary.nodes),
                outbox: Vec::new(),
                timers: 0,
                locals: 0,
                answers: Vec::new(),
                armed: 0,
                ticks: contract.clock.drift.map(|_| vocabulary.timer_ticks.clone()),
                timed: Vec::new(),
                draws,
                has_crash_point: false,
            },
            clients: Clients::new(&vocabulary),
            menu: Menu::new(&vocabulary, contract),
            clock: Clock::new(vocabulary.nodes, contract.clock),
            watch: Watch::default(),
            input: None,
            sends: Vec::new(),
            touched: 0,
            died: false,
            faults: [FaultCount::default(); ChoiceKind::COUNT],
            cut_counted: vec![false; nodes * nodes],
            clog_counted: vec![false; nodes * nodes],
            overflow: 0,
            recorder: Recorder::default(),
            recovery: None,
            timed: false,
            system,
            judge,
            vocabulary,
        }
    }

    /// Readies a node's context and disk for a call; a start sees what the last crash kept.
    #[inline]
    fn begin_call(&mut self, node: NodeId, start: bool) {
        let at = usize::from(node);
        self.cx.me = node;
        self.cx.timers = self.timers_of(node);
        self.cx.locals = self.menu.locals[at];
        self.begin_disk(node, start);
    }

    /// Starts a node inside the guard and refreshes its view.
    fn start(&mut self, node: NodeId, report: &mut Report) {
        let at = usize::from(node);
        self.begin_call(node, true);
        let (system, cx, timed) = (&self.system, &mut self.cx, self.timed);
        let (slot, view) = (&mut self.nodes[at], &mut self.views[at]);
        let result = disk::enter(&mut self.disks[at], || {
            guard(|| {
                let running = slot.insert(probe::section(timed, Section::Target, || system.boot(cx))?);
                if !cx.has_crashed() {
                    probe::section(timed, Section::View, || system.view(running, view));
                }
                Ok::<(), BootError>(())
            })
        });
        // A refusal comes out as a thrown value does.
        let result = result.and_then(|started| started.map_err(Unwound::thrown));
        self.end_call(node, result, report);
    }

    /// Hands an input, a message by its number, to a node inside the guard and refreshes its view.
    #[inline]
    fn give(&mut self, node: NodeId, input: Input<u32>, report: &mut Report) {
        if self.watch.model || (self.watch.keys && self.judge.reads_input()) {
            self.input = Some(input.with(|number| self.cx.links.messages.get(number).clone()));
        }
        let at = usize::from(node);
        self.begin_call(node, false);
        // What fires or runs is no longer set; the menu learns of it after the call.
        match input {
            Input::Timer(timer) => self.cx.timers &= !(1 << timer),
            Input::Local(step) => self.cx.locals &= !(1 << step),
            _ => {}
        }
        let (system, cx, timed) = (&self.system, &mut self.cx, self.timed);
        let (slot, view) = (&mut self.nodes[at], &mut self.views[at]);
        let result = disk::enter(&mut self.disks[at], || {
            guard(|| {
                let Some(running) = slot else { return };
                // A message is moved once, from where it waited to the node.
                let input = input.with(|number| cx.links.messages.take(number));
                probe::section(timed, Section::Target, || system.handle(running, input, cx));
                if !cx.has_crashed() {
                    probe::section(timed, Section::View, || system.view(running, view));
                }
            })
        });
        self.end_call(node, result, report);
    }

    /// Takes note of what a call has done: to the disk, to timers, and what it sent.
    #[inline]
    fn end_call(&mut self, node: NodeId, result: Result<(), Box<Unwound>>, report: &mut Report) {
        let crash = self.after_disk(node);
        // What a node does or says beyond its crash point is nothing.
        if let Err(unwound) = result
            && crash.is_none()
        {
            report.failure = Some(failure(*unwound, node));
        }
        self.take_timers(node);
        self.menu.set_timers(node, self.cx.timers, self.cx.locals);
        self.touched |= 1 << node;
        if !self.cx.draws.made.is_empty() {
            self.count_draws();
        }
        if !self.cx.outbox.is_empty() {
            self.flush(node, report);
        }
        if !self.cx.answers.is_empty() {
            self.take_answers();
        }
        if let Some(keep) = crash {
            self.faults[ChoiceKind::Crash as usize].applied += 1;
            self.died = true;
            self.stop(node, keep);
        }
    }

    fn count_draws(&mut self) {
        for at in 0..self.cx.draws.made.len() {
            let (name, value, fixed) = self.cx.draws.made[at];
            self.faults[ChoiceKind::Draw as usize].applied += u64::from(fixed);
            if self.watch.trace {
                let name = self.vocabulary.draws[usize::from(name)].name;
                self.recorder.effect(format!("draw {name} = {value}"));
            }
        }
        self.cx.draws.made.clear();
    }

    fn set_up(&mut self, node: NodeId, up: bool) {
        let bit = 1 << node;
        self.menu.up = if up { self.menu.up | bit } else { self.menu.up & !bit };
        for from in 0..self.vocabulary.nodes {
            self.refresh(from, node);
        }
    }

    /// Executes a choice.
    #[inline]
    fn act(&mut self, choice: Choice, report: &mut Report) -> Result<Option<NodeId>, Effect> {
        let (node, input) = match choice {
            Choice::Deliver(slot) => self.deliver(slot, report)?,
            Choice::Timer { node, timer } => {
                self.check(choice).map_err(Effect::Skipped)?;
                if self.clock.is_some() {
                    self.fire(node, timer);
                }
                (node, Input::Timer(timer))
            }
            Choice::Local { node, step } => {
                self.check(choice).map_err(Effect::Skipped)?;
                (node, Input::Local(step))
            }
            other => return self.act_beside(other, report),
        };
        self.give(node, input, report);
        Ok(Some(node))
    }

    /// Executes a choice that is neither a delivery nor a timer nor a local step: those are most.
    #[inline(never)]
    fn act_beside(&mut self, choice: Choice, report: &mut Report) -> Result<Option<NodeId>, Effect> {
        self.check(choice).map_err(Effect::Skipped)?;
        match choice {
            Choice::Drop(slot) => self.lose(slot, report),
            Choice::Duplicate(slot) => self.duplicate(slot, report),
            Choice::Request { .. } | Choice::Retry { .. } | Choice::Abandon { .. } => {
                Ok(self.client(choice, report))
            }
            Choice::Crash { node, keep } => {
                self.crash(node, keep, report);
                Ok(Some(node))
            }
            Choice::CrashAt { .. } | Choice::Disk { .. } => self.arm(choice),
            Choice::Restart { node } => {
                self.start(node, report);
                self.set_up(node, self.nodes[usize::from(node)].is_some());
                Ok(Some(node))
            }
            Choice::Cut { from, to } => {
                self.cut(from, to, true);
                Ok(None)
            }
            Choice::Heal { from, to } => {
                self.cut(from, to, false);
                Ok(None)
            }
            Choice::Clog { from, to } => {
                self.clog(from, to, true);
                Ok(None)
            }
            Choice::Unclog { from, to } => {
                self.clog(from, to, false);
                Ok(None)
            }
            Choice::Draw { node, name, value } => {
                let at = usize::from(node) * self.cx.draws.bounds.len() + usize::from(name);
                self.cx.draws.fixed[at] = Some(value);
                Ok(None)
            }
            // Given to nodes by others, or refused above.
            Choice::Deliver(_) | Choice::Timer { .. } | Choice::Local { .. } | Choice::Recover { .. } => {
                Ok(None)
            }
        }
    }

    /// Ends the execution that ran, if there was one: its nodes are gone.
    fn end_execution(&mut self, watch: Watch) {
        self.watch = watch;
        if let Some(recovery) = self.recovery.take() {
            (self.faults, self.overflow) = (recovery.faults, recovery.overflow);
        }
        self.timed = probe::is_on();
        let timed = self.timed;
        self.cx.outbox.clear();
        self.cx.answers.clear();
        self.cx.draws.made.clear();
        for node in &mut self.nodes {
            let running = node.take();
            // A node that panicked may panic again when it is dropped; that tells nothing new.
            let _ = guard(|| probe::section(timed, Section::Target, || drop(running)));
        }
    }

    #[inline]
    fn begin_step(&mut self, report: &mut Report) {
        report.keys.clear();
        report.pushed.clear();
        report.model_property = None;
        // Dropping nothing costs as much as the rest of this: it is done where something is left.
        let left = report.failure.is_some() || report.trace.is_some() || !self.sends.is_empty();
        if left || self.input.is_some() || self.watch.trace {
            self.forget_step(report);
        }
        self.clients.events.clear();
        self.touched = 0;
        self.died = false;
        self.cx.links.start_step();
    }

    #[inline(never)]
    fn forget_step(&mut self, report: &mut Report) {
        report.failure = None;
        report.trace = None;
        self.input = None;
        self.sends.clear();
        if self.watch.trace {
            log::start();
        }
    }
}

impl<S: System, J> Drop for World<S, J> {
    /// Drops the nodes behind the guard: one that panicked may panic again.
    fn drop(&mut self) {
        for node in &mut self.nodes {
            let running = node.take();
            let _ = guard(|| drop(running));
        }
    }
}

impl<S: System, J: Judge<S>> Run for World<S, J> {
    fn reset(&mut self, seed: u64, watch: Watch, report: &mut Report) {
        self.end_execution(watch);
        self.begin_step(report);
        self.cx.links.clear();
        self.menu.clear();
        if let Some(clock) = &mut self.clock {
            clock.clear();
            self.cx.timed.clear();
        }
        self.clients.clear();
        self.cx.draws.seed = seed;
        self.cx.draws.counts.fill(0);
        self.cx.draws.fixed.fill(None);
        if watch.trace {
            self.recorder.reset(self.vocabulary.nodes);
        }
        for node in 0..self.vocabulary.nodes {
            if let Some(disk) = self.disks[usize::from(node)].as_mut() {
                disk.clear();
            }
        }
        for node in 0..self.vocabulary.nodes {
            let before = report.failure.take();
            self.start(node, report);
            report.failure = before.or(report.failure.take());
            self.set_up(node, self.nodes[usize::from(node)].is_some());
        }
        self.offer_timers();
        self.touched = self.menu.all_nodes();
        self.finish(None, true, report);
    }

    fn menu(&self) -> &Menu {
        &self.menu
    }

    fn step(&mut self, choice: Choice, report: &mut Report) {
        self.begin_step(report);
        report.choice = choice;
        match self.act(choice, report) {
            Ok(node) => {
                report.effect = Effect::Applied;
                if self.clock.is_some() {
                    self.offer_timers();
                }
                let kind = choice.kind();
                let count = &mut self.faults[kind as usize];
                count.drawn += 1;
                let later = matches!(choice, Choice::CrashAt { .. })
                    || matches!(
                        kind,
                        ChoiceKind::Cut
                            | ChoiceKind::Heal
                            | ChoiceKind::Draw
                            | ChoiceKind::Disk
                            | ChoiceKind::Clog
                            | ChoiceKind::Unclog
                    );
                count.applied += u64::from(!later);
                self.finish(node, false, report);
            }
            Err(effect) => report.effect = effect,
        }
    }

    fn save(&self) -> Option<Snapshot> {
        self.save_state()
    }

    fn restore(&mut self, snapshot: &Snapshot, watch: Watch) -> bool {
        self.take_up(snapshot, watch)
    }

    fn plan(&self, search: &mut Search<'_>) {
        self.search(search);
    }

    fn crash_states(&self, node: NodeId, limit: usize) -> CrashStates {
        let disk = self.disks.get(usize::from(node)).and_then(Option::as_ref);
        disk.map(|disk| disk.crash_states(limit)).unwrap_or_default()
    }

    fn recovery(&self) -> Option<Recovery> {
        self.judge.recovers().map(Recovers::policy)
    }

    fn recover(&mut self, core: u32, report: &mut Report) {
        self.begin_recovery(core, report);
    }

    fn standing(&self) -> Result<Standing, Failure> {
        self.recovery_standing()
    }

    fn stall(&self) -> String {
        self.stall_text()
    }

    fn take_armed(&mut self) -> u32 {
        std::mem::take(&mut self.cx.armed)
    }

    fn about(&self) -> About<'_> {
        let (faults, overflow) = self
            .recovery
            .as_ref()
            .map_or((self.faults, self.overflow), |begun| (begun.faults, begun.overflow));
        About {
            vocabulary: &self.vocabulary,
            tally: self.judge.tally(),
            faults,
            overflow,
            calls: self.clients.counts,
        }
    }
}

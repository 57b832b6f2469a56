//! The fair driver: what a schedule's recovery executes.
//!
//! Faults have stopped, and a core of nodes can talk. Everything is computed from the world, so that nothing of it
//! stands in the schedule: a minimiser that could delete a delivery of a recovery would make up its stalls.

use crate::execute::{Execution, Watcher};
use misrule_world::{
    Argument, Choice, Core, Effect, Failure, Keep, Keyed, KeyedValues, NO_SESSION, NodeId, Recovery, Report,
    Run, Slot, Standing, TIMERS_MAX, bits, nth_bit, whole_core,
};

/// Clients ask once in so many rounds.
const REQUEST_EVERY: u32 = 4;
/// So many rounds may go by before the backlog of the faults must be gone.
const BACKLOG_ROUNDS: u32 = 8;
/// A timer that fired so often takes its rounds once more: timeouts grow beyond every delay, as partially synchronous
/// protocols need it (Dwork, Lynch and Stockmeyer 1988, section 4).
const FIRED_TO_GROW: u32 = 16;

/// How a recovery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryEnd {
    /// The core made progress, and then was quiet.
    Progressed,
    /// It made none, or messages or disks grew beyond the bounds: the execution has failed.
    Stalled,
    /// Another oracle failed on the way.
    Failed,
    /// It made none, and none was promised: the core is too small, or the target has no policy. A perpetual
    /// partition refutes nothing.
    Unknown,
}

impl RecoveryEnd {
    /// The end in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Progressed => "progressed",
            Self::Stalled => "stalled",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// What became of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Bit set of the nodes that came back.
    pub core: u32,
    /// Rounds of fair delivery.
    pub rounds: u32,
    /// Executed steps, the one with the choice itself left out.
    pub steps: u32,
    /// How it ended.
    pub end: RecoveryEnd,
}

/// Ends an execution with a recovery of `core`. Where an oracle fails, the failure is in `out`.
pub(crate) fn recover(
    run: &mut dyn Run,
    core: u32,
    watcher: &mut dyn Watcher,
    report: &mut Report,
    out: &mut Execution,
) {
    let first = out.resumed + out.steps() + 1;
    let Some(policy) = run.recovery() else {
        out.choices.push(Choice::Recover { core });
        out.recovery = Some(Recovered { core, rounds: 0, steps: 0, end: RecoveryEnd::Unknown });
        return;
    };
    let nodes = run.menu().nodes;
    let core = core & whole_core(nodes);
    let promised = policy.refusal(core, nodes).is_none();
    let timers = usize::from(nodes) * TIMERS_MAX;
    let links = run.menu().deliverable.len();
    let mut driver = Driver {
        policy,
        promised,
        core,
        first,
        progressed: false,
        rounds: 0,
        steps: 0,
        requests: 0,
        due: vec![0; timers],
        fired: vec![0; timers],
        waiting: Vec::with_capacity(links),
        overflow: 0,
        run,
        watcher,
        report,
    };
    let over = driver.drive();
    let (end, failure) = match over {
        Over::Progressed => (RecoveryEnd::Progressed, None),
        Over::Failed(failure) => (RecoveryEnd::Failed, Some(failure)),
        Over::Stalled(_) if !promised => (RecoveryEnd::Unknown, None),
        Over::Stalled(failure) => (RecoveryEnd::Stalled, Some(failure)),
    };
    out.recovery = Some(Recovered { core, rounds: driver.rounds, steps: driver.steps, end });
    out.choices.push(Choice::Recover { core });
    out.failure = failure;
}

/// Why a recovery is over.
enum Over {
    Progressed,
    /// An oracle failed that is none of the recovery's own.
    Failed(Failure),
    /// The core does not do what is promised.
    Stalled(Failure),
}

struct Driver<'a> {
    policy: Recovery,
    /// Whether progress is promised to this core.
    promised: bool,
    core: u32,
    progressed: bool,
    /// The number of the step that begins the recovery.
    first: u32,
    rounds: u32,
    steps: u32,
    requests: u32,
    /// For each node and timer, the round from which on it may fire.
    due: Vec<u32>,
    /// How often it fired.
    fired: Vec<u32>,
    /// For each link, how many messages waited when the round began.
    waiting: Vec<u16>,
    /// Messages lost because links were full, when the backlog was gone.
    overflow: u64,
    run: &'a mut dyn Run,
    watcher: &'a mut dyn Watcher,
    report: &'a mut Report,
}

impl Driver<'_> {
    fn drive(&mut self) -> Over {
        match self.rounds_until_progress().and_then(|()| self.quiet()) {
            Ok(()) => Over::Progressed,
            Err(over) => over,
        }
    }

    fn rounds_until_progress(&mut self) -> Result<(), Over> {
        self.begin()?;
        while self.rounds < self.policy.rounds_max {
            self.round()?;
            self.request()?;
            self.progressed = self.judged()?.progressed;
            if self.progressed {
                return Ok(());
            }
        }
        Err(self.stalled())
    }

    /// Nobody asks for anything any more: what goes on must not grow.
    fn quiet(&mut self) -> Result<(), Over> {
        let before = self.standing()?.disk_bytes;
        for _ in 0..self.policy.quiet_rounds {
            self.round()?;
            self.judged()?;
        }
        let grown = self.standing()?.disk_bytes.saturating_sub(before);
        let (rounds, max) = (self.policy.quiet_rounds, self.policy.disk_bytes_max);
        if grown <= max {
            return Ok(());
        }
        let text = format!(
            "disks grew by {grown} bytes in {rounds} rounds without a request (at most {max}): {}",
            self.run.stall()
        );
        Err(Over::Stalled(Failure::new("rate", "disk-bounded", text)))
    }

    /// Begins the recovery, starts nodes that are down, and those again that have given up.
    fn begin(&mut self) -> Result<(), Over> {
        self.run.recover(self.core, self.report);
        // What was set before the recovery counts from its beginning.
        self.run.take_armed();
        self.tell(self.first)?;
        for node in Core(self.core).nodes() {
            for timer in 0..TIMERS_MAX as u8 {
                self.set(node, timer);
            }
        }
        let stopped = self.standing()?.stopped;
        for node in Core(stopped).nodes() {
            self.step(Choice::Crash { node, keep: Keep::ALL })?;
        }
        for node in Core(self.core).nodes() {
            if !self.run.menu().is_up(node) {
                self.step(Choice::Restart { node })?;
            }
        }
        Ok(())
    }

    /// One round: every message that waits at its start arrives, in the order of links and the oldest of a link
    /// first; then enabled local steps run, and timers fire that are due.
    fn round(&mut self) -> Result<(), Over> {
        self.rounds += 1;
        self.waiting.clear();
        self.waiting.extend_from_slice(&self.run.menu().deliverable);
        for link in 0..self.waiting.len() {
            let (from, to) = self.run.menu().ends(link);
            for _ in 0..self.waiting[link] {
                self.step(Choice::Deliver(Slot { from, to, at: 1, kind: Slot::ANY_KIND }))?;
            }
        }
        for node in Core(self.core).nodes() {
            let at = usize::from(node);
            for step in bits(self.run.menu().locals[at]) {
                if self.run.menu().locals[at] & (1 << step) != 0 {
                    self.step(Choice::Local { node, step })?;
                }
            }
            for timer in bits(self.run.menu().timers[at]) {
                let is_set = self.run.menu().timers[at] & (1 << timer) != 0;
                if is_set && self.due[at * TIMERS_MAX + usize::from(timer)] <= self.rounds {
                    self.fired[at * TIMERS_MAX + usize::from(timer)] += 1;
                    self.step(Choice::Timer { node, timer })?;
                }
            }
        }
        Ok(())
    }

    /// A client asks a node of the core, the next one each time.
    fn request(&mut self) -> Result<(), Over> {
        if self.rounds % REQUEST_EVERY != 1 % REQUEST_EVERY {
            return Ok(());
        }
        let menu = self.run.menu();
        let Some(operation) = self.policy.operation else { return Ok(()) };
        let Some((_, argument)) = menu.operations.get(usize::from(operation)) else { return Ok(()) };
        let size = self.core.count_ones();
        let asked = |number: u32| nth_bit(u64::from(self.core), number % size.max(1));
        let Some(node) = asked(self.requests) else { return Ok(()) };
        let turn = self.requests;
        self.requests += 1;
        // Clients go on asking for what was not answered, every other time where a session is free.
        let (waiting, free) = (menu.sessions_waiting, menu.sessions_free());
        if waiting != 0 && (free == 0 || turn % 2 == 1) {
            let Some(session) = nth_bit(waiting, turn % waiting.count_ones()) else { return Ok(()) };
            return self.step(Choice::Retry { node, session });
        }
        let session = nth_bit(free, 0).unwrap_or(NO_SESSION);
        let argument = match argument {
            Argument::Keyed { keys, values } => {
                let fresh = menu.fresh.min(u32::from(Keyed::VALUE_MAX)) as u16;
                let value = if *values == KeyedValues::None { 0 } else { fresh };
                Keyed { key: (turn % u32::from(*keys).max(1)) as u8, from: 0, value }.argument()
            }
            Argument::None => 0,
            Argument::Fresh => menu.fresh,
            Argument::Below(bound) => turn % (*bound).max(1),
            Argument::Peer => asked(turn + 1).map_or(0, u32::from),
        };
        self.step(Choice::Request { node, operation, argument, session })
    }

    fn step(&mut self, choice: Choice) -> Result<(), Over> {
        if self.steps >= self.policy.steps_max {
            // After the progress only the growth is judged, and steps beyond the bound are not spent on that.
            return Err(if self.progressed { Over::Progressed } else { self.stalled() });
        }
        let node = choice.caller();
        let before = node.map_or(0, |node| self.run.menu().timers[usize::from(node)]);
        self.run.step(choice, self.report);
        if self.report.effect != Effect::Applied {
            return Ok(());
        }
        self.steps += 1;
        let armed = self.run.take_armed();
        if let Some(node) = node {
            let fired = if let Choice::Timer { timer, .. } = choice { 1 << timer } else { 0 };
            let new = self.run.menu().timers[usize::from(node)]
                & (!before | fired | armed & self.policy.restarting);
            for timer in bits(new) {
                self.set(node, timer);
            }
        }
        self.tell(self.first + self.steps)
    }

    /// Shows the step to the watcher.
    fn tell(&mut self, number: u32) -> Result<(), Over> {
        self.watcher.saw_recovery(number, &*self.run, self.report);
        match self.report.failure.take() {
            Some(failure) => Err(Over::Failed(failure)),
            None => Ok(()),
        }
    }

    /// A timer begins in this round. Its rounds are those of the policy, up to twice as many, in another order for
    /// each node and time, and more the oftener it fired.
    fn set(&mut self, node: NodeId, timer: u8) {
        let at = usize::from(node) * TIMERS_MAX + usize::from(timer);
        let nodes = u32::from(self.run.menu().nodes);
        let (least, fired) = (self.policy.timer_rounds(timer), self.fired[at]);
        let spread = least * ((u32::from(node) + fired) % nodes) / nodes;
        self.due[at] = self.rounds + least + spread + least * (fired / FIRED_TO_GROW);
    }

    fn standing(&self) -> Result<Standing, Over> {
        self.run.standing().map_err(Over::Failed)
    }

    /// Judges the end of a round: how the recovery stands, and whether messages grow without bound.
    fn judged(&mut self) -> Result<Standing, Over> {
        let standing = self.standing()?;
        if self.rounds <= BACKLOG_ROUNDS {
            self.overflow = standing.overflow;
            return Ok(standing);
        }
        let (waiting, max) = (self.run.menu().waiting, self.policy.waiting_max);
        let lost = standing.overflow - self.overflow;
        if waiting <= max && lost == 0 {
            return Ok(standing);
        }
        let what = match lost {
            0 => format!("{waiting} messages wait (at most {max})"),
            lost => format!("{waiting} messages wait, and {lost} were lost because a link was full"),
        };
        let text = format!("after {} rounds of fair delivery {what}: {}", self.rounds, self.run.stall());
        Err(Over::Stalled(Failure::new("rate", "messages-bounded", text)))
    }

    fn stalled(&self) -> Over {
        let away = !self.core & whole_core(self.run.menu().nodes);
        let away = if away == 0 { "all nodes run".to_owned() } else { format!("without {}", Core(away)) };
        let text = format!(
            "no progress in {} rounds of fair delivery ({} steps), {away}: {}",
            self.rounds,
            self.steps,
            if self.promised { self.run.stall() } else { String::new() }
        );
        Over::Stalled(Failure::new("progress", "recovers-after-heal", text))
    }
}

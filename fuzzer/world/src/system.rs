//! What an adapter implements to put a system into the world.

use crate::budget::{self, Budget};
use crate::clients::{Answer, Call};
use crate::disk::{self, DiskHandle};
use crate::links::Links;
use crate::rng::mix;
use crate::vocabulary::Vocabulary;
use misrule_models::{Fields, NodeId};
use std::fmt::Debug;

/// Messages that one call into a node may send before the step budget is exceeded.
pub const SENDS_MAX: usize = 10_000;

/// A system under test. It is a value: it carries options, peers and planted-bug switches.
pub trait System: Sized + 'static {
    /// One running node; dropped at a crash.
    type Node;
    /// What nodes send. Its `Debug` form appears in traces, so it must not depend on addresses or hash order.
    type Message: Clone + Debug;
    /// The typed projection of a node.
    type View: Default + Clone + Fields;

    /// The names of kinds, timers, local steps, operations and draws.
    fn vocabulary(&self) -> &Vocabulary;

    /// First start and every restart of node [`Context::me`]: only its disk survives.
    ///
    /// # Errors
    /// A node that cannot start is a finding.
    fn boot(&self, cx: &mut Context<Self::Message>) -> Result<Self::Node, BootError>;

    /// Hands an input to a node.
    fn handle(&self, node: &mut Self::Node, input: Input<Self::Message>, cx: &mut Context<Self::Message>);

    /// Refreshes the view of a node. `out` holds what the last call for this node left there, across restarts
    /// and executions, so that a log may be updated at its changed end only.
    fn view(&self, node: &Self::Node, out: &mut Self::View);

    /// A copy of a running node that shares nothing with it, for snapshots; `None`, always, where the system offers
    /// none. Only what offers it everywhere is returned to without replaying the way.
    fn fork(&self, _node: &Self::Node) -> Option<Self::Node> {
        None
    }

    /// The kind of a message: a position in the vocabulary's kinds.
    fn kind(&self, message: &Self::Message) -> u8;
}

/// Why a node could not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootError(pub String);

/// What a node is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<M> {
    /// A message.
    Message {
        /// Its sender.
        from: NodeId,
        /// Its content.
        message: M,
    },
    /// A timer fired. It is no longer set.
    Timer(u8),
    /// A local step is to be run. It is no longer enabled.
    Local(u8),
    /// A client asks.
    Request {
        /// Position in the vocabulary's operations.
        operation: u8,
        /// Its argument; 0 where it has none.
        argument: u32,
        /// The call that waits for [`Context::answer`]; `None` where nobody waits. A retry comes with the call, the
        /// operation and the argument that it had at first.
        call: Option<Call>,
    },
}

impl Input<u32> {
    /// The input with the message that the number stands for.
    #[inline]
    pub(crate) fn with<M>(self, message: impl FnOnce(u32) -> M) -> Input<M> {
        match self {
            Self::Message { from, message: number } => Input::Message { from, message: message(number) },
            Self::Timer(timer) => Input::Timer(timer),
            Self::Local(step) => Input::Local(step),
            Self::Request { operation, argument, call } => Input::Request { operation, argument, call },
        }
    }
}

/// A node's way to the world during one call.
#[derive(Debug)]
pub struct Context<M> {
    pub(crate) me: NodeId,
    pub(crate) nodes: NodeId,
    /// The messages, of which a call adds some.
    pub(crate) links: Links<M>,
    /// Receivers and numbers of what the call has sent.
    pub(crate) outbox: Vec<(NodeId, u32)>,
    pub(crate) timers: u32,
    pub(crate) locals: u32,
    pub(crate) answers: Vec<(Call, Answer)>,
    /// Timers set since somebody looked, whether they were set before or not.
    pub(crate) armed: u32,
    /// Ticks of timers by vocabulary, where the contract has a clock.
    pub(crate) ticks: Option<Vec<u32>>,
    /// Timers that the call has set, with their ticks; only where the contract has a clock.
    pub(crate) timed: Vec<(u8, u32)>,
    pub(crate) draws: Draws,
    /// Whether a choice stops the node in the middle of this call.
    pub(crate) has_crash_point: bool,
}

/// Values for draws: fixed by choices, else derived from the seed, the node, the name and a counter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draws {
    pub(crate) seed: u64,
    pub(crate) bounds: Vec<u32>,
    pub(crate) counts: Vec<u32>,
    pub(crate) fixed: Vec<Option<u32>>,
    /// Draws made in this step: name, value, whether a choice fixed it.
    pub(crate) made: Vec<(u8, u32, bool)>,
}

impl<M> Context<M> {
    /// The node that runs.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> NodeId {
        self.nodes
    }

    /// The node's disk.
    pub fn disk(&self) -> DiskHandle {
        DiskHandle::CURRENT
    }

    /// Sends a message. A receiver that does not exist is a finding; use [`Context::NOBODY`] for an address
    /// that cannot even be expressed. Sending very many messages in one step exceeds the step budget.
    #[inline]
    pub fn send(&mut self, to: NodeId, message: M) {
        if self.has_crashed() {
            return;
        }
        if self.outbox.len() >= SENDS_MAX {
            budget::exceed(Budget::Sends);
        }
        self.outbox.push((to, self.links.messages.insert(message)));
    }

    /// Answers a call; any node may. The client sees it at once. An answer to a call that is not open any more,
    /// since it was answered or given up before, is counted and changes nothing.
    pub fn answer(&mut self, call: Call, answer: Answer) {
        if self.has_crashed() {
            return;
        }
        if self.answers.len() >= SENDS_MAX {
            budget::exceed(Budget::Sends);
        }
        self.answers.push((call, answer));
    }

    /// Whether the node has passed its crash point.
    pub(crate) fn has_crashed(&self) -> bool {
        self.has_crash_point && disk::has_crashed()
    }

    /// An address that no node has.
    pub const NOBODY: NodeId = NodeId::MAX;

    /// Sets a timer; it stays set until it fires, is cancelled, or the node stops. To set one that is set already
    /// changes nothing, unless a [recovery policy](crate::Recovery::restarting) says that its time begins anew, or the
    /// contract has a clock: there it takes the ticks of [`Vocabulary::timer_ticks`] from now on.
    pub fn set_timer(&mut self, timer: u8) {
        self.timers |= 1 << timer;
        self.armed |= 1 << timer;
        if let Some(ticks) = &self.ticks {
            self.timed.push((timer, ticks.get(usize::from(timer)).copied().unwrap_or(1)));
        }
    }

    /// Sets a timer that takes so many ticks, from now on if it is set already. Without a clock in the contract it is
    /// like [`Context::set_timer`].
    pub fn set_timer_after(&mut self, timer: u8, ticks: u32) {
        self.timers |= 1 << timer;
        self.armed |= 1 << timer;
        if self.ticks.is_some() {
            self.timed.push((timer, ticks));
        }
    }

    /// Cancels a timer.
    pub fn cancel_timer(&mut self, timer: u8) {
        self.timers &= !(1 << timer);
    }

    /// Enables a local step until it runs, is disabled, or the node stops.
    pub fn enable_local(&mut self, step: u8) {
        self.locals |= 1 << step;
    }

    /// Disables a local step.
    pub fn disable_local(&mut self, step: u8) {
        self.locals &= !(1 << step);
    }

    /// A random value below the draw's bound: fixed by a choice, else derived from the schedule's seed.
    pub fn draw(&mut self, name: u8) -> u32 {
        let draws = &mut self.draws;
        let at = usize::from(self.me) * draws.bounds.len() + usize::from(name);
        let fixed = draws.fixed[at].take();
        let value = fixed.unwrap_or_else(|| {
            let place = mix(draws.seed ^ mix(u64::from(self.me) << 8 | u64::from(name)));
            let hash = mix(place.wrapping_add(u64::from(draws.counts[at])));
            ((u128::from(hash) * u128::from(draws.bounds[usize::from(name)])) >> 64) as u32
        });
        draws.counts[at] += 1;
        draws.made.push((name, value, fixed.is_some()));
        value
    }
}

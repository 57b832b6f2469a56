//! Choices: the atomic decisions of an execution.

use crate::disk::DiskOutcome;
use crate::keep::Keep;
use misrule_models::NodeId;
use serde::{Deserialize, Serialize};

/// A message on a link, named by its position and guarded by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Position on the link, counted from 1; [`Slot::FIRST_OF_KIND`] stands for the first of the guard's kind.
    pub at: u16,
    /// Message kind that must stand there, or [`Slot::ANY_KIND`].
    pub kind: u8,
}

impl Slot {
    /// No guard: generators pick by position, and the step report names the kind that stood there.
    pub const ANY_KIND: u8 = u8::MAX;
    /// The first message of the guard's kind, wherever it stands.
    pub const FIRST_OF_KIND: u16 = 0;
}

/// One atomic decision. The list of choices is the fuzz input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Choice {
    /// Hand a waiting message to its receiver.
    Deliver(Slot),
    /// Lose a waiting message.
    Drop(Slot),
    /// Put a second copy of a waiting message at the end of its link, or as far behind it as the contract says.
    Duplicate(Slot),
    /// Fire a timer that is set.
    Timer {
        /// The node whose timer fires.
        node: NodeId,
        /// Position in the vocabulary's timers.
        timer: u8,
    },
    /// Run an enabled local step.
    Local {
        /// The node that runs it.
        node: NodeId,
        /// Position in the vocabulary's local steps.
        step: u8,
    },
    /// Hand a client's operation to a node.
    Request {
        /// The node asked.
        node: NodeId,
        /// Position in the vocabulary's operations.
        operation: u8,
        /// The session that asks, counted from 0, or [`NO_SESSION`](crate::NO_SESSION). It must be free.
        session: u8,
        /// The operation's argument; 0 where it has none.
        argument: u32,
    },
    /// Stop a node; only its disk survives.
    Crash {
        /// The node that stops.
        node: NodeId,
        /// Which units of its disk survive that were not durable; what the contract does not leave open is
        /// ignored.
        keep: Keep,
    },
    /// Start a stopped node from its disk.
    Restart {
        /// The node that starts.
        node: NodeId,
    },
    /// Cut one direction of a link: what waits stays, what is sent meanwhile is lost.
    Cut {
        /// Sender.
        from: NodeId,
        /// Receiver.
        to: NodeId,
    },
    /// Undo a cut.
    Heal {
        /// Sender.
        from: NodeId,
        /// Receiver.
        to: NodeId,
    },
    /// Fix the value of the next draw of this name at this node.
    Draw {
        /// The node that draws.
        node: NodeId,
        /// Position in the vocabulary's draws.
        name: u8,
        /// The value, below the draw's bound.
        value: u32,
    },
    /// Stop a node in the middle of its next call, handler or start. From the crash point on every disk operation
    /// fails without effect and nothing is sent; what the node did before stands.
    CrashAt {
        /// The node that will stop.
        node: NodeId,
        /// The crash point: after so many of the call's disk operations (reads do not count). It has no effect
        /// when the call does fewer.
        at: u16,
        /// Which units of its disk survive that are not durable then.
        keep: Keep,
    },
    /// Decide how a disk operation of a node's next call ends.
    Disk {
        /// The node.
        node: NodeId,
        /// How it ends.
        outcome: DiskOutcome,
        /// Which operation, counted from 1 among those that the outcome can befall. It has no effect when the
        /// call does fewer.
        at: u16,
    },
    /// Hand the open call of a session to a node again.
    Retry {
        /// The node asked.
        node: NodeId,
        /// The session, counted from 0. It must wait.
        session: u8,
    },
    /// Let a session give up its open call and go on.
    Abandon {
        /// The session, counted from 0. It must wait.
        session: u8,
    },
    /// Comes last: faults stop, and a core of nodes has to make progress. Links inside it heal, nodes of it that are
    /// down restart, all others are frozen. What follows is computed, by fair delivery, and so is not in the
    /// schedule. A world does not step it: see [`Run::recover`](crate::Run::recover).
    Recover {
        /// Bit set of the nodes that come back; bit 0 is the first node.
        core: u32,
    },
    /// Clog one direction of a link: what waits and what is sent meanwhile stays on it, and nothing is delivered.
    Clog {
        /// Sender.
        from: NodeId,
        /// Receiver.
        to: NodeId,
    },
    /// Undo a clog.
    Unclog {
        /// Sender.
        from: NodeId,
        /// Receiver.
        to: NodeId,
    },
}

const _: () = assert!(size_of::<Choice>() == 8, "a choice stays small");

/// What a choice is, without its arguments: for weights, fault counts and the minimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ChoiceKind {
    /// [`Choice::Deliver`]
    Deliver,
    /// [`Choice::Drop`]
    Drop,
    /// [`Choice::Duplicate`]
    Duplicate,
    /// [`Choice::Timer`]
    Timer,
    /// [`Choice::Local`]
    Local,
    /// [`Choice::Request`]
    Request,
    /// [`Choice::Crash`], and [`Choice::CrashAt`]: applied when the node stops.
    Crash,
    /// [`Choice::Restart`]
    Restart,
    /// [`Choice::Cut`]
    Cut,
    /// [`Choice::Heal`]
    Heal,
    /// [`Choice::Draw`]
    Draw,
    /// [`Choice::Disk`]
    Disk,
    /// [`Choice::Retry`]
    Retry,
    /// [`Choice::Abandon`]
    Abandon,
    /// [`Choice::Recover`]
    Recover,
    /// [`Choice::Clog`]
    Clog,
    /// [`Choice::Unclog`]
    Unclog,
}

impl ChoiceKind {
    /// How many kinds there are.
    pub const COUNT: usize = 17;

    /// All kinds, in the order of their numbers, with the words of the schedule text.
    pub const ALL: [(Self, &'static str); Self::COUNT] = [
        (Self::Deliver, "deliver"),
        (Self::Drop, "drop"),
        (Self::Duplicate, "duplicate"),
        (Self::Timer, "timer"),
        (Self::Local, "local"),
        (Self::Request, "request"),
        (Self::Crash, "crash"),
        (Self::Restart, "restart"),
        (Self::Cut, "cut"),
        (Self::Heal, "heal"),
        (Self::Draw, "draw"),
        (Self::Disk, "disk"),
        (Self::Retry, "retry"),
        (Self::Abandon, "abandon"),
        (Self::Recover, "recover"),
        (Self::Clog, "clog"),
        (Self::Unclog, "unclog"),
    ];

    /// The word of the schedule text.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether this is something that goes wrong, rather than something that must happen anyway.
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            Self::Drop
                | Self::Duplicate
                | Self::Crash
                | Self::Restart
                | Self::Cut
                | Self::Heal
                | Self::Disk
                | Self::Clog
                | Self::Unclog
        )
    }
}

impl Choice {
    /// The kind of the choice.
    pub fn kind(&self) -> ChoiceKind {
        match self {
            Self::Deliver(_) => ChoiceKind::Deliver,
            Self::Drop(_) => ChoiceKind::Drop,
            Self::Duplicate(_) => ChoiceKind::Duplicate,
            Self::Timer { .. } => ChoiceKind::Timer,
            Self::Local { .. } => ChoiceKind::Local,
            Self::Request { .. } => ChoiceKind::Request,
            Self::Crash { .. } | Self::CrashAt { .. } => ChoiceKind::Crash,
            Self::Restart { .. } => ChoiceKind::Restart,
            Self::Cut { .. } => ChoiceKind::Cut,
            Self::Heal { .. } => ChoiceKind::Heal,
            Self::Draw { .. } => ChoiceKind::Draw,
            Self::Disk { .. } => ChoiceKind::Disk,
            Self::Retry { .. } => ChoiceKind::Retry,
            Self::Abandon { .. } => ChoiceKind::Abandon,
            Self::Recover { .. } => ChoiceKind::Recover,
            Self::Clog { .. } => ChoiceKind::Clog,
            Self::Unclog { .. } => ChoiceKind::Unclog,
        }
    }

    /// The node whose code the choice runs.
    pub fn caller(&self) -> Option<NodeId> {
        match *self {
            Self::Deliver(slot) => Some(slot.to),
            Self::Timer { node, .. }
            | Self::Local { node, .. }
            | Self::Request { node, .. }
            | Self::Retry { node, .. }
            | Self::Restart { node } => Some(node),
            _ => None,
        }
    }

    /// The slot of a message choice.
    pub fn slot(&self) -> Option<Slot> {
        match *self {
            Self::Deliver(slot) | Self::Drop(slot) | Self::Duplicate(slot) => Some(slot),
            _ => None,
        }
    }

    /// The same choice with another slot; other choices stay as they are.
    #[must_use]
    pub fn with_slot(self, slot: Slot) -> Self {
        match self {
            Self::Deliver(_) => Self::Deliver(slot),
            Self::Drop(_) => Self::Drop(slot),
            Self::Duplicate(_) => Self::Duplicate(slot),
            other => other,
        }
    }
}

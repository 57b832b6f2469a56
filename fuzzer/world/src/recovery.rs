//! Recovery: what a target promises once faults have stopped.
//!
//! A schedule may end in [`Choice::Recover`](crate::Choice::Recover): a set of nodes, the *core*, comes back and
//! can talk again, all others are frozen, and nothing goes wrong any more. The engine then drives the core fairly
//! until it has made progress. After the liveness mode of `TigerBeetle`'s simulator (`src/vopr.zig`: heal a core,
//! freeze the rest, everything in the core must converge).

use crate::links::Links;
use crate::system::System;
use crate::vocabulary::Vocabulary;
use misrule_models::NodeId;
use std::fmt::{self, Write as _};

/// A core is a set of the first so many nodes: a choice has 32 bits for it.
pub const CORE_NODES_MAX: NodeId = 32;

/// Rounds from setting a timer to firing it, where a policy does not say.
const TIMER_ROUNDS: u32 = 8;

/// What a target promises once faults have stopped, and within which bounds: its recovery policy.
///
/// Simulated time counts in rounds of fair delivery: in one round every message that waits at its start arrives, so
/// that a round is the longest delay of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// How many nodes may stay away for ever while the others still have to make progress.
    pub may_stay_down: u8,
    /// Bit set of nodes without which nothing is promised, such as the one coordinator of a protocol.
    pub needed: u32,
    /// The operation that clients go on asking for meanwhile: a position in the vocabulary's operations.
    pub operation: Option<u8>,
    /// For each timer of the vocabulary, the fewest rounds from setting it to firing it; it takes up to twice as
    /// long, so that nodes do not tie for ever. 0, or no entry, stands for 8. A timer that stands for a timeout
    /// must be longer than what it waits for: there and back are two rounds.
    pub timers: Vec<u32>,
    /// Bit set of the timers whose time begins anew when they are set again while they are set, such as an election
    /// timeout that each heartbeat puts off. To the others nothing happens then.
    pub restarting: u32,
    /// There must be progress within so many rounds.
    pub rounds_max: u32,
    /// There must be progress within so many steps.
    pub steps_max: u32,
    /// Once the backlog is delivered, at most so many messages wait at the end of a round.
    pub waiting_max: u32,
    /// Rounds after the progress in which nobody asks for anything.
    pub quiet_rounds: u32,
    /// In the quiet rounds all disks of the core together grow by at most so many bytes.
    pub disk_bytes_max: u64,
}

impl Default for Recovery {
    /// Every node must come back; progress within 400 rounds and 40,000 steps; at most 1,000 messages wait; 16
    /// quiet rounds with 64 KiB.
    fn default() -> Self {
        Self {
            may_stay_down: 0,
            needed: 0,
            operation: None,
            timers: Vec::new(),
            restarting: 0,
            rounds_max: 400,
            steps_max: 40_000,
            waiting_max: 1_000,
            quiet_rounds: 16,
            disk_bytes_max: 1 << 16,
        }
    }
}

impl Recovery {
    /// Rounds from setting a timer to firing it, at the least.
    pub fn timer_rounds(&self, timer: u8) -> u32 {
        self.timers.get(usize::from(timer)).copied().filter(|rounds| *rounds > 0).unwrap_or(TIMER_ROUNDS)
    }

    /// Why nothing is promised to a core of `nodes` nodes; `None` where progress is.
    pub fn refusal(&self, core: u32, nodes: NodeId) -> Option<String> {
        let missing = self.needed & !core;
        let away = u32::from(nodes).saturating_sub(core.count_ones());
        if missing != 0 {
            return Some(format!("the core {} lacks node {}", Core(core), Core(missing)));
        }
        if core == 0 || away > u32::from(self.may_stay_down) {
            let (may, core) = (self.may_stay_down, Core(core));
            return Some(format!("the core {core} leaves out {away} nodes, and at most {may} may stay away"));
        }
        None
    }
}

/// Every node of a world that a core can name.
pub fn whole_core(nodes: NodeId) -> u32 {
    u32::MAX >> (32 - u32::from(nodes.clamp(1, CORE_NODES_MAX)))
}

/// A set of nodes as people write it: `1,2,3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core(pub u32);

impl Core {
    /// The nodes of the set, in order.
    pub fn nodes(self) -> impl Iterator<Item = NodeId> {
        (0..CORE_NODES_MAX).filter(move |node| self.0 & (1 << node) != 0)
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, node) in self.nodes().enumerate() {
            write!(f, "{}{}", if at > 0 { "," } else { "" }, node + 1)?;
        }
        Ok(())
    }
}

/// A recovery that goes on, as a judge sees it between two rounds.
pub struct Recovering<'a, S: System> {
    /// The system.
    pub system: &'a S,
    /// Bit set of the nodes that must make progress.
    pub core: u32,
    /// Requests with an argument that no other one uses: those from this number on were asked since the recovery
    /// began.
    pub fresh: u32,
    /// The views of all nodes.
    pub views: &'a [S::View],
    /// All waiting messages.
    pub links: &'a Links<S::Message>,
}

impl<'a, S: System> Recovering<'a, S> {
    /// The views of the core.
    pub fn core_views(&self) -> impl Iterator<Item = &'a S::View> {
        Core(self.core).nodes().filter_map(|node| self.views.get(usize::from(node)))
    }
}

/// What a judge says of recoveries: the promises of the protocol. The step with
/// [`Choice::Recover`](crate::Choice::Recover) goes through [`Judge::after`](crate::Judge::after) like any other, for
/// judges that take note of where it began.
pub trait Recovers<S: System> {
    /// What is promised, and within which bounds.
    fn policy(&self) -> Recovery;

    /// Whether the core has made progress since the recovery began.
    fn progressed(&self, now: &Recovering<'_, S>) -> bool;

    /// What `node` waits for, in a few words, for the report of a stall.
    fn waits_for(&self, now: &Recovering<'_, S>, node: NodeId) -> String;

    /// Whether `node` has given up by itself, as after an error of its disk, and wants to be started again. The
    /// recovery does that, as an operator would.
    fn stopped(&self, _now: &Recovering<'_, S>, _node: NodeId) -> bool {
        false
    }
}

/// How a recovery stands after a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether the core has made progress.
    pub progressed: bool,
    /// Bit set of the core's nodes that have given up by themselves.
    pub stopped: u32,
    /// Messages lost because a link was full, since the recovery began.
    pub overflow: u64,
    /// Bytes on the disks of the core.
    pub disk_bytes: u64,
}

/// The messages on the links of a core, by link and kind, as `1->2: 3 Prepare, 1 Ack`.
pub(crate) fn waiting_text<M: Clone>(links: &Links<M>, vocabulary: &Vocabulary, core: u32) -> String {
    let mut out = String::new();
    for from in Core(core).nodes() {
        for to in Core(core).nodes() {
            let mut counts: Vec<(u8, usize)> = Vec::new();
            for (_, kind) in links.waiting(from, to) {
                match counts.iter_mut().find(|(known, _)| *known == kind) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((kind, 1)),
                }
            }
            for (at, (kind, count)) in counts.iter().enumerate() {
                let name = vocabulary.kinds.get(usize::from(*kind)).copied().unwrap_or("message");
                // Writing to a string cannot fail.
                let _ = match at {
                    0 => write!(out, "; {}->{}: {count} {name}", from + 1, to + 1),
                    _ => write!(out, ", {count} {name}"),
                };
            }
        }
    }
    if out.is_empty() {
        "no message waits".to_owned()
    } else {
        format!("messages wait{}", out.replacen(';', "", 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{Core, Recovery, whole_core};

    #[test]
    fn a_policy_refuses_cores_to_which_nothing_is_promised() {
        let policy = Recovery { may_stay_down: 1, needed: 0b001, ..Recovery::default() };
        for (core, nodes, refusal) in [
            (0b111, 3, None),
            (0b011, 3, None),
            (0b110, 3, Some("the core 2,3 lacks node 1")),
            (0b001, 3, Some("the core 1 leaves out 2 nodes, and at most 1 may stay away")),
            (0b11, 4, Some("the core 1,2 leaves out 2 nodes, and at most 1 may stay away")),
        ] {
            assert_eq!(policy.refusal(core, nodes).as_deref(), refusal, "{core:b} of {nodes}");
        }
        assert!(Recovery::default().refusal(0, 0).is_some(), "an empty core promises nothing");
    }

    #[test]
    fn cores_are_written_as_people_count() {
        assert_eq!(Core(0b1011).to_string(), "1,2,4");
        assert_eq!(Core(1 << 31).to_string(), "32");
        assert_eq!((whole_core(3), whole_core(32), whole_core(64)), (0b111, u32::MAX, u32::MAX));
    }

    #[test]
    fn timers_have_rounds_where_the_policy_says_none() {
        let policy = Recovery { timers: vec![3, 0], ..Recovery::default() };
        assert_eq!([0, 1, 2].map(|timer| policy.timer_rounds(timer)), [3, 8, 8]);
    }
}

//! The oracles: what must hold of the implementation, judged on its views, without the model.
//!
//! An outcome counts from the moment at which the node's disk has it, which is when others are told.

use crate::state::{COORDINATOR, LANES_MAX, Phase};
use crate::system::TwoPhaseCommit;
use misrule_world::{Failure, NodeId, Seen};

/// What nodes did in the latest round of a lane, as sets of bits.
#[derive(Clone, Copy, Debug, Default)]
struct Outcomes {
    round: u32,
    yes: u16,
    committed: u16,
    aborted: u16,
}

/// Atomicity, durability and respect for votes, across restarts.
#[derive(Clone, Debug)]
pub(crate) struct Oracles {
    lanes: [Outcomes; LANES_MAX],
    /// For each node and lane, the last outcome or promise it stood for: round and phase. A promise is kept
    /// until the outcome is known.
    stood: Vec<[(u32, Phase); LANES_MAX]>,
}

impl Oracles {
    pub(crate) fn new(managers: NodeId) -> Self {
        Self { lanes: Default::default(), stood: vec![Default::default(); usize::from(managers) + 1] }
    }

    /// A new execution.
    pub(crate) fn reset(&mut self) {
        self.lanes = Default::default();
        self.stood.fill(Default::default());
    }

    /// Looks at the node that ran.
    pub(crate) fn check(&mut self, seen: &Seen<'_, TwoPhaseCommit>) -> Option<Failure> {
        let node = seen.node.filter(|node| seen.up & (1 << node) != 0)?;
        let everyone = ((1_u32 << (seen.system.managers() + 1)) - 2) as u16;
        for (at, lane) in seen.views[usize::from(node)].lanes().iter().enumerate() {
            let stood = &mut self.stood[usize::from(node)][at];
            let changed = lane.round == stood.0 && lane.phase != stood.1;
            if stood.1.decided() && (lane.round < stood.0 || changed) {
                return Some(Failure::new(
                    "durability",
                    "outcome-kept",
                    format!(
                        "node {} had {:?} t{}.{} and now has {:?} t{}.{}",
                        node + 1,
                        stood.1,
                        at + 1,
                        stood.0,
                        lane.phase,
                        at + 1,
                        lane.round
                    ),
                ));
            }
            if stood.1 == Phase::Prepared && lane.round > stood.0 {
                let text = format!("node {} is prepared in t{}.{} and leaves it", node + 1, at + 1, stood.0);
                return Some(Failure::new("durability", "prepared-kept", text));
            }
            if lane.phase.decided() || lane.phase == Phase::Prepared {
                *stood = (lane.round, lane.phase);
            }
            let known = &mut self.lanes[at];
            if lane.round > known.round && (lane.phase != Phase::Idle || lane.voted) {
                *known = Outcomes { round: lane.round, ..Outcomes::default() };
            }
            if lane.round != known.round {
                continue;
            }
            let bit = 1 << node;
            match lane.phase {
                Phase::Committed => known.committed |= bit,
                Phase::Aborted => known.aborted |= bit,
                _ => {}
            }
            if node != COORDINATOR && (lane.voted || lane.phase == Phase::Prepared) {
                known.yes |= bit;
            }
            if let Some(failure) = known.check(at, everyone) {
                return Some(failure);
            }
        }
        None
    }
}

impl Outcomes {
    fn check(&self, at: usize, everyone: u16) -> Option<Failure> {
        let txn = || format!("t{}.{}", at + 1, self.round);
        if self.committed != 0 && self.aborted != 0 {
            let (a, b) = (self.committed.trailing_zeros() + 1, self.aborted.trailing_zeros() + 1);
            let text = format!("node {a} committed {} and node {b} aborted it", txn());
            return Some(Failure::new("atomicity", "one-outcome", text));
        }
        if self.committed != 0 && self.yes != everyone {
            let node = self.committed.trailing_zeros() + 1;
            let missing = (everyone & !self.yes).trailing_zeros() + 1;
            let text = format!("node {node} committed {} without a yes of node {missing}", txn());
            return Some(Failure::new("vote-respected", "commit-needs-every-yes", text));
        }
        None
    }
}

//! What two-phase commit promises once faults have stopped.
//!
//! The coordinator must come back: a manager that has voted yes cannot go on without it (the protocol blocks). With it
//! every transaction ends at every node that is back, whichever managers stay away: votes that are missing abort it,
//! and who waits for an outcome asks. A transaction that began since ends too, where all managers are back: a manager
//! that stays away does not acknowledge, so that its lane is not free again.

use crate::judge::TwoPhaseJudge;
use crate::state::{COORDINATOR, LANES_MAX, Lane, Phase, View};
use crate::system::TwoPhaseCommit;
use misrule_world::{Core, NodeId, Recovering, Recovers, Recovery};

/// Rounds of the timers vote-timeout, resend and ask-outcome. A vote is there after three: the way to the manager, its
/// flush, the way back.
const TIMER_ROUNDS: [u32; 3] = [12, 4, 6];

/// The rounds of the lanes of each node when the recovery began.
#[derive(Debug)]
pub(crate) struct Begun(Vec<[u32; LANES_MAX]>);

impl Begun {
    pub(crate) fn new(managers: NodeId) -> Self {
        Self(vec![[0; LANES_MAX]; usize::from(managers) + 1])
    }

    /// Takes note of where each node is.
    pub(crate) fn take(&mut self, views: &[View]) {
        for (begun, view) in self.0.iter_mut().zip(views) {
            *begun = view.lanes.map(|lane| lane.round);
        }
    }

    fn managers(&self) -> u8 {
        self.0.len() as u8 - 1
    }

    /// The managers as a set of bits.
    fn everyone(&self) -> u16 {
        ((1_u32 << self.0.len()) - 2) as u16
    }

    /// The round of a node's lane when the recovery began.
    fn round(&self, node: NodeId, at: usize) -> u32 {
        self.0.get(usize::from(node)).map_or(0, |lanes| lanes[at])
    }
}

/// Whether the node waits for something before its part of the transaction has ended.
fn is_open(lane: &Lane) -> bool {
    lane.pending.is_some() || matches!(lane.phase, Phase::Preparing | Phase::Prepared)
}

impl Recovers<TwoPhaseCommit> for TwoPhaseJudge {
    fn policy(&self) -> Recovery {
        Recovery {
            may_stay_down: self.begun.managers(),
            needed: 1 << COORDINATOR,
            operation: Some(0),
            timers: TIMER_ROUNDS.to_vec(),
            ..Recovery::default()
        }
    }

    fn progressed(&self, now: &Recovering<'_, TwoPhaseCommit>) -> bool {
        let ended = |node: NodeId| {
            let lanes = now.views[usize::from(node)].lanes().iter().enumerate();
            lanes.into_iter().all(|(at, lane)| lane.round > self.begun.round(node, at) || !is_open(lane))
        };
        let everyone = self.begun.everyone();
        let new_ended = || {
            now.views[usize::from(COORDINATOR)].lanes().iter().enumerate().any(|(at, lane)| {
                let since = lane.round.saturating_sub(self.begun.round(COORDINATOR, at));
                since > 1 || since == 1 && lane.phase.decided() && lane.acks == everyone
            })
        };
        let is_whole = now.core.count_ones() == u32::from(self.begun.managers()) + 1;
        Core(now.core).nodes().all(ended) && (!is_whole || new_ended())
    }

    fn waits_for(&self, now: &Recovering<'_, TwoPhaseCommit>, node: NodeId) -> String {
        let everyone = self.begun.everyone();
        let managers = |set: u16| Core(u32::from(set)).to_string();
        let lanes = now.views[usize::from(node)].lanes().iter().enumerate();
        let told: Vec<String> = lanes
            .filter_map(|(at, lane)| {
                let what = match lane.phase {
                    _ if lane.pending.is_some() => "the sync".to_owned(),
                    Phase::Preparing => format!("the votes of {}", managers(everyone & !lane.votes)),
                    Phase::Prepared => "the outcome".to_owned(),
                    _ if node == COORDINATOR && lane.phase.decided() && lane.acks != everyone => {
                        format!("acknowledgements of {}", managers(everyone & !lane.acks))
                    }
                    _ => return None,
                };
                Some(format!("{what} of t{}.{}", at + 1, lane.round))
            })
            .collect();
        if told.is_empty() { "nothing".to_owned() } else { told.join(" and ") }
    }

    /// A write has failed: what is on the disk is not known before the next start.
    fn stopped(&self, now: &Recovering<'_, TwoPhaseCommit>, node: NodeId) -> bool {
        now.views[usize::from(node)].stopped
    }
}

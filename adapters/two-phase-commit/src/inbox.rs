//! Which messages wait for whom, counted as they come and go: links are long, and a step changes little of them.

use crate::projection::NODES_MAX;
use crate::state::{LANES_MAX, Message};
use crate::system::TwoPhaseCommit;
use misrule_models::{NodeId, relation};
use misrule_world::{Choice, Input, Seen, bits};

/// Kinds of messages times relations of rounds.
const SORTS: usize = 24;

/// For each receiver and lane how many messages of each sort wait: `kind * 3 + relation of the rounds`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inboxes {
    counts: [[[u16; SORTS]; LANES_MAX]; NODES_MAX],
    /// The receivers' rounds that the relations are to.
    rounds: [[u32; LANES_MAX]; NODES_MAX],
}

impl Inboxes {
    /// Takes over what a step did to the links, where `pushed` says what it put there.
    pub(crate) fn refresh(&mut self, seen: &Seen<'_, TwoPhaseCommit>, pushed: &[(NodeId, NodeId, u16)]) {
        let first = seen.node.is_none() && seen.touched.count_ones() as usize == seen.views.len();
        for to in bits(seen.touched) {
            let rounds = seen.views[usize::from(to)].lanes.map(|lane| lane.round);
            let lost = matches!(seen.choice, Choice::Drop(slot) if slot.to == to);
            if first || lost || rounds != self.rounds[usize::from(to)] {
                self.rounds[usize::from(to)] = rounds;
                self.recount(seen, to);
                continue;
            }
            if let (Some(Input::Message { message, .. }), true) = (seen.input, seen.node == Some(to)) {
                self.count(to, *message, |count| *count -= 1);
            }
            for (from, _, at) in pushed.iter().filter(|(_, receiver, _)| *receiver == to) {
                if let Some((message, _)) = seen.links.waiting(*from, to).nth(usize::from(*at) - 1) {
                    self.count(to, *message, |count| *count += 1);
                }
            }
            debug_assert!(self.is_counted(seen, to), "what waits for node {} is counted wrongly", to + 1);
        }
    }

    /// Whether counting afresh gives the same.
    fn is_counted(&self, seen: &Seen<'_, TwoPhaseCommit>, to: NodeId) -> bool {
        let mut afresh = *self;
        afresh.recount(seen, to);
        afresh.counts == self.counts
    }

    fn recount(&mut self, seen: &Seen<'_, TwoPhaseCommit>, to: NodeId) {
        self.counts[usize::from(to)] = Default::default();
        for from in 0..seen.views.len() as NodeId {
            for (message, _) in seen.links.waiting(from, to) {
                self.count(to, *message, |count| *count += 1);
            }
        }
    }

    fn count(&mut self, to: NodeId, message: Message, change: impl Fn(&mut u16)) {
        let Some(txn) = message.txn() else { return };
        let (to, lane) = (usize::from(to), usize::from(txn.lane) % LANES_MAX);
        let sort = usize::from(message.kind()) * 3 + relation(&txn.round, &self.rounds[to][lane]) as usize;
        change(&mut self.counts[to][lane][sort]);
    }

    /// The sorts of messages that wait for `to` in the lane numbered `at`: bit set.
    pub(crate) fn waiting(&self, to: NodeId, at: usize) -> u32 {
        let counts = &self.counts[usize::from(to)][at];
        counts.iter().rev().fold(0, |set, count| set << 1 | u32::from(*count > 0))
    }
}

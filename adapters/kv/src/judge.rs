//! The judge: oracles over views, the history of the clients, and the lenses. There is no model.

use crate::oracles::Oracles;
use crate::projection::{Durable, Projection};
use crate::ring::RingIntact;
use crate::system::{Kv, WorkloadKind};
use misrule_history::specifications::Cell;
use misrule_models::ProjectionLenses;
use misrule_models::presets::{Pairs, Waiting};
use misrule_world::histories::{Linearizable, Listener};
use misrule_world::{Contract, Judge, NodeId, Recovers, Report, Seen, SetupError, System, Tally};

/// The lenses that the judge computes.
pub(crate) const LENSES: [&str; 3] = ["pairs@impl", "waiting@impl", "durable@impl"];

/// Judges the service.
pub struct KvJudge {
    nodes: NodeId,
    oracles: Oracles,
    /// What clients saw; with the workload of keys it is judged.
    clients: Listener<Cell>,
    /// With the workload of cycles.
    ring: Option<RingIntact>,
    projection: Projection,
    lenses: ProjectionLenses<Projection>,
}

impl KvJudge {
    /// A judge for a service under a contract, computing `lenses`; keys carry the position in it.
    ///
    /// # Errors
    /// A lens that does not exist.
    pub fn new(kv: &Kv, contract: &Contract, lenses: &[String]) -> Result<Self, SetupError> {
        let mut sets = ProjectionLenses::default();
        for (position, lens) in lenses.iter().enumerate() {
            let position = position as u8;
            match lens.as_str() {
                "pairs@impl" => sets.states.push(position, Box::new(Pairs)),
                "waiting@impl" => sets.inboxes.push(position, Box::new(Waiting)),
                "durable@impl" => sets.states.push(position, Box::new(Durable)),
                _ if sets.states.push_facets(position, lens, "impl") => {}
                _ => return Err(SetupError(format!("kv has no lens `{lens}`"))),
            }
        }
        let projection = Projection::new(!sets.inboxes.is_empty());
        let nodes = kv.nodes();
        let oracles = Oracles::new(nodes, contract);
        let workload = kv.workload();
        let (history, ring) = match workload.kind {
            WorkloadKind::Keys => (Some(Linearizable::new(kv.vocabulary(), Cell::key_value())), None),
            WorkloadKind::Cycle => (None, Some(RingIntact { elements: workload.keys })),
        };
        Ok(Self { nodes, oracles, clients: Listener::new(history), ring, projection, lenses: sets })
    }

    /// Judges from now on the nodes only: what clients saw has its cost.
    pub(crate) fn ignore_clients(&mut self) {
        (self.clients, self.ring) = (Listener::default(), None);
    }

    /// The number of the last call that a client had made when the recovery began.
    pub(crate) fn calls_before(&self) -> u32 {
        self.clients.calls_before()
    }

    pub(crate) fn nodes(&self) -> NodeId {
        self.nodes
    }

    fn look(&mut self, seen: &Seen<'_, Kv>, report: &mut Report) {
        if seen.watch.keys {
            let changed = self.projection.update(seen);
            self.lenses.keys(&self.projection, changed, &mut report.keys);
        }
    }
}

impl Judge<Kv> for KvJudge {
    fn reset(&mut self, seen: &Seen<'_, Kv>, report: &mut Report) {
        self.clients.reset();
        report.failure = self.oracles.reset(seen);
        self.look(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, Kv>, report: &mut Report) {
        report.failure = self.oracles.check(seen);
        self.clients.after(seen.choice, seen.clients, |_| false, report);
        if let Some(ring) = self.ring {
            ring.after(seen.clients, report);
        }
        self.look(seen, report);
    }

    fn recovers(&self) -> Option<&dyn Recovers<Kv>> {
        Some(self)
    }

    fn reads_input(&self) -> bool {
        false
    }

    fn tally(&self) -> Tally {
        Tally { undecided: self.clients.undecided(), ..Tally::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::{KvJudge, LENSES};
    use crate::{Bug, Kv, Options, Workload, WorkloadKind};
    use misrule_world::Contract;

    #[test]
    fn every_listed_lens_exists_and_no_other() {
        let options = Options { block: 512, value: 600, bug: Bug::None };
        let kv = Kv::new(3, Workload { kind: WorkloadKind::Keys, keys: 1, sessions: 1 }, 1, options);
        let judge = |lens: &str| KvJudge::new(&kv, &Contract::default(), &[lens.to_owned()]);
        assert!(LENSES.iter().all(|lens| judge(lens).is_ok()));
        assert_eq!(judge("pairs@model").err().unwrap().0, "kv has no lens `pairs@model`");
    }
}

//! The judge: oracles over views, the history of the clients, and the lenses. There is no model.

use crate::oracles::Oracles;
use crate::projection::{Durable, Projection};
use crate::ring::RingIntact;
use crate::system::{Kv, WorkloadKind};
use misrule_history::specifications::Cell;
use misrule_models::ProjectionLenses;
use misrule_models::presets::{Pairs, Waiting};
use misrule_world::histories::Linearizable;
use misrule_world::{
    Choice, ClientEvent, Contract, Judge, NodeId, Recovers, Report, Seen, SetupError, System, Tally,
};

/// The lenses that the judge computes.
pub(crate) const LENSES: [&str; 3] = ["pairs@impl", "waiting@impl", "durable@impl"];

/// What clients saw, by workload.
enum Clients {
    Keys(Box<Linearizable<Cell>>),
    Cycle(RingIntact),
    Ignored,
}

/// Judges the service.
pub struct KvJudge {
    nodes: NodeId,
    oracles: Oracles,
    clients: Clients,
    /// Number of the last call that a client has made, and of the last one before the recovery.
    calls: u32,
    calls_before: u32,
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
        let clients = match workload.kind {
            WorkloadKind::Keys => {
                Clients::Keys(Box::new(Linearizable::new(kv.vocabulary(), Cell::key_value())))
            }
            WorkloadKind::Cycle => Clients::Cycle(RingIntact { elements: workload.keys }),
        };
        Ok(Self { nodes, oracles, clients, calls: 0, calls_before: 0, projection, lenses: sets })
    }

    /// Judges from now on the nodes only: what clients saw has its cost.
    pub(crate) fn ignore_clients(&mut self) {
        self.clients = Clients::Ignored;
    }

    /// The number of the last call that a client had made when the recovery began.
    pub(crate) fn calls_before(&self) -> u32 {
        self.calls_before
    }

    /// Looks at what clients did and saw in a step.
    fn heard(&mut self, clients: &[ClientEvent], report: &mut Report) {
        for event in clients {
            if let ClientEvent::Asked { call, .. } = event {
                self.calls = call.number();
            }
        }
        match &mut self.clients {
            Clients::Keys(history) => history.after(clients, report),
            Clients::Cycle(ring) => ring.after(clients, report),
            Clients::Ignored => {}
        }
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
        if let Clients::Keys(history) = &mut self.clients {
            history.reset();
        }
        (self.calls, self.calls_before) = (0, 0);
        report.failure = self.oracles.reset(seen);
        self.look(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, Kv>, report: &mut Report) {
        report.failure = self.oracles.check(seen);
        if !seen.clients.is_empty() {
            self.heard(seen.clients, report);
        }
        if matches!(seen.choice, Choice::Recover { .. }) {
            self.calls_before = self.calls;
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
        let undecided = match &self.clients {
            Clients::Keys(history) => vec![history.undecided()],
            Clients::Cycle(_) | Clients::Ignored => Vec::new(),
        };
        Tally { undecided, ..Tally::default() }
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

//! The judge: oracles over views, and the lenses. There is no model.

use crate::oracles::Oracles;
use crate::projection::{Durable, Projection};
use crate::system::Kv;
use misrule_models::LensSet;
use misrule_models::presets::{Pairs, Waiting};
use misrule_world::{Contract, Judge, NodeId, Recovers, Report, Seen, SetupError};

/// The lenses that the judge computes.
pub(crate) const LENSES: [&str; 3] = ["pairs@impl", "waiting@impl", "durable@impl"];

/// Judges the service.
pub struct KvJudge {
    nodes: NodeId,
    oracles: Oracles,
    projection: Projection,
    /// Lenses over the nodes themselves, and over what waits for them.
    states: LensSet<Projection>,
    inboxes: LensSet<Projection>,
}

impl KvJudge {
    /// A judge for `nodes` nodes under a contract, computing `lenses`; keys carry the position in it.
    ///
    /// # Errors
    /// A lens that does not exist.
    pub fn new(nodes: NodeId, contract: &Contract, lenses: &[String]) -> Result<Self, SetupError> {
        let (mut states, mut inboxes) = (LensSet::default(), LensSet::default());
        for (position, lens) in lenses.iter().enumerate() {
            let position = position as u8;
            match lens.as_str() {
                "pairs@impl" => states.push(position, Box::new(Pairs)),
                "waiting@impl" => inboxes.push(position, Box::new(Waiting)),
                "durable@impl" => states.push(position, Box::new(Durable)),
                _ => return Err(SetupError(format!("kv has no lens `{lens}`"))),
            }
        }
        let projection = Projection::new(!inboxes.is_empty());
        Ok(Self { nodes, oracles: Oracles::new(nodes, contract), projection, states, inboxes })
    }

    pub(crate) fn nodes(&self) -> NodeId {
        self.nodes
    }

    fn look(&mut self, seen: &Seen<'_, Kv>, report: &mut Report) {
        if seen.watch.keys {
            let (states, inboxes) = self.projection.update(seen);
            self.states.keys(&self.projection, states, &mut report.keys);
            self.inboxes.keys(&self.projection, inboxes, &mut report.keys);
        }
    }
}

impl Judge<Kv> for KvJudge {
    fn reset(&mut self, seen: &Seen<'_, Kv>, report: &mut Report) {
        report.failure = self.oracles.reset(seen);
        self.look(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, Kv>, report: &mut Report) {
        report.failure = self.oracles.check(seen);
        self.look(seen, report);
    }

    fn recovers(&self) -> Option<&dyn Recovers<Kv>> {
        Some(self)
    }

    fn reads_input(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{KvJudge, LENSES};
    use misrule_world::Contract;

    #[test]
    fn every_listed_lens_exists_and_no_other() {
        let judge = |lens: &str| KvJudge::new(3, &Contract::default(), &[lens.to_owned()]);
        assert!(LENSES.iter().all(|lens| judge(lens).is_ok()));
        assert_eq!(judge("pairs@model").err().unwrap().0, "kv has no lens `pairs@model`");
    }
}

//! The judge: oracles and lenses over the projection.

use crate::oracles::Oracles;
use crate::projection::{Parts, Projection};
use crate::system::SmallRaft;
use misrule_models::ProjectionLenses;
use misrule_models::presets::{Delivery, Detail, Pairs, Waiting};
use misrule_world::{Judge, Report, Seen, SetupError};
use std::any::Any;

/// The lenses that the judge can compute.
pub(crate) const LENSES: [&str; 6] =
    ["pairs@impl", "waiting@impl", "delivery@impl", "message@impl", "persistence@impl", "detailed@impl"];

/// Judges the steps of a cluster.
#[derive(Default)]
pub struct SmallRaftJudge {
    oracles: Oracles,
    projection: Projection,
    lenses: ProjectionLenses<Projection>,
    reads_input: bool,
}

impl SmallRaftJudge {
    /// A judge that computes `lenses`; keys carry the position in it.
    ///
    /// # Errors
    /// A lens that does not exist.
    pub fn new(lenses: &[String]) -> Result<Self, SetupError> {
        let mut judge = Self::default();
        let mut parts = Parts::default();
        for (position, name) in lenses.iter().enumerate() {
            let position = position as u8;
            match name.as_str() {
                "pairs@impl" => judge.lenses.states.push(position, Box::new(Pairs)),
                "waiting@impl" => judge.lenses.inboxes.push(position, Box::new(Waiting)),
                "delivery@impl" => judge.lenses.steps.push(position, Box::new(Delivery)),
                "message@impl" => judge.lenses.steps.push(position, Box::new(Detail::Message)),
                "persistence@impl" => judge.lenses.steps.push(position, Box::new(Detail::Persistence)),
                "detailed@impl" => judge.lenses.steps.push(position, Box::new(Detail::Detailed)),
                _ if judge.lenses.states.push_facets(position, name, "impl") => {}
                _ => return Err(SetupError(format!("small-raft has no lens `{name}`"))),
            }
            match name.as_str() {
                "pairs@impl" => {}
                "waiting@impl" => parts.waiting = true,
                "delivery@impl" => parts.deliveries = true,
                _ => parts.contents = true,
            }
        }
        judge.reads_input = parts.deliveries;
        judge.projection = Projection::new(parts);
        Ok(judge)
    }
}

impl Judge<SmallRaft> for SmallRaftJudge {
    fn reset(&mut self, seen: &Seen<'_, SmallRaft>, report: &mut Report) {
        self.oracles.reset(seen.views.len());
        for (node, view) in (0..).zip(seen.views) {
            report.failure = report.failure.take().or_else(|| self.oracles.check(node, view));
        }
        if seen.watch.keys {
            self.projection.reset(seen);
            self.lenses.keys(&self.projection, (seen.touched, seen.touched), &mut report.keys);
        }
    }

    fn after(&mut self, seen: &Seen<'_, SmallRaft>, report: &mut Report) {
        if let Some(node) = seen.node {
            if seen.up & (1 << node) == 0 {
                self.oracles.stopped(node);
            } else if let Some(failure) = self.oracles.check(node, &seen.views[usize::from(node)]) {
                report.failure.get_or_insert(failure);
            }
        }
        if !seen.clients.is_empty()
            && let Some(failure) = self.oracles.clients(seen.clients)
        {
            report.failure.get_or_insert(failure);
        }
        if seen.watch.keys {
            let changed = self.projection.update(seen);
            self.lenses.keys(&self.projection, changed, &mut report.keys);
        }
    }

    fn save(&self) -> Option<Box<dyn Any>> {
        Some(Box::new((self.oracles.clone(), self.projection.clone())))
    }

    fn load(&mut self, saved: &dyn Any) {
        if let Some((oracles, projection)) = saved.downcast_ref::<(Oracles, Projection)>() {
            self.oracles.clone_from(oracles);
            self.projection.load(projection);
        }
    }

    fn reads_input(&self) -> bool {
        self.reads_input
    }
}

#[cfg(test)]
mod tests {
    use super::{LENSES, SmallRaftJudge};

    #[test]
    fn every_listed_lens_exists_and_no_other() {
        assert!(SmallRaftJudge::new(&LENSES.map(str::to_owned)).is_ok());
        let error = SmallRaftJudge::new(&["pairs@disk".to_owned()]).err().unwrap();
        assert_eq!(error.0, "small-raft has no lens `pairs@disk`");
    }
}

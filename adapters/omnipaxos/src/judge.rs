//! The judge: oracles, lenses over the projection, and the model that follows.

use crate::compat;
use crate::decided::DecidedLogs;
use crate::mapping::{self, Steps};
use crate::projection::{Parts, Projection};
use crate::system::Omnipaxos;
use misrule_models::presets::{Delivery, Detail, Pairs, Waiting};
use misrule_models::{LensSet, ProjectionLenses};
use misrule_world::{Follower, Judge, Menu, Recovers, Report, Search, Seen, Setup, SetupError, Tally};
use std::fmt::Display;

/// The lenses that the judge can compute.
pub(crate) const LENSES: &[&str] = if compat::MODELLED {
    &[
        "pairs@impl",
        "waiting@impl",
        "delivery@impl",
        "message@impl",
        "detailed@impl",
        "pairs@model",
        "delivery@model",
        "message@model",
        "detailed@model",
    ]
} else {
    &["pairs@impl", "waiting@impl", "delivery@impl", "message@impl", "detailed@impl"]
};

/// Judges the steps of omnipaxos.
pub struct OmnipaxosJudge {
    decided: DecidedLogs,
    /// `None` where the release is not modelled.
    follower: Option<Follower<Omnipaxos, Steps>>,
    projection: Projection,
    lenses: ProjectionLenses<Projection>,
    reads_input: bool,
    pub(crate) nodes: u8,
}

impl OmnipaxosJudge {
    /// A judge with the lenses that the setup asks for.
    pub(crate) fn new(setup: &Setup) -> Result<Self, SetupError> {
        let mut lenses = ProjectionLenses::default();
        let mut at_model = LensSet::default();
        let mut parts = Parts::default();
        for (position, name) in setup.lenses.iter().enumerate() {
            let position = position as u8;
            match name.as_str() {
                "pairs@impl" => lenses.states.push(position, Box::new(Pairs)),
                "waiting@impl" => lenses.inboxes.push(position, Box::new(Waiting)),
                "delivery@impl" => lenses.steps.push(position, Box::new(Delivery)),
                "message@impl" => lenses.steps.push(position, Box::new(Detail::Message)),
                "detailed@impl" => lenses.steps.push(position, Box::new(Detail::Detailed)),
                "pairs@model" => at_model.push(position, Box::new(Pairs)),
                "delivery@model" => at_model.push(position, Box::new(Delivery)),
                "message@model" => at_model.push(position, Box::new(Detail::Message)),
                "detailed@model" => at_model.push(position, Box::new(Detail::Detailed)),
                _ if lenses.states.push_facets(position, name, "impl") => {}
                _ if at_model.push_facets(position, name, "model") => {}
                _ => return Err(SetupError(format!("omnipaxos has no lens `{name}`"))),
            }
            parts.waiting |= name == "waiting@impl";
            parts.deliveries |= name == "delivery@impl";
            parts.contents |= name == "message@impl" || name == "detailed@impl";
        }
        let model = mapping::model(setup);
        if model.is_none() && !at_model.is_empty() {
            return Err(SetupError("this release of omnipaxos has no model, and no lens at it".to_owned()));
        }
        Ok(Self {
            decided: DecidedLogs::default(),
            follower: model.map(|model| Follower::new(model, Steps::new(setup), at_model)),
            reads_input: parts.deliveries,
            nodes: setup.settings.integer("nodes") as u8,
            projection: Projection::new(parts),
            lenses,
        })
    }

    /// Another model to follow, such as a wrong one.
    #[cfg(test)]
    pub(crate) fn set_follower(&mut self, follower: Follower<Omnipaxos, Steps>) {
        self.follower = Some(follower);
    }
}

impl Judge<Omnipaxos> for OmnipaxosJudge {
    fn reset(&mut self, seen: &Seen<'_, Omnipaxos>, report: &mut Report) {
        self.decided.reset(seen.views.len());
        if seen.watch.keys {
            self.projection.reset(seen);
            self.lenses.keys(&self.projection, (seen.touched, seen.touched), &mut report.keys);
        }
        if let Some(follower) = &mut self.follower {
            follower.reset(seen, report);
        }
    }

    fn after(&mut self, seen: &Seen<'_, Omnipaxos>, report: &mut Report) {
        // What a node had in memory when it stopped in the middle of a call is not on its disk and told nobody.
        if let Some(node) = seen.node.filter(|_| !seen.died) {
            // Written only where there is something: a failure is large.
            if let Some(failure) = self.decided.check(node, &seen.views[usize::from(node)].image()) {
                report.failure = Some(failure);
            }
        }
        if seen.watch.keys {
            let changed = self.projection.update(seen);
            self.lenses.keys(&self.projection, changed, &mut report.keys);
        }
        if let Some(follower) = &mut self.follower {
            follower.after(seen, report);
        }
    }

    fn recovers(&self) -> Option<&dyn Recovers<Omnipaxos>> {
        Some(self)
    }

    fn reads_input(&self) -> bool {
        self.reads_input
    }

    fn plan(&self, seen: &Seen<'_, Omnipaxos>, menu: &Menu, search: &mut Search<'_>) {
        if let Some(follower) = &self.follower {
            follower.plan(seen, menu, search);
        }
    }

    fn tally(&self) -> Tally {
        self.follower.as_ref().map_or_else(Tally::default, Follower::tally)
    }

    fn model_fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        if let Some(follower) = &self.follower {
            follower.fields(visit);
        }
    }
}

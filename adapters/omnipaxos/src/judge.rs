//! The judge: oracles, lenses over the projection, and the model that follows.

use crate::compat;
use crate::decided::DecidedLogs;
use crate::mapping::{self, Steps};
use crate::projection::{Parts, Projection};
use crate::system::Omnipaxos;
use misrule_models::LensSet;
use misrule_models::presets::{Delivery, Detail, Pairs, Waiting};
use misrule_world::{Follower, Judge, Recovers, Report, Seen, Setup, SetupError, Tally};
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
    /// Lenses over the servers themselves: they need a look only where one changed.
    states: LensSet<Projection>,
    /// Lenses over waiting messages: they need a look only where their set is another.
    inboxes: LensSet<Projection>,
    /// Lenses over deliveries and whole states: they look at every step.
    steps: LensSet<Projection>,
    reads_input: bool,
    pub(crate) nodes: u8,
}

impl OmnipaxosJudge {
    /// A judge with the lenses that the setup asks for.
    pub(crate) fn new(setup: &Setup) -> Result<Self, SetupError> {
        let (mut states, mut inboxes, mut steps) =
            (LensSet::default(), LensSet::default(), LensSet::default());
        let mut at_model = LensSet::default();
        let mut parts = Parts::default();
        for (position, name) in setup.lenses.iter().enumerate() {
            let position = position as u8;
            match name.as_str() {
                "pairs@impl" => states.push(position, Box::new(Pairs)),
                "waiting@impl" => inboxes.push(position, Box::new(Waiting)),
                "delivery@impl" => steps.push(position, Box::new(Delivery)),
                "message@impl" => steps.push(position, Box::new(Detail::Message)),
                "detailed@impl" => steps.push(position, Box::new(Detail::Detailed)),
                "pairs@model" => at_model.push(position, Box::new(Pairs)),
                "delivery@model" => at_model.push(position, Box::new(Delivery)),
                "message@model" => at_model.push(position, Box::new(Detail::Message)),
                "detailed@model" => at_model.push(position, Box::new(Detail::Detailed)),
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
            states,
            inboxes,
            steps,
        })
    }

    /// Another model to follow, such as a wrong one.
    #[cfg(test)]
    pub(crate) fn set_follower(&mut self, follower: Follower<Omnipaxos, Steps>) {
        self.follower = Some(follower);
    }

    fn keys(&self, states: u64, inboxes: u64, report: &mut Report) {
        if states != 0 {
            self.states.keys(&self.projection, states, &mut report.keys);
        }
        if inboxes != 0 {
            self.inboxes.keys(&self.projection, inboxes, &mut report.keys);
        }
        if !self.steps.is_empty() {
            self.steps.keys(&self.projection, states | inboxes, &mut report.keys);
        }
    }
}

impl Judge<Omnipaxos> for OmnipaxosJudge {
    fn reset(&mut self, seen: &Seen<'_, Omnipaxos>, report: &mut Report) {
        self.decided.reset(seen.views.len());
        if seen.watch.keys {
            self.projection.reset(seen);
            self.keys(seen.touched, seen.touched, report);
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
            let (states, inboxes) = self.projection.update(seen);
            if states | inboxes != 0 || !self.steps.is_empty() {
                self.keys(states, inboxes, report);
            }
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

    fn tally(&self) -> Tally {
        self.follower.as_ref().map_or_else(Tally::default, Follower::tally)
    }

    fn model_fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        if let Some(follower) = &self.follower {
            follower.fields(visit);
        }
    }
}

//! The judge: oracles and lenses over the projection.

use crate::compat;
use crate::mapping::{self, Steps};
use crate::oracles::{Oracles, SOMETIMES};
use crate::projection::{Parts, Projection};
use crate::system::Raft;
use misrule_history::specifications::Cell;
use misrule_models::presets::{Delivery, Detail, Pairs, Waiting};
use misrule_models::{LensSet, ProjectionLenses};
use misrule_world::histories::{Linearizable, Listener};
use misrule_world::{
    Follower, Judge, Menu, NodeId, Recovers, Report, Search, Seen, Setup, SetupError, System, Tally,
};
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
        "persistence@model",
        "detailed@model",
    ]
} else {
    &["pairs@impl", "waiting@impl", "delivery@impl", "message@impl", "detailed@impl"]
};

/// Judges the steps of raft.
#[derive(Default)]
pub struct RaftJudge {
    oracles: Oracles,
    /// `None` where the model has no such settings.
    follower: Option<Follower<Raft, Steps>>,
    /// What clients saw; nobody judges it where the settings say so.
    pub(crate) clients: Listener<Cell>,
    /// With changes of membership nothing is promised.
    promises: bool,
    pub(crate) nodes: NodeId,
    /// The properties of [`SOMETIMES`] that the settings make possible.
    possible: Vec<usize>,
    /// In how many executions each of [`SOMETIMES`] was seen.
    sometimes: [u64; SOMETIMES.len()],
    projection: Projection,
    lenses: ProjectionLenses<Projection>,
    reads_input: bool,
}

impl RaftJudge {
    /// A judge with the lenses that the setup asks for.
    pub(crate) fn new(raft: &Raft, setup: &Setup) -> Result<Self, SetupError> {
        let mut judge = Self::default();
        if setup.settings.is_on("history") {
            judge.clients = Listener::new(Some(Linearizable::new(raft.vocabulary(), Cell::key_value())));
        }
        let settings = &setup.settings;
        judge.nodes = settings.integer("nodes") as NodeId;
        judge.promises = settings.word("membership") == "off";
        judge.possible = (0..SOMETIMES.len())
            .filter(|at| match SOMETIMES[*at] {
                "leader-transferred" => settings.is_on("transfer"),
                "snapshot-installed" => settings.is_on("snapshots"),
                "configuration-changed" => settings.word("membership") != "off",
                "configuration-joint" => settings.word("membership") == "joint",
                _ => true,
            })
            .collect();
        let mut parts = Parts::default();
        let mut at_model = LensSet::default();
        for (position, name) in setup.lenses.iter().enumerate() {
            let position = position as u8;
            match name.as_str() {
                "pairs@impl" => judge.lenses.states.push(position, Box::new(Pairs)),
                "waiting@impl" => judge.lenses.inboxes.push(position, Box::new(Waiting)),
                "delivery@impl" => judge.lenses.steps.push(position, Box::new(Delivery)),
                "message@impl" => judge.lenses.steps.push(position, Box::new(Detail::Message)),
                "detailed@impl" => judge.lenses.steps.push(position, Box::new(Detail::Detailed)),
                "pairs@model" => at_model.push(position, Box::new(Pairs)),
                "delivery@model" => at_model.push(position, Box::new(Delivery)),
                "message@model" => at_model.push(position, Box::new(Detail::Message)),
                "persistence@model" => at_model.push(position, Box::new(Detail::Persistence)),
                "detailed@model" => at_model.push(position, Box::new(Detail::Detailed)),
                _ if judge.lenses.states.push_facets(position, name, "impl") => {}
                _ if at_model.push_facets(position, name, "model") => {}
                _ => return Err(SetupError(format!("raft has no lens `{name}`"))),
            }
            parts.waiting |= name == "waiting@impl";
            parts.deliveries |= name == "delivery@impl";
            parts.contents |= name == "message@impl" || name == "detailed@impl";
        }
        judge.reads_input = parts.deliveries;
        judge.projection = Projection::new(parts);
        let model = mapping::model(setup);
        if model.is_none() && !at_model.is_empty() {
            return Err(SetupError(
                "the model of raft does not follow releases before 0.6: use lenses at the implementation, such as --lens pairs@impl,waiting@impl"
                    .to_owned(),
            ));
        }
        judge.follower = model.map(|model| Follower::new(model, Steps::new(setup), at_model));
        Ok(judge)
    }
}

impl Judge<Raft> for RaftJudge {
    fn reset(&mut self, seen: &Seen<'_, Raft>, report: &mut Report) {
        self.oracles.reset(seen.views.len());
        self.clients.reset();
        for (node, view) in seen.views.iter().enumerate() {
            report.failure = report.failure.take().or_else(|| self.oracles.check(node as u8, view));
        }
        // What is there from the start is not seen.
        self.oracles.seen = [false; SOMETIMES.len()];
        if seen.watch.keys {
            self.projection.reset(seen);
            self.lenses.keys(&self.projection, (seen.touched, seen.touched), &mut report.keys);
        }
        if let Some(follower) = &mut self.follower {
            follower.reset(seen, report);
        }
    }

    fn after(&mut self, seen: &Seen<'_, Raft>, report: &mut Report) {
        if let Some(node) = seen.node {
            if seen.up & (1 << node) == 0 {
                self.oracles.stopped(node);
            } else {
                let before = self.oracles.seen;
                // Written only where there is something: a failure is large.
                if let Some(failure) = self.oracles.check(node, &seen.views[usize::from(node)]) {
                    report.failure = Some(failure);
                }
                for (at, count) in self.sometimes.iter_mut().enumerate() {
                    *count += u64::from(self.oracles.seen[at] && !before[at]);
                }
            }
        }
        let is_of_operators = |operation| seen.system.is_of_operators(operation);
        self.clients.after(seen.choice, seen.clients, is_of_operators, report);
        if seen.watch.keys {
            let changed = self.projection.update(seen);
            self.lenses.keys(&self.projection, changed, &mut report.keys);
        }
        if let Some(follower) = &mut self.follower {
            follower.after(seen, report);
        }
    }

    fn recovers(&self) -> Option<&dyn Recovers<Raft>> {
        self.promises.then_some(self as &dyn Recovers<Raft>)
    }

    fn reads_input(&self) -> bool {
        self.reads_input
    }

    fn plan(&self, seen: &Seen<'_, Raft>, menu: &Menu, search: &mut Search<'_>) {
        if let Some(follower) = &self.follower {
            follower.plan(seen, menu, search);
        }
    }

    fn tally(&self) -> Tally {
        let model = self.follower.as_ref().map_or_else(Tally::default, Follower::tally);
        let sometimes = self.possible.iter().map(|at| (SOMETIMES[*at], self.sometimes[*at]));
        // The model's counts tell of the executions that it followed; where an oracle sees the same, that tells more.
        let further = model.sometimes.iter().filter(|(name, _)| !SOMETIMES.contains(name));
        let sometimes = sometimes.chain(further.copied()).collect();
        Tally { sometimes, undecided: self.clients.undecided(), ..model }
    }

    fn model_fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        if let Some(follower) = &self.follower {
            follower.fields(visit);
        }
    }
}

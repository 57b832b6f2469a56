//! The judge: oracles over views, what clients saw, the model, and the lenses.

use crate::mapping::{self, Steps};
use crate::oracles::{CHANGED, INSTALLED, JOINT, Oracles, SOMETIMES};
use crate::projection::Projection;
use crate::system::Openraft;
use misrule_history::specifications::Cell;
use misrule_models::presets::{Delivery, Detail, Pairs, Waiting};
use misrule_models::{LensSet, NodeId, ProjectionLenses};
use misrule_world::histories::{Linearizable, Listener};
use misrule_world::{Choice, Follower, Judge, Recovers, Report, Seen, Setup, SetupError, System, Tally};
use std::fmt::Display;

/// The lenses that the judge computes.
pub(crate) const LENSES: [&str; 7] = [
    "pairs@impl",
    "waiting@impl",
    "pairs@model",
    "delivery@model",
    "message@model",
    "persistence@model",
    "detailed@model",
];

/// Judges the steps of openraft.
pub struct OpenraftJudge {
    pub(crate) nodes: NodeId,
    /// Whether anything is promised once faults have stopped.
    promises: bool,
    oracles: Oracles,
    /// What of [`SOMETIMES`] the settings make possible, and what this execution has seen: bit sets.
    possible: u8,
    seen: u8,
    /// In how many executions each was seen.
    sometimes: [u64; SOMETIMES.len()],
    /// `None` where the model has no such settings.
    follower: Option<Follower<Openraft, Steps>>,
    /// What clients saw; nobody judges it where the settings say so.
    pub(crate) clients: Listener<Cell>,
    projection: Projection,
    lenses: ProjectionLenses<Projection>,
}

impl OpenraftJudge {
    /// A judge with the lenses that the setup asks for.
    pub(crate) fn new(system: &Openraft, setup: &Setup) -> Result<Self, SetupError> {
        let settings = &setup.settings;
        let changes = mapping::changes(settings);
        let possible = if changes { CHANGED | JOINT } else { 0 }
            | if settings.is_on("snapshots") { INSTALLED } else { 0 };
        let clients =
            settings.is_on("history").then(|| Linearizable::new(system.vocabulary(), Cell::key_value()));
        let mut lenses = ProjectionLenses::default();
        let mut at_model = LensSet::default();
        for (position, lens) in setup.lenses.iter().enumerate() {
            let position = position as u8;
            match lens.as_str() {
                "pairs@impl" => lenses.states.push(position, Box::new(Pairs)),
                "waiting@impl" => lenses.inboxes.push(position, Box::new(Waiting)),
                "pairs@model" => at_model.push(position, Box::new(Pairs)),
                "delivery@model" => at_model.push(position, Box::new(Delivery)),
                "message@model" => at_model.push(position, Box::new(Detail::Message)),
                "persistence@model" => at_model.push(position, Box::new(Detail::Persistence)),
                "detailed@model" => at_model.push(position, Box::new(Detail::Detailed)),
                _ if lenses.states.push_facets(position, lens, "impl") => {}
                _ if at_model.push_facets(position, lens, "model") => {}
                _ => return Err(SetupError(format!("openraft has no lens `{lens}`"))),
            }
        }
        let model = mapping::model(setup);
        if model.is_none() && !at_model.is_empty() {
            return Err(SetupError(
                "with tasks=step, stale-appends=sent or more than 7 nodes nothing follows openraft: use lenses at the implementation, such as \
                 --lens pairs@impl,waiting@impl"
                    .to_owned(),
            ));
        }
        Ok(Self {
            nodes: settings.integer("nodes") as NodeId,
            possible,
            seen: 0,
            sometimes: [0; SOMETIMES.len()],
            promises: settings.word("elections") == "ticks" && settings.word("tasks") != "step" && !changes,
            oracles: Oracles::default(),
            follower: model.map(|model| Follower::new(model, Steps::new(setup), at_model)),
            clients: Listener::new(clients),
            projection: Projection::new(!lenses.inboxes.is_empty()),
            lenses,
        })
    }
}

impl Judge<Openraft> for OpenraftJudge {
    fn reset(&mut self, seen: &Seen<'_, Openraft>, report: &mut Report) {
        self.oracles.reset(seen.views.len());
        self.seen = 0;
        self.clients.reset();
        if seen.watch.keys {
            self.projection.reset(seen);
            self.lenses.keys(&self.projection, (seen.touched, seen.touched), &mut report.keys);
        }
        if let Some(follower) = &mut self.follower {
            follower.reset(seen, report);
        }
    }

    fn after(&mut self, seen: &Seen<'_, Openraft>, report: &mut Report) {
        if let Some(node) = seen.node {
            if matches!(seen.choice, Choice::Restart { .. }) {
                self.oracles.forget(node);
            }
            // What a node had in memory when it stopped in the middle of a call told nobody.
            let runs = seen.up & (1 << node) != 0 && !seen.died;
            if runs {
                self.count(seen.views[usize::from(node)].image().seen);
            }
            if let Some(failure) = if runs { self.oracles.check(node, seen.views) } else { None } {
                report.failure.get_or_insert(failure);
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

    fn recovers(&self) -> Option<&dyn Recovers<Openraft>> {
        if self.promises { Some(self) } else { None }
    }

    fn reads_input(&self) -> bool {
        false
    }

    fn tally(&self) -> Tally {
        let model = self.follower.as_ref().map_or_else(Tally::default, Follower::tally);
        let possible = (0..).zip(SOMETIMES).filter(|(at, _)| self.possible & 1 << at != 0);
        let ours = possible.map(|(at, name)| (name, self.sometimes[at]));
        let sometimes = ours.chain(model.sometimes.iter().copied()).collect();
        Tally { undecided: self.clients.undecided(), sometimes, ..model }
    }

    fn model_fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        if let Some(follower) = &self.follower {
            follower.fields(visit);
        }
    }
}

impl OpenraftJudge {
    /// Counts what a node has seen and the execution had not.
    fn count(&mut self, seen: u8) {
        let new = seen & !self.seen;
        self.seen |= new;
        for (at, count) in self.sometimes.iter_mut().enumerate() {
            *count += u64::from(new & 1 << at != 0);
        }
    }
}

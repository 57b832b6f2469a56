//! The judge: oracles over views, and the lenses. There is no model yet.

use crate::oracles::Oracles;
use crate::projection::Projection;
use crate::system::Openraft;
use misrule_models::presets::{Pairs, Waiting};
use misrule_models::{NodeId, ProjectionLenses};
use misrule_world::{Choice, Judge, Recovers, Report, Seen, Setup, SetupError};

/// The lenses that the judge computes.
pub(crate) const LENSES: [&str; 2] = ["pairs@impl", "waiting@impl"];

/// Judges the steps of openraft.
pub struct OpenraftJudge {
    pub(crate) nodes: NodeId,
    /// Whether anything is promised once faults have stopped.
    promises: bool,
    oracles: Oracles,
    projection: Projection,
    lenses: ProjectionLenses<Projection>,
}

impl OpenraftJudge {
    /// A judge with the lenses that the setup asks for.
    pub(crate) fn new(setup: &Setup) -> Result<Self, SetupError> {
        let mut lenses = ProjectionLenses::default();
        for (position, lens) in setup.lenses.iter().enumerate() {
            let position = position as u8;
            match lens.as_str() {
                "pairs@impl" => lenses.states.push(position, Box::new(Pairs)),
                "waiting@impl" => lenses.inboxes.push(position, Box::new(Waiting)),
                _ => return Err(SetupError(format!("openraft has no lens `{lens}`"))),
            }
        }
        Ok(Self {
            nodes: setup.settings.integer("nodes") as NodeId,
            promises: setup.settings.word("elections") == "ticks" && setup.settings.word("tasks") != "step",
            oracles: Oracles::default(),
            projection: Projection::new(!lenses.inboxes.is_empty()),
            lenses,
        })
    }
}

impl Judge<Openraft> for OpenraftJudge {
    fn reset(&mut self, seen: &Seen<'_, Openraft>, report: &mut Report) {
        self.oracles.reset(seen.views.len());
        if seen.watch.keys {
            self.projection.reset(seen);
            self.lenses.keys(&self.projection, (seen.touched, seen.touched), &mut report.keys);
        }
    }

    fn after(&mut self, seen: &Seen<'_, Openraft>, report: &mut Report) {
        if let Some(node) = seen.node {
            if matches!(seen.choice, Choice::Restart { .. }) {
                self.oracles.forget(node);
            }
            // What a node had in memory when it stopped in the middle of a call told nobody.
            let runs = seen.up & (1 << node) != 0 && !seen.died;
            if let Some(failure) = if runs { self.oracles.check(node, seen.views) } else { None } {
                report.failure.get_or_insert(failure);
            }
        }
        if seen.watch.keys {
            let changed = self.projection.update(seen);
            self.lenses.keys(&self.projection, changed, &mut report.keys);
        }
    }

    fn recovers(&self) -> Option<&dyn Recovers<Openraft>> {
        if self.promises { Some(self) } else { None }
    }

    fn reads_input(&self) -> bool {
        false
    }
}

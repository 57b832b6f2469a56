//! The judge: oracles, then lenses over the projection.

use crate::decided::DecidedLogs;
use crate::projection::{Parts, Projection};
use crate::system::Omnipaxos;
use misrule_models::LensSet;
use misrule_models::presets::{Delivery, Detail, Pairs, Waiting};
use misrule_world::{Judge, Report, Seen, Setup, SetupError};

/// The lenses that the judge can compute.
pub(crate) const LENSES: [&str; 5] =
    ["pairs@impl", "waiting@impl", "delivery@impl", "message@impl", "detailed@impl"];

/// Judges the steps of omnipaxos.
pub struct OmnipaxosJudge {
    decided: DecidedLogs,
    projection: Projection,
    /// Lenses over the servers themselves: they need a look only where one changed.
    states: LensSet<Projection>,
    /// Lenses that also read messages.
    messages: LensSet<Projection>,
    reads_input: bool,
}

impl OmnipaxosJudge {
    /// A judge with the lenses that the setup asks for.
    pub(crate) fn new(setup: &Setup) -> Result<Self, SetupError> {
        let (mut states, mut messages) = (LensSet::default(), LensSet::default());
        let mut parts = Parts::default();
        for (position, name) in setup.lenses.iter().enumerate() {
            let position = position as u8;
            match name.as_str() {
                "pairs@impl" => states.push(position, Box::new(Pairs)),
                "waiting@impl" => messages.push(position, Box::new(Waiting)),
                "delivery@impl" => messages.push(position, Box::new(Delivery)),
                "message@impl" => messages.push(position, Box::new(Detail::Message)),
                "detailed@impl" => messages.push(position, Box::new(Detail::Detailed)),
                _ => return Err(SetupError(format!("omnipaxos has no lens `{name}`"))),
            }
            parts.waiting |= name == "waiting@impl";
            parts.deliveries |= name == "delivery@impl";
            parts.contents |= name == "message@impl" || name == "detailed@impl";
        }
        let decided = DecidedLogs::default();
        let reads_input = parts.deliveries;
        Ok(Self { decided, projection: Projection::new(parts), states, messages, reads_input })
    }
}

impl Judge<Omnipaxos> for OmnipaxosJudge {
    fn reset(&mut self, seen: &Seen<'_, Omnipaxos>, report: &mut Report) {
        self.decided.reset(seen.views.len());
        if seen.watch.keys {
            self.projection.reset(seen);
            self.states.keys(&self.projection, seen.touched, &mut report.keys);
            self.messages.keys(&self.projection, seen.touched, &mut report.keys);
        }
    }

    fn after(&mut self, seen: &Seen<'_, Omnipaxos>, report: &mut Report) {
        if let Some(node) = seen.node {
            report.failure = self.decided.check(node, &seen.views[usize::from(node)].image());
        }
        if seen.watch.keys {
            let changed = self.projection.update(seen);
            if changed != 0 {
                self.states.keys(&self.projection, changed, &mut report.keys);
            }
            if seen.touched != 0 && !self.messages.is_empty() {
                self.messages.keys(&self.projection, seen.touched, &mut report.keys);
            }
        }
    }

    fn reads_input(&self) -> bool {
        self.reads_input
    }
}

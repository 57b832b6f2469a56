//! The judge: oracles over views, the model that follows, and the lenses.

use crate::mapping::Steps;
use crate::model::{EachInstance, State, Transactions};
use crate::oracles::Oracles;
use crate::projection::{Each, Projection};
use crate::system::TwoPhaseCommit;
use misrule_models::LensSet;
use misrule_models::presets::{Delivery, Detail, Pairs, Waiting};
use misrule_world::{Follower, Judge, NodeId, Report, Seen, SetupError, Tally};
use std::fmt::Display;

/// The lenses that the judge computes.
pub(crate) const LENSES: [&str; 9] = [
    "pairs@model",
    "pairs@impl",
    "waiting@model",
    "waiting@impl",
    "delivery@impl",
    "message@model",
    "message@impl",
    "detailed@model",
    "detailed@impl",
];

/// Judges two-phase commit.
pub struct TwoPhaseJudge {
    oracles: Oracles,
    follower: Follower<TwoPhaseCommit, Steps>,
    projection: Projection,
    lenses: LensSet<Projection>,
}

impl TwoPhaseJudge {
    /// A judge for `managers` and `transactions` at once, computing `lenses`; keys carry the position in it.
    ///
    /// # Errors
    /// Sizes that the model does not have, or a lens that does not exist.
    pub fn new(managers: NodeId, transactions: u8, lenses: &[String]) -> Result<Self, SetupError> {
        let model = Transactions::new(managers, transactions)
            .ok_or_else(|| SetupError(format!("the model has no size {managers} with {transactions}")))?;
        let (mut at_model, mut at_impl) = (LensSet::<State>::default(), LensSet::default());
        for (position, lens) in lenses.iter().enumerate() {
            let position = position as u8;
            match lens.as_str() {
                "pairs@model" => at_model.push(position, Box::new(EachInstance(Pairs))),
                "waiting@model" => at_model.push(position, Box::new(EachInstance(Waiting))),
                "message@model" => at_model.push(position, Box::new(Detail::Message)),
                "detailed@model" => at_model.push(position, Box::new(Detail::Detailed)),
                "pairs@impl" => at_impl.push(position, Box::new(Each(Pairs))),
                "waiting@impl" => at_impl.push(position, Box::new(Each(Waiting))),
                "delivery@impl" => at_impl.push(position, Box::new(Each(Delivery))),
                "message@impl" => at_impl.push(position, Box::new(Detail::Message)),
                "detailed@impl" => at_impl.push(position, Box::new(Detail::Detailed)),
                _ => return Err(SetupError(format!("two-phase-commit has no lens `{lens}`"))),
            }
        }
        Ok(Self {
            oracles: Oracles::new(managers),
            follower: Follower::new(model, Steps::default(), at_model),
            projection: Projection::new(transactions),
            lenses: at_impl,
        })
    }

    /// Keys of the lenses at `@impl`.
    fn look(&mut self, seen: &Seen<'_, TwoPhaseCommit>, report: &mut Report) {
        if !seen.watch.keys || seen.touched == 0 || self.lenses.is_empty() {
            return;
        }
        self.projection.refresh(seen);
        self.lenses.keys(&self.projection, seen.touched, &mut report.keys);
    }
}

impl Judge<TwoPhaseCommit> for TwoPhaseJudge {
    fn reset(&mut self, seen: &Seen<'_, TwoPhaseCommit>, report: &mut Report) {
        self.oracles.reset();
        self.look(seen, report);
        self.follower.reset(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, TwoPhaseCommit>, report: &mut Report) {
        report.failure = self.oracles.check(seen);
        if report.failure.is_none() {
            self.look(seen, report);
            self.follower.after(seen, report);
        }
    }

    fn tally(&self) -> Tally {
        self.follower.tally()
    }

    fn model_fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        self.follower.fields(visit);
    }
}

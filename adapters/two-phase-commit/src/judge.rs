//! The judge: oracles over views, the model that follows, and the lenses.

use crate::mapping::Steps;
use crate::model::{EachInstance, State, Transactions};
use crate::oracles::Oracles;
use crate::projection::{Each, NODES_MAX, Projection};
use crate::recovery::Begun;
use crate::system::TwoPhaseCommit;
use misrule_models::LensSet;
use misrule_models::presets::{Delivery, Detail, Facets, Pairs, Waiting};
use misrule_world::{
    Choice, Followed, Follower, Judge, Menu, NodeId, Recovers, Report, Search, Seen, SetupError, Tally,
};
use std::any::Any;
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
    pub(crate) begun: Begun,
}

/// What the judge remembers of an execution.
struct Saved {
    oracles: Oracles,
    followed: Followed<Steps, State>,
    projection: Projection,
}

impl TwoPhaseJudge {
    /// A judge for `managers` and `transactions` at once, computing `lenses`; keys carry the position in it.
    ///
    /// # Errors
    /// Sizes that the model does not have, or a lens that does not exist.
    pub fn new(managers: NodeId, transactions: u8, lenses: &[String]) -> Result<Self, SetupError> {
        let size = usize::from(managers) < NODES_MAX;
        let model = Transactions::new(managers, transactions).filter(|_| size).ok_or_else(|| {
            SetupError(format!("no judge for {managers} managers and {transactions} at once"))
        })?;
        let (mut at_model, mut at_impl) = (LensSet::<State>::default(), LensSet::default());
        for (position, lens) in lenses.iter().enumerate() {
            let position = position as u8;
            match lens.as_str() {
                "pairs@model" => at_model.push(position, Box::new(EachInstance(Pairs))),
                "waiting@model" => at_model.push(position, Box::new(EachInstance(Waiting))),
                "message@model" => at_model.push(position, Box::new(Detail::Message)),
                "detailed@model" => at_model.push(position, Box::new(Detail::Detailed)),
                "pairs@impl" => at_impl.push(position, Box::new(Each::node(Pairs))),
                "waiting@impl" => at_impl.push(position, Box::new(Each::inbox(Waiting))),
                "delivery@impl" => at_impl.push(position, Box::new(Each::node(Delivery))),
                "message@impl" => at_impl.push(position, Box::new(Detail::Message)),
                "detailed@impl" => at_impl.push(position, Box::new(Detail::Detailed)),
                other => match (Facets::at(other, "impl"), Facets::at(other, "model")) {
                    (Some(facets), _) => at_impl.push(position, Box::new(Each::node(facets))),
                    (_, Some(facets)) => at_model.push(position, Box::new(EachInstance(facets))),
                    _ => return Err(SetupError(format!("two-phase-commit has no lens `{lens}`"))),
                },
            }
        }
        let whole = ["waiting@impl", "message@impl", "detailed@impl"];
        let reads = lenses.iter().any(|lens| whole.contains(&lens.as_str()));
        Ok(Self {
            oracles: Oracles::new(managers),
            follower: Follower::new(model, Steps::default(), at_model),
            projection: Projection::new(transactions, reads),
            lenses: at_impl,
            begun: Begun::new(managers),
        })
    }

    /// Keys of the lenses at `@impl`.
    fn look(&mut self, seen: &Seen<'_, TwoPhaseCommit>, report: &mut Report) {
        if !seen.watch.keys || seen.touched == 0 || self.lenses.is_empty() {
            return;
        }
        self.projection.refresh(seen, &report.pushed);
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
        if let Choice::Recover { .. } = seen.choice {
            self.begun.take(seen.views);
        }
        self.look(seen, report);
        // Also where an oracle has failed: whether the model's own property broke decides the finding's class.
        self.follower.after(seen, report);
    }

    fn save(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(Saved {
            oracles: self.oracles.clone(),
            followed: self.follower.save(),
            projection: self.projection,
        }))
    }

    fn load(&mut self, saved: &dyn Any) {
        if let Some(saved) = saved.downcast_ref::<Saved>() {
            self.oracles.clone_from(&saved.oracles);
            self.follower.load(&saved.followed);
            self.projection = saved.projection;
        }
    }

    fn recovers(&self) -> Option<&dyn Recovers<TwoPhaseCommit>> {
        Some(self)
    }

    fn plan(&self, seen: &Seen<'_, TwoPhaseCommit>, menu: &Menu, search: &mut Search<'_>) {
        self.follower.plan(seen, menu, search);
    }

    fn tally(&self) -> Tally {
        self.follower.tally()
    }

    fn model_fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        self.follower.fields(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::{LENSES, TwoPhaseJudge};

    #[test]
    fn every_listed_lens_exists_and_no_other() {
        let lenses = LENSES.map(str::to_owned);
        assert!(TwoPhaseJudge::new(3, 2, &lenses).is_ok());
        let error = TwoPhaseJudge::new(3, 2, &["pairs@disk".to_owned()]).err().unwrap();
        assert_eq!(error.0, "two-phase-commit has no lens `pairs@disk`");
    }

    #[test]
    fn sizes_out_of_range_are_errors() {
        for (managers, transactions) in [(0, 1), (7, 1), (3, 5)] {
            assert!(TwoPhaseJudge::new(managers, transactions, &[]).is_err());
        }
    }
}

//! Two tiny targets for checking the harness itself: `canary-fails` violates its oracle in every schedule that
//! delivers a few messages, `canary-passes` never does. A harness that cannot tell them apart is broken.
//!
//! Both are two nodes that pass a counter to and fro. The counter must not exceed a bound: the failing one
//! counts on without end, the passing one starts again at zero.
//!
//! ```
//! use misrule_world::{Choice, Report, Settings, Setup, Slot, Watch};
//!
//! let targets = misrule_canary::targets();
//! let setup = Setup {
//!     settings: Settings::default(),
//!     contract: targets[0].contract,
//!     lenses: Vec::new(),
//! };
//! let mut failed = Vec::new();
//! for target in &targets {
//!     let mut run = target.open(&setup).unwrap();
//!     let mut report = Report::default();
//!     run.reset(1, Watch::default(), &mut report);
//!     for step in 0..20 {
//!         let (from, to) = if step % 2 == 0 { (0, 1) } else { (1, 0) };
//!         run.step(Choice::Deliver(Slot { from, to, at: 1, kind: Slot::ANY_KIND }), &mut report);
//!         if report.failure.is_some() {
//!             failed.push(target.name);
//!             break;
//!         }
//!     }
//! }
//! assert_eq!(failed, ["canary-fails"]);
//! ```

use misrule_models::{Key, Lens, LensSet};
use misrule_world::{
    BootError, Context, Failure, Fields, Input, Judge, Report, Seen, System, Target, Vocabulary, target,
};
use std::fmt::Display;

/// The counter's bound.
pub const COUNT_MAX: u32 = 4;

const RESEND: u8 = 0;

/// What the counter does at its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtBound {
    GoesOn,
    StartsAgain,
}

/// Two nodes that pass a counter to and fro.
struct PingPong {
    vocabulary: Vocabulary,
    at_bound: AtBound,
}

/// A node: the highest count that it has had.
struct Node(u32);

/// The projection of a node.
#[derive(Clone, Copy, Debug, Default)]
struct View {
    count: u32,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("count", &self.count);
    }
}

/// The counter on its way.
#[derive(Clone, Copy, Debug)]
struct Count(u32);

impl PingPong {
    fn new(at_bound: AtBound) -> Self {
        let vocabulary =
            Vocabulary { nodes: 2, kinds: vec!["Count"], timers: vec!["resend"], ..Vocabulary::default() };
        Self { vocabulary, at_bound }
    }
}

impl System for PingPong {
    type Node = Node;
    type Message = Count;
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<Count>) -> Result<Node, BootError> {
        if cx.me() == 0 {
            cx.send(1, Count(1));
        }
        cx.set_timer(RESEND);
        Ok(Node(0))
    }

    fn handle(&self, node: &mut Node, input: Input<Count>, cx: &mut Context<Count>) {
        let peer = 1 - cx.me();
        match input {
            Input::Message { message: Count(count), .. } => {
                node.0 = count;
                let next =
                    if self.at_bound == AtBound::StartsAgain && count >= COUNT_MAX { 0 } else { count + 1 };
                cx.send(peer, Count(next));
            }
            // The counter may have been lost.
            Input::Timer(_) => {
                cx.send(peer, Count(node.0));
                cx.set_timer(RESEND);
            }
            Input::Local(_) | Input::Request { .. } => {}
        }
    }

    fn view(&self, node: &Node, out: &mut View) {
        out.count = node.0;
    }

    fn kind(&self, _: &Count) -> u8 {
        0
    }
}

/// The oracle: no count beyond the bound.
struct Bound {
    lenses: LensSet<[View]>,
}

/// The lens `counts@impl`: the two counts, cut at twice the bound.
struct Counts;

impl Lens<[View]> for Counts {
    fn keys(&self, view: &[View], _touched: u64, out: &mut Vec<Key>) {
        let code = view.iter().fold(0, |code, node| code << 8 | u64::from(node.count.min(2 * COUNT_MAX)));
        out.push(Key { lens: 0, facet: 0, code });
    }
}

impl Judge<PingPong> for Bound {
    fn reset(&mut self, seen: &Seen<'_, PingPong>, report: &mut Report) {
        self.after(seen, report);
    }

    fn after(&mut self, seen: &Seen<'_, PingPong>, report: &mut Report) {
        if seen.watch.keys && !self.lenses.is_empty() {
            self.lenses.keys(seen.views, seen.touched, &mut report.keys);
        }
        if let Some(view) = seen.views.iter().find(|view| view.count > COUNT_MAX) {
            let text = format!("a node counts {}, more than {COUNT_MAX}", view.count);
            report.failure.get_or_insert(Failure::new("count", "count-bounded", text));
        }
    }
}

fn canary(name: &'static str, at_bound: AtBound) -> Target {
    target(name, move |setup| {
        let mut lenses = LensSet::default();
        for (position, lens) in setup.lenses.iter().enumerate() {
            match lens.as_str() {
                "counts@impl" => lenses.push(position as u8, Box::new(Counts)),
                _ => return Err(misrule_world::SetupError(format!("{name} has no lens `{lens}`"))),
            }
        }
        Ok((PingPong::new(at_bound), Bound { lenses }))
    })
    .version(env!("CARGO_PKG_VERSION"))
    .contract("reorder+loss+dup")
    .lenses(&["counts@impl"])
}

/// The targets: `canary-fails` and `canary-passes`.
pub fn targets() -> Vec<Target> {
    vec![
        canary("canary-fails", AtBound::GoesOn)
            .description("two nodes pass a counter that exceeds its bound: always fails"),
        canary("canary-passes", AtBound::StartsAgain)
            .description("two nodes pass a counter that stays in its bound: never fails"),
    ]
}

#[cfg(test)]
mod tests {
    use super::targets;
    use misrule_world::{Choice, ChoiceKind, Contract, Keep, Report, Rng, Run, Settings, Setup, Slot, Watch};

    /// Steps of random schedules, each of 200 steps, until the oracle fails.
    fn steps_to_failure(run: &mut dyn Run, seed: u64, steps_max: u32) -> Option<u32> {
        let mut rng = Rng::new(seed);
        let mut report = Report::default();
        for step in 0..steps_max {
            if step % 200 == 0 {
                run.reset(rng.next(), Watch { keys: true, ..Watch::default() }, &mut report);
            }
            let node = rng.below(2) as u8;
            let slot = Slot { from: node, to: 1 - node, at: 1, kind: Slot::ANY_KIND };
            let choice = match rng.below(20) {
                0 => Choice::Timer { node, timer: 0 },
                1 => Choice::Drop(slot),
                2 => Choice::Duplicate(slot),
                3 => Choice::Crash { node, keep: Keep::NONE },
                4..8 => Choice::Restart { node },
                _ => Choice::Deliver(slot),
            };
            run.step(choice, &mut report);
            if let Some(failure) = &report.failure {
                assert_eq!(failure.property, "count-bounded");
                return Some(step);
            }
        }
        let faults = run.about().faults;
        assert!(
            faults[ChoiceKind::Crash as usize].applied > 0 && faults[ChoiceKind::Drop as usize].applied > 0
        );
        None
    }

    #[test]
    fn told_apart_from_every_seed() {
        for seed in 0..20 {
            for target in targets() {
                let setup = Setup {
                    settings: Settings::default(),
                    contract: Contract::default().overridden("reorder+loss+dup").unwrap(),
                    lenses: vec!["counts@impl".to_owned()],
                };
                let mut run = target.open(&setup).unwrap();
                let found = steps_to_failure(run.as_mut(), seed, 20_000);
                assert_eq!(found.is_some(), target.name == "canary-fails", "{}, seed {seed}", target.name);
            }
        }
    }

    #[test]
    fn unknown_lens_is_an_error() {
        let setup = Setup {
            settings: Settings::default(),
            contract: Contract::default(),
            lenses: vec!["pairs@model".to_owned()],
        };
        assert!(targets()[0].open(&setup).is_err());
    }
}

//! What the engine's tests share: targets opened by name, and campaigns without a clock.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a helper of tests that panics fails the test")]

use misrule_engine::{Campaign, Options, Outcome, campaign};
use misrule_world::{Setup, Target};

/// Two-phase commit.
pub fn two_phase_commit() -> Target {
    misrule_two_phase_commit::two_phase_commit()
}

/// A setup of `target` with settings as `name=value` and lenses by name.
pub fn setup(target: &Target, settings: &[(&str, &str)], lenses: &[&str]) -> Setup {
    target.setup(settings, "", lenses).unwrap()
}

/// Runs a campaign to its end.
pub fn run(target: &Target, setup: &Setup, options: &Options) -> Outcome {
    campaign(&Campaign { target, setup, options, corpus: &[] }, &mut ()).unwrap()
}

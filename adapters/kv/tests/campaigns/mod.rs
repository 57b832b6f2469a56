//! What tests that run campaigns share.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "a module of tests")]

use misrule_engine::{Budget, Campaign, Options, Outcome, campaign};
use misrule_kv::kv;
use misrule_world::{FaultProfile, Setup};

pub fn setup(given: &[(&str, &str)], disk: &str, lenses: &[&str]) -> Setup {
    kv().setup(given, disk, lenses).unwrap()
}

pub fn run(setup: &Setup, options: &Options) -> Outcome {
    campaign(&Campaign { target: &kv(), setup, options, corpus: &[] }, &mut ()).unwrap()
}

/// All faults, heavily, for so many steps.
pub fn options(guidance: &str, steps: u64) -> Options {
    Options {
        guidance: guidance.to_owned(),
        faults: FaultProfile::Heavy,
        stop_after_steps: Some(steps),
        minimise: Budget { stop_after_steps: 100_000, stop_after_executions: 2_000 },
        ..Options::default()
    }
}

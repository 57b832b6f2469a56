//! What mappings expect of choices is what these do.
#![allow(clippy::unwrap_used, reason = "a helper of tests that panics fails the test")]

use misrule_engine::{Drawer, open};
use misrule_world::{Effect, FaultProfile, Key, Report, Rng, SOMETIMES, Search, Target, Watch};
use std::collections::BTreeSet;

/// Plans made and plans that led to their key, in executions drawn at random.
fn kept(target: &Target, settings: &[(&str, &str)], contract: &str) -> (u32, u32) {
    let setup = target.setup(settings, contract, &["pairs@model"]).unwrap();
    let mut run = open(target, &setup).unwrap();
    let watch = Watch { keys: true, model: true, ..Watch::default() };
    let (mut rng, mut report, mut made, mut kept) = (Rng::new(7), Report::default(), 0, 0);
    for seed in 0..20 {
        run.reset(seed, watch, &mut report);
        let mut drawer = Drawer::new(FaultProfile::Light);
        drawer.reset(run.menu(), &mut rng);
        let mut known: BTreeSet<Key> = report.keys.iter().copied().collect();
        for step in 0..600 {
            let Some(choice) = drawer.pick(run.menu(), &mut rng) else { break };
            run.step(choice, &mut report);
            known.extend(&report.keys);
            if step % 10 != 0 {
                continue;
            }
            let mut wants = |key: Key| key.lens != SOMETIMES && !known.contains(&key);
            let mut search = Search::new(&mut wants, 64);
            run.plan(&mut search);
            let Some((goal, choices)) = search.found else { continue };
            made += 1;
            let mut met = false;
            for choice in choices {
                run.step(choice, &mut report);
                assert_eq!(report.failure, None);
                met |= report.effect == Effect::Applied && report.keys.contains(&goal);
                known.extend(&report.keys);
            }
            kept += u32::from(met);
        }
    }
    (made, kept)
}

/// A plan that is not kept is one that the implementation does not share with the model: it drops a message, say.
fn assert_mostly_kept(target: &Target, settings: &[(&str, &str)], contract: &str) {
    let (made, kept) = kept(target, settings, contract);
    assert!(made >= 50 && kept * 10 >= made * 8, "{}: {kept} of {made} plans kept", target.name);
}

#[test]
fn plans_of_two_phase_commit_are_kept() {
    assert_mostly_kept(&misrule_two_phase_commit::two_phase_commit(), &[], "");
}

#[test]
fn plans_of_omnipaxos_are_kept() {
    assert_mostly_kept(&misrule_omnipaxos::omnipaxos(), &[], "");
}

#[test]
fn plans_of_raft_are_kept() {
    let raft = misrule_raft::raft();
    assert_mostly_kept(&raft, &[], "");
    assert_mostly_kept(&raft, &[("flush", "later")], "");
}

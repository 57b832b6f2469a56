//! A model that is wrong is found wrong: otherwise silence would mean nothing.

use super::{Steps, model};
use crate::judge::OmnipaxosJudge;
use crate::omnipaxos;
use crate::system::Omnipaxos;
use misrule_models::LensSet;
use misrule_models::sequence_paxos::{Rules, SequencePaxos};
use misrule_world::{Choice, Failure, Follower, Keep, Report, Rng, Run, Setup, Slot, Watch, World};

fn setup(contract: &str) -> Setup {
    omnipaxos().setup(&[("trim", "off")], contract, &[]).unwrap()
}

/// What the first failure is when the target runs over ordered links with this model behind it.
fn first_failure(rules: Option<Rules>, conformance: bool) -> Option<Failure> {
    let setup = setup("fifo");
    let mut judge = OmnipaxosJudge::new(&setup).unwrap();
    let model = rules.map_or_else(|| model(&setup).unwrap(), |rules| SequencePaxos::open(3, rules));
    judge.set_follower(Follower::new(model, Steps::new(&setup), LensSet::default()));
    let mut world = World::new(Omnipaxos::new(&setup), judge, setup.contract);
    let (mut rng, mut report) = (Rng::new(1), Report::default());
    for seed in 0..40 {
        world.reset(seed, Watch { model: true, conformance, ..Watch::default() }, &mut report);
        for _ in 0..1000 {
            world.step(choice(&mut rng, world.menu().fresh), &mut report);
            if report.failure.is_some() {
                return report.failure;
            }
        }
    }
    None
}

/// Some choice, enabled or not.
fn choice(rng: &mut Rng, fresh: u32) -> Choice {
    let node = rng.below(3) as u8;
    let peer = (node + 1 + rng.below(2) as u8) % 3;
    match rng.below(1000) {
        0..3 => Choice::Crash { node, keep: Keep::NONE },
        3..40 => Choice::Restart { node },
        40..45 => Choice::Cut { from: node, to: peer },
        45..80 => Choice::Heal { from: node, to: peer },
        80..140 => {
            Choice::Request { node, operation: 0, argument: fresh, session: misrule_world::NO_SESSION }
        }
        140..150 => Choice::Request {
            node,
            operation: 1,
            argument: u32::from(peer),
            session: misrule_world::NO_SESSION,
        },
        150..250 => Choice::Timer { node, timer: 0 },
        _ => Choice::Deliver(Slot { from: peer, to: node, at: 1, kind: Slot::ANY_KIND }),
    }
}

#[test]
fn the_right_model_differs_in_nothing() {
    assert_eq!(first_failure(None, true), None);
}

#[test]
fn a_model_with_any_rule_wrong_is_found_out() {
    let right = Rules::crate_0_2();
    let wrong = [
        ("decided_in_accept", Rules { decided_in_accept: false, ..right }),
        ("sequence_numbers", Rules { sequence_numbers: false, ..right }),
        ("resend", Rules { resend: false, ..right }),
        ("not_accepted", Rules { not_accepted: false, ..right }),
        ("forwarding", Rules { forwarding: false, ..right }),
        ("same_round_sync", Rules { same_round_sync: false, ..right }),
        ("guarded_prepare_req", Rules { guarded_prepare_req: false, ..right }),
        ("batch", Rules { batch: 2, ..right }),
    ];
    for (rule, rules) in wrong {
        for conformance in [false, true] {
            let failure = first_failure(Some(rules), conformance);
            let oracle = failure.map(|failure| failure.oracle);
            assert!(matches!(oracle, Some("model" | "conformance")), "{rule}, {conformance}: {oracle:?}");
        }
    }
}

#[test]
fn a_release_without_a_model_has_no_lens_at_it() {
    assert!(OmnipaxosJudge::new(&setup("fifo")).is_ok());
    let with_lens = Setup { lenses: vec!["pairs@model".to_owned()], ..setup("fifo") };
    assert_eq!(OmnipaxosJudge::new(&with_lens).is_ok(), crate::compat::MODELLED);
}

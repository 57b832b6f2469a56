//! What the macros of links expand to. A menu comes from a world only: this one is of canaries.

use super::{Pending, clog, peer, slow_links};
use misrule_world::{Choice, FaultKind, FaultProfile, FaultWeights, Menu, Report, Rng, Run, Watch};
use std::collections::BTreeSet;

fn world() -> Box<dyn Run> {
    let target = misrule_two_phase_commit::two_phase_commit();
    let mut run = target.open(&target.setup(&[], "", &[]).unwrap()).unwrap();
    run.reset(1, Watch::default(), &mut Report::default());
    run
}

/// Only swizzles.
fn swizzles() -> FaultWeights {
    FaultProfile::None.weights(&mut Rng::new(0)).with(FaultKind::Swizzle, 100)
}

fn is_clogged(menu: &Menu) -> BTreeSet<usize> {
    (0..menu.clogged.len()).filter(|link| menu.clogged[*link]).collect()
}

#[test]
fn a_swizzle_clogs_one_by_one_and_restores_in_another_order() {
    let (mut run, mut report, mut pending) = (world(), Report::default(), Pending::default());
    let (mut other_orders, mut waits) = (0, BTreeSet::new());
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        run.reset(1, Watch::default(), &mut report);
        let (mut clogged, mut restored, mut wait) = (Vec::new(), Vec::new(), 0);
        let mut next = clog(&swizzles(), run.menu(), &mut rng, &mut pending);
        assert!(matches!(next, Some(Choice::Clog { .. })), "it begins at once");
        while !pending.stack.is_empty() || next.is_some() {
            if let Some(choice) = next {
                match choice {
                    Choice::Clog { from, to } => {
                        assert!(restored.is_empty(), "all are clogged first");
                        clogged.push((from, to));
                    }
                    Choice::Unclog { from, to } => restored.push((from, to)),
                    other => panic!("{other:?}"),
                }
                run.step(choice, &mut report);
                wait = 0;
            } else {
                wait += 1;
                waits.insert(wait);
            }
            next = pending.next(run.menu());
        }
        assert!(clogged.len() >= 2);
        assert!(is_clogged(run.menu()).is_empty(), "all are restored");
        other_orders += u32::from(clogged != restored);
        assert_eq!(clogged.iter().collect::<BTreeSet<_>>(), restored.iter().collect());
    }
    assert!(other_orders > 120, "{other_orders}");
    assert!(waits.contains(&1) && waits.contains(&60), "{waits:?}");
}

#[test]
fn another_macro_goes_in_front_and_the_swizzle_goes_on() {
    let (mut run, mut report, mut pending) = (world(), Report::default(), Pending::default());
    let mut rng = Rng::new(3);
    let first = clog(&swizzles(), run.menu(), &mut rng, &mut pending).unwrap();
    run.step(first, &mut report);
    let before = pending.stack.len();
    let cut = Choice::Cut { from: 0, to: 1 };
    pending.push(cut);
    assert_eq!(pending.next(run.menu()), Some(cut));
    assert_eq!(pending.stack.len(), before);
    pending.push(Choice::Heal { from: 0, to: 1 });
    while pending.stack.len() > before {
        assert_ne!(pending.next(run.menu()), Some(Choice::Heal { from: 0, to: 1 }), "nothing to heal");
    }
    assert_eq!(clog(&swizzles(), run.menu(), &mut rng, &mut pending).is_some(), pending.stack.len() < before);
}

#[test]
fn slow_links_are_as_many_as_the_profile_says() {
    let (run, mut slow, mut rng) = (world(), Vec::new(), Rng::new(1));
    let mut count = |part| {
        let faults = FaultWeights::default().with(FaultKind::Slow, part);
        (0..1_000).fold(0, |sum, _| {
            slow_links(&faults, run.menu(), &mut rng, &mut slow);
            sum + slow.iter().filter(|slow| **slow).count()
        })
    };
    let links = usize::from(run.menu().nodes).pow(2);
    assert_eq!((count(0), count(FaultWeights::MAX)), (0, 1_000 * links));
    let half = count(FaultWeights::MAX / 2);
    assert!((400 * links..600 * links).contains(&half), "{half}");
}

#[test]
fn a_peer_is_another_node() {
    let (run, mut rng) = (world(), Rng::new(1));
    assert!((0..100).all(|at| peer(run.menu(), at % run.menu().nodes, &mut rng) != at % run.menu().nodes));
}

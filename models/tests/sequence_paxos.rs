//! Explores Sequence Paxos within small bounds.

use misrule_models::sequence_paxos::{Bounds, Network, Rules, SequencePaxos};
use misrule_models::{Kind, Model, Step};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// What an exhaustive search found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    states: usize,
    transitions: usize,
    violated: Vec<&'static str>,
    never: Vec<&'static str>,
}

fn explore<M: Model>(model: &M) -> Found {
    let mut queue = Vec::new();
    model.initial(&mut queue);
    let mut queue = VecDeque::from(queue);
    let mut seen: FxHashSet<M::State> = queue.iter().cloned().collect();
    let mut found = Found::default();
    let mut met = vec![false; model.properties().len()];
    let mut actions = Vec::new();
    while let Some(state) = queue.pop_front() {
        for (property, met) in model.properties().iter().zip(&mut met) {
            *met |= (property.holds)(model, &state) == (property.kind == Kind::Sometimes);
        }
        actions.clear();
        model.enabled(&state, &mut actions);
        for action in &actions {
            let mut next = state.clone();
            assert!(matches!(model.step(&mut next, action), Step::Taken), "enabled and refused: {action:?}");
            found.transitions += 1;
            if !seen.contains(&next) {
                seen.insert(next.clone());
                queue.push_back(next);
            }
        }
    }
    found.states = seen.len();
    for (property, met) in model.properties().iter().zip(met) {
        match property.kind {
            Kind::Always if met => found.violated.push(property.name),
            Kind::Sometimes if !met => found.never.push(property.name),
            _ => {}
        }
    }
    found
}

fn bounds(ballot_max: u32, entries_max: u32, faults_max: u8) -> Bounds {
    Bounds { ballot_max, entries_max, faults_max }
}

#[test]
fn scan() {
    let Ok(spec) = std::env::var("SCAN") else { return };
    let v: Vec<u32> = spec.split(',').map(|x| x.parse().unwrap()).collect();
    let network = if v[4] == 0 { Network::Fifo } else { Network::Tracked };
    let rules = if v[5] == 0 { Rules::paper() } else { Rules::crate_0_2() };
    let start = std::time::SystemTime::UNIX_EPOCH;
    let _ = start;
    eprintln!(
        "{spec} {:?}",
        explore(&SequencePaxos::bounded(v[0] as u8, rules, network, bounds(v[1], v[2], v[3] as u8)))
    );
}

use super::*;
use crate::fixtures::{Clock, Count, Counter, Number, Tick};
use crate::{Refusal, Step};

const COUNTER: Counter = Counter { bound: 12, broken: false };

fn limits(stop_after_states: u32, stop_after_depth: u32) -> Limits {
    Limits { stop_after_states, stop_after_depth }
}

fn verdicts<A>(found: &Exploration<A>) -> Vec<Verdict> {
    found.properties.iter().map(|property| property.verdict).collect()
}

#[test]
fn a_clock_has_two_states() {
    let found = explore(&Clock, Limits::default(), None).unwrap();
    assert_eq!((found.initial, found.states, found.transitions, found.edges()), (2, 2, 4, 2));
    assert_eq!((found.depth, found.bound), (0, None));
    assert_eq!(verdicts(&found), [Verdict::Holds, Verdict::NotSeen]);
    assert!(found.properties.iter().all(|property| property.path.is_empty()));
}

#[test]
fn a_violation_has_the_shortest_path_and_stops_nothing() {
    let found = explore(&COUNTER, Limits::default(), None).unwrap();
    // 1 to 12 and their negatives; each can negate, 11 can add and 6 double on each side.
    assert_eq!((found.states, found.edges(), found.bound), (24, 2 * (12 + 11 + 6), None));
    assert_eq!(verdicts(&found), [Verdict::Violated, Verdict::Seen]);
    let violated = &found.properties[0];
    assert_eq!((violated.name, violated.kind), ("below-ten", Kind::Always));
    assert_eq!(violated.path, [Count::Add, Count::Add, Count::Double, Count::Double]);
    assert_eq!(found.properties[1].path, [Count::Add, Count::Add, Count::Double, Count::Add]);
}

#[test]
fn bounds_are_reported_only_when_they_leave_something_out() {
    let whole = explore(&COUNTER, Limits::default(), None).unwrap();
    let exact = explore(&COUNTER, limits(24, whole.depth), None).unwrap();
    assert_eq!(exact, whole);

    let few = explore(&COUNTER, limits(6, 100), None).unwrap();
    assert_eq!((few.states, few.bound), (6, Some(Bound::States)));
    assert_eq!(verdicts(&few), [Verdict::Undecided, Verdict::Undecided]);

    // Depth 2: 1; 2, -1; 3, 4, -2.
    let shallow = explore(&COUNTER, limits(100, 2), None).unwrap();
    assert_eq!((shallow.states, shallow.depth, shallow.bound), (6, 2, Some(Bound::Depth)));

    let none = explore(&COUNTER, limits(0, 100), None).unwrap();
    assert_eq!((none.states, none.bound), (0, Some(Bound::States)));
}

#[test]
fn symmetric_states_count_once_and_paths_stay_true() {
    let found = explore(&COUNTER, Limits::default(), Some(Counter::canonical)).unwrap();
    assert_eq!((found.states, found.bound), (12, None));
    for property in &found.properties {
        let mut state = Number(1);
        for action in &property.path {
            assert_eq!(COUNTER.step(&mut state, action), Step::Taken);
        }
        let wanted = if property.name == "seven" { state.0 == 7 } else { state.0 >= 10 };
        assert!(wanted, "{} leads to {state:?}", property.name);
    }
}

#[test]
fn errors_of_a_model_are_values() {
    let broken = Counter { bound: 12, broken: true };
    let error = ModelError::EnabledRefused { action: "Never".to_owned(), refusal: Refusal("never taken") };
    assert_eq!(explore(&broken, Limits::default(), None), Err(error.clone()));
    assert_eq!(state_graph(&broken, 100).err(), Some(error));
    // Not a symmetry: 8 can go to 9 and 3 cannot.
    let wrong: Canonical<Counter> = |_, state| {
        if state.0 == 3 {
            state.0 = 8;
        }
    };
    assert_eq!(explore(&COUNTER, Limits::default(), Some(wrong)), Err(ModelError::PathLost));
}

#[test]
fn the_graph_has_every_edge_or_there_is_none() {
    let graph = state_graph(&COUNTER, 24).unwrap();
    assert_eq!((graph.graph.node_count(), graph.graph.edge_count(), graph.initial), (24, 58, 1));
    let first = graph.graph.edges(NodeIndex::new(0)).count();
    assert_eq!(first, 3);
    assert_eq!(state_graph(&COUNTER, 23).err(), Some(ModelError::TooManyStates { limit: 23 }));
}

#[test]
fn drawn_as_dot() {
    let graph = state_graph(&Clock, 2).unwrap();
    assert_eq!(graph.graph[graph.graph.first_edge(NodeIndex::new(0), petgraph::Outgoing).unwrap()], Tick);
    assert_eq!(
        to_dot(&graph),
        "digraph states {\n  node [shape=box, fontname=monospace];\n  \
         0 [label=\"number = 0\\l\", style=bold];\n  1 [label=\"number = 1\\l\", style=bold];\n  \
         0 -> 1 [label=\"Tick\"];\n  1 -> 0 [label=\"Tick\"];\n}\n"
    );
}

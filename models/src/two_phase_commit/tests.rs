use super::*;
use crate::presets::{Detail, Pairs, Waiting};
use crate::{Event, Exploration, Fields, Lens, Limits, Outcome, Verdict, Walk, Walked, explore, stable_hash};
use std::fmt::Write;

const FAULTS: Switches = Switches { crash: true, timeout: true };

fn model(resource_managers: u8, switches: Switches) -> TwoPhaseCommit {
    TwoPhaseCommit::new(resource_managers, switches).unwrap()
}

fn explored(resource_managers: u8, switches: Switches) -> Exploration<Action> {
    explore(&model(resource_managers, switches), Limits::default(), None).unwrap()
}

fn assert_sound(found: &Exploration<Action>) {
    for property in &found.properties {
        let good = if property.kind == Kind::Always { Verdict::Holds } else { Verdict::Seen };
        assert_eq!(property.verdict, good, "{}", property.name);
    }
}

fn taken(model: TwoPhaseCommit, actions: &[Action]) -> State {
    let mut state = State::new(model.resource_managers);
    for action in actions {
        assert_eq!(model.step(&mut state, action), Step::Taken, "{action:?}");
    }
    state
}

/// What TLC reports for the published module, distinct states and states generated.
#[test]
fn published_counts() {
    for (size, states, transitions) in [(3, 288, 1_146), (5, 8_832, 58_146), (7, 296_448, 2_744_706)] {
        let found = explored(size, Switches::default());
        assert_eq!((found.states, found.transitions, found.bound), (states, transitions, None));
        assert_eq!(found.properties.len(), 4);
        assert_sound(&found);
    }
}

#[test]
fn a_timeout_adds_transitions_and_no_states() {
    let (plain, timeout) =
        (explored(4, Switches::default()), explored(4, Switches { crash: false, timeout: true }));
    assert_eq!(plain.states, timeout.states);
    assert!(plain.transitions < timeout.transitions);
}

/// Counted a second time, by other code, in `tests/two_phase_commit_naive.rs`.
#[test]
fn counts_with_faults() {
    for (size, states, transitions) in
        [(1, 55, 167), (2, 501, 2_388), (3, 5_191, 33_715), (4, 59_253, 485_682)]
    {
        let found = explored(size, FAULTS);
        assert_eq!((found.states, found.transitions, found.bound), (states, transitions, None));
        assert_eq!(found.properties.len(), 5);
        assert_sound(&found);
    }
}

/// The reduced search meets exactly one representative of each class of symmetric states.
#[test]
fn symmetry_counts_each_class_once() {
    for (size, switches) in [(3, Switches::default()), (5, Switches::default()), (3, FAULTS)] {
        let model = model(size, switches);
        let graph = crate::state_graph(&model, 200_000).unwrap().graph;
        let mut classes = std::collections::BTreeSet::new();
        for state in graph.node_weights() {
            let mut state = *state;
            model.canonical(&mut state);
            classes.insert(shown(&state));
        }
        let found = explore(&model, Limits::default(), Some(TwoPhaseCommit::canonical)).unwrap();
        assert_eq!(found.states, classes.len() as u64);
        assert_sound(&found);
        for property in &found.properties {
            // Still a path of the model.
            taken(model, &property.path);
        }
    }
}

fn shown(state: &State) -> String {
    let mut text = String::new();
    state.fields(&mut |name, value| {
        let _ = write!(text, "{name}={value} ");
    });
    text
}

#[test]
fn shown_field_by_field() {
    let model = model(2, FAULTS);
    let mut actions = vec![Action::RmPrepare(1), Action::TmRcvPrepared(1), Action::Crash(1)];
    assert_eq!(
        shown(&taken(model, &actions)),
        "n1.state=undecided n1.received={n2} n2.state=prepared n3.state=working sent.prepared={n2} \
         sent.outcome={} down={n2} in-doubt={} "
    );
    actions.extend([Action::Restart(1), Action::Crash(0), Action::Restart(0), Action::TmTimeout]);
    assert_eq!(
        shown(&taken(model, &actions)),
        "n1.state=aborted n1.received={} n2.state=prepared n3.state=working sent.prepared={n2} \
         sent.outcome={Abort} down={} in-doubt={n2} "
    );
}

#[test]
fn refusals_name_the_guard_and_leave_the_state() {
    let faults = model(2, FAULTS);
    let plain = model(2, Switches::default());
    let prepared = [Action::RmPrepare(1), Action::RmPrepare(2)];
    let all = [prepared.as_slice(), &[Action::TmRcvPrepared(1), Action::TmRcvPrepared(2)]].concat();
    let refused: [(TwoPhaseCommit, &[Action], Action, &str); 14] = [
        (plain, &[], Action::Crash(0), "crashes are switched off"),
        (plain, &[], Action::TmTimeout, "timeouts are switched off"),
        (plain, &[], Action::RmPrepare(0), "there is no such node"),
        (plain, &[], Action::RmRcvAbort(3), "there is no such node"),
        (plain, &[], Action::TmRcvPrepared(200), "there is no such node"),
        (plain, &[], Action::TmRcvPrepared(1), "no Prepared message was sent"),
        (plain, &prepared, Action::TmCommit, "a resource manager is not known to be prepared"),
        (plain, &prepared, Action::RmAbort(1), "the resource manager is no longer working"),
        (plain, &all, Action::RmRcvCommit(1), "no Commit message was sent"),
        (plain, &[Action::TmAbort], Action::TmAbort, "the coordinator has decided"),
        (faults, &all, Action::TmTimeout, "every resource manager is known to be prepared"),
        (faults, &[Action::Crash(0)], Action::TmAbort, "the node is down"),
        (faults, &[Action::Crash(1)], Action::RmPrepare(1), "the node is down"),
        (faults, &[], Action::Restart(1), "the node is up"),
    ];
    for (model, actions, action, why) in refused {
        let before = taken(model, actions);
        let mut state = before;
        assert_eq!(model.step(&mut state, &action), Step::Refused(Refusal(why)), "{action:?}");
        assert_eq!(state, before);
    }
}

#[test]
fn a_coordinator_forgets_votes_and_keeps_its_decision() {
    let model = model(1, FAULTS);
    let vote = [Action::RmPrepare(1), Action::TmRcvPrepared(1)];
    let crash = [Action::Crash(0), Action::Restart(0)];
    let state = taken(model, &[vote, crash].concat());
    assert!(!state.received(1) && state.sent_prepared(1));
    let state = taken(model, &[vote.as_slice(), &[Action::TmCommit], &crash].concat());
    assert_eq!(state.coordinator(), Coordinator::Committed);
    // The Prepared message of a crashed resource manager can still arrive.
    taken(model, &[Action::RmPrepare(1), Action::Crash(1), Action::TmRcvPrepared(1), Action::TmCommit]);
}

#[test]
fn doubt_ends_with_the_outcome() {
    let model = model(1, FAULTS);
    let mut state = taken(model, &[Action::RmPrepare(1), Action::Crash(1), Action::Restart(1)]);
    assert!(state.in_doubt(1));
    for action in [Action::TmAbort, Action::RmRcvAbort(1)] {
        assert_eq!(model.step(&mut state, &action), Step::Taken);
    }
    assert!(!state.in_doubt(1));
}

#[test]
fn walked_and_resynchronised() {
    let mut walk = Walk::new(model(2, FAULTS));
    assert_eq!(walk.follow(&Event::Action(Action::RmPrepare(1))), Walked::Followed);
    assert_eq!(walk.follow(&Event::Deviation("read-only vote")), Walked::Lost);
    walk.resync(|state| {
        state.clear();
        state.set_resource_manager(1, ResourceManager::Prepared);
        state.set_resource_manager(2, ResourceManager::Prepared);
        state.set_received(1);
        state.set_received(2);
    });
    assert_eq!(walk.follow(&Event::Action(Action::TmCommit)), Walked::Followed);
    let refused = Walked::Refused(Refusal("no Abort message was sent"));
    assert_eq!(walk.follow(&Event::Action(Action::RmRcvAbort(1))), refused);
    assert_eq!(walk.outcomes().count(Outcome::Accepted), 2);
}

#[test]
fn a_state_is_small_and_its_keys_are_fixed() {
    assert!(size_of::<State>() <= 24);
    let model = model(2, FAULTS);
    let state = taken(model, &[Action::RmPrepare(1), Action::Crash(2)]);
    let key = |lens: &dyn Lens<State>| {
        let mut keys = Vec::new();
        lens.keys(&state, u64::MAX, &mut keys);
        keys.iter().map(|key| key.code).collect::<Vec<_>>()
    };
    // The same on every machine: a change here makes archives of older builds useless.
    assert_eq!(key(&Detail::Message), [0xcefe_ff00_1841_9a04]);
    assert_eq!(key(&Detail::Detailed), [0xa5fc_74e4_ea4a_d0ac]);
    assert_eq!(key(&Pairs), [0x2_7564, 0x3554, 0x2544]);
    assert_eq!(key(&Waiting), [0xf128_6ec5_81bd_854f, 0x7276_8067_683d_ae5e, 0x8630_c2ba_6daa_b072]);
    assert_eq!(stable_hash(&state), 0x7774_b840_462b_a3c1);
}

#[test]
fn logs_compare_decisions() {
    use crate::{LogRelation, Replicas};
    let model = model(2, Switches::default());
    let mut state = taken(model, &[Action::RmAbort(1)]);
    assert_eq!(state.logs(0, 2), LogRelation::Equal);
    assert_eq!(state.logs(0, 1), LogRelation::Prefix);
    state.set_resource_manager(2, ResourceManager::Committed);
    assert_eq!(state.logs(2, 1), LogRelation::DecidedConflict);
}

use super::*;
use crate::fixtures::{Count, Counter, Number};

fn walk(bound: i16) -> Walk<Counter> {
    Walk::new(Counter { bound, broken: false })
}

fn numbers(walk: &Walk<Counter>) -> Vec<i16> {
    walk.candidates().iter().map(|state| state.0).collect()
}

fn follow(walk: &mut Walk<Counter>, actions: &[Count]) {
    for action in actions {
        assert_eq!(walk.follow(&Event::Action(*action)), Walked::Followed, "{action:?}");
    }
}

#[test]
fn branches_stay_until_later_events_decide() {
    let mut walk = walk(6);
    follow(&mut walk, &[Count::Jump]);
    assert_eq!(numbers(&walk), [2, 3, 4]);
    assert_eq!(walk.state(), None);
    // 4 cannot double within the bound.
    follow(&mut walk, &[Count::Double]);
    assert_eq!(numbers(&walk), [4, 6]);
    assert_eq!(walk.outcomes().count(Outcome::Ambiguous), 2);
    follow(&mut walk, &[Count::Add]);
    assert_eq!(walk.state(), Some(&Number(5)));
    assert_eq!(walk.outcomes().count(Outcome::Accepted), 1);
}

#[test]
fn equal_candidates_are_one() {
    let mut walk = walk(100);
    follow(&mut walk, &[Count::Jump, Count::Jump]);
    // 2 + 1..3, 3 + 1..3, 4 + 1..3.
    let mut numbers = numbers(&walk);
    numbers.sort_unstable();
    assert_eq!(numbers, [3, 4, 5, 6, 7]);
}

#[test]
fn too_many_candidates_are_out_of_bounds() {
    let mut walk = walk(1_000);
    // 3, 5, 7, ... candidates: 2k + 1 after k jumps.
    follow(&mut walk, &[Count::Jump; 7]);
    assert_eq!(walk.candidates().len(), 15);
    assert_eq!(walk.follow(&Event::Action(Count::Jump)), Walked::Lost);
    assert_eq!(walk.outcomes().count(Outcome::OutOfBounds), 1);
    assert!(walk.lost() && walk.candidates().is_empty());
}

#[test]
fn a_refusal_leaves_the_state_and_ends_the_walk() {
    let mut walk = walk(3);
    follow(&mut walk, &[Count::Double]);
    let refusal = Refusal("beyond the bound");
    assert_eq!(walk.follow(&Event::Action(Count::Double)), Walked::Refused(refusal));
    assert_eq!(walk.candidates.as_slice(), [Number(2)]);
    assert!(walk.lost());
    // Not counted any more.
    assert_eq!(walk.follow(&Event::Action(Count::Add)), Walked::Lost);
    assert_eq!(walk.outcomes().count(Outcome::Refused), 1);
    assert_eq!(walk.outcomes().count(Outcome::Accepted), 1);
}

#[test]
fn refused_by_every_candidate_is_refused() {
    let mut walk = walk(4);
    follow(&mut walk, &[Count::Jump]);
    assert_eq!(walk.follow(&Event::Action(Count::Never)), Walked::Refused(Refusal("never taken")));
}

#[test]
fn resynchronised_it_goes_on() {
    let mut walk = walk(100);
    follow(&mut walk, &[Count::Jump]);
    for event in [Event::Deviation("skips a step"), Event::Unmapped("what"), Event::OutOfBounds("beyond")] {
        assert_eq!(walk.follow(&event), Walked::Lost);
        assert!(walk.lost() && walk.state().is_none());
        walk.resync(|state| state.0 = 40);
        assert_eq!(walk.state(), Some(&Number(40)));
        follow(&mut walk, &[Count::Add]);
    }
    assert_eq!(walk.state(), Some(&Number(41)));
    let count = |outcome| walk.outcomes().count(outcome);
    assert_eq!((count(Outcome::Ignored), count(Outcome::Unmapped), count(Outcome::OutOfBounds)), (1, 1, 1));
}

#[test]
fn resynchronised_after_every_candidate_was_refused() {
    let mut walk = walk(4);
    follow(&mut walk, &[Count::Jump]);
    walk.follow(&Event::Action(Count::Never));
    walk.resync(|state| state.0 += 2);
    // From the initial state, since no other is left.
    assert_eq!(walk.state(), Some(&Number(3)));
}

#[test]
fn ignored_events_change_nothing() {
    let mut walk = walk(100);
    assert_eq!(walk.follow(&Event::Ignored("heartbeat")), Walked::Followed);
    assert_eq!(walk.state(), Some(&Number(1)));
    assert_eq!(walk.outcomes().count(Outcome::Ignored), 1);
}

#[test]
fn narrowed_by_what_is_seen() {
    let mut walk = walk(100);
    follow(&mut walk, &[Count::Jump]);
    assert!(!walk.narrow(|state| state.0 > 10));
    assert_eq!(numbers(&walk), [2, 3, 4]);
    assert!(walk.narrow(|state| state.0 == 3));
    assert_eq!(walk.state(), Some(&Number(3)));
}

#[test]
fn reset_goes_back_and_keeps_the_counts() {
    let mut walk = walk(100);
    follow(&mut walk, &[Count::Jump, Count::Negate]);
    walk.reset();
    assert_eq!(walk.state(), Some(&Number(1)));
    assert_eq!(walk.outcomes().count(Outcome::Ambiguous), 2);
}

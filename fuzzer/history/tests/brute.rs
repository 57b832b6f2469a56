//! The checker against all orders, on small random histories.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and prints its figures")]

mod common;

use common::{Draw, Object, Shape, any_result, changed, execution, small};
use misrule_history::specifications::Named;
use misrule_history::{Checked, History, Limits, Operation, Order, Outcome, Value, Verdict};

fn check(named: Named, history: &History, order: Order) -> Checked {
    let limits = Limits { stop_after_steps: 1_000_000, expired: &mut || false };
    named.check(history, order, limits).unwrap()
}

/// Whether `first` must come before `second`.
fn precedes(order: Order, first: &Operation, second: &Operation) -> bool {
    first.returned.is_some_and(|returned| match order {
        Order::RealTime => returned < second.invoked,
        Order::PerClient => first.process == second.process && first.invoked < second.invoked,
    })
}

/// Does the operation, if it could have been answered so.
fn done(object: &Object, operation: &Operation) -> Option<Object> {
    let mut after = object.clone();
    let answer = after.apply(&operation.function, operation.key.as_ref(), &operation.argument);
    let fits = match &operation.outcome {
        Outcome::Unknown => true,
        Outcome::Failed { .. } => answer.is_none(),
        Outcome::Ok(result) => answer.is_some_and(|answer| answer == *result),
    };
    fits.then_some(after)
}

/// Tries all orders; nothing is remembered and nothing is cut off.
fn possible(order: Order, operations: &[Operation], placed: u32, object: &Object) -> bool {
    let open = |at: &usize| placed >> at & 1 == 0;
    if (0..operations.len()).filter(open).all(|at| operations[at].returned.is_none()) {
        return true;
    }
    (0..operations.len()).filter(open).any(|at| {
        let free = (0..operations.len())
            .filter(open)
            .all(|other| other == at || !precedes(order, &operations[other], &operations[at]));
        free && done(object, &operations[at])
            .is_some_and(|after| possible(order, operations, placed | 1 << at, &after))
    })
}

/// A passing check shows an order: it must be one, of everything that was answered and tells something.
fn shown_orders_hold(named: Named, history: &History, order: Order, checked: &Checked) {
    let operations = history.operations();
    let mut seen = vec![false; operations.len()];
    for order_of_one in &checked.orders {
        let mut object = Object::new(named);
        for (place, at) in order_of_one.iter().enumerate() {
            assert!(!std::mem::replace(&mut seen[*at], true));
            object = done(&object, &operations[*at]).expect("an order that the object allows");
            let late = |other: &usize| precedes(order, &operations[*other], &operations[*at]);
            assert!(!order_of_one[place..].iter().any(late));
        }
    }
    assert!(operations.iter().zip(seen).all(|(operation, seen)| seen || operation.returned.is_none()));
}

/// How many histories of each specification; `MISRULE_CASES` sets another number.
fn cases() -> u64 {
    std::env::var("MISRULE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(4_000)
}

#[test]
fn no_disagreement_with_all_orders() {
    for (number, named) in Named::ALL.into_iter().enumerate() {
        let mut fails = [0; 2];
        for case in 0..cases() {
            let mut draw = Draw::new(case << 3 | number as u64);
            let shape = small(&mut draw);
            let mut history = execution(&mut draw, named, &shape);
            if case % 4 != 0 {
                let rarely = 1 + draw.below(4);
                let real = history.clone();
                history = changed(&real, |at, _| {
                    draw.one_in(rarely).then(|| any_result(&mut draw, &real.operations()[at]))
                });
            }
            for (at, order) in [Order::RealTime, Order::PerClient].into_iter().enumerate() {
                let checked = check(named, &history, order);
                let truth = possible(order, history.operations(), 0, &Object::new(named));
                let wanted = if truth { Verdict::Pass } else { Verdict::Fail };
                assert_eq!(
                    checked.verdict,
                    wanted,
                    "{named:?} {order:?} case {case}:\n{}",
                    misrule_history::print(&history)
                );
                fails[at] += u64::from(!truth);
                if truth {
                    shown_orders_hold(named, &history, order, &checked);
                }
                assert!(truth || checked.explanation.is_some());
            }
        }
        eprintln!("{}: {} and {} of {} fail", named.name(), fails[0], fails[1], cases());
        assert!(fails[0] * 4 > cases() && fails[0] * 4 < cases() * 3, "{named:?}: {fails:?}");
        assert!(fails[1] <= fails[0] && fails[1] > 0, "{named:?}: {fails:?}");
    }
}

#[test]
fn real_executions_pass_and_most_changes_fail() {
    for (number, named) in Named::ALL.into_iter().enumerate() {
        let (mut changes, mut fails) = (0, 0);
        for seed in 0..200 {
            let mut draw = Draw::new(seed << 3 | number as u64);
            let shape = Shape { clients: 3, operations: 20, keys: 1, values: Some(20), abandoned: 10 };
            let history = execution(&mut draw, named, &shape);
            let checked = check(named, &history, Order::RealTime);
            assert_eq!(checked.verdict, Verdict::Pass, "{named:?} seed {seed}");
            shown_orders_hold(named, &history, Order::RealTime, &checked);
            // Without real time there are many more orders: a shorter one, so that the steps suffice.
            let shorter = execution(&mut draw, named, &Shape { operations: 10, ..shape });
            let checked = check(named, &shorter, Order::PerClient);
            assert_eq!(checked.verdict, Verdict::Pass, "{named:?} seed {seed}");
            shown_orders_hold(named, &shorter, Order::PerClient, &checked);
            let answered: Vec<usize> = (0..history.operations().len())
                .filter(|at| {
                    let operation = &history.operations()[*at];
                    let told = ["read", "get", "dequeue", "cas"].contains(&&*operation.function);
                    told && operation.returned.is_some()
                })
                .collect();
            let chosen = answered[draw.below(answered.len() as u64) as usize];
            let other = changed(&history, |at, outcome| {
                (at == chosen).then(|| match (outcome, &history.operations()[at].argument) {
                    (Outcome::Failed { .. }, _) => Outcome::Ok(Value::Nil),
                    (Outcome::Ok(_), Value::List(_)) => Outcome::Failed { error: None },
                    _ => any_result(&mut draw, &history.operations()[at]),
                })
            });
            if other != history {
                changes += 1;
                fails += u64::from(check(named, &other, Order::RealTime).verdict == Verdict::Fail);
            }
        }
        eprintln!("{}: {fails} of {changes} changed histories fail", named.name());
        assert!(changes > 100 && fails * 4 > changes * 3, "{named:?}: {fails} of {changes}");
    }
}

/// An explanation is an order that the object allows, of everything answered before the misplaced operation.
#[test]
fn explanations_can_be_checked() {
    let mut count = 0;
    for (number, named) in Named::ALL.into_iter().enumerate() {
        for case in 0..500 {
            let mut draw = Draw::new(1 << 40 | case << 3 | number as u64);
            let shape = Shape { keys: 1, ..small(&mut draw) };
            let real = execution(&mut draw, named, &shape);
            let history =
                changed(&real, |at, _| draw.one_in(3).then(|| any_result(&mut draw, &real.operations()[at])));
            let Some(explanation) = check(named, &history, Order::RealTime).explanation else { continue };
            count += 1;
            let operations = history.operations();
            let misplaced = &operations[explanation.misplaced];
            let mut object = Object::new(named);
            for at in &explanation.order {
                object = done(&object, &operations[*at]).expect("an order that the object allows");
            }
            let earlier = |operation: &Operation| operation.returned < misplaced.returned;
            for (at, operation) in operations.iter().enumerate() {
                if operation.returned.is_some() && earlier(operation) {
                    assert!(explanation.order.contains(&at), "{named:?} case {case}");
                }
            }
            assert!(!explanation.order.contains(&explanation.misplaced));
            assert!(!explanation.allowed.is_empty());
        }
    }
    assert!(count > 500, "{count}");
}

//! Random against random: how often the tests see a difference where there is none, and whether the number of
//! campaigns that is said to be needed is enough.

use misrule_statistics::{
    Generator, POWER, SIGNIFICANT, Time, a12, campaigns_needed, log_rank, restricted_mean, wilson,
};

/// Times with this mean, censored at the budget.
fn campaigns(generator: &mut Generator, count: usize, mean: f64, budget: f64) -> Vec<Time> {
    let draw = |_| {
        let time = -mean * (1.0 - generator.unit()).ln();
        if time < budget { Time::found(time) } else { Time::censored(budget) }
    };
    (0..count).map(draw).collect()
}

/// The share of 2,000 comparisons of two groups of 20 for which `alarm` is true.
fn share(seed: u64, mean: f64, alarm: impl Fn(&[Time], &[Time]) -> bool) -> f64 {
    let mut generator = Generator::new(seed);
    let mut alarms = 0;
    for _ in 0..2_000 {
        let first = campaigns(&mut generator, 20, mean, 10.0);
        let second = campaigns(&mut generator, 20, mean, 10.0);
        alarms += u32::from(alarm(&first, &second));
    }
    f64::from(alarms) / 2_000.0
}

#[test]
fn a_log_rank_test_has_its_level() {
    // Nearly all found, about two thirds found, about a quarter found.
    for (seed, mean) in [(1, 2.0), (2, 9.0), (3, 35.0)] {
        let share = share(seed, mean, |first, second| log_rank(first, second).p < SIGNIFICANT);
        assert!((0.03..=0.07).contains(&share), "mean {mean}: {share}");
    }
}

#[test]
fn intervals_of_an_effect_cover_no_effect() {
    for (seed, mean) in [(4, 2.0), (5, 9.0), (6, 35.0)] {
        let share = share(seed, mean, |first, second| {
            let interval = a12(first, second).interval;
            interval.low > 0.5 || interval.high < 0.5
        });
        assert!(share <= 0.07, "mean {mean}: {share}");
    }
}

#[test]
fn intervals_of_a_restricted_mean_cover_it() {
    let (mean, budget) = (9.0_f64, 10.0_f64);
    let truth = mean * (1.0 - (-budget / mean).exp());
    let misses = share(7, mean, |first, _| {
        let interval = restricted_mean(first, budget).interval();
        truth < interval.low || truth > interval.high
    });
    // The normal distribution is approximate for twenty.
    assert!((0.03..=0.09).contains(&misses), "{misses}");
}

#[test]
fn as_many_as_are_said_to_be_needed_are_enough() {
    let mut generator = Generator::new(8);
    let (slow, fast) = (8.0_f64, 4.0_f64);
    let found = |mean: f64| 1.0 - (-10.0 / mean).exp();
    let needed = campaigns_needed(slow / fast, found(fast), found(slow), SIGNIFICANT);
    let needed = needed.map_or(0, |needed| needed as usize);
    assert!((20..100).contains(&needed), "{needed}");
    let seen = (0..1_000)
        .filter(|_| {
            let first = campaigns(&mut generator, needed, fast, 10.0);
            let second = campaigns(&mut generator, needed, slow, 10.0);
            log_rank(&first, &second).p < SIGNIFICANT
        })
        .count();
    let interval = wilson(seen as u64, 1_000);
    assert!(interval.high > POWER - 0.03 && interval.low < POWER + 0.1, "{seen} of 1000");
}

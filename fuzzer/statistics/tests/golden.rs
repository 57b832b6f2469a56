//! Every value against scipy, statsmodels and lifelines; `golden/make.py` made the file.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use misrule_statistics::{
    Time, a12, bootstrap, campaigns_needed, holm, log_rank, median, median_interval, restricted_mean,
    survival, wilson,
};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/golden.json")).unwrap()
}

/// Nine digits, of the value itself or after the point; `null` stands for an infinite one.
fn same(name: &str, ours: f64, golden: &Value) {
    let Some(expected) = golden.as_f64() else {
        assert!(golden.is_null() && ours.is_infinite(), "{name}: {ours}, expected {golden}");
        return;
    };
    assert!(
        (ours - expected).abs() <= 5e-10 * expected.abs().max(1e-3),
        "{name}: {ours}, expected {expected}"
    );
}

fn times(value: &Value) -> Vec<Time> {
    let time = |pair: &Value| Time { value: pair[0].as_f64().unwrap(), found: pair[1].as_bool().unwrap() };
    value.as_array().unwrap().iter().map(time).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn group(golden: &Value, name: &Value) -> Vec<Time> {
    let curves = golden["curves"].as_array().unwrap();
    times(&curves.iter().find(|curve| curve["name"] == *name).unwrap()["times"])
}

#[test]
fn shares() {
    for row in golden()["wilson"].as_array().unwrap() {
        let interval = wilson(row[0].as_u64().unwrap(), row[1].as_u64().unwrap());
        same("low", interval.low, &row[2]);
        same("high", interval.high, &row[3]);
    }
}

#[test]
fn survival_curves_with_their_bands() {
    let mut points = 0;
    for curve in golden()["curves"].as_array().unwrap() {
        let name = curve["name"].as_str().unwrap();
        let ours = survival(&times(&curve["times"]));
        let expected = curve["points"].as_array().unwrap();
        assert_eq!(ours.len(), expected.len(), "{name}");
        for (point, row) in ours.iter().zip(expected) {
            same(name, point.time, &row[0]);
            same(name, point.survival, &row[1]);
            if !row[2].is_null() {
                same(name, point.band.low, &row[2]);
                same(name, point.band.high, &row[3]);
                points += 1;
            }
        }
    }
    assert!(points > 100, "{points}");
}

#[test]
fn medians_and_restricted_means() {
    for curve in golden()["curves"].as_array().unwrap() {
        let name = curve["name"].as_str().unwrap();
        let times = times(&curve["times"]);
        same(name, median(&times).unwrap_or(f64::INFINITY), &curve["median"]);
        let interval = median_interval(&times);
        same(name, interval.low, &curve["median_interval"][0]);
        same(name, interval.high, &curve["median_interval"][1]);
        let mean = restricted_mean(&times, curve["horizon"].as_f64().unwrap());
        same(name, mean.mean, &curve["restricted_mean"]);
        same(name, mean.standard_error, &curve["restricted_error"]);
    }
}

#[test]
fn comparisons_of_two_groups() {
    let golden = golden();
    for pair in golden["pairs"].as_array().unwrap() {
        let name = format!("{} {}", pair["first"], pair["second"]);
        let (first, second) = (group(&golden, &pair["first"]), group(&golden, &pair["second"]));
        let test = log_rank(&first, &second);
        same(&name, test.statistic, &pair["statistic"]);
        same(&name, test.p, &pair["p"]);
        let effect = a12(&first, &second);
        same(&name, effect.value, &pair["a12"]);
        same(&name, effect.interval.low, &pair["interval"][0]);
        same(&name, effect.interval.high, &pair["interval"][1]);
    }
}

#[test]
fn corrections_of_several_tests() {
    let golden = golden();
    let ours = holm(&numbers(&golden["holm"]["values"]));
    let expected = golden["holm"]["adjusted"].as_array().unwrap();
    assert_eq!(ours.len(), expected.len());
    for (value, expected) in ours.iter().zip(expected) {
        same("holm", *value, expected);
    }
}

#[test]
fn resampling() {
    let golden = &golden()["bootstrap"];
    let (values, number) = (numbers(&golden["values"]), |name: &str| golden[name].as_u64().unwrap());
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let mean = |drawn: &[f64]| drawn.iter().sum::<f64>() / drawn.len() as f64;
    let interval = bootstrap(&values, number("resamples") as usize, number("seed"), mean).unwrap();
    same("low", interval.low, &golden["interval"][0]);
    same("high", interval.high, &golden["interval"][1]);
}

#[test]
fn sizes_for_a_chance_to_see() {
    for row in golden()["power"].as_array().unwrap() {
        let number = |at: usize| row[at].as_f64().unwrap();
        let ours = campaigns_needed(number(0), number(1), number(2), number(3));
        assert_eq!(ours, row[4].as_u64(), "{row}");
    }
}

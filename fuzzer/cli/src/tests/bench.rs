//! `bench` over the toy target.

use super::Sandbox;

#[test]
fn parts_and_whole_are_told() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("bench --split toy --set safe=on --steps 20000 --rounds 2");
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in
        ["target", "world", "view", "oracles", "mapping", "model", "lens", "set", "guidance", "LibAFL"]
    {
        assert!(ran.out.contains(&format!("\n  {part} ")), "{part}: {ran:?}");
    }
    assert!(ran.last("steps").parse::<u64>().unwrap() >= 20_000);
    let number = |key| ran.last(key).parse::<f64>().unwrap();
    let difference = (number("sum_ns") - number("whole_ns")) * 100.0 / number("whole_ns");
    assert!((difference - number("difference_percent")).abs() < 1.0, "{ran:?}");
}

#[test]
fn json_is_one_object() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("bench --split toy --guidance random --steps 5000 --rounds 1 --json");
    assert_eq!(ran.code, 0, "a failing target is measured all the same: {ran:?}");
    let json = ran.json();
    assert_eq!(json["guidance"], "random");
    assert!(json["parts"]["target"].is_number() && json["whole"].as_f64().unwrap() > 0.0, "{json}");
}

#[test]
fn bad_input_is_told() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run("bench --split nobody").code, 64);
    assert_eq!(sandbox.run("bench --split toy --lens piars").code, 64);
    assert_eq!(sandbox.run("bench").code, 64);
}

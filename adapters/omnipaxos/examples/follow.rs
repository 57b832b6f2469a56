//! Drives the target at random with the model behind it and prints what became of its steps:
//! `follow SETTINGS CONTRACT LENSES LENGTH STEPS WATCH SEED`, such as
//! `follow trim=off fifo pairs@model 1000 10000000 full 1`; WATCH is `plain`, `model` or `full`, `-` nothing.

#[path = "../tests/driver/mod.rs"]
#[allow(dead_code, reason = "only the picker is used")]
mod driver;
#[path = "../tests/follow/mod.rs"]
mod follow;

use misrule_world::{ChoiceKind, Watch};

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#[expect(clippy::print_stdout, reason = "an example prints")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize, default: &str| words.get(at).cloned().unwrap_or_else(|| default.to_owned());
    let list = |text: String| -> Vec<String> {
        text.split(',').filter(|part| *part != "-" && !part.is_empty()).map(str::to_owned).collect()
    };
    let settings = list(word(0, "trim=off"));
    let settings: Vec<(&str, &str)> = settings.iter().filter_map(|part| part.split_once('=')).collect();
    let lenses = list(word(2, "-"));
    let lenses: Vec<&str> = lenses.iter().map(String::as_str).collect();
    let number = |at: usize, default: &str| word(at, default).parse::<u64>().expect("a number");
    let (length, steps, seed) = (number(3, "1000"), number(4, "10000000"), number(6, "1"));
    let mode = word(5, "full");
    let watch =
        Watch { keys: !lenses.is_empty(), model: mode != "plain", conformance: mode == "full", trace: false };
    let mut run = driver::open(&settings, &word(1, "fifo"), &lenses);
    let start = std::time::Instant::now();
    let done = follow::follow(&mut *run, seed, length, steps, watch);
    let nanos = start.elapsed().as_nanos() as u64;
    let about = run.about();
    println!("{} steps, {} ns a step", done.steps, nanos / done.steps.max(1));
    println!("failures {:?}", done.failures);
    for (name, message) in &done.first {
        println!("  {name} at {message}");
    }
    let tally = about.tally;
    println!("walked {} of {} steps, {:?}", tally.steps_walked, tally.steps_followed, tally.events);
    println!("deviations {:?}", tally.deviations);
    println!("sometimes {:?}", tally.sometimes);
    for kind in [ChoiceKind::Crash, ChoiceKind::Restart, ChoiceKind::Cut, ChoiceKind::Request] {
        println!("{} {:?}", kind.word(), about.faults[kind as usize]);
    }
}

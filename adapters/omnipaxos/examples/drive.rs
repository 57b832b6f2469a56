//! Drives the target at random and prints what it found and how fast:
//! `drive SETTINGS CONTRACT LENSES LENGTH STEPS SEEDS`, such as `drive trim=off fifo pairs@impl 1000 10000000 1`.
//! `-` stands for nothing.

#[path = "../tests/driver/mod.rs"]
mod driver;

use misrule_world::Watch;

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
    let (length, steps, seeds) = (number(3, "1000"), number(4, "10000000"), number(5, "1"));
    let watch = Watch { keys: !lenses.is_empty(), ..Watch::default() };
    for seed in 1..=seeds {
        let mut run = driver::open(&settings, &word(1, "fifo"), &lenses);
        let start = std::time::Instant::now();
        let done = driver::drive(&mut *run, seed, length, steps, watch);
        let millis = start.elapsed().as_millis().max(1) as u64;
        println!(
            "seed {seed}: {} steps, {} k steps/s, {} keys; {}",
            done.steps,
            done.steps / millis,
            done.keys,
            done.failure.map_or("nothing found".to_owned(), |f| format!(
                "{} {}: {}",
                f.oracle, f.property, f.message
            ))
        );
    }
}

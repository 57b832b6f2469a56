//! scratch
use misrule_engine::*;
use misrule_world::*;
use std::time::{Duration, Instant};
struct Obs(Instant, bool);
impl Observer for Obs {
    fn elapsed(&mut self) -> Duration {
        self.0.elapsed()
    }
    fn progress(&mut self, _: &Progress) -> bool {
        false
    }
    fn found(&mut self, f: &Finding) {
        if std::env::var("SHOW").is_ok() {
            let r = misrule_omnipaxos::omnipaxos();
            let st = Settings::resolve(&r.settings, &[]).unwrap();
            let run = r.open(&Setup { settings: st, contract: r.contract, lenses: vec![] }).unwrap();
            for c in &f.minimised {
                println!("{}", text::choice_line(run.about().vocabulary, *c));
            }
        }
        if self.1 {
            println!(
                "  FOUND {} {} class={} exec={} steps={} found_len={} min_len={} minimal={} min_execs={} t={:.2}s\n   {}\n   {}",
                f.failure.oracle,
                f.failure.property,
                f.class.name(),
                f.execution_found,
                f.steps_found,
                f.found.len(),
                f.minimised.len(),
                f.minimal,
                f.executions_minimise,
                self.0.elapsed().as_secs_f64(),
                f.failure.message,
                f.evidence
            );
        }
    }
}
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let (name, guidance, contract, lenses, sets, secs, seeds, verbose) = (
        &a[0],
        &a[1],
        &a[2],
        &a[3],
        &a[4],
        a[5].parse::<u64>().unwrap(),
        a[6].parse::<u64>().unwrap(),
        a.len() > 7,
    );
    let t = match name.as_str() {
        "omnipaxos" => misrule_omnipaxos::omnipaxos(),
        "2pc" => misrule_two_phase_commit::two_phase_commit(),
        n => misrule_canary::targets().into_iter().find(|t| t.name == n).unwrap(),
    };
    let given: Vec<(String, String)> = sets
        .split(',')
        .filter(|s| !s.is_empty())
        .map(|s| {
            let (k, v) = s.split_once('=').unwrap();
            (k.into(), v.into())
        })
        .collect();
    let setup = Setup {
        settings: Settings::resolve(&t.settings, &given).unwrap(),
        contract: t.contract.overridden(contract).unwrap(),
        lenses: lenses.split('+').filter(|l| !l.is_empty() && *l != "-").map(str::to_owned).collect(),
    };
    let (mut found, mut total) = (0, 0.0);
    let mut steps = 0;
    for seed in 1..=seeds {
        let options = Options {
            seed,
            guidance: guidance.clone(),
            stop_after_time: Some(Duration::from_secs(secs)),
            steps_max: std::env::var("MAX").map_or(30000, |m| m.parse().unwrap()),
            conformance: if std::env::var("CONF").is_ok() {
                Conformance::Always
            } else if std::env::var("NOCONF").is_ok() {
                Conformance::Off
            } else {
                Conformance::Sampled
            },
            ..Options::default()
        };
        let mut obs = Obs(Instant::now(), verbose);
        let out = campaign(&Campaign { target: &t, setup: &setup, options: &options, corpus: &[] }, &mut obs)
            .unwrap();
        let e = obs.0.elapsed().as_secs_f64();
        total += e;
        steps += out.summary.steps;
        found += usize::from(!out.findings.is_empty());
        println!(
            "seed {seed}: {:.2}s execs {} steps {} ({:.2} M/s) ret {:.0}% cells {:?} kept {} findings {:?}",
            e,
            out.summary.executions,
            out.summary.steps,
            out.summary.steps as f64 / e / 1e6,
            100.0 * out.summary.steps_returning as f64 / out.summary.steps.max(1) as f64,
            out.summary.cells,
            out.summary.kept,
            out.findings.iter().map(|f| (f.failure.property.as_str(), f.minimised.len())).collect::<Vec<_>>()
        );
        if verbose {
            println!("  {:?}\n {:?}", out.summary.tally, out.summary.mutators);
        }
    }
    println!(
        "found {found}/{seeds} total {total:.1}s  s/bug {:.2} Msteps/bug {:.2}",
        total / found.max(1) as f64,
        steps as f64 / 1e6 / found.max(1) as f64
    );
}

//! Campaigns without files and pages, with a clock.

use misrule_engine::{
    Budget, Campaign as Asked, Conformance, EngineError, Finding, Observer, Options, Progress, RecoveryWhen,
    Summary, campaign,
};
use misrule_world::{Setup, Target};
use std::time::{Duration, Instant};

/// Measures time since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// A watch that begins now.
    #[expect(clippy::disallowed_methods, reason = "a bench measures time")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Seconds since then.
    pub fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// Seconds of processor time of this thread, as Linux counts them; 0 elsewhere.
pub fn busy_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or_default() / 1e9
}

/// A campaign that can be run with several seeds and strategies.
pub struct Campaign<'a> {
    target: &'a Target,
    setup: Setup,
    /// When model and implementation are compared.
    pub conformance: Conformance,
    /// The longest execution, in steps.
    pub steps_max: u32,
}

/// How a campaign went.
#[derive(Debug)]
pub struct Ran {
    /// What it counted.
    pub summary: Summary,
    /// Steps and executions until the first finding, and what it violates.
    pub found: Option<(u64, u64, String)>,
    /// Length of each execution, in order.
    pub lengths: Vec<u32>,
    /// Seconds that it took.
    pub seconds: f64,
    /// Seconds of processor time that it took.
    pub busy_seconds: f64,
}

impl<'a> Campaign<'a> {
    /// A campaign of `target` with these settings over the defaults, contract and lenses.
    ///
    /// # Errors
    /// Settings or contract that the target does not have.
    pub fn new(
        target: &'a Target,
        settings: &[(&str, &str)],
        contract: &str,
        lenses: &[&str],
    ) -> Result<Self, String> {
        let setup = target.setup(settings, contract, lenses).map_err(|error| error.to_string())?;
        let steps_max = Options::default().steps_max;
        Ok(Self { target, setup, conformance: Conformance::Sampled, steps_max })
    }

    /// Compares model and implementation then.
    #[must_use]
    pub fn conformance(self, conformance: Conformance) -> Self {
        Self { conformance, ..self }
    }

    /// Executes so many steps at most at a time.
    #[must_use]
    pub fn steps_max(self, steps_max: u32) -> Self {
        Self { steps_max, ..self }
    }

    /// Runs until the first finding or so many steps. Findings are not minimised.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn run(&self, guidance: &str, seed: u64, steps: u64) -> Result<Ran, EngineError> {
        let options = Options {
            seed,
            guidance: guidance.to_owned(),
            stop_after_steps: Some(steps),
            conformance: self.conformance,
            steps_max: self.steps_max,
            // Recoveries are besides the steps that are measured.
            recovery: RecoveryWhen::Never,
            minimise: Budget::NONE,
            ..Options::default()
        };
        let asked = Asked { target: self.target, setup: &self.setup, options: &options, corpus: &[] };
        let busy = busy_seconds();
        let mut seen = Seen { watch: Stopwatch::start(), steps: 0, lengths: Vec::new() };
        let outcome = campaign(&asked, &mut seen)?;
        let (seconds, busy_seconds) = (seen.watch.seconds(), busy_seconds() - busy);
        let found = outcome
            .findings
            .first()
            .map(|finding| (finding.steps_found, finding.execution_found, finding.failure.property.clone()));
        Ok(Ran { summary: outcome.summary, found, lengths: seen.lengths, seconds, busy_seconds })
    }
}

struct Seen {
    watch: Stopwatch,
    steps: u64,
    lengths: Vec<u32>,
}

impl Observer for Seen {
    fn elapsed(&mut self) -> Duration {
        self.watch.0.elapsed()
    }

    fn progress(&mut self, progress: &Progress) -> bool {
        self.lengths.push((progress.steps - self.steps) as u32);
        self.steps = progress.steps;
        false
    }

    fn found(&mut self, _finding: &Finding) {}
}

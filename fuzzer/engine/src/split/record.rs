//! Records the executions of a campaign, and times the calls of ours that LibAFL's loop makes.

use crate::EngineError;
use crate::afl::{Loop, Settings};
use crate::archive::Archive;
use crate::campaign::{Conformance, Options};
use crate::guidance::strategy;
use crate::signal::open;
use misrule_world::probe::Clock;
use misrule_world::{Choice, Setup, Target};

/// An execution as it was.
pub(super) struct Recorded {
    pub(super) choices: Vec<Choice>,
    /// The first choices, so many, were given; the guidance picked the rest.
    pub(super) given: usize,
    /// Whether the model followed and was compared.
    pub(super) conformance: bool,
    /// Whether lenses looked at it. What none looks at costs none of them anything.
    pub(super) looked: bool,
    /// Whether this is the check of a kept schedule, which does not count as steps.
    pub(super) check: bool,
}

/// Nanoseconds of the calls that LibAFL's loop makes in one execution, and of the loop with them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Laps {
    pub(crate) clock: Option<Clock>,
    pub(crate) all: u64,
    pub(crate) executing: u64,
    pub(crate) planning: u64,
    pub(crate) settling: u64,
}

impl Laps {
    /// Now, where these laps are timed.
    pub(crate) fn now(&self) -> u64 {
        self.clock.map_or(0, |clock| clock())
    }
}

/// The executions of a campaign.
pub(super) struct Recording {
    pub(super) executed: Vec<Recorded>,
    /// Executions and executed steps of the campaign, without checks.
    pub(super) executions: u64,
    pub(super) steps: u64,
    /// The archive at the end.
    pub(super) archive: Archive,
    /// For each execution, where a clock was given.
    pub(super) laps: Vec<Laps>,
}

/// Runs the loop of the campaign once, as [`crate::campaign()`] does. With a clock only the laps are kept.
pub(super) fn record(
    target: &Target,
    setup: &Setup,
    options: &Options,
    clock: Option<Clock>,
) -> Result<Recording, EngineError> {
    let (settings, lenses) = Settings::of(setup, options);
    let guidance = strategy(&options.guidance, options.faults, lenses, options.steps_max)
        .ok_or_else(|| EngineError::Guidance(options.guidance.clone()))?;
    let mut fuzz = Loop::new(open(target, setup)?, guidance, settings, lenses)?;
    let (mut executed, mut executions, mut steps, mut laps) = (Vec::new(), 0, 0, Vec::new());
    while steps < options.stop_after_steps.unwrap_or(0) && !fuzz.done() {
        *fuzz.laps() = Laps { clock, ..Laps::default() };
        let start = fuzz.laps().now();
        let observed = fuzz.once()?;
        let execution = &observed.execution;
        steps += u64::from(execution.steps());
        executions += 1;
        if clock.is_none() {
            let given = observed.given.min(execution.steps()) as usize;
            let (conformance, looked) = (observed.conformance, observed.looked);
            let choices = execution.choices.clone();
            executed.push(Recorded { choices, given, conformance, looked, check: false });
            let kept = observed.kept.as_ref().filter(|_| execution.failure.is_none());
            if let (Some(way), false, Conformance::Sampled) = (kept, conformance, options.conformance) {
                let choices = way.choices();
                let given = choices.len();
                executed.push(Recorded { choices, given, conformance: true, looked: false, check: true });
            }
        }
        let all = fuzz.laps().now() - start;
        laps.push(Laps { all, ..*fuzz.laps() });
    }
    let archive = fuzz.archive()?.clone();
    Ok(Recording { executed, executions, steps, archive, laps })
}

//! Campaigns: replay the regression corpus, then fuzz until a budget is spent.

use crate::afl::{Loop, Settings};
use crate::classify::Class;
use crate::coverage::{FacetKeys, Sample, Samples, keys};
use crate::execute::{Execution, Misfit, Mode, execute_explicit};
use crate::finding::Finding;
use crate::fingerprint::Fingerprint;
use crate::guidance::strategy;
use crate::minimise::Budget;
use crate::replay::replay_recorded;
use crate::sample::{RecoverySummary, RecoveryWhen};
use crate::signal::open;
use crate::way::Way;
use crate::{EngineError, MutatorYield};
use misrule_models::stable_hash;
use misrule_world::{
    CallCounts, Choice, ChoiceKind, Expectation, FacetId, Failure, FaultCount, FaultProfile, Run, Schedule,
    Setup, Tally, Target, Watch, mix,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// When the model's state is compared with the implementation's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conformance {
    /// In every execution.
    Always,
    /// In one execution of 16, and in every kept or failing one.
    #[default]
    Sampled,
    /// Never.
    Off,
}

/// What a campaign is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of everything random.
    pub seed: u64,
    /// Name of the strategy.
    pub guidance: String,
    /// Which faults are drawn.
    pub faults: FaultProfile,
    /// Stop after so many executions.
    pub stop_after_executions: Option<u64>,
    /// Stop after so many executed steps, all executions together.
    pub stop_after_steps: Option<u64>,
    /// Stop after so much time, as the observer's clock tells it.
    pub stop_after_time: Option<Duration>,
    /// Stop after so many findings that are not known; 0 for never.
    pub stop_after_findings: usize,
    /// Only these findings end the campaign, named by property or fingerprint; all do where none is named.
    pub until: Vec<String>,
    /// Longest execution, in steps.
    pub steps_max: u32,
    /// When model and implementation are compared.
    pub conformance: Conformance,
    /// When executions end in a recovery.
    pub recovery: RecoveryWhen,
    /// Whether executions go on from snapshots, where the strategy and the target do that. What replays executions from
    /// the start, to measure their parts, leaves it out.
    pub snapshots: bool,
    /// How much work each finding's minimisation may do.
    pub minimise: Budget,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            guidance: "frontier".to_owned(),
            faults: FaultProfile::Default,
            stop_after_executions: None,
            stop_after_steps: None,
            stop_after_time: None,
            stop_after_findings: 1,
            until: Vec::new(),
            steps_max: 30_000,
            conformance: Conformance::Sampled,
            recovery: RecoveryWhen::Sampled,
            snapshots: true,
            minimise: Budget::default(),
        }
    }
}

/// An entry of the regression corpus.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name, for messages.
    pub name: String,
    /// What its header sets.
    pub setup: Setup,
    /// The header's seed.
    pub seed: u64,
    /// Its choices.
    pub schedule: Schedule,
    /// What its header expects.
    pub expect: Expectation,
}

/// A campaign.
pub struct Campaign<'a> {
    /// The target.
    pub target: &'a Target,
    /// What it is opened with.
    pub setup: &'a Setup,
    /// What to do.
    pub options: &'a Options,
    /// The regression corpus, replayed first.
    pub corpus: &'a [Entry],
}

/// What an observer is shown while a campaign runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Executions so far.
    pub executions: u64,
    /// Executed steps so far.
    pub steps: u64,
    /// Cells so far.
    pub cells: usize,
    /// Schedules kept.
    pub kept: usize,
    /// Different findings so far.
    pub findings: usize,
    /// Executions since the last new cell.
    pub executions_since_new: u64,
}

/// Watches a campaign and owns its clock.
pub trait Observer {
    /// Time since the campaign began.
    fn elapsed(&mut self) -> Duration;
    /// Called after each execution; returns true to stop the campaign.
    fn progress(&mut self, progress: &Progress) -> bool;
    /// An execution failed as none before: its finding follows once it is minimised.
    fn failed(&mut self) {}
    /// A finding, minimised and classified; duplicates are not shown.
    fn found(&mut self, finding: &Finding);
}

/// Nobody watches: there is no clock, and nothing stops the campaign but its budgets and findings.
impl Observer for () {
    fn elapsed(&mut self) -> Duration {
        Duration::ZERO
    }
    fn progress(&mut self, _progress: &Progress) -> bool {
        false
    }
    fn found(&mut self, _finding: &Finding) {}
}

/// What a campaign counted.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Executions.
    pub executions: u64,
    /// Executed steps, without those of recoveries.
    pub steps: u64,
    /// Choices that could not apply.
    pub steps_skipped: u64,
    /// Steps that were spent on returning to cells.
    pub steps_returning: u64,
    /// Cells of each lens, in the order of the setup's lenses.
    pub cells: Vec<usize>,
    /// Keys of each lens that were not kept because it was full.
    pub keys_beyond: Vec<u64>,
    /// Cells over time, at executions whose numbers grow by a fifth.
    pub samples: Vec<Sample>,
    /// What the cells of each facet stand for.
    pub keys: BTreeMap<FacetId, FacetKeys>,
    /// Executions that could enter cells: those that lenses looked at, and those of the corpus that fed the campaign.
    pub executions_entering: u64,
    /// Schedules kept.
    pub kept: usize,
    /// Whether the strategy ended the campaign, since it has run all that there is in its scope.
    pub exhausted: bool,
    /// What the judge counted.
    pub tally: Tally,
    /// How often each kind of choice was executed, and how often it had an effect.
    pub choices: [FaultCount; ChoiceKind::COUNT],
    /// Messages lost because a link was full.
    pub overflow: u64,
    /// What sessions did.
    pub calls: CallCounts,
    /// What was counted of recoveries.
    pub recovery: RecoverySummary,
    /// What each mutator was worth.
    pub mutators: Vec<MutatorYield>,
    /// Hash of all executions, the archive and the findings; it does not depend on the clock.
    pub corpus_digest: u64,
}

/// How a campaign ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The counts.
    pub summary: Summary,
    /// Findings, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// Whether the observer stopped it.
    pub interrupted: bool,
}

/// Runs a campaign.
///
/// # Errors
/// A target that cannot be opened or a strategy that does not exist, before anything runs; an internal error.
pub fn campaign(campaign: &Campaign<'_>, observer: &mut dyn Observer) -> Result<Outcome, EngineError> {
    let (options, setup) = (campaign.options, campaign.setup);
    let (settings, lenses) = Settings::of(setup, options);
    let guidance = strategy(&options.guidance, options.faults, lenses, options.steps_max)
        .ok_or_else(|| EngineError::Guidance(options.guidance.clone()))?;
    let fuzz = Loop::new(open(campaign.target, setup)?, guidance, settings, lenses)?;
    let spare = open(campaign.target, setup)?;
    let mut state = Running {
        campaign,
        observer,
        fuzz,
        spare,
        settings,
        outcome: Outcome::default(),
        last_new: 0,
        counted: 0,
        samples: Samples::default(),
    };
    state.replay_corpus()?;
    state.fuzz()?;
    state.finish()
}

struct Running<'a> {
    campaign: &'a Campaign<'a>,
    observer: &'a mut dyn Observer,
    fuzz: Loop,
    /// A second world, for minimising and for checking what is kept.
    spare: Box<dyn Run>,
    settings: Settings,
    outcome: Outcome,
    /// The last execution that met a new cell.
    last_new: u64,
    /// Findings that count for the end of the campaign.
    counted: usize,
    samples: Samples,
}

impl Running<'_> {
    fn replay_corpus(&mut self) -> Result<(), EngineError> {
        for entry in self.campaign.corpus {
            let mut run = self.campaign.target.open(&entry.setup)?;
            let recorded = match &entry.expect {
                Expectation::Fail { fingerprint, .. } => Some(fingerprint.as_str()),
                Expectation::None | Expectation::Pass => None,
            };
            let replay =
                replay_recorded(&mut *run, entry.seed, &entry.schedule, recorded, false, &mut |_, _| {});
            let shown = replay.fingerprint().map(|fingerprint| fingerprint.to_string());
            let (as_recorded, expected) = match &entry.expect {
                Expectation::None => (true, String::new()),
                Expectation::Pass => (shown.is_none(), "that it passes".to_owned()),
                Expectation::Fail { property, fingerprint } => {
                    (shown.as_ref() == Some(fingerprint), format!("{property} ({fingerprint})"))
                }
            };
            if !as_recorded {
                let saw =
                    replay.failure.as_ref().map_or_else(|| "it passes".to_owned(), |f| f.property.clone());
                let text = format!("{} records {expected}; now {saw}", entry.name);
                let mut failure = Failure::new("regression", "behaves-as-recorded", text);
                failure.detail.clone_from(&entry.name);
                self.record(as_found(failure, entry.schedule.choices.clone()));
            }
            let same = entry.setup.settings == self.campaign.setup.settings
                && entry.setup.contract == self.campaign.setup.contract;
            if same && self.settings.keys {
                // What a recovery met is none of the archive's business.
                self.fuzz.feed(&replay.choices[..replay.steps() as usize])?;
            }
        }
        Ok(())
    }

    fn fuzz(&mut self) -> Result<(), EngineError> {
        while !self.spent() {
            if self.fuzz.done() {
                self.outcome.summary.exhausted = true;
                break;
            }
            let observed = self.fuzz.once()?;
            let execution = &observed.execution;
            let summary = &mut self.outcome.summary;
            summary.executions += 1;
            summary.steps += u64::from(execution.steps());
            summary.steps_skipped += u64::from(execution.skipped);
            summary.steps_returning += u64::from(observed.returned.min(execution.steps()));
            summary.recovery.count(execution);
            if observed.new_cells > 0 {
                self.last_new = summary.executions;
            }
            let last = execution.choices.last().map_or(0, stable_hash);
            let recovering = execution.recovery.map_or(0, |recovered| u64::from(recovered.steps) << 32);
            summary.corpus_digest =
                mix(summary.corpus_digest ^ last ^ u64::from(execution.steps()) ^ recovering);
            let failed = execution.failure.clone().map(|failure| (failure, observed.choices()));
            let kept = if observed.conformance { None } else { observed.kept.clone() };
            if let Some((failure, choices)) = failed {
                self.fail(failure, choices);
            } else if let Some(way) = kept {
                self.check_kept(&way);
            }
            let (executions, steps) = (self.outcome.summary.executions, self.outcome.summary.steps);
            if self.samples.are_due(executions) {
                self.samples.take(executions, steps, self.observer.elapsed(), self.fuzz.archive()?);
            }
            let progress = self.progress()?;
            if self.observer.progress(&progress) {
                self.outcome.interrupted = true;
                return Ok(());
            }
        }
        Ok(())
    }

    fn spent(&mut self) -> bool {
        let (options, summary) = (self.campaign.options, &self.outcome.summary);
        let reached = |limit: Option<u64>, value| limit.is_some_and(|limit| value >= limit);
        reached(options.stop_after_executions, summary.executions)
            || reached(options.stop_after_steps, summary.steps)
            || (options.stop_after_findings > 0 && self.counted >= options.stop_after_findings)
            || options.stop_after_time.is_some_and(|limit| self.observer.elapsed() >= limit)
    }

    /// Compares model and implementation on a schedule that is kept, where its execution did not.
    fn check_kept(&mut self, way: &Way) {
        if self.settings.conformance != Conformance::Sampled {
            return;
        }
        let mut execution = Execution::default();
        let watch = Watch { model: true, conformance: true, ..Watch::default() };
        let mode = Mode { seed: self.settings.draw_seed, watch, misfit: Misfit::Skip };
        execute_explicit(&mut *self.spare, mode, &way.choices(), &mut execution);
        if let Some(failure) = execution.failure {
            self.fail(failure, execution.choices);
        }
    }

    fn fail(&mut self, failure: Failure, choices: Vec<Choice>) {
        let fingerprint = Fingerprint::of(&failure);
        if let Some(known) = self.outcome.findings.iter_mut().find(|f| f.fingerprint == fingerprint) {
            known.count += 1;
            return;
        }
        self.observer.failed();
        let (seed, budget) = (self.settings.draw_seed, self.campaign.options.minimise);
        let finding = Finding::examine(&mut *self.spare, seed, failure, choices, budget);
        self.record(finding);
    }

    fn record(&mut self, mut finding: Finding) {
        let summary = &mut self.outcome.summary;
        finding.execution_found = summary.executions;
        finding.steps_found = summary.steps;
        let shown = finding.fingerprint.to_string();
        finding.known = self.campaign.corpus.iter().any(
            |entry| matches!(&entry.expect, Expectation::Fail { fingerprint, .. } if *fingerprint == shown),
        );
        self.counted += usize::from(!finding.known && finding.is_one_of(&self.campaign.options.until));
        summary.corpus_digest = mix(summary.corpus_digest ^ finding.fingerprint.0);
        self.observer.found(&finding);
        self.outcome.findings.push(finding);
    }

    fn progress(&self) -> Result<Progress, EngineError> {
        let summary = &self.outcome.summary;
        Ok(Progress {
            executions: summary.executions,
            steps: summary.steps,
            cells: self.fuzz.archive()?.cells().len(),
            kept: self.fuzz.kept(),
            findings: self.outcome.findings.len(),
            executions_since_new: summary.executions - self.last_new,
        })
    }

    fn finish(mut self) -> Result<Outcome, EngineError> {
        let summary = &mut self.outcome.summary;
        let archive = self.fuzz.archive()?;
        summary.cells = (0..archive.lenses()).map(|lens| archive.count(lens)).collect();
        summary.keys_beyond = archive.beyond().to_vec();
        let elapsed = self.observer.elapsed();
        summary.samples = self.samples.end(summary.executions, summary.steps, elapsed, archive);
        summary.keys = keys(archive);
        summary.executions_entering = archive.runs();
        summary.kept = self.fuzz.kept();
        summary.mutators = self.fuzz.yields();
        summary.corpus_digest = mix(summary.corpus_digest ^ archive.digest());
        let about = self.fuzz.run().about();
        summary.tally = about.tally;
        summary.choices = about.faults;
        summary.overflow = about.overflow;
        summary.calls = about.calls;
        Ok(self.outcome)
    }
}

/// A finding that is not minimised: a regression entry is minimal by its history.
fn as_found(failure: Failure, choices: Vec<Choice>) -> Finding {
    Finding {
        fingerprint: Fingerprint::of(&failure),
        failure,
        class: Class::Implementation,
        evidence: "an entry of the regression corpus behaves otherwise than recorded".to_owned(),
        minimised: choices.clone(),
        found: choices,
        minimal: false,
        executions_minimise: 0,
        execution_found: 0,
        steps_found: 0,
        count: 1,
        known: false,
    }
}

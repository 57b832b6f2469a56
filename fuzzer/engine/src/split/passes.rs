//! Replays recorded executions with one part more each time.

use super::record::{Recorded, Recording};
use crate::afl::{Meeting, Settings};
use crate::archive::Archive;
use crate::campaign::Options;
use crate::execute::{Chooser, Execution, Misfit, Mode, Unwatched, Watcher, execute};
use crate::guidance::{Guidance, strategy};
use crate::observed::MetCell;
use misrule_world::probe::{self, Clock, Section};
use misrule_world::{Choice, Report, Rng, Run, Setup, Watch};
use std::hint::black_box;

/// What is replayed; each has all that is in the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pass {
    /// World, target, views and oracles.
    Plain,
    /// The model, in the executions in which the campaign had it.
    Model,
    /// Keys.
    Keys,
    /// Entering keys into the archive.
    Set,
    /// Asking the guidance where the campaign asked it.
    Picks,
}

/// Gives the recorded choices one by one; with a guidance, asks it for each and takes the recorded one.
struct Recalled<'a> {
    choices: std::slice::Iter<'a, Choice>,
    guidance: Option<&'a mut dyn Guidance>,
    rng: &'a mut Rng,
}

impl Chooser for Recalled<'_> {
    fn next(&mut self, run: &dyn Run, report: &Report, news: bool) -> Option<Choice> {
        let choice = *self.choices.next()?;
        if let Some(guidance) = &mut self.guidance {
            black_box(guidance.saw(report, news, black_box(u32::MAX)));
            black_box(guidance.pick(run, self.rng));
        }
        Some(choice)
    }
}

/// Replays everything, and returns how many nanoseconds each execution took, or one section of its steps.
pub(super) fn replayed(
    run: &mut dyn Run,
    setup: &Setup,
    options: &Options,
    recording: &Recording,
    pass: Pass,
    clock: Clock,
    section: Option<Section>,
) -> Vec<u64> {
    let (settings, lenses) = Settings::of(setup, options);
    let mut archive = recording.archive.clone();
    let mut guidance = strategy(&options.guidance, options.faults, lenses, options.steps_max)
        .filter(|_| pass >= Pass::Picks);
    let mut rng = Rng::new(options.seed);
    let (mut report, mut execution, mut met) = (Report::default(), Execution::default(), Vec::new());
    let mut times = Vec::with_capacity(recording.executed.len());
    for recorded in &recording.executed {
        let mode =
            Mode { seed: settings.draw_seed, watch: watch(settings, recorded, pass), misfit: Misfit::Skip };
        let (given, picked) = recorded.choices.split_at(recorded.given);
        // Plans are not timed here, but a strategy picks as it has planned.
        let plan = guidance.as_mut().filter(|_| !recorded.check).map(|g| g.plan(&archive, &mut rng));
        let planned = guidance.as_deref_mut().filter(|_| plan.is_some()).map(|g| g as &mut dyn Guidance);
        let mut recalled = Recalled { choices: picked.iter(), guidance: planned, rng: &mut rng };
        let mut unwatched = Unwatched;
        let enters = pass >= Pass::Set && recorded.looked;
        let mut meeting = enters.then(|| enter(&mut archive, &mut met));
        let watcher: &mut dyn Watcher = match &mut meeting {
            Some(meeting) => meeting,
            None => &mut unwatched,
        };
        if section.is_some() {
            probe::start(clock);
        }
        let start = clock();
        execute(run, mode, given, Some(&mut recalled), watcher, &mut report, &mut execution);
        let all = clock() - start;
        if let (Some(guidance), Some(plan)) = (&mut guidance, &plan) {
            let _ = guidance.learn(plan, &execution);
        }
        times.push(section.map_or(all, |section| {
            let spent = probe::stop()[section as usize];
            if spent > all { 0 } else { spent }
        }));
    }
    times
}

fn enter<'a>(archive: &'a mut Archive, met: &'a mut Vec<MetCell>) -> Meeting<'a> {
    archive.start_run();
    met.clear();
    Meeting { archive, met, new_cells: 0, saves: false }
}

fn watch(settings: Settings, recorded: &Recorded, pass: Pass) -> Watch {
    let modelled = recorded.conformance || settings.model_guides && recorded.looked;
    Watch {
        keys: pass >= Pass::Keys && recorded.looked,
        model: pass >= Pass::Model && modelled,
        conformance: pass >= Pass::Model && recorded.conformance,
        trace: false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Pass, Recorded, watch};
    use crate::afl::Settings;
    use crate::campaign::Options;
    use misrule_world::{Contract, Setup};

    #[test]
    fn keys_and_model_are_replayed_where_the_campaign_had_them() {
        let setup = Setup {
            settings: misrule_world::Settings::default(),
            contract: Contract::default(),
            lenses: vec!["pairs@model".to_owned()],
        };
        let (settings, _) = Settings::of(&setup, &Options::default());
        let watched = |looked, conformance, pass| {
            let recorded = Recorded { choices: Vec::new(), given: 0, conformance, looked, check: false };
            let watch = watch(settings, &recorded, pass);
            (watch.keys, watch.model, watch.conformance)
        };
        assert_eq!(watched(false, false, Pass::Picks), (false, false, false));
        assert_eq!(watched(true, false, Pass::Picks), (true, true, false));
        assert_eq!(watched(false, true, Pass::Picks), (false, true, true));
        assert_eq!(watched(true, true, Pass::Model), (false, true, true));
        assert_eq!(watched(true, true, Pass::Plain), (false, false, false));
    }
}

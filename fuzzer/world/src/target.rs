//! Targets: systems packed with judge, settings, contract and lenses, registered under a name.

use crate::contract::Contract;
use crate::judge::Judge;
use crate::run::Run;
use crate::settings::{Setting, Settings};
use crate::system::System;
use crate::world::World;
use misrule_history::specifications::Named;

/// What a target is opened with. Values are checked against the target before it is opened.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Every setting of the target, defaults filled in.
    pub settings: Settings,
    /// The contract of the run, complete.
    pub contract: Contract,
    /// Lenses to compute, by full name (`pairs@model`); positions here are the `lens` of keys.
    pub lenses: Vec<String>,
}

/// Settings that each are valid but together are not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SetupError(pub String);

/// What a target can be made to do by choices: the capability card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Each message is delivered by a choice.
    Delivery,
    /// Each message can be lost.
    Drop,
    /// Each message can be duplicated.
    Duplicate,
    /// Timers fire by choices.
    Time,
    /// Nodes crash and restart.
    Crash,
    /// Storage is on the simulated disk.
    Disk,
    /// Random draws are choices.
    Draws,
}

impl Control {
    /// All controls with their names.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Delivery, "delivery"),
        (Self::Drop, "drop"),
        (Self::Duplicate, "duplicate"),
        (Self::Time, "time"),
        (Self::Crash, "crash"),
        (Self::Disk, "disk"),
        (Self::Draws, "draws"),
    ];
}

type Open = dyn Fn(&Setup) -> Result<Box<dyn Run>, SetupError> + Send + Sync;

/// A registered target. Made by [`target`], completed by the methods here.
pub struct Target {
    /// The name on the command line.
    pub name: &'static str,
    /// Version of the crate under test.
    pub version: &'static str,
    /// One sentence.
    pub description: &'static str,
    /// Settings with type, range and default.
    pub settings: Vec<Setting>,
    /// The contract that campaigns start from.
    pub contract: Contract,
    /// Lenses that the judge can compute, by full name.
    pub lenses: Vec<&'static str>,
    /// Planted bugs, by name, with what they are: values of the setting `bug`.
    pub bugs: Vec<(&'static str, &'static str)>,
    /// What histories of its clients are checked against; for commands to paste.
    pub specification: Option<Named>,
    /// The capability card.
    pub controls: Vec<Control>,
    /// Longest execution of a campaign that asks for no other, in steps.
    pub steps_max: u32,
    /// Whether the model follows the target with these settings; where it does not, lenses at the implementation are the
    /// default.
    pub modelled: fn(&Settings) -> bool,
    open: Box<Open>,
}

/// A target from a function that makes its system and its judge.
///
/// The function is called once for each campaign, replay or minimisation; it returns an error for settings
/// that do not go together.
pub fn target<S, J>(
    name: &'static str,
    make: impl Fn(&Setup) -> Result<(S, J), SetupError> + Send + Sync + 'static,
) -> Target
where
    S: System,
    J: Judge<S>,
{
    Target {
        name,
        version: "0.0.0",
        description: "",
        settings: Vec::new(),
        contract: Contract::default(),
        lenses: Vec::new(),
        bugs: Vec::new(),
        specification: None,
        controls: vec![Control::Delivery, Control::Drop, Control::Duplicate, Control::Time, Control::Crash],
        steps_max: 30_000,
        modelled: |_| true,
        open: Box::new(move |setup| {
            let (system, judge) = make(setup)?;
            Ok(Box::new(World::new(system, judge, setup.contract)))
        }),
    }
}

impl Target {
    /// Sets the version of the crate under test.
    #[must_use]
    pub fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    /// Sets the description: one sentence.
    #[must_use]
    pub fn description(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Adds a setting.
    #[must_use]
    pub fn setting(mut self, setting: Setting) -> Self {
        self.settings.push(setting);
        self
    }

    /// Sets the default contract, in the words of [`Contract`].
    ///
    /// # Panics
    /// When the words are not known: an error of the adapter.
    #[must_use]
    pub fn contract(mut self, text: &str) -> Self {
        match Contract::default().overridden(text) {
            Ok(contract) => self.contract = contract,
            Err(error) => panic!("contract of target {}: {error}", self.name),
        }
        self
    }

    /// Names the lenses that the judge can compute.
    #[must_use]
    pub fn lenses(mut self, lenses: &[&'static str]) -> Self {
        self.lenses = lenses.to_vec();
        self
    }

    /// Names the planted bugs and adds the setting `bug` that plants one of them.
    #[must_use]
    pub fn bugs(mut self, bugs: &[(&'static str, &'static str)]) -> Self {
        self.bugs = bugs.to_vec();
        let words = std::iter::once("none").chain(bugs.iter().map(|(name, _)| *name)).collect();
        self.setting(Setting::words("bug", words, "none", "plants a bug"))
    }

    /// Names what histories of its clients are checked against, with `misrule history`.
    #[must_use]
    pub fn specification(mut self, specification: Named) -> Self {
        self.specification = Some(specification);
        self
    }

    /// Sets how long executions of a campaign may become, in steps: 30,000 unless the target says otherwise. A target
    /// whose steps are slow wants short ones, since the minimiser executes what was found some hundred times.
    #[must_use]
    pub fn steps_max(mut self, steps: u32) -> Self {
        self.steps_max = steps;
        self
    }

    /// Says with which settings the model follows the target: with all unless the target says otherwise. Settings that do not
    /// go together count as followed.
    #[must_use]
    pub fn modelled(mut self, modelled: fn(&Settings) -> bool) -> Self {
        self.modelled = modelled;
        self
    }

    /// A setup with settings by name and value, words of the contract over the target's own, and lenses by full name.
    ///
    /// # Errors
    /// A setting that the target does not have, a value that it does not take, or words of no contract.
    pub fn setup(
        &self,
        settings: &[(&str, &str)],
        contract: &str,
        lenses: &[&str],
    ) -> Result<Setup, SetupError> {
        let given: Vec<_> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(Setup {
            settings: Settings::resolve(&self.settings, &given)
                .map_err(|error| SetupError(error.to_string()))?,
            contract: self.contract.overridden(contract).map_err(|error| SetupError(error.to_string()))?,
            lenses: lenses.iter().map(|lens| (*lens).to_owned()).collect(),
        })
    }

    /// Adds what else the target lets choices control: the disk, draws.
    #[must_use]
    pub fn controls(mut self, more: &[Control]) -> Self {
        self.controls.extend_from_slice(more);
        self
    }

    /// The target in its world.
    ///
    /// # Errors
    /// Settings that do not go together.
    pub fn open(&self, setup: &Setup) -> Result<Box<dyn Run>, SetupError> {
        (self.open)(setup)
    }
}

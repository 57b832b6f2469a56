//! What a campaign is to do, everything resolved.

use super::Arguments;
use crate::build;
use crate::clock;
use crate::exit::Error;
use crate::findings::pretty;
use crate::folder::{Folder, write};
use crate::lens::record::{LENSES, Record};
use crate::resolve;
use crate::session::Session;
use misrule_engine::{Budget, Conformance, LIBAFL_VERSION, Options, Summary};
use misrule_world::{Setup, Target, mix};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// What a campaign is to do.
pub(super) struct Plan<'a> {
    pub(super) target: &'a Target,
    pub(super) setup: Setup,
    pub(super) options: Options,
    strict: bool,
    /// The fault profile as it was asked for.
    faults: String,
    started: String,
}

impl<'a> Plan<'a> {
    /// Resolves what was asked for; nothing is written.
    pub(super) fn resolve(arguments: &Arguments, session: &Session<'a>) -> Result<Self, Error> {
        let target = match (&arguments.target, session.targets) {
            (Some(name), _) => session.target(name)?,
            (None, [only]) => only,
            (None, all) => {
                let names: Vec<&str> = all.iter().map(|target| target.name).collect();
                return Err(Error::Usage(format!("which target? There are: {}", names.join(", "))));
            }
        };
        let settings = resolve::settings(target, &arguments.set)?;
        let contract = resolve::contract(target, arguments.contract.as_deref())?;
        let guidance = resolve::guidance(target, arguments.guidance.as_deref())?;
        let lenses = resolve::lenses(target, &settings, arguments.lens.as_deref(), guidance, contract)?;
        let now = clock::since_1970();
        let drawn = || mix(now.as_nanos() as u64 ^ u64::from(std::process::id())) >> 32;
        let options = Options {
            seed: arguments.seed.unwrap_or_else(drawn),
            guidance: guidance.to_owned(),
            faults: resolve::faults(session, &arguments.faults)?,
            stop_after_executions: arguments.executions,
            stop_after_steps: arguments.steps,
            stop_after_time: arguments.time,
            stop_after_findings: arguments.stop_after,
            until: arguments.until.clone(),
            minimise: if arguments.minimize == "no" { Budget::NONE } else { Budget::default() },
            steps_max: arguments.steps_max.unwrap_or(target.steps_max),
            conformance: match arguments.conformance.as_str() {
                "always" => Conformance::Always,
                "off" => Conformance::Off,
                _ => Conformance::Sampled,
            },
            recovery: resolve::recovery(&arguments.recovery),
            snapshots: true,
        };
        let setup = Setup { settings, contract, lenses };
        let (strict, faults, started) = (arguments.strict, arguments.faults.clone(), clock::utc(now));
        Ok(Self { target, setup, options, strict, faults, started })
    }

    /// When the model's state is compared.
    pub(super) fn conformance(&self) -> &'static str {
        match self.options.conformance {
            Conformance::Always => "always",
            Conformance::Sampled => "sampled",
            Conformance::Off => "off",
        }
    }

    /// When executions end in a recovery.
    pub(super) fn recovery(&self) -> &'static str {
        self.options.recovery.word()
    }

    /// The settings as a JSON object.
    pub(super) fn settings(&self) -> Value {
        let settings = self.setup.settings.iter();
        Value::Object(settings.map(|(name, value)| (name.to_owned(), value.into())).collect::<Map<_, _>>())
    }

    /// The fault profile, and where it comes from if that is a file.
    fn faults_in_words(&self) -> String {
        let faults = self.options.faults.to_string();
        if self.faults == faults { faults } else { format!("{faults} ({})", self.faults) }
    }

    fn budget(&self) -> String {
        let options = &self.options;
        let of = match options.until.join(" or ") {
            names if names.is_empty() => names,
            names => format!(" of {names}"),
        };
        let parts: Vec<String> = [
            options.stop_after_executions.map(|n| format!("{n} executions")),
            options.stop_after_steps.map(|n| format!("{n} steps")),
            options.stop_after_time.map(|time| format!("{} s", time.as_secs_f64())),
            (options.stop_after_findings > 0)
                .then(|| format!("{} new finding(s){of}", options.stop_after_findings)),
        ]
        .into_iter()
        .flatten()
        .collect();
        if parts.is_empty() { "until Ctrl-C".to_owned() } else { format!("{}, or Ctrl-C", parts.join(", ")) }
    }

    /// Seed and every resolved option, printed before anything runs.
    pub(super) fn in_words(&self, folder: &Folder, corpus: usize) -> String {
        let mut out = String::new();
        let settings: Vec<String> =
            self.setup.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
        let is_unfollowed = resolve::is_unfollowed(self.target, &self.setup.settings);
        let unfollowed = if is_unfollowed { " (the model does not follow these settings)" } else { "" };
        let _ = writeln!(out, "misrule {}", *build::LONG);
        for (name, value) in [
            ("seed", self.options.seed.to_string()),
            ("target", format!("{} {}", self.target.name, self.target.version)),
            ("settings", or_none(settings.join(" "))),
            ("contract", self.setup.contract.to_string()),
            ("faults", self.faults_in_words()),
            ("guidance", self.options.guidance.clone()),
            ("lens", or_none(self.setup.lenses.join(",")) + unfollowed),
            ("conformance", self.conformance().to_owned()),
            ("recovery", self.recovery().to_owned()),
            ("steps_max", self.options.steps_max.to_string()),
            ("stop_after", self.budget()),
            ("corpus", format!("{corpus} schedules")),
            ("run", folder.shown.display().to_string()),
        ] {
            let _ = writeln!(out, "{name:<11} {value}");
        }
        let options = &self.options;
        let bounded = options.stop_after_executions.is_some()
            || options.stop_after_steps.is_some()
            || options.stop_after_time.is_some();
        if !bounded {
            let until = if options.stop_after_findings > 0 { "a finding or Ctrl-C" } else { "Ctrl-C" };
            let _ = writeln!(out, "no budget was given: runs until {until}");
        }
        out.push('\n');
        out
    }

    /// Writes `lenses.jsonl`: what the run tells of its lenses.
    pub(super) fn write_lenses(&self, folder: &Folder, summary: &Summary) -> Result<(), Error> {
        let record = Record::of(self.target.name, &self.options.guidance, &self.setup, summary);
        write(&folder.path.join(LENSES), &record.text()?)
    }

    /// Writes `manifest.json`: at the start without a verdict, at the end with one.
    pub(super) fn write_manifest(&self, folder: &Folder, verdict: Option<&str>) -> Result<(), Error> {
        let options = &self.options;
        let manifest = json!({
            "format": 1,
            "misrule": env!("CARGO_PKG_VERSION"),
            "commit": build::COMMIT,
            "libafl": LIBAFL_VERSION,
            "target": self.target.name,
            "target_version": self.target.version,
            "seed": options.seed,
            "guidance": options.guidance,
            "lens": self.setup.lenses,
            "contract": self.setup.contract.to_string(),
            "faults": options.faults.to_string(),
            "settings": self.settings(),
            "conformance": self.conformance(),
            "recovery": self.recovery(),
            "strict": self.strict,
            "stop_after_executions": options.stop_after_executions,
            "stop_after_steps": options.stop_after_steps,
            "stop_after_seconds": options.stop_after_time.map(|time| time.as_secs_f64()),
            "stop_after_findings": options.stop_after_findings,
            "until": options.until,
            "minimize": options.minimise != Budget::NONE,
            "steps_max": options.steps_max,
            "start": self.started,
            "end": verdict.map(|_| clock::utc(clock::since_1970())),
            "verdict": verdict,
        });
        write(&folder.path.join("manifest.json"), &pretty(&manifest))
    }
}

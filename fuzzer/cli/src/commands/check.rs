//! `check`: whether a target is deterministic, in this process and in a fresh one.

use super::{word, write_json};
use crate::exit::{DIVERGED, Error, OK};
use crate::numbers;
use crate::resolve;
use crate::session::Session;
use clap::Args;
use misrule_engine::{Difference, Step, check, replay};
use misrule_world::{FaultProfile, Run, Schedule, Setup, Tail, Target, Watch, mix};
use serde_json::json;
use std::process::Command;

/// Executes random schedules twice in this process and once more in a fresh one, and compares the traces
///
/// The first difference is named by execution and step, with both sides, and exits with 3.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  misrule check omnipaxos\n  misrule check mine --executions 1000 --steps 3000"
)]
pub(super) struct Arguments {
    /// The target
    target: String,
    /// How many schedules
    #[arg(long, value_name = "N", value_parser = numbers::count, default_value = "100")]
    executions: u64,
    /// Steps of each schedule
    #[arg(long, value_name = "N", value_parser = numbers::steps, default_value = "1000")]
    steps: u32,
    /// Seed of the schedules: a number, or the 40 hex digits of a commit
    #[arg(long, value_parser = numbers::seed, default_value = "1")]
    seed: u64,
    /// What links and disks promise; overrides what it names
    #[arg(long, value_name = "WORDS")]
    contract: Option<String>,
    /// Which faults are drawn: none, light, default, heavy, swarm, what differs from the default (drop=0,crash=80), or a
    /// file of profiles; the name of one of several comes behind a colon
    #[arg(long, value_name = "PROFILE", default_value = "default")]
    faults: String,
    /// A setting of the target; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = numbers::setting)]
    set: Vec<(String, String)>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// For the fresh process: print the hash of each execution, or the steps of this one
    #[arg(long, hide = true, value_name = "EXECUTION")]
    fresh: Option<u64>,
}

/// A place where two executions differ.
struct Differs {
    between: &'static str,
    found: Difference,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let target = session.target(&arguments.target)?;
    let settings = resolve::settings(target, &arguments.set)?;
    let contract = resolve::contract(target, arguments.contract.as_deref())?;
    let faults = resolve::faults(session, &arguments.faults)?;
    let lenses = resolve::usable(target, &settings).into_iter().map(str::to_owned).collect();
    let setup = Setup { settings, contract, lenses };
    let mut one = open(target, &setup)?;
    let schedules = Schedules { seed: arguments.seed, steps: arguments.steps, faults };
    match arguments.fresh {
        Some(0) => {
            for execution in 1..=arguments.executions {
                writeln!(session.out, "{}", schedules.hash(&mut *one, execution))?;
            }
            return Ok(OK);
        }
        Some(execution) => {
            for step in schedules.steps(&mut *one, execution) {
                writeln!(session.out, "{step}")?;
            }
            return Ok(OK);
        }
        None => {}
    }
    let mut other = open(target, &setup)?;
    let (seed, executions, steps) = (arguments.seed, arguments.executions, arguments.steps);
    let mut digest = None;
    let differs = match check(&mut *one, &mut *other, seed, executions, steps, faults) {
        Err(found) => Some(Differs { between: "two worlds in one process", found: *found }),
        Ok(hash) => {
            digest = Some(format!("{hash:016x}"));
            fresh(arguments, session, &schedules, &mut *one)?
        }
    };
    report(arguments, session, digest.as_deref(), differs.as_ref())
}

fn open(target: &Target, setup: &Setup) -> Result<Box<dyn Run>, Error> {
    target.open(setup).map_err(|error| Error::Usage(error.to_string()))
}

/// The schedules of a check: the same as those of the engine's.
struct Schedules {
    seed: u64,
    steps: u32,
    faults: FaultProfile,
}

impl Schedules {
    fn schedule(&self, execution: u64) -> Schedule {
        let tail = Tail { seed: mix(self.seed ^ execution), steps: self.steps, faults: self.faults };
        Schedule { choices: Vec::new(), tail: Some(tail) }
    }

    fn hash(&self, run: &mut dyn Run, execution: u64) -> String {
        let watch = Watch { keys: true, model: true, conformance: true, trace: true };
        replay(run, self.seed, &self.schedule(execution), watch, false, &mut |_, _| {}).trace_hash
    }

    fn steps(&self, run: &mut dyn Run, execution: u64) -> Vec<String> {
        let watch = Watch { keys: true, model: true, conformance: true, trace: true };
        let mut steps = Vec::new();
        let mut note = |_, step: &Step| steps.push(format!("{step:?}"));
        replay(run, self.seed, &self.schedule(execution), watch, false, &mut note);
        steps
    }
}

/// Compares with a fresh process.
fn fresh(
    arguments: &Arguments,
    session: &mut Session<'_>,
    schedules: &Schedules,
    run: &mut dyn Run,
) -> Result<Option<Differs>, Error> {
    let Some(hashes) = ask(arguments, session, 0)? else { return Ok(None) };
    for execution in 1..=arguments.executions {
        let here = schedules.hash(run, execution);
        let there = hashes.get(execution as usize - 1);
        if there == Some(&here) {
            continue;
        }
        let here = schedules.steps(run, execution);
        let there = ask(arguments, session, execution)?.unwrap_or_default();
        let length = here.len().max(there.len());
        let step = (0..length).find(|at| here.get(*at) != there.get(*at)).unwrap_or(length);
        let told = |steps: &[String]| {
            steps.get(step).cloned().unwrap_or_else(|| "the execution has ended".to_owned())
        };
        let found = Difference { execution, step, first: told(&here), second: told(&there) };
        return Ok(Some(Differs { between: "this process and a fresh one", found }));
    }
    Ok(None)
}

/// What a fresh process prints, line by line; `None` where there is no program to start.
fn ask(
    arguments: &Arguments,
    session: &mut Session<'_>,
    execution: u64,
) -> Result<Option<Vec<String>>, Error> {
    let Some(program) = session.program.clone() else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(["check", &arguments.target, "--fresh", &execution.to_string()]);
    command.args(["--executions", &arguments.executions.to_string()]);
    command.args(["--steps", &arguments.steps.to_string(), "--seed", &arguments.seed.to_string()]);
    command.args(["--faults", &arguments.faults]);
    command.args(arguments.contract.iter().map(|words| format!("--contract={words}")));
    command.args(arguments.set.iter().map(|(name, value)| format!("--set={name}={value}")));
    let output = command.output().map_err(|error| Error::Internal(format!("a fresh process: {error}")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::Internal(format!("the fresh process ended with {}: {text}", output.status)));
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()))
}

fn report(
    arguments: &Arguments,
    session: &mut Session<'_>,
    digest: Option<&str>,
    differs: Option<&Differs>,
) -> Result<u8, Error> {
    let processes = 1 + u8::from(session.program.is_some());
    let verdict = if differs.is_some() { "diverged" } else { "pass" };
    if arguments.json {
        let difference = differs.map(|differs| {
            json!({
                "between": differs.between,
                "execution": differs.found.execution,
                "step": differs.found.step,
                "first": differs.found.first,
                "second": differs.found.second,
            })
        });
        let object = json!({
            "target": arguments.target,
            "verdict": verdict,
            "executions": arguments.executions,
            "steps": arguments.steps,
            "seed": arguments.seed,
            "processes": processes,
            "digest": digest,
            "difference": difference,
        });
        write_json(session, &object)?;
    } else {
        if let Some(Differs { between, found }) = differs {
            writeln!(session.out, "{between} differ in execution {}, step {}", found.execution, found.step)?;
            writeln!(session.out, "  first   {}", found.first)?;
            writeln!(session.out, "  second  {}", found.second)?;
            writeln!(
                session.out,
                "likely causes: iteration of a hash map, a clock, a random generator, a thread, an address in \
                 a message"
            )?;
        }
        writeln!(
            session.out,
            "target={} verdict={verdict} executions={} steps={} seed={} processes={processes} digest={}",
            word(&arguments.target),
            arguments.executions,
            arguments.steps,
            arguments.seed,
            digest.unwrap_or("none")
        )?;
    }
    Ok(if differs.is_some() { DIVERGED } else { OK })
}

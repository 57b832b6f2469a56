//! What a campaign counted, in words and as JSON.

use super::monitor::Watched;
use super::plan::Plan;
use crate::build;
use crate::commands::word;
use crate::folder::Folder;
use misrule_engine::{Outcome, Sample, Summary};
use misrule_models::Outcome as Event;
use misrule_report::terminal::grouped;
use misrule_world::{ChoiceKind, FaultCount, FaultKind, FaultProfile, FaultWeights};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Campaigns of fewer steps are too short to say that something was never seen.
const STEPS_TO_TELL: u64 = 1_000_000;

/// A campaign that has ended.
pub(super) struct Done<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) folder: &'a Folder,
    pub(super) outcome: &'a Outcome,
    pub(super) watched: &'a Watched,
    pub(super) verdict: &'a str,
}

/// What a long campaign should have seen and has not.
pub(super) fn problems(summary: &Summary, faults_asked: FaultProfile) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, executions) in undecided(summary) {
        problems.push(format!(
            "the oracle `{name}` could not decide in {} of {} executions",
            grouped(executions),
            grouped(summary.executions)
        ));
    }
    if summary.steps < STEPS_TO_TELL {
        return problems;
    }
    let steps = grouped(summary.steps);
    let seen_any = summary.tally.sometimes.iter().any(|(_, executions)| *executions > 0);
    // A judge may look for them itself, without a model.
    if summary.tally.steps_followed > 0 || seen_any {
        for (name, executions) in &summary.tally.sometimes {
            if *executions == 0 {
                problems.push(format!("the `sometimes` property `{name}` was never seen in {steps} steps"));
            }
        }
    } else if !summary.tally.sometimes.is_empty() {
        problems.push("no `sometimes` property could be seen: the model was never on".to_owned());
    }
    for (kind, count) in faults(summary) {
        if count.drawn > 0 && count.applied == 0 {
            let word = kind.word();
            problems
                .push(format!("the fault `{word}` was drawn {} times and never had an effect", count.drawn));
        }
    }
    for (name, kind) in asked(faults_asked) {
        if summary.choices[kind as usize].drawn == 0 {
            problems.push(format!("the fault profile names `{name}`, and `{}` was never drawn", kind.word()));
        }
    }
    problems
}

/// Oracles that did not always know, and in how many executions.
fn undecided(summary: &Summary) -> impl Iterator<Item = (&'static str, u64)> {
    summary.tally.undecided.iter().copied().filter(|(_, executions)| *executions > 0)
}

/// The faults that a profile of the user's asks for by name, with the choices that they draw.
fn asked(profile: FaultProfile) -> impl Iterator<Item = (&'static str, ChoiceKind)> {
    let weights = match profile {
        FaultProfile::Custom(weights) => weights,
        _ => FaultWeights::default(),
    };
    FaultKind::ALL.into_iter().filter_map(move |(kind, name, default)| {
        let asked = weights.of(kind) > 0 && weights.of(kind) != u32::from(default);
        kind.choice().filter(|_| asked).map(|choice| (name, choice))
    })
}

fn faults(summary: &Summary) -> impl Iterator<Item = (ChoiceKind, FaultCount)> {
    ChoiceKind::ALL
        .iter()
        .filter(|(kind, _)| kind.is_fault())
        .map(|(kind, _)| (*kind, summary.choices[*kind as usize]))
}

/// The share of followed steps that the model walked; none where it followed no step.
fn walked_share(summary: &Summary) -> Option<f64> {
    let tally = &summary.tally;
    (tally.steps_followed > 0).then(|| ratio(tally.steps_walked, tally.steps_followed))
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// Cells of all lenses over time: executions, steps, seconds and cells of each sample.
fn coverage(summary: &Summary) -> Value {
    let sample = |sample: &Sample| {
        let cells: u64 = sample.cells.iter().map(|(_, cells)| cells).sum();
        json!([sample.executions, sample.steps, sample.elapsed.as_secs_f64(), cells])
    };
    summary.samples.iter().map(sample).collect()
}

/// What sessions did.
fn calls(summary: &Summary) -> Value {
    let calls = summary.calls;
    json!({
        "asked": calls.asked,
        "retried": calls.retried,
        "answered": calls.answered,
        "failed": calls.failed,
        "abandoned": calls.abandoned,
        "ignored": calls.ignored,
    })
}

/// What was counted of recoveries.
fn recovery(plan: &Plan<'_>, summary: &Summary) -> Value {
    json!({
        "when": plan.recovery(),
        "executions": summary.recovery.executions,
        "steps": summary.recovery.steps,
        "progressed": summary.recovery.progressed,
        "stalled": summary.recovery.stalled,
    })
}

/// What was counted of recoveries, a line for people; nothing where there was none.
fn recovery_words(summary: &Summary) -> String {
    let recovery = summary.recovery;
    if recovery.executions == 0 {
        return String::new();
    }
    format!(
        "recovery   {} executions ended in one: {} progressed, {} stalled; {} steps besides\n",
        grouped(recovery.executions),
        grouped(recovery.progressed),
        grouped(recovery.stalled),
        grouped(recovery.steps)
    )
}

/// What sessions did, a line for people; nothing where nobody asked.
fn call_words(summary: &Summary) -> String {
    let calls = summary.calls;
    if calls.asked == 0 {
        return String::new();
    }
    format!(
        "calls      {} asked, {} retried, {} answered ({} failed), {} abandoned, {} answers ignored\n",
        grouped(calls.asked),
        grouped(calls.retried),
        grouped(calls.answered),
        grouped(calls.failed),
        grouped(calls.abandoned),
        grouped(calls.ignored)
    )
}

impl Done<'_> {
    /// The object of `--json`.
    pub(super) fn as_json(&self, findings: &[Value], problems: &[String]) -> Value {
        let (plan, summary) = (self.plan, &self.outcome.summary);
        let tally = &summary.tally;
        let mut events: Map<String, Value> = Event::ALL
            .iter()
            .map(|(outcome, name)| ((*name).to_owned(), tally.events.count(*outcome).into()))
            .collect();
        let deviations: Map<String, Value> =
            tally.deviations.iter().map(|(name, count)| ((*name).to_owned(), (*count).into())).collect();
        events.insert("walked_share".to_owned(), json!(walked_share(summary)));
        events.insert("steps_followed".to_owned(), tally.steps_followed.into());
        events.insert("steps_walked".to_owned(), tally.steps_walked.into());
        events.insert("deviations".to_owned(), deviations.into());
        let faults: Vec<Value> = faults(summary)
            .map(|(kind, c)| json!({ "kind": kind.word(), "drawn": c.drawn, "applied": c.applied }))
            .collect();
        let sometimes: Vec<Value> = tally
            .sometimes
            .iter()
            .map(|(name, executions)| json!({ "name": name, "executions": executions }))
            .collect();
        let undecided: Vec<Value> = undecided(summary)
            .map(|(name, executions)| json!({ "name": name, "executions": executions }))
            .collect();
        let mutators: Vec<Value> = summary
            .mutators
            .iter()
            .map(|m| {
                json!({ "name": m.name, "executions": m.executions, "steps": m.steps, "new_cells": m.new_cells })
            })
            .collect();
        json!({
            "command": "fuzz",
            "target": plan.target.name,
            "target_version": plan.target.version,
            "build": build::version(),
            "seed": plan.options.seed,
            "guidance": plan.options.guidance,
            "lens": plan.setup.lenses,
            "contract": plan.setup.contract.to_string(),
            "conformance": plan.conformance(),
            "fault_profile": plan.options.faults.to_string(),
            "settings": plan.settings(),
            "executions": summary.executions,
            "steps": summary.steps,
            "steps_skipped": summary.steps_skipped,
            "steps_returning": summary.steps_returning,
            "exhausted": summary.exhausted,
            "seconds": self.watched.seconds,
            "cpu_seconds": self.watched.cpu_seconds,
            "cells": self.cells(),
            "coverage": coverage(summary),
            "keys_beyond": summary.keys_beyond.iter().sum::<u64>(),
            "kept": summary.kept,
            "overflow": summary.overflow,
            "recovery": recovery(plan, summary),
            "events": events,
            "faults": faults,
            "sometimes": sometimes,
            "calls": calls(summary),
            "undecided": undecided,
            "mutators": mutators,
            "findings": findings,
            "problems": problems,
            "corpus_digest": self.digest(),
            "run": self.folder.shown.display().to_string(),
            "verdict": self.verdict,
        })
    }

    fn digest(&self) -> String {
        format!("{:016x}", self.outcome.summary.corpus_digest)
    }

    fn cells(&self) -> Map<String, Value> {
        let lenses = self.plan.setup.lenses.iter().cloned();
        lenses.zip(self.outcome.summary.cells.iter().map(|cells| (*cells).into())).collect()
    }

    /// The end of what people read; the last line is for programs.
    pub(super) fn in_words(&self) -> String {
        let (plan, summary) = (self.plan, &self.outcome.summary);
        let tally = &summary.tally;
        let mut out = String::new();
        let _ = writeln!(
            out,
            "executions {}, {} steps in {:.1} s ({} skipped, {} returning to cells)",
            grouped(summary.executions),
            grouped(summary.steps),
            self.watched.seconds,
            grouped(summary.steps_skipped),
            grouped(summary.steps_returning)
        );
        if summary.exhausted {
            out.push_str("exhausted  every schedule in the scope of the strategy has run\n");
        }
        let cells: Vec<String> = self.cells().iter().map(|(lens, count)| format!("{lens} {count}")).collect();
        if !cells.is_empty() {
            let _ = writeln!(out, "cells      {}; {} schedules kept", cells.join(", "), summary.kept);
        }
        if let Some(share) = walked_share(summary) {
            let count = |(outcome, name): &(Event, &str)| format!("{name} {}", tally.events.count(*outcome));
            let counts: Vec<String> = Event::ALL.iter().map(count).collect();
            let _ = writeln!(
                out,
                "events     {}; the model walked {:.2} % of {} steps",
                counts.join(", "),
                share * 100.0,
                grouped(tally.steps_followed)
            );
        }
        let named = |pairs: &[(&'static str, u64)]| {
            pairs.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        if !tally.deviations.is_empty() {
            let _ = writeln!(out, "deviations {}", named(&tally.deviations));
        }
        if tally.steps_followed > 0 && !tally.sometimes.is_empty() {
            let _ = writeln!(out, "sometimes  {} (executions)", named(&tally.sometimes));
        }
        let faults: Vec<String> =
            faults(summary).map(|(kind, c)| format!("{} {}/{}", kind.word(), c.applied, c.drawn)).collect();
        let _ = writeln!(out, "faults     {} (applied/drawn)", faults.join(", "));
        out.push_str(&recovery_words(summary));
        out.push_str(&call_words(summary));
        for finding in &self.outcome.findings {
            let known = if finding.known { ", known" } else { "" };
            let _ = writeln!(
                out,
                "finding    {} {} ({}{known}), found {} times",
                finding.fingerprint,
                finding.failure.property,
                finding.class.name(),
                finding.count
            );
        }
        let _ = writeln!(
            out,
            "\ntarget={} verdict={} findings={} executions={} steps={} seconds={:.3} seed={} corpus_digest={} run={}",
            word(plan.target.name),
            self.verdict,
            self.outcome.findings.len(),
            summary.executions,
            summary.steps,
            self.watched.seconds,
            plan.options.seed,
            self.digest(),
            word(&self.folder.shown.display().to_string())
        );
        out
    }
}

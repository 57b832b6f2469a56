//! `list`: the registered targets and what they take.

use super::{word, write_json};
use crate::exit::{Error, OK};
use crate::resolve;
use crate::session::Session;
use clap::Args;
use misrule_engine::{SIGNALS, STRATEGIES};
use misrule_models::presets::FACETS;
use misrule_world::{Contract, Control, SettingKind, Target};
use serde_json::{Value, json};
use std::fmt::Write;

/// Lists targets, or everything about one: contracts, settings, lenses, bugs, capability card
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  misrule list\n  misrule list omnipaxos\n  misrule list --json")]
pub(super) struct Arguments {
    /// Show only this target, in full
    target: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, session: &mut Session<'_>) -> Result<u8, Error> {
    let targets: Vec<&Target> = match &arguments.target {
        Some(name) => vec![session.target(name)?],
        None => session.targets.iter().collect(),
    };
    if arguments.json {
        let targets: Vec<Value> = targets.iter().map(|target| as_json(target)).collect();
        let named = |(name, about): (&str, &str)| json!({ "name": name, "description": about });
        let strategies: Vec<Value> = STRATEGIES.iter().map(|s| named((s.name, s.about))).collect();
        let signals: Vec<Value> = SIGNALS.iter().copied().map(named).collect();
        let facets: Vec<Value> = FACETS.iter().copied().map(named).collect();
        let all =
            json!({ "targets": targets, "strategies": strategies, "signals": signals, "facets": facets });
        write_json(session, &all)?;
        return Ok(OK);
    }
    let mut text = String::new();
    if arguments.target.is_some() {
        for target in &targets {
            in_full(target, &mut text);
        }
    } else {
        let widest = targets.iter().map(|target| target.name.len()).max().unwrap_or(0);
        for target in &targets {
            let _ = writeln!(text, "{:<widest$}  {:<8} {}", target.name, target.version, target.description);
        }
        guidance(&mut text);
    }
    write!(session.out, "{text}")?;
    match &targets[..] {
        [target] if arguments.target.is_some() => writeln!(
            session.out,
            "target={} version={} settings={} lenses={} bugs={}",
            word(target.name),
            word(target.version),
            target.settings.len(),
            target.lenses.len(),
            target.bugs.len()
        )?,
        _ => writeln!(session.out, "targets={}", targets.len())?,
    }
    Ok(OK)
}

/// What guides, whatever the target.
fn guidance(out: &mut String) {
    let mut table = |title: &str, rows: &mut dyn Iterator<Item = (&str, &str)>| {
        let _ = writeln!(out, "\n{title}");
        for (name, about) in rows {
            let _ = writeln!(out, "  {name:<21}  {about}");
        }
    };
    table("strategies (--guidance NAME)", &mut STRATEGIES.iter().map(|s| (s.name, s.about)));
    table("facets of targets with a lens `pairs`, joined by + to a lens", &mut FACETS.iter().copied());
    table("signals of every target, besides its lenses (--lens NAMES)", &mut SIGNALS.iter().copied());
    out.push('\n');
}

fn in_full(target: &Target, out: &mut String) {
    let _ = writeln!(out, "{} {}\n  {}\n", target.name, target.version, target.description);
    let _ = writeln!(out, "contract (--contract)\n  {}", target.contract);
    let _ = writeln!(out, "  words: {}\n", Contract::WORDS.join(", "));
    let _ = writeln!(out, "settings (--set KEY=VALUE)");
    for setting in &target.settings {
        let named = format!("{}={}", setting.name, setting.default_value());
        let _ = writeln!(out, "  {named:<20} {} [{}]", setting.help, setting.values());
    }
    let _ = writeln!(out, "\nlenses (--lens NAMES)");
    let chosen = default_lenses(target);
    for lens in &target.lenses {
        let mark = if chosen.iter().any(|name| name == lens) { "  (default)" } else { "" };
        let _ = writeln!(out, "  {lens}{mark}");
    }
    let _ = writeln!(out, "\nbugs that can be planted (--set bug=NAME)");
    if target.bugs.is_empty() {
        let _ = writeln!(out, "  none");
    }
    let widest = target.bugs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, sentence) in &target.bugs {
        let _ = writeln!(out, "  {name:<widest$}  {sentence}");
    }
    let _ = writeln!(out, "\nwhat choices control");
    for (control, name) in Control::ALL {
        let _ =
            writeln!(out, "  {name:<10} {}", if target.controls.contains(&control) { "yes" } else { "no" });
    }
    out.push('\n');
}

fn default_lenses(target: &Target) -> Vec<String> {
    let guidance = resolve::guidance(target, None).unwrap_or("random");
    let settings = resolve::settings(target, &[]);
    let lenses = settings.and_then(|it| resolve::lenses(target, &it, None, guidance, target.contract));
    lenses.unwrap_or_default()
}

fn as_json(target: &Target) -> Value {
    let settings: Vec<Value> = target
        .settings
        .iter()
        .map(|setting| {
            let mut value =
                json!({ "name": setting.name, "default": setting.default_value(), "help": setting.help });
            match &setting.kind {
                SettingKind::Integer { min, max, .. } => {
                    value["type"] = "integer".into();
                    (value["min"], value["max"]) = ((*min).into(), (*max).into());
                }
                SettingKind::Words { words, .. } => {
                    value["type"] = "words".into();
                    value["words"] = json!(words);
                }
            }
            value
        })
        .collect();
    let bugs: Vec<Value> =
        target.bugs.iter().map(|(name, text)| json!({ "name": name, "description": text })).collect();
    let controls: Vec<&str> =
        Control::ALL.iter().filter(|(c, _)| target.controls.contains(c)).map(|(_, name)| *name).collect();
    json!({
        "target": target.name,
        "version": target.version,
        "description": target.description,
        "contract": target.contract.to_string(),
        "contract_words": Contract::WORDS,
        "settings": settings,
        "lenses": target.lenses,
        "lenses_default": default_lenses(target),
        "bugs": bugs,
        "controls": controls,
    })
}

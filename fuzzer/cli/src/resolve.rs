//! Turns what was asked for into what a target is opened with.

use crate::exit::Error;
use crate::session::Session;
use misrule_engine::{ABLATIONS, Listens, RecoveryWhen, SIGNALS, STRATEGIES, Strategy};
use misrule_models::presets::Facets;
use misrule_world::text::{parse_faults, parse_profiles, utf8};
use misrule_world::{Contract, FaultProfile, LinkOrder, Setting, Settings, Target};
use std::path::Path;

/// How the names of lenses at the model end.
const AT_MODEL: &str = "@model";

/// The target's settings with `given` over the defaults.
pub(crate) fn settings(target: &Target, given: &[(String, String)]) -> Result<Settings, Error> {
    Settings::resolve(&target.settings, given).map_err(|error| {
        let known: Vec<&str> = target.settings.iter().map(|setting| setting.name).collect();
        let list = match error {
            misrule_world::SettingError::Unknown { .. } if known.is_empty() => {
                format!("; target `{}` has no settings", target.name)
            }
            misrule_world::SettingError::Unknown { .. } => format!("; known: {}", known.join(", ")),
            misrule_world::SettingError::Value { .. } => String::new(),
        };
        Error::Usage(format!("{error}{list}"))
    })
}

/// The settings that differ from the defaults, as headers of schedules name them.
pub(crate) fn changed(target: &Target, settings: &Settings) -> Vec<(String, String)> {
    let default =
        |name: &str| target.settings.iter().find(|known| known.name == name).map(Setting::default_value);
    settings
        .iter()
        .filter(|(name, value)| default(name).as_deref() != Some(value))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The target's contract with `given` over it.
pub(crate) fn contract(target: &Target, given: Option<&str>) -> Result<Contract, Error> {
    target.contract.overridden(given.unwrap_or("")).map_err(|error| Error::Usage(error.to_string()))
}

/// The fault profile of that name, of these weights, or in that file: `swarm`, `drop=0,crash=80`, `FILE`,
/// `FILE:NAME`.
pub(crate) fn faults(session: &Session<'_>, text: &str) -> Result<FaultProfile, Error> {
    if let Some(profile) = FaultProfile::named(text) {
        return Ok(profile);
    }
    let (file, name) = match text.rsplit_once(':') {
        Some((file, name)) if !session.at(Path::new(text)).exists() => (file, Some(name)),
        _ => (text, None),
    };
    if let Ok(bytes) = std::fs::read(session.at(Path::new(file))) {
        return from_file(file, name, &bytes);
    }
    if text.contains('=') {
        return parse_faults(text).map_err(|error| Error::Usage(format!("--faults {text}: {error}")));
    }
    if text.contains(['/', '.', ':']) {
        return Err(Error::Input(format!("{file}: a file of fault profiles that cannot be read")));
    }
    let known = FaultProfile::ALL.iter().map(|(_, name)| *name);
    Err(Error::unknown("fault profile", text, known.chain(["FILE", "FILE:NAME"])))
}

/// The profile of that name in a file, or the only one.
fn from_file(file: &str, name: Option<&str>, bytes: &[u8]) -> Result<FaultProfile, Error> {
    let profiles = utf8(bytes).and_then(parse_profiles).map_err(|error| Error::parse(file, &error))?;
    let known = || profiles.iter().map(|(name, _)| name.as_str());
    match (name, &profiles[..]) {
        (None, [(_, only)]) => Ok(*only),
        (None, _) => {
            let names: Vec<&str> = known().collect();
            Err(Error::Usage(format!("which profile of {file}? There are: {}", names.join(", "))))
        }
        (Some(name), _) => {
            let found = profiles.iter().find(|(known, _)| known == name);
            found.map(|(_, profile)| *profile).ok_or_else(|| Error::unknown("fault profile", name, known()))
        }
    }
}

/// When executions end in a recovery; the command line takes no other words.
pub(crate) fn recovery(word: &str) -> RecoveryWhen {
    RecoveryWhen::ALL
        .iter()
        .find(|(_, known)| *known == word)
        .map_or_else(RecoveryWhen::default, |(when, _)| *when)
}

/// The guidance of that name. Where none is asked for it is `frontier`, or `random` for a target without lenses.
pub(crate) fn guidance(target: &Target, given: Option<&str>) -> Result<&'static str, Error> {
    let Some(name) = given else {
        return Ok(if target.lenses.is_empty() { "random" } else { "frontier" });
    };
    let known = || STRATEGIES.iter().chain(&ABLATIONS).map(|strategy| strategy.name);
    let found = Strategy::named(name).map(|strategy| strategy.name);
    found.ok_or_else(|| Error::unknown("guidance", name, known()))
}

/// Whether the target has a model that does not follow it with these settings.
pub(crate) fn is_unfollowed(target: &Target, settings: &Settings) -> bool {
    target.lenses.iter().any(|name| name.ends_with(AT_MODEL)) && !(target.modelled)(settings)
}

/// The lenses that the target can have with these settings.
pub(crate) fn usable(target: &Target, settings: &Settings) -> Vec<&'static str> {
    let unfollowed = is_unfollowed(target, settings);
    target.lenses.iter().copied().filter(|name| !unfollowed || !name.ends_with(AT_MODEL)).collect()
}

/// Full names of lenses, signals last. A name without `@` is the model's lens if there is one that follows the target
/// with these settings, else the implementation's, else a signal.
pub(crate) fn lenses(
    target: &Target,
    settings: &Settings,
    given: Option<&str>,
    guidance: &str,
    contract: Contract,
) -> Result<Vec<String>, Error> {
    let listens = Strategy::named(guidance).map_or(Listens::Nothing, |s| s.listens);
    let mut chosen: Vec<String> = Vec::new();
    let (usable, unfollowed) = (usable(target, settings), is_unfollowed(target, settings));
    match given {
        None => default_lenses(&usable, listens, contract, &mut chosen),
        Some("none" | "") => {}
        Some(names) => {
            for name in names.split(',').map(str::trim) {
                let known = || target.lenses.iter().copied().chain(SIGNALS.iter().map(|(name, _)| *name));
                let full = [name.to_owned(), format!("{name}{AT_MODEL}"), format!("{name}@impl")];
                let can = |full: &str| full == name || !unfollowed || !full.ends_with(AT_MODEL);
                let has = |full: &str| known().any(|known| known == full) || has_facets(target, full);
                let Some(full) = full.into_iter().find(|full| can(full) && has(full)) else {
                    return Err(Error::unknown("lens", name, known()));
                };
                if !chosen.contains(&full) {
                    chosen.push(full);
                }
            }
            chosen.sort_by_key(|name| SIGNALS.iter().any(|(signal, _)| signal == name));
        }
    }
    if chosen.is_empty() && listens != Listens::Nothing {
        let text = format!("guidance `{guidance}` needs a lens; take one with --lens, or --guidance random");
        return Err(Error::Usage(text));
    }
    Ok(chosen)
}

/// Whether the target has the lens of facets that the full name spells: where it has `pairs`, it has parts of it.
fn has_facets(target: &Target, full: &str) -> bool {
    let at = |view: &str, pairs: &str| Facets::at(full, view).is_some() && target.lenses.contains(&pairs);
    at("model", "pairs@model") || at("impl", "pairs@impl")
}

/// What a strategy listens to where nothing is asked for. Without lenses there are signals only.
fn default_lenses(usable: &[&str], listens: Listens, contract: Contract, chosen: &mut Vec<String>) {
    let has = |name: &str| usable.contains(&name);
    let preferred = |names: &[&str]| {
        let of_target = names.iter().find(|name| has(name)).or_else(|| usable.first());
        of_target.map_or_else(|| "happens-before".to_owned(), |name| (*name).to_owned())
    };
    match listens {
        Listens::Nothing => {}
        Listens::Signal(name) => chosen.push(name.to_owned()),
        Listens::Lens(name) => chosen.push(preferred(&[&format!("{name}@model"), &format!("{name}@impl")])),
        Listens::Lenses => {
            chosen.push(preferred(&["pairs@model", "pairs@impl"]));
            let waits = contract.order == LinkOrder::Reorder && has("waiting@impl");
            if waits && !chosen.contains(&"waiting@impl".to_owned()) {
                chosen.push("waiting@impl".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{changed, guidance, is_unfollowed, lenses, settings};
    use crate::exit::Error;
    use crate::toy::toy;
    use misrule_world::{Contract, Target};

    fn of_default(
        target: &Target,
        given: Option<&str>,
        guidance: &str,
        contract: Contract,
    ) -> Result<Vec<String>, Error> {
        lenses(target, &settings(target, &[]).unwrap(), given, guidance, contract)
    }

    #[test]
    fn what_no_model_follows_has_lenses_at_the_implementation() {
        let all = &["pairs@model", "detailed@model", "pairs@impl", "waiting@impl", "detailed@impl"];
        let target = toy().lenses(all).modelled(|settings| settings.integer("bound") == 4);
        let reorder = Contract::default().overridden("reorder").unwrap();
        for (bound, unfollowed) in [("4", false), ("7", true)] {
            let settings = settings(&target, &[("bound".to_owned(), bound.to_owned())]).unwrap();
            let get = |given, guidance| lenses(&target, &settings, given, guidance, reorder).unwrap();
            let at = if unfollowed { "impl" } else { "model" };
            assert_eq!(is_unfollowed(&target, &settings), unfollowed);
            assert_eq!(get(None, "frontier"), [format!("pairs@{at}").as_str(), "waiting@impl"]);
            assert_eq!(get(None, "modelfuzz"), [format!("detailed@{at}")]);
            assert_eq!(get(Some("pairs"), "frontier"), [format!("pairs@{at}")]);
            assert_eq!(get(Some("pairs@model"), "frontier"), ["pairs@model"], "the target says why not");
        }
        let without_model = toy().modelled(|_| false);
        assert!(!is_unfollowed(&without_model, &settings(&without_model, &[]).unwrap()));
    }

    #[test]
    fn lenses_resolve_to_full_names() {
        let fifo = Contract::default();
        let reorder = fifo.overridden("reorder").unwrap();
        let mut target = toy().lenses(&["pairs@model", "pairs@impl", "waiting@impl"]);
        let get =
            |target: &_, given, contract: Contract| of_default(target, given, "frontier", contract).unwrap();
        assert_eq!(get(&target, None, fifo), ["pairs@model"]);
        assert_eq!(get(&target, None, reorder), ["pairs@model", "waiting@impl"]);
        assert_eq!(
            get(&target, Some("pairs,waiting,pairs@impl,pairs"), fifo),
            ["pairs@model", "waiting@impl", "pairs@impl"]
        );
        assert!(of_default(&target, None, "random", reorder).unwrap().is_empty());
        assert!(of_default(&target, Some("none"), "frontier", fifo).is_err());
        let of = |target: &_, guidance| of_default(target, None, guidance, fifo).unwrap();
        assert_eq!(get(&target, Some("trace,pairs"), fifo), ["pairs@model", "trace"], "signals come last");
        assert_eq!(
            get(&target, Some("role+commit,up@impl"), fifo),
            ["role+commit@model", "up@impl"],
            "facets"
        );
        assert!(of_default(&target, Some("role+role"), "frontier", fifo).is_err());
        assert_eq!(of(&target, "mallory"), ["happens-before"]);
        assert_eq!(of(&target, "pct"), Vec::<String>::new());
        assert!(
            of_default(&target, Some("tracce"), "frontier", fifo)
                .unwrap_err()
                .to_string()
                .contains("`trace`?")
        );
        let error = of_default(&target, Some("piars"), "frontier", fifo).unwrap_err().to_string();
        assert!(
            error.contains("unknown lens `piars` (did you mean `pairs@impl`?)")
                || error.contains("known: pairs@model"),
            "{error}"
        );
        target = target.lenses(&["pairs@impl"]);
        assert_eq!(get(&target, None, reorder), ["pairs@impl"]);
        target = target.lenses(&["counts@impl"]);
        assert_eq!(get(&target, None, reorder), ["counts@impl"]);
        assert_eq!(of(&target, "modelfuzz"), ["counts@impl"], "there is no `detailed`");
        target = target.lenses(&[]);
        assert_eq!(of(&target, "frontier"), ["happens-before"]);
        assert_eq!(guidance(&target, None).unwrap(), "random");
        assert!(
            guidance(&target, Some("fronteir")).unwrap_err().to_string().contains("did you mean `frontier`?")
        );
    }

    #[test]
    fn headers_name_only_what_differs() {
        let target = toy();
        let given = |value: &str| [("bound".to_owned(), value.to_owned())];
        assert!(changed(&target, &settings(&target, &given("4")).unwrap()).is_empty());
        assert_eq!(changed(&target, &settings(&target, &given("7")).unwrap()), given("7"));
        assert!(settings(&target, &given("x")).is_err());
    }
}

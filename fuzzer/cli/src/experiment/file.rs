//! Reads experiment files.

use super::place::{Source, Table};
use super::{Arm, Budget, Bug, Experiment, Options};
use crate::exit::Error;
use crate::numbers;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::de::DeTable;

/// Words for how long strong random needs.
pub(crate) const TIERS: [&str; 3] = ["seconds", "minutes", "beyond"];

/// Fewer campaigns a cell than this tell nothing.
const CAMPAIGNS_MIN: u64 = 2;

const TOP: [&str; 8] = ["question", "seed", "campaigns", "budget", "executions", "against", "bug", "arm"];
const BUG: [&str; 13] = [
    "name",
    "target",
    "version",
    "program",
    "contract",
    "set",
    "until",
    "budget",
    "executions",
    "tier",
    "faults",
    "conformance",
    "recovery",
];
const ARM: [&str; 7] = ["name", "guidance", "lens", "contract", "faults", "conformance", "recovery"];

/// An experiment with the text that it was read from, to say where something is wrong.
pub(crate) struct File {
    /// As the user named it.
    pub(crate) name: String,
    text: String,
    pub(crate) experiment: Experiment,
}

impl File {
    /// An error about something that stands there.
    pub(crate) fn error(&self, at: &Range<usize>, text: &str) -> Error {
        Source { name: &self.name, text: &self.text }.error(at, text)
    }

    /// Reads `text`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column.
    pub(crate) fn read(name: &str, text: String) -> Result<Self, Error> {
        let source = Source { name, text: &text };
        let parsed = DeTable::parse(&text).map_err(|error| {
            let message = error.message().trim_end().replace('\n', "; ");
            source.error(&error.span().unwrap_or_default(), &message)
        })?;
        let top = Table::new(source, 0..0, parsed.get_ref(), &TOP)?;
        let experiment = experiment(&top)?;
        Ok(Self { name: name.to_owned(), text, experiment })
    }
}

fn experiment(top: &Table<'_>) -> Result<Experiment, Error> {
    let question = top.needed("question", "say what the experiment is to answer")?;
    let campaigns = campaigns(top)?;
    let budget = budget(top)?;
    let mut bugs = Vec::new();
    for (at, table) in top.tables("bug")? {
        bugs.push(bug(&Table::new(top.source, at, table, &BUG)?, budget)?);
    }
    let mut arms = Vec::new();
    for (at, table) in top.tables("arm")? {
        arms.extend(arm(&Table::new(top.source, at, table, &ARM)?)?);
    }
    let (Some(_), Some(first)) = (bugs.first(), arms.first()) else {
        let (what, why) = if bugs.is_empty() { ("bug", "look for") } else { ("arm", "compare") };
        let text = format!("there is no [[{what}]]: nothing to {why}, no cell");
        return Err(top.source.error(&(0..0), &text));
    };
    different("bug", bugs.iter().map(|bug| (&bug.name, &bug.at)), top)?;
    different("arm", arms.iter().map(|arm| (&arm.name, &arm.at)), top)?;
    let against = top.text("against")?.unwrap_or_else(|| first.name.clone());
    if let (false, Some(value)) = (arms.iter().any(|arm| arm.name == against), top.get("against")) {
        let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        return Err(top.wrong(value, &format!("`against`: no arm `{against}`; known: {}", known.join(", "))));
    }
    let seed = seed(top)?;
    Ok(Experiment { question, seed, campaigns, against, bugs, arms })
}

/// Campaigns of each cell.
fn campaigns(top: &Table<'_>) -> Result<u32, Error> {
    let Some((count, value)) = top.count("campaigns")? else {
        return Err(top.source.error(&top.at, "`campaigns` is missing: how many each cell has"));
    };
    if count < CAMPAIGNS_MIN {
        let text = format!("`campaigns` is {count}: a cell needs at least {CAMPAIGNS_MIN}");
        return Err(top.wrong(value, &text));
    }
    u32::try_from(count).map_err(|_| top.wrong(value, "`campaigns` is too large"))
}

fn seed(top: &Table<'_>) -> Result<u64, Error> {
    let text = top.get("seed").and_then(|value| value.get_ref().as_str().map(|text| (text, value)));
    if let Some((text, value)) = text {
        return numbers::seed(text).map_err(|error| top.wrong(value, &format!("`seed`: {error}")));
    }
    let seed = top.count("seed")?.map(|(seed, _)| seed);
    seed.ok_or_else(|| top.source.error(&top.at, "`seed` is missing: all seeds of campaigns come from it"))
}

/// `budget` in wall time or `executions`, not both.
fn budget(table: &Table<'_>) -> Result<Option<Budget>, Error> {
    let executions = table.count("executions")?;
    let time = table.text("budget")?;
    match (time, executions, table.get("budget")) {
        (Some(_), Some((_, value)), _) => {
            Err(table.wrong(value, "`budget` and `executions` exclude each other"))
        }
        (Some(text), None, Some(value)) => {
            let time =
                numbers::time(&text).map_err(|error| table.wrong(value, &format!("`budget`: {error}")))?;
            if time.is_zero() {
                return Err(table.wrong(value, "`budget` is zero: nothing could be found"));
            }
            Ok(Some(Budget::Milliseconds(time.as_millis() as u64)))
        }
        (_, Some((0, value)), _) => Err(table.wrong(value, "`executions` is zero: nothing could be found")),
        (_, Some((count, _)), _) => Ok(Some(Budget::Executions(count))),
        _ => Ok(None),
    }
}

fn bug(table: &Table<'_>, default: Option<Budget>) -> Result<Bug, Error> {
    let target = table.needed("target", "a bug is looked for in a target")?;
    let missing =
        || table.source.error(&table.at, "no budget: give `budget = \"20s\"` or `executions = 100000`");
    let set = table.pairs("set")?;
    let planted = set.iter().find(|(name, _)| name == "bug").map(|(_, value)| value.clone());
    let tier = table.text("tier")?;
    if let (Some(tier), Some(value)) = (&tier, table.get("tier"))
        && !TIERS.contains(&tier.as_str())
    {
        return Err(table.wrong(value, &format!("unknown tier `{tier}`; known: {}", TIERS.join(", "))));
    }
    Ok(Bug {
        name: table.text("name")?.or(planted).unwrap_or_else(|| target.clone()),
        target,
        version: table.text("version")?,
        program: table.text("program")?,
        contract: table.text("contract")?,
        set: set.into_iter().collect(),
        until: table.texts("until")?.map(|(names, _)| names).unwrap_or_default(),
        budget: budget(table)?.or(default).ok_or_else(missing)?,
        tier,
        options: options(table)?,
        at: table.at.clone(),
    })
}

/// One arm for each combination of what stands in lists; these words become part of its name.
fn arm(table: &Table<'_>) -> Result<Vec<Arm>, Error> {
    table.must_have("guidance", "an arm is a way of looking")?;
    let (guidances, several) = table.texts("guidance")?.unwrap_or_default();
    let name = table.text("name")?;
    let optional = |key: &str| -> Result<(Vec<Option<String>>, bool), Error> {
        let found = table.texts(key)?;
        Ok(found.map_or((vec![None], false), |(texts, list)| (texts.into_iter().map(Some).collect(), list)))
    };
    let ((lenses, lens_list), (contracts, contract_list)) = (optional("lens")?, optional("contract")?);
    let options = options(table)?;
    let mut arms = Vec::new();
    for guidance in &guidances {
        for lens in &lenses {
            for contract in &contracts {
                let mut words: Vec<&str> = Vec::new();
                words.extend(name.as_deref());
                if several || name.is_none() {
                    words.push(guidance);
                }
                words.extend(lens.as_deref().filter(|_| lens_list));
                words.extend(contract.as_deref().filter(|_| contract_list));
                arms.push(Arm {
                    name: words.join(" "),
                    guidance: guidance.clone(),
                    lens: lens.clone(),
                    contract: contract.clone(),
                    options: options.clone(),
                    at: table.at.clone(),
                });
            }
        }
    }
    Ok(arms)
}

fn options(table: &Table<'_>) -> Result<Options, Error> {
    Ok(Options {
        faults: table.text("faults")?,
        conformance: table.text("conformance")?,
        recovery: table.text("recovery")?,
    })
}

/// Refuses two of one name.
fn different<'a>(
    what: &str,
    names: impl Iterator<Item = (&'a String, &'a Range<usize>)>,
    top: &Table<'_>,
) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for (name, at) in names {
        if !seen.insert(name) {
            return Err(top
                .source
                .error(at, &format!("two {what}s are called `{name}`: give each a `name`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::File;
    use crate::experiment::Budget;

    const GOOD: &str = "question = \"is it sooner?\"\nseed = 1\ncampaigns = 20\nbudget = \"20s\"\n\n\
        [[bug]]\ntarget = \"toy\"\nset = { bug = \"stale\", nodes = 3 }\n\n[[arm]]\nguidance = \"random\"\n\n\
        [[arm]]\nguidance = \"frontier\"\nlens = [\"pairs\", \"waiting\"]\n";

    fn problem(text: &str) -> String {
        match File::read("x.toml", text.to_owned()) {
            Err(error) => error.to_string(),
            Ok(file) => panic!("{:?}", file.experiment),
        }
    }

    #[test]
    fn a_file_is_bugs_by_arms() {
        let experiment = File::read("x.toml", GOOD.to_owned()).unwrap().experiment;
        let cells: Vec<(&str, &str)> =
            experiment.cells().iter().map(|cell| (&*cell.bug.name, &*cell.arm.name)).collect();
        assert_eq!(cells, [("stale", "random"), ("stale", "frontier pairs"), ("stale", "frontier waiting")]);
        assert_eq!(
            (experiment.against.as_str(), experiment.bugs[0].budget),
            ("random", Budget::Milliseconds(20_000))
        );
        assert_eq!(experiment.bugs[0].set["nodes"], "3");
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        for (from, to, expected) in [
            (
                "campaigns = 20",
                "campagins = 20",
                "x.toml: line 3, column 1: unknown key `campagins` (did you mean `campaigns`?)",
            ),
            (
                "campaigns = 20",
                "campaigns = 1",
                "line 3, column 13: `campaigns` is 1: a cell needs at least 2",
            ),
            ("campaigns = 20", "campaigns = -2", "line 3, column 13: `campaigns`: must be a whole number"),
            ("campaigns = 20\n", "", "line 1, column 1: `campaigns` is missing"),
            ("budget = \"20s\"", "budget = \"0s\"", "line 4, column 10: `budget` is zero"),
            ("budget = \"20s\"", "executions = 0", "line 4, column 14: `executions` is zero"),
            (
                "budget = \"20s\"",
                "budget = \"20 parsecs\"",
                "line 4, column 10: `budget`: `20 parsecs` is not a time",
            ),
            ("budget = \"20s\"\n", "", "line 5, column 1: no budget"),
            (
                "target = \"toy\"\n",
                "",
                "line 6, column 1: `target` is missing: a bug is looked for in a target",
            ),
            (
                "target = \"toy\"\nset = { bug = \"stale\", nodes = 3 }\n",
                "",
                "line 6, column 1: `target` is missing",
            ),
            ("target = \"toy\"", "target = \"\"", "line 7, column 10: `target` is empty"),
            ("nodes = 3", "nodes = 3.5", "line 8, column 32: must be a text or a whole number"),
            (
                "[\"pairs\", \"waiting\"]",
                "[]",
                "line 15, column 8: `lens` is an empty list: there would be no cell",
            ),
            ("guidance = \"random\"\n", "", "line 10, column 1: `guidance` is missing"),
            ("seed = 1", "seed = \"x\"", "line 2, column 8: `seed`: `x` is not a seed"),
            (
                "seed = 1",
                "seed = 1\nagainst = \"rondom\"",
                "line 3, column 11: `against`: no arm `rondom`; known: random, frontier",
            ),
            (
                "guidance = \"frontier\"\nlens = [\"pairs\", \"waiting\"]",
                "guidance = \"random\"",
                "line 13, column 1: two arms are called `random`",
            ),
            ("seed = 1", "seed = ", "line 2, column 8: "),
        ] {
            let text = GOOD.replace(from, to);
            assert_ne!(text, GOOD, "{from}");
            assert!(problem(&text).contains(expected), "{to}: {}", problem(&text));
        }
        let (without, _) = GOOD.split_once("[[arm]]").unwrap();
        assert!(problem(without).contains("there is no [[arm]]"));
    }

    #[test]
    fn registrations_cover_what_is_compared() {
        let hash = |text: &str| File::read("x.toml", text.to_owned()).unwrap().experiment.registration();
        let first = hash(GOOD);
        assert_eq!(hash(&format!("# a comment\n{GOOD}")), first);
        for (from, to) in [
            ("sooner", "later"),
            ("seed = 1", "seed = 2"),
            ("20s", "21s"),
            ("campaigns = 20", "campaigns = 21"),
            ("stale", "other"),
            ("\"random\"", "\"corpus\""),
        ] {
            assert_ne!(hash(&GOOD.replace(from, to)), first, "{to}");
        }
    }

    #[test]
    fn seeds_differ_between_cells_and_campaigns() {
        let experiment = File::read("x.toml", GOOD.to_owned()).unwrap().experiment;
        let cells = experiment.cells();
        let mut seeds: Vec<u64> =
            cells.iter().flat_map(|cell| (1..=20).map(|campaign| cell.seed(1, campaign))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 60);
    }
}

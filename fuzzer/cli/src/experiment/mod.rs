//! Experiments: bugs by ways of looking for them, so many campaigns each, all rows in one file.
//!
//! `file` reads what a person wrote, `place` says where it is wrong. `probe` resolves each cell by asking the program that
//! will run it. `pool` runs campaigns as child processes, `child` is one of them, `row` what is known of it afterwards.
//! `folder` holds rows and what was registered; `machine` tells where it ran.
//!
//! `figures` is what rows add up to, `verdict` says it in sentences, `page`, `coverage` and `csv` show it.

pub(crate) mod child;
mod coverage;
pub(crate) mod csv;
pub(crate) mod figures;
pub(crate) mod file;
pub(crate) mod folder;
pub(crate) mod machine;
pub(crate) mod page;
mod place;
pub(crate) mod pool;
pub(crate) mod probe;
pub(crate) mod row;
mod verdict;

use misrule_models::stable_hash;
use misrule_world::mix;
use row::Row;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// An experiment as its file has it, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Experiment {
    /// What it is to answer.
    pub(crate) question: String,
    /// The seeds of all campaigns come from it.
    pub(crate) seed: u64,
    /// Campaigns of each cell.
    pub(crate) campaigns: u32,
    /// The arm that all others are compared with.
    pub(crate) against: String,
    pub(crate) bugs: Vec<Bug>,
    pub(crate) arms: Vec<Arm>,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bug {
    pub(crate) name: String,
    pub(crate) target: String,
    /// The version that the target must have.
    pub(crate) version: Option<String>,
    /// Another program that has the target, relative to the experiment's file.
    pub(crate) program: Option<String>,
    pub(crate) contract: Option<String>,
    pub(crate) set: BTreeMap<String, String>,
    /// Properties or fingerprints that show the bug; any finding does where there are none.
    pub(crate) until: Vec<String>,
    pub(crate) budget: Budget,
    /// How long strong random needs: a word of the ladder.
    pub(crate) tier: Option<String>,
    #[serde(flatten)]
    pub(crate) options: Options,
    /// Where it stands in the file.
    #[serde(skip)]
    pub(crate) at: Range<usize>,
}

/// A way of looking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Arm {
    pub(crate) name: String,
    pub(crate) guidance: String,
    pub(crate) lens: Option<String>,
    /// Instead of the bug's.
    pub(crate) contract: Option<String>,
    /// Instead of the bug's.
    #[serde(flatten)]
    pub(crate) options: Options,
    /// Where it stands in the file.
    #[serde(skip)]
    pub(crate) at: Range<usize>,
}

/// Options of `fuzz` that a bug or an arm may set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Options {
    pub(crate) faults: Option<String>,
    pub(crate) conformance: Option<String>,
    pub(crate) recovery: Option<String>,
}

/// When a campaign that has found nothing ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Budget {
    /// So much wall time.
    Milliseconds(u64),
    /// So many executions.
    Executions(u64),
}

/// One bug looked for in one way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) bug: &'a Bug,
    pub(crate) arm: &'a Arm,
}

impl Experiment {
    /// Every bug by every arm.
    pub(crate) fn cells(&self) -> Vec<Cell<'_>> {
        let arms = |bug| self.arms.iter().map(move |arm| Cell { bug, arm });
        self.bugs.iter().flat_map(arms).collect()
    }

    /// How an arm looks on charts: its place among the arms.
    pub(crate) fn look(&self, arm: &Arm) -> usize {
        self.arms.iter().position(|known| known.name == arm.name).unwrap_or(0)
    }

    /// What is registered before the first run: a hash of question, seed, campaigns, bugs, budgets and arms.
    pub(crate) fn registration(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{:016x}", stable_hash(&text))
    }
}

impl Cell<'_> {
    /// Whether the row is of one of its campaigns.
    pub(crate) fn has(&self, row: &Row) -> bool {
        row.bug == self.bug.name && row.arm == self.arm.name
    }

    /// The seed of its campaign with that number. Arms have different seeds, so that they are independent.
    pub(crate) fn seed(&self, experiment: u64, campaign: u32) -> u64 {
        let cell = stable_hash(&(&self.bug.name, &self.arm.name));
        // 32 bits: any program can read it.
        mix(mix(experiment ^ cell).wrapping_add(u64::from(campaign))) >> 32
    }

    /// What `fuzz` is asked, but for seed, budget and folder.
    pub(crate) fn words(&self) -> Vec<String> {
        let Cell { bug, arm } = self;
        let mut words =
            vec!["fuzz".to_owned(), bug.target.clone(), "--guidance".to_owned(), arm.guidance.clone()];
        let (given, own) = (&arm.options, &bug.options);
        for (option, value) in [
            ("--lens", arm.lens.as_ref()),
            ("--contract", arm.contract.as_ref().or(bug.contract.as_ref())),
            ("--faults", given.faults.as_ref().or(own.faults.as_ref())),
            ("--conformance", given.conformance.as_ref().or(own.conformance.as_ref())),
            ("--recovery", given.recovery.as_ref().or(own.recovery.as_ref())),
        ] {
            if let Some(value) = value {
                words.extend([option.to_owned(), value.clone()]);
            }
        }
        for (name, value) in &bug.set {
            words.extend(["--set".to_owned(), format!("{name}={value}")]);
        }
        for name in &bug.until {
            words.extend(["--until".to_owned(), name.clone()]);
        }
        words.extend(["--minimize", "no", "--stop-after", "1"].map(str::to_owned));
        words
    }
}

impl Budget {
    /// As options of `fuzz`.
    pub(crate) fn words(self) -> [String; 2] {
        match self {
            Self::Milliseconds(time) => ["--time".to_owned(), format!("{time}ms")],
            Self::Executions(count) => ["--executions".to_owned(), count.to_string()],
        }
    }

    /// The most time that a campaign takes; none where nobody knows.
    pub(crate) fn time(self) -> Option<Duration> {
        match self {
            Self::Milliseconds(time) => Some(Duration::from_millis(time)),
            Self::Executions(_) => None,
        }
    }

    /// For people.
    pub(crate) fn shown(self) -> String {
        match self {
            Self::Milliseconds(time) if time % 1000 == 0 => format!("{} s", time / 1000),
            Self::Milliseconds(time) => format!("{time} ms"),
            Self::Executions(count) => format!("{} executions", misrule_report::terminal::grouped(count)),
        }
    }
}

//! What is known of a campaign once it has ended.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a campaign ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// With the bug, within the budget.
    Found,
    /// With its budget, and without the bug.
    Censored,
    /// It died or hung. It says nothing about the bug.
    Lost,
}

impl End {
    /// How many of the rows ended so.
    pub(crate) fn count<'r>(self, rows: impl IntoIterator<Item = &'r Row>) -> usize {
        rows.into_iter().filter(|row| row.end == self).count()
    }
}

/// A campaign: one line of `results.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Hash of what was registered when it ran.
    pub(crate) registration: String,
    pub(crate) bug: String,
    pub(crate) arm: String,
    /// Its number in its cell, from 1.
    pub(crate) campaign: u32,
    pub(crate) seed: u64,
    pub(crate) end: End,
    /// Why it is lost.
    pub(crate) reason: Option<String>,
    /// Wall time until the bug was found, or until the end.
    pub(crate) seconds: f64,
    /// Processor time of the same.
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) executions: u64,
    pub(crate) steps: u64,
    /// Steps that were spent on returning to cells, all in all.
    pub(crate) steps_returning: u64,
    pub(crate) property: Option<String>,
    pub(crate) fingerprint: Option<String>,
    /// Length of the execution that found it.
    pub(crate) steps_execution: Option<u64>,
    /// Different findings that are not the bug.
    pub(crate) others: u64,
    /// Cells of each lens at the end.
    pub(crate) cells: BTreeMap<String, u64>,
    /// Executions, steps, seconds and cells of all lenses together, over time.
    pub(crate) coverage: Vec<(u64, u64, f64, u64)>,
    pub(crate) target: String,
    pub(crate) target_version: String,
    pub(crate) build: String,
    pub(crate) contract: String,
    pub(crate) lens: Vec<String>,
    /// The core to which it was bound; none where it was not.
    pub(crate) core: Option<usize>,
    /// Processes that wanted to run when it began, as the system counts them.
    pub(crate) load: Option<f64>,
    pub(crate) start: String,
    /// The command that runs it again.
    pub(crate) command: String,
}

#[cfg(test)]
pub(super) mod tests {
    use super::{End, Row};
    use std::collections::BTreeMap;

    /// A row with nothing special.
    pub(in crate::experiment) fn row(bug: &str, arm: &str, campaign: u32, end: End) -> Row {
        Row {
            registration: "r".to_owned(),
            bug: bug.to_owned(),
            arm: arm.to_owned(),
            campaign,
            seed: 1,
            end,
            reason: (end == End::Lost).then(|| "it died".to_owned()),
            seconds: 1.0,
            cpu_seconds: Some(0.9),
            executions: 10,
            steps: 1_000,
            steps_returning: 100,
            property: None,
            fingerprint: None,
            steps_execution: None,
            others: 0,
            cells: BTreeMap::new(),
            coverage: Vec::new(),
            target: "t".to_owned(),
            target_version: "1".to_owned(),
            build: "b".to_owned(),
            contract: "fifo".to_owned(),
            lens: Vec::new(),
            core: None,
            load: None,
            start: "s".to_owned(),
            command: "misrule fuzz t".to_owned(),
        }
    }

    #[test]
    fn rows_are_read_as_they_are_written() {
        let row = Row { coverage: vec![(1, 2, 0.5, 3)], ..row("b", "a", 1, End::Lost) };
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.contains("\"end\":\"lost\""), "{text}");
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    }
}

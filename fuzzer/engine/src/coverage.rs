//! Cells over time, and how many executions each stands for: what tells whether a lens is too coarse or too fine.

use crate::archive::Archive;
use misrule_world::FacetId;
use std::collections::BTreeMap;
use std::time::Duration;

/// How far a campaign was at some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Executions so far.
    pub executions: u64,
    /// Executed steps so far.
    pub steps: u64,
    /// Time since the campaign began, as the observer's clock tells it.
    pub elapsed: Duration,
    /// Cells of each facet that has any.
    pub cells: Vec<(FacetId, u64)>,
}

/// The cells of one facet, and the executions that entered them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FacetKeys {
    /// Cells.
    pub cells: u64,
    /// The median number of executions that entered a cell.
    pub median: u64,
    /// Executions that entered the cell that most have entered.
    pub max: u64,
    /// At position `i`, how many cells were entered by `2^i` to `2^(i+1) - 1` executions. Position 0 counts those that
    /// only one execution has entered.
    pub executions: Vec<u64>,
}

/// Takes samples at executions whose numbers grow by a fifth, so that there are a hundred or so in any campaign.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    taken: Vec<Sample>,
    due: u64,
}

impl Samples {
    /// Whether a sample is due after so many executions; the clock and the facets are only read then.
    pub(crate) fn are_due(&self, executions: u64) -> bool {
        executions >= self.due
    }

    pub(crate) fn take(&mut self, executions: u64, steps: u64, elapsed: Duration, archive: &Archive) {
        self.due = executions + (executions / 5).max(1);
        self.taken.push(Sample { executions, steps, elapsed, cells: archive.facets().collect() });
    }

    /// All samples, the last one of the end.
    pub(crate) fn end(
        mut self,
        executions: u64,
        steps: u64,
        elapsed: Duration,
        archive: &Archive,
    ) -> Vec<Sample> {
        if self.taken.last().is_none_or(|last| last.executions < executions) {
            self.take(executions, steps, elapsed, archive);
        }
        self.taken
    }
}

/// What the cells of each facet stand for.
pub(crate) fn keys(archive: &Archive) -> BTreeMap<FacetId, FacetKeys> {
    let mut entered: BTreeMap<FacetId, Vec<u64>> = BTreeMap::new();
    for cell in archive.cells() {
        entered.entry((cell.key.0, cell.key.1)).or_default().push(cell.runs());
    }
    entered.into_iter().map(|(id, executions)| (id, facet_keys(executions))).collect()
}

fn facet_keys(mut executions: Vec<u64>) -> FacetKeys {
    executions.sort_unstable();
    let mut keys = FacetKeys {
        cells: executions.len() as u64,
        median: executions.get(executions.len() / 2).copied().unwrap_or(0),
        max: executions.last().copied().unwrap_or(0),
        executions: Vec::new(),
    };
    for count in executions {
        let bucket = count.max(1).ilog2() as usize;
        if keys.executions.len() <= bucket {
            keys.executions.resize(bucket + 1, 0);
        }
        keys.executions[bucket] += 1;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::{Samples, facet_keys, keys};
    use crate::archive::Archive;
    use misrule_world::Key;
    use std::time::Duration;

    #[test]
    fn executions_are_counted_once_for_each_cell_they_enter() {
        let mut archive = Archive::new(2);
        let key = |lens, facet, code| Key { lens, facet, code };
        for run in 0..8 {
            archive.start_run();
            for _ in 0..3 {
                archive.meet(key(0, 0, 7), 1);
            }
            archive.meet(key(0, 1, run), 2);
            archive.meet(key(1, 0, run / 4), 3);
        }
        let keys = keys(&archive);
        assert_eq!((keys[&(0, 0)].cells, keys[&(0, 0)].max), (1, 8), "and not 24");
        assert_eq!((keys[&(0, 1)].cells, keys[&(0, 1)].median), (8, 1));
        assert_eq!(keys[&(0, 1)].executions, [8]);
        assert_eq!(keys[&(1, 0)].executions, [0, 0, 2]);
        assert_eq!(archive.facets().collect::<Vec<_>>(), [((0, 0), 1), ((0, 1), 8), ((1, 0), 2)]);
    }

    #[test]
    fn buckets_are_powers_of_two() {
        let keys = facet_keys(vec![9, 1, 2, 3, 8, 1]);
        assert_eq!((keys.median, keys.max), (3, 9));
        assert_eq!(keys.executions, [2, 2, 0, 2]);
        assert_eq!(facet_keys(Vec::new()).executions, [0; 0]);
    }

    #[test]
    fn samples_are_few_and_end_with_the_last_execution() {
        let (mut samples, archive) = (Samples::default(), Archive::new(1));
        let executions = 1_000_000;
        for execution in 1..=executions {
            if samples.are_due(execution) {
                samples.take(execution, execution * 10, Duration::ZERO, &archive);
            }
        }
        let samples = samples.end(executions, executions * 10, Duration::ZERO, &archive);
        assert!(samples.len() < 90, "{}", samples.len());
        assert!(samples.is_sorted_by(|a, b| a.executions < b.executions));
        assert_eq!((samples[0].executions, samples.last().unwrap().executions), (1, executions));
    }
}

//! Runs campaigns, one on each core.

use super::child::{Planned, Running};
use super::folder::ExperimentFolder;
use super::row::{End, Row};
use crate::clock;
use crate::exit::Error;
use crate::interrupt;
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

/// Between two looks at the children.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Told of a campaign's row, or of nothing now and then, and of the campaigns that wait.
type Ended<'e> = dyn FnMut(Option<&Row>, &[Planned<'_>]) -> Result<(), Error> + 'e;

/// All campaigns that have no row yet, in the order in which they run: the first one of every cell, then the second one,
/// so that the machine's noise falls on all cells alike. Each round begins with another cell.
pub(crate) fn plan<'a>(
    cells: &'a [super::probe::Resolved<'a>],
    seed: u64,
    campaigns: u32,
    done: &[Row],
) -> VecDeque<Planned<'a>> {
    let done: BTreeSet<(&str, &str, u32)> =
        done.iter().map(|row| (row.bug.as_str(), row.arm.as_str(), row.campaign)).collect();
    let mut planned = VecDeque::new();
    for campaign in 1..=campaigns {
        for at in 0..cells.len() {
            let cell = &cells[(at + campaign as usize - 1) % cells.len()];
            let names = (cell.cell.bug.name.as_str(), cell.cell.arm.name.as_str(), campaign);
            if !done.contains(&names) {
                planned.push_back(Planned { cell, campaign, seed: cell.cell.seed(seed, campaign) });
            }
        }
    }
    planned
}

/// Where campaigns run.
pub(crate) struct Pool<'a> {
    /// The cores, one for each worker; none where campaigns cannot be bound.
    pub(crate) cores: &'a [Option<usize>],
    /// Each worker has a folder in it.
    pub(crate) scratch: &'a Path,
    pub(crate) folder: &'a ExperimentFolder,
    pub(crate) registration: &'a str,
}

impl Pool<'_> {
    /// Runs the campaigns and appends a row for each that ended. `ended` is told of each row and how many are left, and of
    /// nothing now and then. Returns whether all have run; on an interrupt those that were running leave no row.
    pub(crate) fn run(
        &self,
        mut planned: VecDeque<Planned<'_>>,
        ended: &mut Ended<'_>,
    ) -> Result<bool, Error> {
        let mut slots: Vec<Option<Running<'_>>> = self.cores.iter().map(|_| None).collect();
        let result = self.drive(&mut planned, &mut slots, ended);
        for running in slots.iter_mut().flatten() {
            running.stop();
        }
        result
    }

    fn drive<'p>(
        &self,
        planned: &mut VecDeque<Planned<'p>>,
        slots: &mut [Option<Running<'p>>],
        ended: &mut Ended<'_>,
    ) -> Result<bool, Error> {
        let problem = |error: std::io::Error| Error::Internal(format!("a campaign cannot be run: {error}"));
        loop {
            if interrupt::requested() {
                return Ok(false);
            }
            for (at, slot) in slots.iter_mut().enumerate() {
                let row = match slot {
                    Some(running) => running.poll(self.registration).map_err(problem)?,
                    None => None,
                };
                // Ctrl-C reaches the children too, perhaps before us; what they say then is no result.
                if row.as_ref().is_some_and(|row| row.end == End::Lost) {
                    clock::pause(LOOK_EVERY * 10);
                }
                if interrupt::requested() {
                    return Ok(false);
                }
                if let Some(row) = row {
                    *slot = None;
                    self.folder.add_row(&row)?;
                    ended(Some(&row), planned.make_contiguous())?;
                }
                if slot.is_none()
                    && let Some(next) = planned.pop_front()
                {
                    let folder = self.scratch.join(format!("worker-{at}"));
                    *slot = Some(Running::start(next, self.cores[at], folder).map_err(problem)?);
                }
            }
            if slots.iter().all(Option::is_none) {
                return Ok(true);
            }
            ended(None, planned.make_contiguous())?;
            clock::pause(LOOK_EVERY);
        }
    }
}

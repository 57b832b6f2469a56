//! The judge: what a client has been told against what it finds, and the lens.

use crate::contents::{Contents, GARBAGE, State};
use crate::ledger::{Ledger, Place};
use crate::system::{self, Answer, Redb, View};
use misrule_models::KeyWriter;
use misrule_world::{Choice, Failure, Judge, Key, Report, Seen, Setup, SetupError};
use std::collections::BTreeMap;

/// The lenses that the judge computes.
pub(crate) const LENSES: [&str; 1] = ["phases@impl"];

/// Facets of the lens.
const LIFE: u8 = 0;
const DEATH: u8 = 1;
const START: u8 = 2;

/// Judges a database with one client.
#[derive(Debug)]
pub struct RedbJudge {
    ledger: Ledger,
    /// What each persistent savepoint has saved, by its number in [`State::saved`].
    saved: BTreeMap<u64, Contents>,
    /// Starts in a row that did not come to an end.
    deaths: u8,
    /// Whether the lens is asked for, and at which position.
    lens: Option<u8>,
}

impl RedbJudge {
    /// A judge with the lens that the setup asks for.
    pub(crate) fn new(setup: &Setup) -> Result<Self, SetupError> {
        if let Some(other) = setup.lenses.iter().find(|lens| !LENSES.contains(&lens.as_str())) {
            return Err(SetupError(format!("redb has no lens `{other}`")));
        }
        let lens = (!setup.lenses.is_empty()).then_some(0);
        Ok(Self { ledger: Ledger::default(), saved: BTreeMap::new(), deaths: 0, lens })
    }

    /// The node stopped in the middle of a step; the view is the one before it.
    fn died(&mut self, choice: Choice, view: &View) {
        match choice {
            Choice::Request { operation, .. } if system::commits(operation) => {
                self.ledger.begun(&view.working);
            }
            Choice::Restart { .. } => self.deaths = self.deaths.saturating_add(1),
            _ => {}
        }
    }

    /// The node came to the end of a step.
    fn judge(&mut self, choice: Choice, view: &View) -> (Option<Failure>, Place) {
        let mut place = Place::Last;
        let mut failure = match view.answer {
            Answer::Done | Answer::Refused | Answer::Stopped => None,
            Answer::Committed { durable } => {
                self.ledger.committed(&view.latest, durable);
                None
            }
            Answer::Unsure => {
                self.ledger.begun(&view.working);
                None
            }
            Answer::Saved(id) => {
                self.saved.insert(id, view.latest.contents);
                None
            }
            Answer::Closed | Answer::Opened | Answer::Checked(_) => {
                place = self.ledger.found(&view.found);
                misplaced(place, &view.found)
            }
            Answer::Read => differs(&view.found, &view.expected),
            Answer::Restored(id) => {
                let contents = self.saved.get(&id).copied().unwrap_or_default();
                differs(&view.found, &State { contents, ..view.found })
            }
        };
        if view.answer == Answer::Checked(false) {
            failure = Some(failed("integrity", "integrity-check-passes", "check_integrity had to repair"));
        }
        if let Some(trouble) = view.trouble.as_ref().filter(|_| !view.disk_failed) {
            let (oracle, property) = erring(choice);
            let mut failed = failed(oracle, property, &trouble.text);
            failed.detail.clone_from(&trouble.detail);
            failure = Some(failed);
        }
        (failure, place)
    }

    fn keys(&self, seen: &Seen<'_, Redb>, place: Place, report: &mut Report) {
        let (Some(lens), [view]) = (self.lens, seen.views) else { return };
        let mut code = KeyWriter::default();
        let pending = 32 - view.writes.leading_zeros();
        let facet = match seen.choice {
            Choice::Restart { .. } | Choice::Request { operation: system::REOPEN, .. } if !seen.died => {
                code.put(place as u64, 3).put(u64::from(view.repaired), 1).put(u64::from(self.deaths), 2);
                code.put(u64::from(view.latest.saved[0] != 0), 1);
                START
            }
            Choice::Request { operation, .. } if seen.died => {
                code.put(u64::from(operation), 5).put(u64::from(view.commits.1), 2);
                code.put(view.phase as u64, 2).put(self.ledger.open() as u64, 2);
                DEATH
            }
            _ => {
                code.put(seen.up, 1).put(u64::from(self.deaths), 2).put(view.phase as u64, 2);
                code.put(u64::from(view.commits.1), 2).put(u64::from(pending), 3);
                code.put(u64::from(view.kept.0), 1).put(u64::from(view.kept.1), 1);
                let saved = |state: &State| u64::from(state.saved[0] != 0);
                code.put(saved(&view.latest), 1).put(saved(&view.working), 1);
                LIFE
            }
        };
        report.keys.push(Key { lens, facet, code: code.code() });
    }
}

/// The oracle that judges an error where the disk has reported none.
fn erring(choice: Choice) -> (&'static str, &'static str) {
    match choice {
        Choice::Request { operation: system::REOPEN, .. } => ("opening", "opens-after-close"),
        Choice::Request { operation: system::CHECK, .. } => ("integrity", "integrity-check-passes"),
        Choice::Request { .. } => ("errors", "requests-succeed"),
        _ => ("opening", "opens-after-crash"),
    }
}

fn failed(oracle: &'static str, property: &str, text: &str) -> Failure {
    Failure::new(oracle, property, format!("redb: {text}"))
}

/// What is wrong with a state that was found after a start.
fn misplaced(place: Place, found: &State) -> Option<Failure> {
    match place {
        Place::Durable | Place::Later | Place::Last => None,
        Place::Past => {
            let text = "the database is in the state of a commit before the last durable one";
            Some(failed("durability", "acknowledged-commits-survive", text))
        }
        Place::Nowhere => {
            let text = "the database is in a state that no commit has left";
            let mut failure = failed("atomicity", "transactions-are-atomic", text);
            mark_garbage(&mut failure, found);
            Some(failure)
        }
    }
}

/// What is wrong with what was read.
fn differs(found: &State, expected: &State) -> Option<Failure> {
    if found == expected {
        return None;
    }
    let mut failure = failed("isolation", "reads-see-one-commit", "what was read is not what was committed");
    mark_garbage(&mut failure, found);
    Some(failure)
}

fn mark_garbage(failure: &mut Failure, found: &State) {
    if found.contents.iter().flatten().any(|number| *number == GARBAGE) {
        "garbage".clone_into(&mut failure.detail);
    }
}

impl Judge<Redb> for RedbJudge {
    fn reset(&mut self, seen: &Seen<'_, Redb>, report: &mut Report) {
        self.ledger.reset();
        self.saved.clear();
        self.deaths = 0;
        if seen.watch.keys {
            self.keys(seen, Place::Last, report);
        }
    }

    fn after(&mut self, seen: &Seen<'_, Redb>, report: &mut Report) {
        let (Some(_), [view]) = (seen.node, seen.views) else { return };
        let mut place = Place::Last;
        if seen.died {
            self.died(seen.choice, view);
        } else if !matches!(seen.choice, Choice::Crash { .. }) {
            (report.failure, place) = self.judge(seen.choice, view);
        }
        if seen.watch.keys {
            self.keys(seen, place, report);
        }
        if !seen.died && matches!(seen.choice, Choice::Restart { .. }) {
            self.deaths = 0;
        }
    }

    fn reads_input(&self) -> bool {
        false
    }
}

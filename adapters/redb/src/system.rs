//! redb as a system of the world.

use crate::client::Node;
use crate::contents::{PLACES, SAVED, State, TABLES};
use misrule_models::Fields;
use misrule_world::{Argument, BootError, Context, Input, Operation, Setup, System, Vocabulary};
use std::fmt::{self, Display};

pub(crate) const INSERT: u8 = 0;
pub(crate) const REMOVE: u8 = 1;
pub(crate) const DELETE_TABLE: u8 = 2;
pub(crate) const COMMIT: u8 = 3;
pub(crate) const COMMIT_NONE: u8 = 4;
pub(crate) const COMMIT_TWO_PHASE: u8 = 5;
pub(crate) const COMMIT_QUICK_REPAIR: u8 = 6;
pub(crate) const ABORT: u8 = 7;
pub(crate) const BEGIN_READ: u8 = 8;
pub(crate) const END_READ: u8 = 9;
pub(crate) const REOPEN: u8 = 10;
pub(crate) const COMPACT: u8 = 11;
pub(crate) const CHECK: u8 = 12;
pub(crate) const SAVE: u8 = 13;
pub(crate) const RESTORE: u8 = 14;
pub(crate) const RELEASE: u8 = 15;
pub(crate) const PERSIST: u8 = 16;
pub(crate) const RESTORE_PERSISTENT: u8 = 17;
pub(crate) const DELETE_PERSISTENT: u8 = 18;

/// Savepoints and read transactions that a client keeps at once.
pub(crate) const KEPT: usize = SAVED;

/// The operations by number. The setting that switches one off sets its weight to 0.
const OPERATIONS: [(&str, Argument, u16); 19] = [
    ("insert", Argument::Fresh, 20),
    ("remove", Argument::Below(PLACES as u32), 8),
    ("delete-table", Argument::Below(TABLES as u32), 1),
    ("commit", Argument::None, 16),
    ("commit-none", Argument::None, 6),
    ("commit-two-phase", Argument::None, 2),
    ("commit-quick-repair", Argument::None, 2),
    ("abort", Argument::None, 3),
    ("begin-read", Argument::None, 2),
    ("end-read", Argument::Below(KEPT as u32), 2),
    ("reopen", Argument::None, 3),
    ("compact", Argument::None, 2),
    ("check", Argument::None, 2),
    ("save", Argument::None, 3),
    ("restore", Argument::Below(KEPT as u32), 2),
    ("release", Argument::Below(KEPT as u32), 1),
    ("persist", Argument::None, 2),
    ("restore-persistent", Argument::Below(SAVED as u32), 1),
    ("delete-persistent", Argument::Below(SAVED as u32), 1),
];

/// Whether the operation commits.
pub(crate) fn commits(operation: u8) -> bool {
    (COMMIT..=COMMIT_QUICK_REPAIR).contains(&operation)
}

/// A database with one client.
#[derive(Debug)]
pub struct Redb {
    vocabulary: Vocabulary,
    /// Bytes that redb may cache.
    cache: usize,
    /// Whether the file is created by the first request instead of the first start.
    creates_late: bool,
}

impl Redb {
    /// The database that the settings describe.
    pub(crate) fn new(setup: &Setup) -> Self {
        let settings = &setup.settings;
        let asked = |operation: u8| match operation {
            COMPACT => settings.is_on("compact"),
            CHECK => settings.is_on("check"),
            SAVE.. => settings.is_on("savepoints"),
            _ => true,
        };
        let operations = (0..).zip(OPERATIONS).map(|(number, (name, argument, weight))| Operation {
            name,
            argument,
            weight: if asked(number) { weight } else { 0 },
        });
        Self {
            vocabulary: Vocabulary { nodes: 1, operations: operations.collect(), ..Vocabulary::default() },
            cache: settings.integer("cache") as usize * 1024,
            creates_late: settings.is_on("create"),
        }
    }
}

impl System for Redb {
    type Node = Node;
    type Message = ();
    type View = View;

    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    fn boot(&self, cx: &mut Context<()>) -> Result<Node, BootError> {
        Ok(Node::start(self.cache, self.creates_late, cx.disk()))
    }

    fn handle(&self, node: &mut Node, input: Input<()>, cx: &mut Context<()>) {
        if let Input::Request { operation, argument, .. } = input {
            node.request(operation, argument, cx.disk());
        }
    }

    fn view(&self, node: &Node, out: &mut View) {
        out.clone_from(node.view());
    }

    fn kind(&self, _message: &()) -> u8 {
        0
    }
}

/// What became of the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    /// The node started, and there is no file yet.
    #[default]
    Closed,
    /// The database was opened, and [`View::found`] in it.
    Opened,
    /// The request was served.
    Done,
    /// The request cannot be served now.
    Refused,
    /// The database was given up after an error, until it is opened again.
    Stopped,
    /// [`View::latest`] was committed.
    Committed {
        /// Whether the commit is acknowledged as durable.
        durable: bool,
    },
    /// A commit of [`View::working`] ended in an error.
    Unsure,
    /// [`View::found`] is to be [`View::expected`].
    Read,
    /// The integrity was checked: whether it is well, and [`View::found`] after it.
    Checked(bool),
    /// The last commit was saved persistently, under this number in [`State::saved`].
    Saved(u64),
    /// The persistent savepoint of this number was restored, and [`View::found`] in it.
    Restored(u64),
}

/// The write transaction of the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// None is open.
    #[default]
    Idle,
    /// One is open that has not touched tables: savepoints can be made.
    Clean,
    /// One is open that has.
    Dirty,
}

/// An error of redb.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// What kind, without values of the run.
    pub detail: String,
    /// What redb says.
    pub text: String,
}

/// What oracles, lenses and reports see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// What became of the last call.
    pub answer: Answer,
    /// The error that the last call met.
    pub trouble: Option<Trouble>,
    /// Whether the disk has reported an error since the database was opened.
    pub disk_failed: bool,
    /// Whether redb repaired the file when it was opened last.
    pub repaired: bool,
    /// What was committed last, as far as the client knows.
    pub latest: State,
    /// What a commit now would leave.
    pub working: State,
    /// What the last call has read.
    pub found: State,
    /// What it should have read.
    pub expected: State,
    /// The write transaction.
    pub phase: Phase,
    /// Commits since the node started, and those of them since the last durable one.
    pub commits: (u32, u32),
    /// Ephemeral savepoints and read transactions that live.
    pub kept: (u8, u8),
    /// Writes to the file since its last sync.
    pub writes: u32,
}

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("answer", &Shown(&self.answer));
        visit("transaction", &Shown(&self.phase));
        visit("commits", &self.commits.0);
        visit("not durable", &self.commits.1);
        for (table, name) in ["a", "b", "c"].into_iter().enumerate() {
            visit(name, &self.latest.entries(table));
        }
        visit("persistent", &self.latest.saved.iter().filter(|id| **id != 0).count());
        visit("savepoints", &self.kept.0);
        visit("reads", &self.kept.1);
        visit("writes not synced", &self.writes);
        visit("repaired", &self.repaired);
        visit("error", &self.trouble.as_ref().map_or("none", |trouble| &trouble.text));
    }
}

/// Shows a value by its name in the code.
struct Shown<'a, T>(&'a T);

impl<T: fmt::Debug> Display for Shown<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

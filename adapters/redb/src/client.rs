//! The node: a client that holds the database open and does what requests ask.

use crate::backend::{Backend, Health};
use crate::contents::{Contents, SAVED, State, place, split};
use crate::system::{self, Answer, KEPT, Phase, Trouble, View};
use crate::tables;
use misrule_world::{DiskError, DiskFile, DiskHandle, log};
use redb::{
    Builder, Database, Durability, Error, ReadTransaction, ReadableDatabase, Savepoint, WriteTransaction,
};
use std::sync::Arc;

/// The name of the file.
const FILE: &str = "redb";

/// A running node. A crash drops it; only the file survives.
pub struct Node {
    // Dropped in this order: before release 4.2 a database waits for its write transaction.
    writing: Option<WriteTransaction>,
    reads: Vec<(ReadTransaction, State)>,
    savepoints: Vec<(Savepoint, Contents)>,
    database: Option<Database>,
    /// Whether the database was given up after an error.
    stopped: bool,
    /// Whether a call runs, has panicked, or has met an error that the disk did not cause.
    broken: bool,
    cache: usize,
    health: Arc<Health>,
    view: View,
    /// Room for values.
    bytes: Vec<u8>,
}

impl Node {
    /// Starts: opens the database, and creates it where there is none, unless that is left to the first request.
    pub(crate) fn start(cache: usize, creates_late: bool, disk: DiskHandle) -> Self {
        let mut node = Self {
            writing: None,
            reads: Vec::new(),
            savepoints: Vec::new(),
            database: None,
            stopped: false,
            broken: true,
            cache,
            health: Arc::default(),
            view: View::default(),
            bytes: Vec::new(),
        };
        if !creates_late || disk.open(FILE) != Err(DiskError::NotFound) {
            let opened = node.file(disk).map_err(disk_error).and_then(|file| node.open(file));
            node.finish(opened);
        }
        node
    }

    /// What is seen of the node.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// Serves a request.
    pub(crate) fn request(&mut self, operation: u8, argument: u32, disk: DiskHandle) {
        self.view.trouble = None;
        self.broken = true;
        let answer = self.serve(operation, argument, disk);
        self.finish(answer);
    }

    /// Takes note of what a call came to. After an error of the disk the database is closed; any other is a finding, and
    /// what the database would do in closing is of no use.
    fn finish(&mut self, result: Result<Answer, Error>) {
        let (answer, trouble) = match result {
            Ok(answer) => (answer, None),
            Err(Error::InvalidSavepoint | Error::PersistentSavepointModified) => (Answer::Refused, None),
            Err(error) => (Answer::Stopped, Some(trouble(&error))),
        };
        self.view.disk_failed = self.health.has_failed();
        self.broken = trouble.is_some() && !self.view.disk_failed;
        if trouble.is_some() {
            if !self.broken {
                self.close();
            }
            self.stopped = true;
        }
        // What a commit that failed was about stays visible.
        let unsure = self.view.answer == Answer::Unsure && trouble.is_some();
        if !unsure {
            self.view.answer = answer;
            if self.writing.is_none() {
                self.view.phase = Phase::Idle;
                self.view.working = self.view.latest;
            }
        }
        self.view.trouble = trouble;
        self.view.kept = (self.savepoints.len() as u8, self.reads.len() as u8);
        self.view.writes = self.health.writes();
    }

    fn serve(&mut self, operation: u8, argument: u32, disk: DiskHandle) -> Result<Answer, Error> {
        self.view.answer = Answer::Done;
        if operation == system::REOPEN {
            self.close();
            self.stopped = false;
        }
        if self.stopped {
            return Ok(Answer::Stopped);
        }
        if self.database.is_none() {
            let file = self.file(disk).map_err(disk_error)?;
            let opened = self.open(file)?;
            if operation == system::REOPEN {
                return Ok(opened);
            }
        }
        let at = argument as usize;
        match operation {
            system::INSERT => self.insert(argument),
            system::REMOVE => self.remove(split(at)),
            system::DELETE_TABLE => self.delete_table(at),
            system::ABORT => self.abort(),
            system::BEGIN_READ => self.begin_read(),
            system::END_READ => self.end_read(at),
            system::COMPACT => self.compact(),
            system::CHECK => self.check(),
            system::SAVE => self.save(),
            system::RESTORE => self.restore(at),
            system::RELEASE => Ok(self.release(at)),
            system::PERSIST => self.persist(),
            system::RESTORE_PERSISTENT => self.restore_persistent(at),
            system::DELETE_PERSISTENT => self.delete_persistent(at),
            _ => self.commit(operation),
        }
    }

    /// The file. A new one is made with a name that survives: redb leaves that to its user.
    fn file(&self, disk: DiskHandle) -> Result<DiskFile, DiskError> {
        let opened = match disk.open(FILE) {
            Err(DiskError::NotFound) => disk.create(FILE).and_then(|file| disk.sync_dir().map(|()| file)),
            other => other,
        };
        self.health.checked(opened)
    }

    fn open(&mut self, file: DiskFile) -> Result<Answer, Error> {
        self.health = Arc::default();
        let health = Arc::clone(&self.health);
        let database = Builder::new()
            .set_cache_size(self.cache)
            .set_repair_callback(move |_| health.note_repair())
            .create_with_backend(Backend { file, health: Arc::clone(&self.health) })?;
        self.database = Some(database);
        self.view.repaired = self.health.take_repaired();
        self.look()?;
        Ok(Answer::Opened)
    }

    /// Reads everything that is committed, and believes it.
    fn look(&mut self) -> Result<(), Error> {
        let database = self.database()?;
        let (read, write) = (database.begin_read()?, database.begin_write()?);
        let contents = tables::read(&read, &mut self.bytes)?;
        let saved = tables::saved(&write)?;
        write.abort()?;
        self.view.found = State { contents, saved };
        self.view.latest = self.view.found;
        self.view.commits.1 = 0;
        Ok(())
    }

    fn close(&mut self) {
        self.writing = None;
        self.reads.clear();
        self.savepoints.clear();
        self.database = None;
    }

    fn database(&self) -> Result<&Database, Error> {
        self.database.as_ref().ok_or(Error::DatabaseClosed)
    }

    /// The write transaction, a new one if none is open.
    fn begin(&mut self) -> Result<&mut WriteTransaction, Error> {
        if self.writing.is_none() {
            self.writing = Some(self.database()?.begin_write()?);
            self.view.phase = Phase::Clean;
        }
        self.writing.as_mut().ok_or(Error::DatabaseClosed)
    }

    fn insert(&mut self, number: u32) -> Result<Answer, Error> {
        let (table, key) = place(number);
        log::line(format_args!("table {table} key {key}"));
        self.begin()?;
        self.view.phase = Phase::Dirty;
        if let Some(txn) = &self.writing {
            tables::insert(txn, (table, key), number, &mut self.bytes)?;
        }
        self.view.working.contents[table][key] = number;
        Ok(Answer::Done)
    }

    fn remove(&mut self, (table, key): (usize, usize)) -> Result<Answer, Error> {
        self.begin()?;
        self.view.phase = Phase::Dirty;
        let Some(txn) = &self.writing else { return Ok(Answer::Refused) };
        let removed = tables::remove(txn, (table, key), &mut self.bytes)?;
        self.view.expected = self.view.working;
        self.view.found = self.view.working;
        self.view.found.contents[table][key] = removed;
        self.view.working.contents[table][key] = 0;
        Ok(Answer::Read)
    }

    fn delete_table(&mut self, table: usize) -> Result<Answer, Error> {
        let txn = self.begin()?;
        tables::delete(txn, table)?;
        self.view.phase = Phase::Dirty;
        self.view.working.contents[table].fill(0);
        Ok(Answer::Done)
    }

    fn commit(&mut self, operation: u8) -> Result<Answer, Error> {
        let txn = self.begin()?;
        let durable = operation != system::COMMIT_NONE;
        if !durable {
            txn.set_durability(Durability::None)?;
        }
        txn.set_two_phase_commit(operation == system::COMMIT_TWO_PHASE);
        txn.set_quick_repair(operation == system::COMMIT_QUICK_REPAIR);
        if let Some(txn) = self.writing.take() {
            self.view.answer = Answer::Unsure;
            txn.commit()?;
        }
        self.view.latest = self.view.working;
        self.view.commits.0 += 1;
        self.view.commits.1 = if durable { 0 } else { self.view.commits.1 + 1 };
        Ok(Answer::Committed { durable })
    }

    fn abort(&mut self) -> Result<Answer, Error> {
        let Some(txn) = self.writing.take() else { return Ok(Answer::Refused) };
        txn.abort()?;
        Ok(Answer::Done)
    }

    fn begin_read(&mut self) -> Result<Answer, Error> {
        if self.reads.len() == KEPT {
            return Ok(Answer::Refused);
        }
        let read = self.database()?.begin_read()?;
        self.reads.push((read, self.view.latest));
        Ok(Answer::Done)
    }

    /// Reads all of a read transaction and ends it; of a new one where there is none.
    fn end_read(&mut self, at: usize) -> Result<Answer, Error> {
        let (read, expected) = if at < self.reads.len() {
            self.reads.remove(at)
        } else {
            (self.database()?.begin_read()?, self.view.latest)
        };
        let contents = tables::read(&read, &mut self.bytes)?;
        (self.view.found, self.view.expected) = (State { contents, ..expected }, expected);
        Ok(Answer::Read)
    }

    /// Whether something lives that keeps redb from compacting and checking: before release 4.2 also commits that are
    /// not durable.
    fn is_busy(&self) -> bool {
        let saved = self.view.latest.saved != [0; SAVED];
        saved || self.view.commits.1 > 0 || !self.reads.is_empty() || !self.savepoints.is_empty()
    }

    /// Compacts, but not beside a write transaction of its own, for which releases before 4.4 wait for ever.
    fn compact(&mut self) -> Result<Answer, Error> {
        let busy = self.is_busy();
        let Some(database) = self.database.as_mut().filter(|_| self.writing.is_none()) else {
            return Ok(Answer::Refused);
        };
        match database.compact().map_err(Error::from) {
            Err(error) if busy && is_busy(&error) => Ok(Answer::Refused),
            other => other.map(|_| Answer::Done),
        }
    }

    fn check(&mut self) -> Result<Answer, Error> {
        let busy = self.is_busy();
        let Some(database) = self.database.as_mut().filter(|_| self.writing.is_none()) else {
            return Ok(Answer::Refused);
        };
        match database.check_integrity().map_err(Error::from) {
            Err(error) if busy && is_busy(&error) => Ok(Answer::Refused),
            Err(error) => Err(error),
            Ok(well) => self.look().map(|()| Answer::Checked(well)),
        }
    }

    fn save(&mut self) -> Result<Answer, Error> {
        if self.view.phase == Phase::Dirty {
            return Ok(Answer::Refused);
        }
        let savepoint = self.begin()?.ephemeral_savepoint()?;
        if self.savepoints.len() == KEPT {
            self.savepoints.remove(0);
        }
        self.savepoints.push((savepoint, self.view.latest.contents));
        Ok(Answer::Done)
    }

    fn restore(&mut self, at: usize) -> Result<Answer, Error> {
        if at >= self.savepoints.len() {
            return Ok(Answer::Refused);
        }
        self.begin()?;
        let (Some(txn), (savepoint, contents)) = (&mut self.writing, &self.savepoints[at]) else {
            return Ok(Answer::Refused);
        };
        txn.restore_savepoint(savepoint)?;
        let contents = *contents;
        self.look_at_working()?;
        self.view.expected = State { contents, ..self.view.found };
        Ok(Answer::Read)
    }

    /// Reads what a restored savepoint made of the write transaction, and believes it.
    fn look_at_working(&mut self) -> Result<(), Error> {
        let Some(txn) = &self.writing else { return Ok(()) };
        let contents = tables::read_writing(txn, &mut self.bytes)?;
        self.view.found = State { contents, saved: tables::saved(txn)? };
        self.view.working = self.view.found;
        self.view.phase = Phase::Dirty;
        Ok(())
    }

    fn release(&mut self, at: usize) -> Answer {
        if at >= self.savepoints.len() {
            return Answer::Refused;
        }
        self.savepoints.remove(at);
        Answer::Done
    }

    fn persist(&mut self) -> Result<Answer, Error> {
        let free = self.view.working.saved.iter().position(|id| *id == 0);
        let Some(free) = free.filter(|_| self.view.phase != Phase::Dirty) else {
            return Ok(Answer::Refused);
        };
        let id = self.begin()?.persistent_savepoint()? + 1;
        self.view.working.saved[free] = id;
        Ok(Answer::Saved(id))
    }

    fn restore_persistent(&mut self, at: usize) -> Result<Answer, Error> {
        let id = self.view.working.saved[at];
        if id == 0 {
            return Ok(Answer::Refused);
        }
        let txn = self.begin()?;
        let savepoint = txn.get_persistent_savepoint(id - 1)?;
        txn.restore_savepoint(&savepoint)?;
        self.look_at_working()?;
        Ok(Answer::Restored(id))
    }

    fn delete_persistent(&mut self, at: usize) -> Result<Answer, Error> {
        let id = self.view.working.saved[at];
        if id == 0 {
            return Ok(Answer::Refused);
        }
        if !self.begin()?.delete_persistent_savepoint(id - 1)? {
            return Err(tables::corrupted("a persistent savepoint is gone"));
        }
        let saved = &mut self.view.working.saved;
        saved[at] = 0;
        saved.sort_unstable_by_key(|id| (*id == 0, *id));
        Ok(Answer::Done)
    }
}

impl Drop for Node {
    /// Closes the database, but leaves a broken one where it is, as the end of a process would: the destructors of redb
    /// work on the file, and in a broken one they loop, or panic a second time, which ends our process.
    fn drop(&mut self) {
        if self.broken {
            std::mem::forget((self.writing.take(), self.database.take()));
            std::mem::forget((std::mem::take(&mut self.reads), std::mem::take(&mut self.savepoints)));
        }
        self.close();
    }
}

/// Whether the error says that savepoints or transactions live.
fn is_busy(error: &Error) -> bool {
    matches!(
        error,
        Error::TransactionInProgress | Error::PersistentSavepointExists | Error::EphemeralSavepointExists
    )
}

fn disk_error(error: DiskError) -> Error {
    Error::Io(error.into())
}

/// The error as findings show it.
fn trouble(error: &Error) -> Trouble {
    let text = format!("{error:?}");
    let kind = text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_owned();
    let detail = match error {
        Error::Corrupted(what) => {
            let what: String = what.chars().filter(|c| !c.is_ascii_digit()).collect();
            format!("{kind}: {what}")
        }
        _ => kind,
    };
    Trouble { detail, text }
}

//! What tasks wait for, and sets of tasks that wait for each other.

use crate::instant::Instant;
use std::fmt;

/// What a task waits for, as far as futures of this crate say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A timer with this deadline.
    Timer(Instant),
    /// The completion of an operation of this name.
    Completion(&'static str),
    /// The end of a task of this name.
    Task(String),
    /// A value from a [`oneshot`](crate::oneshot) channel.
    Oneshot,
}

impl fmt::Display for Wait {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timer(deadline) => write!(out, "a timer at {:?}", deadline.since_start()),
            Self::Completion(name) => write!(out, "the completion of {name}"),
            Self::Task(name) => write!(out, "the end of {name}"),
            Self::Oneshot => out.write_str("a oneshot value"),
        }
    }
}

/// A task that has not ended, as reports show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its name.
    pub name: String,
    /// Whether it can run.
    pub ready: bool,
    /// What it found pending when it was last polled. Channels and locks of others do not say.
    pub waits: Vec<Wait>,
    /// How many places hold its waker. With none, and not ready, nothing can ever wake it.
    pub wakers: usize,
}

impl fmt::Display for TaskInfo {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ", self.name)?;
        if self.ready {
            return out.write_str("can run");
        }
        if self.wakers == 0 {
            return out.write_str("waits, and nothing can wake it");
        }
        for (at, wait) in self.waits.iter().enumerate() {
            write!(out, "{}{wait}", if at == 0 { "waits for " } else { " or " })?;
        }
        let elsewhere = self.wakers.saturating_sub(self.waits.len());
        match (self.waits.is_empty(), elsewhere) {
            (_, 0) => Ok(()),
            (true, _) => out.write_str("waits for a channel or a lock"),
            (false, _) => out.write_str(" or a channel or a lock"),
        }
    }
}

/// Tasks none of which can run, and for which nothing is pending that could change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The tasks, oldest first.
    pub tasks: Vec<TaskInfo>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, task) in self.tasks.iter().enumerate() {
            write!(out, "{}{task}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

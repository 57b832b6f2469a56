//! What is seen of a server.

use crate::log::Slot;
use crate::message::Payload;
use crate::server::{Role, Server};
use misrule_models::{Fields, NodeId};
use std::cell::RefCell;
use std::fmt::{self, Display};
use std::rc::Rc;

/// A log as views hold it: lenses read the same memory.
pub(crate) type SharedLog = Rc<RefCell<Vec<Slot>>>;

/// What is seen of a server.
#[derive(Debug, Default)]
pub struct View {
    log: SharedLog,
    pub(crate) state: Seen,
}

/// A copy has a log of its own; what is copied into a view goes into the log that is there, which lenses read too.
impl Clone for View {
    fn clone(&self) -> Self {
        let mut view = Self::default();
        view.clone_from(self);
        view
    }

    fn clone_from(&mut self, other: &Self) {
        if !Rc::ptr_eq(&self.log, &other.log) {
            self.log.borrow_mut().clone_from(&other.log.borrow());
        }
        self.state = other.state;
    }
}

/// The numbers of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What the server is.
    pub role: Role,
    /// Its term.
    pub term: u32,
    /// Who has its vote in the term.
    pub vote: Option<NodeId>,
    /// How far it knows the log to be committed.
    pub commit: u32,
    /// How long its log is.
    pub len: u32,
    /// The term of its last entry; 0 where there is none.
    pub last_term: u32,
    /// The hash of its log.
    pub hash: u64,
    /// How many entries are synced.
    pub durable: u32,
    /// Whether something is written that is not synced.
    pub dirty: bool,
    /// How many messages wait for the sync.
    pub held: u32,
    /// Who has voted for it.
    pub votes: u8,
    /// How often the election timer has fired in vain.
    pub quiet: u8,
    /// How many reads wait.
    pub reads: u32,
    /// The members it goes by: bit set.
    pub members: u8,
    /// The highest term that it told others since it started.
    pub told: u32,
    /// Whether it does nothing more, since its disk refused an operation.
    pub halted: bool,
}

impl View {
    pub(crate) fn refresh(&mut self, server: &Server) {
        let mut log = self.log.borrow_mut();
        server.log.mirror(&mut log);
        self.state = Seen {
            role: server.role,
            term: server.term,
            vote: server.vote,
            commit: server.commit,
            len: server.log.len(),
            last_term: server.log.last_term(),
            hash: log.last().map_or(0, |slot| slot.hash),
            durable: server.durable,
            dirty: server.dirty,
            held: server.held.len() as u32,
            votes: server.votes,
            quiet: server.quiet,
            reads: server.reads.len() as u32,
            members: server.members,
            told: server.told,
            halted: server.halted,
        };
    }

    /// The numbers.
    pub fn state(&self) -> &Seen {
        &self.state
    }

    /// The hash of the first `len` entries; `None` where there are not so many.
    pub(crate) fn hash(&self, len: u32) -> Option<u64> {
        prefix_hash(&self.log.borrow(), len)
    }

    pub(crate) fn shared_log(&self) -> &SharedLog {
        &self.log
    }
}

/// The hash of the first `len` entries of a log; `None` where there are not so many.
pub(crate) fn prefix_hash(log: &[Slot], len: u32) -> Option<u64> {
    match len {
        0 => Some(0),
        _ => log.get(len as usize - 1).map(|slot| slot.hash),
    }
}

/// How many entries a log shows at its end.
const SHOWN: usize = 12;

impl Fields for View {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        let seen = &self.state;
        visit("role", &format_args!("{:?}", seen.role));
        visit("term", &seen.term);
        match seen.vote {
            Some(vote) => visit("vote", &format_args!("n{}", vote + 1)),
            None => visit("vote", &"-"),
        }
        visit("log", &ShownLog(&self.log.borrow()));
        visit("log_hash", &format_args!("{:016x}", seen.hash));
        visit("commit", &seen.commit);
        visit("durable", &seen.durable);
        visit("dirty", &seen.dirty);
        visit("held", &seen.held);
        visit("votes", &Servers(seen.votes));
        visit("quiet", &seen.quiet);
        visit("reads", &seen.reads);
        visit("members", &Servers(seen.members));
        visit("halted", &seen.halted);
    }
}

/// A set of servers, as `{1,3}`.
struct Servers(u8);

impl Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        let mut separator = "";
        for node in (0..8).filter(|node| self.0 & (1 << node) != 0) {
            write!(f, "{separator}{}", node + 1)?;
            separator = ",";
        }
        f.write_str("}")
    }
}

/// The last entries of a log: the term of each, with what it holds.
struct ShownLog<'a>(&'a [Slot]);

impl Display for ShownLog<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.0.len().saturating_sub(SHOWN);
        f.write_str(if hidden > 0 { "..." } else { "" })?;
        for (at, slot) in self.0.iter().enumerate().skip(hidden) {
            f.write_str(if at > 0 { " " } else { "" })?;
            match slot.entry.payload {
                Payload::Nothing => write!(f, "{}", slot.entry.term)?,
                Payload::Command(call) => write!(f, "{}:#{}", slot.entry.term, call & 0xff_ffff)?,
                Payload::Members(members) => write!(f, "{}:{}", slot.entry.term, Servers(members))?,
            }
        }
        Ok(())
    }
}

//! The variables of the protocol, as sets of nodes in bits: eighteen bytes, no heap.

use super::RESOURCE_MANAGERS_MAX;
use crate::NodeId;

/// What the coordinator has decided; durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Coordinator {
    /// Nothing yet.
    Undecided,
    /// To commit.
    Committed,
    /// To abort.
    Aborted,
}

/// How far a resource manager has come; durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceManager {
    /// It may still abort on its own.
    Working,
    /// It waits for the outcome.
    Prepared,
    /// It has committed.
    Committed,
    /// It has aborted.
    Aborted,
}

/// The abstract state. Bit `i` of a set stands for node `i`; a resource manager in none of the first three
/// sets is working.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    prepared: u16,
    committed: u16,
    aborted: u16,
    coordinator: Coordinator,
    /// Whose Prepared message the coordinator has received; volatile.
    received: u16,
    sent_prepared: u16,
    sent_commit: bool,
    sent_abort: bool,
    down: u16,
    in_doubt: u16,
    resource_managers: u8,
}

fn bit(node: NodeId) -> u16 {
    debug_assert!(node <= RESOURCE_MANAGERS_MAX, "the model's guards admit no such node");
    1 << (node & 15)
}

impl State {
    pub(super) fn new(resource_managers: u8) -> Self {
        Self {
            prepared: 0,
            committed: 0,
            aborted: 0,
            coordinator: Coordinator::Undecided,
            received: 0,
            sent_prepared: 0,
            sent_commit: false,
            sent_abort: false,
            down: 0,
            in_doubt: 0,
            resource_managers,
        }
    }

    /// How many resource managers there are: nodes 1 to this.
    pub fn resource_managers(&self) -> u8 {
        self.resource_managers
    }

    /// What the coordinator has decided.
    pub fn coordinator(&self) -> Coordinator {
        self.coordinator
    }

    /// How far a resource manager has come.
    pub fn resource_manager(&self, rm: NodeId) -> ResourceManager {
        let bit = bit(rm);
        if self.committed & bit != 0 {
            ResourceManager::Committed
        } else if self.aborted & bit != 0 {
            ResourceManager::Aborted
        } else if self.prepared & bit != 0 {
            ResourceManager::Prepared
        } else {
            ResourceManager::Working
        }
    }

    /// Whether a node runs.
    pub fn up(&self, node: NodeId) -> bool {
        self.down & bit(node) == 0
    }

    /// Whether a resource manager has restarted prepared and does not know the outcome.
    pub fn in_doubt(&self, rm: NodeId) -> bool {
        self.in_doubt & bit(rm) != 0
    }

    /// Whether the coordinator has received that a resource manager is prepared.
    pub fn received(&self, rm: NodeId) -> bool {
        self.received & bit(rm) != 0
    }

    /// Whether the coordinator has received that every resource manager is prepared.
    pub fn all_received(&self) -> bool {
        self.received == self.all()
    }

    /// Whether a resource manager has sent that it is prepared.
    pub fn sent_prepared(&self, rm: NodeId) -> bool {
        self.sent_prepared & bit(rm) != 0
    }

    /// Whether the decision to commit was sent.
    pub fn sent_commit(&self) -> bool {
        self.sent_commit
    }

    /// Whether the decision to abort was sent.
    pub fn sent_abort(&self) -> bool {
        self.sent_abort
    }

    /// Whether some resource manager has come this far.
    pub fn any(&self, state: ResourceManager) -> bool {
        match state {
            ResourceManager::Working => (self.prepared | self.committed | self.aborted) != self.all(),
            ResourceManager::Prepared => self.prepared != 0,
            ResourceManager::Committed => self.committed != 0,
            ResourceManager::Aborted => self.aborted != 0,
        }
    }

    /// Back to the initial state, from which a projection of an implementation sets what it sees.
    pub fn clear(&mut self) {
        *self = Self::new(self.resource_managers);
    }

    /// Sets how far a resource manager has come. One that is prepared or has committed has said that it is
    /// prepared; one that has an outcome is no longer in doubt.
    pub fn set_resource_manager(&mut self, rm: NodeId, state: ResourceManager) {
        let bit = bit(rm);
        for set in [&mut self.prepared, &mut self.committed, &mut self.aborted] {
            *set &= !bit;
        }
        match state {
            ResourceManager::Working => {}
            ResourceManager::Prepared => self.prepared |= bit,
            ResourceManager::Committed => self.committed |= bit,
            ResourceManager::Aborted => self.aborted |= bit,
        }
        if matches!(state, ResourceManager::Prepared | ResourceManager::Committed) {
            self.sent_prepared |= bit;
        }
        if state != ResourceManager::Prepared {
            self.in_doubt &= !bit;
        }
    }

    /// Sets what the coordinator has decided; a decision is sent at once.
    pub fn set_coordinator(&mut self, state: Coordinator) {
        self.coordinator = state;
        self.sent_commit |= state == Coordinator::Committed;
        self.sent_abort |= state == Coordinator::Aborted;
    }

    /// The coordinator has received that a resource manager is prepared.
    pub fn set_received(&mut self, rm: NodeId) {
        self.sent_prepared |= bit(rm);
        self.received |= bit(rm);
    }

    /// A node stops and loses what is volatile.
    pub fn crash(&mut self, node: NodeId) {
        self.down |= bit(node);
        self.in_doubt &= !bit(node);
        if node == 0 {
            self.received = 0;
        }
    }

    /// A node comes back; a prepared resource manager is in doubt.
    pub fn restart(&mut self, node: NodeId) {
        self.down &= !bit(node);
        self.in_doubt |= self.prepared & bit(node);
    }

    /// The bits of all resource managers.
    fn all(&self) -> u16 {
        (((1_u32 << self.resource_managers) - 1) << 1) as u16
    }

    /// The sets that say something of each resource manager.
    fn sets(&mut self) -> [&mut u16; 7] {
        [
            &mut self.prepared,
            &mut self.committed,
            &mut self.aborted,
            &mut self.received,
            &mut self.sent_prepared,
            &mut self.down,
            &mut self.in_doubt,
        ]
    }

    /// Renames the resource managers so that what is known of each is in ascending order.
    pub(super) fn sort_resource_managers(&mut self) {
        let count = usize::from(self.resource_managers);
        let mut known = [0_u8; RESOURCE_MANAGERS_MAX as usize];
        for (at, set) in self.sets().into_iter().enumerate() {
            for (rm, known) in known[..count].iter_mut().enumerate() {
                *known |= ((*set >> (rm + 1) & 1) as u8) << at;
            }
        }
        known[..count].sort_unstable();
        for (at, set) in self.sets().into_iter().enumerate() {
            // Bit 0 is the coordinator's.
            *set &= 1;
            for (rm, known) in known[..count].iter().enumerate() {
                *set |= u16::from(known >> at & 1) << (rm + 1);
            }
        }
    }
}

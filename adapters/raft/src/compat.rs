//! What differs between releases of raft, and nothing else: only the two files behind this one know which release they
//! are built with.

#[cfg(feature = "since-0-6")]
#[path = "compat/since_0_6.rs"]
mod release;
#[cfg(not(feature = "since-0-6"))]
#[path = "compat/until_0_5.rs"]
mod release;

pub(crate) use release::{
    APPLIES, ENTRY_TYPES, FLUSHES, MEMBERSHIPS, MODELLED, advance_apply, change, commit_term,
    heartbeat_elapsed, open, propose_change, read_conf, reads_before, reads_waiting, reconfigure,
    record_reads, settled, timeout,
};
